"""The grammar of Cassandra's `.POMDP` format: text into a plain syntax tree, no name looked up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from clew.machines.formats.numbers import Written, written
from clew.machines.formats.text import ParseError, Place
from clew.validate import hint

WORD, NUMBER, COLON, STAR, SIGN, END = "word", "number", "colon", "star", "sign", "end"
SETS = ("states", "actions", "observations")
PREAMBLE = ("discount", "values", *SETS)
TABLES = {"T": 3, "O": 3, "R": 4}
"""How many names or wildcards, with colons between, a single entry of each table has."""
SHORTHAND = ("uniform", "identity", "reset")
RESERVED = {*PREAMBLE, *TABLES, *SHORTHAND, "reward", "cost", "start", "include", "exclude"}


@dataclass(frozen=True)
class Listing:
    """The line that declares states, actions or observations: how many, or their names."""

    place: Place
    count: Token | None
    names: tuple[Token, ...]


@dataclass(frozen=True)
class Start:
    """The line that says where an episode begins."""

    place: Place
    how: str
    """"vector", "uniform", "include" or "exclude"; a single state is "include"."""
    states: tuple[Token, ...] = ()
    vector: tuple[Written, ...] = ()


@dataclass(frozen=True)
class TableEntry:
    """One statement about T, O or R: which cells, and what is in them."""

    place: Place
    table: str
    keys: tuple[Token, ...]
    shorthand: Token | None
    numbers: tuple[Written, ...]


@dataclass
class Tree:
    """A whole file, in the order of its lines."""

    discount: Written | None = None
    values: Token | None = None
    sets: dict[str, Listing] = field(default_factory=dict)
    start: Start | None = None
    entries: list[TableEntry] = field(default_factory=list)
    end: Place = field(default_factory=lambda: Place(1, 1))


def parse(text: str) -> Tree:
    """The syntax tree of `text`."""
    return _Parser(text).file()


class _Parser:
    def __init__(self, text: str):
        self.tokens = tokens(text)
        self.now = next(self.tokens)
        self.after = self.now if self.now.kind == END else next(self.tokens)
        self.tree = Tree()

    def file(self) -> Tree:
        while self.now.kind != END:
            self.statement()
        self.tree.end = self.now.place
        return self.tree

    def statement(self) -> None:
        word = self.now
        if word.kind != WORD or word.text not in (*PREAMBLE, *TABLES, "start"):
            beginnings = (*PREAMBLE, "start", *TABLES)
            wanted = "a statement: " + ", ".join(f"{name}:" for name in beginnings)
            word.fail("no statement begins like this" + hint(word.text, beginnings), wanted)
        if word.text not in TABLES and self.tree.entries:
            word.fail("this has to stand before the first T, O or R", "T:, O: or R:")
        self.advance()
        if word.text in TABLES:
            self.entry(word)
        elif word.text == "start":
            self.start(word)
        else:
            self.preamble(word)

    def preamble(self, word: Token) -> None:
        tree, name = self.tree, word.text
        if name in tree.sets or getattr(tree, name, None) is not None:
            word.fail("this is declared twice")
        self.take(COLON, "':'")
        if name == "discount":
            tree.discount = self.number("a number between 0 and 1")
        elif name == "values":
            if self.now.text not in ("reward", "cost"):
                self.now.fail("this is not a kind of values", "'reward' or 'cost'")
            tree.values = self.advance()
        else:
            tree.sets[name] = self.listing(word)

    def listing(self, word: Token) -> Listing:
        if self.now.kind == NUMBER:
            return Listing(word.place, self.advance(), ())
        names: list[Token] = []
        while self.now.kind == WORD and not self.at_statement():
            if self.now.text in RESERVED:
                self.now.fail(f"a word of the format cannot name one of the {word.text}", "a name")
            names.append(self.advance())
        if not names:
            self.now.fail(f"{word.text} are missing", "how many there are, or their names")
        return Listing(word.place, None, tuple(names))

    def at_statement(self) -> bool:
        """Whether a statement begins here, rather than a name that looks like its first word."""
        if self.now.text == "start":
            return self.after.kind == COLON or self.after.text in ("include", "exclude")
        return self.now.text in (*PREAMBLE, *TABLES) and self.after.kind == COLON

    def start(self, word: Token) -> None:
        if self.tree.start is not None:
            word.fail("this is declared twice")
        how = self.advance().text if self.now.text in ("include", "exclude") else ""
        self.take(COLON, "':'")
        states: list[Token] = []
        vector: tuple[Written, ...] = ()
        if how:
            while self.now.kind == NUMBER or (self.now.kind == WORD and not self.at_statement()):
                states.append(self.advance())
            if not states:
                self.now.fail(f"nothing to {how}", "states")
        elif self.now.kind == NUMBER:
            how, vector = "vector", self.numbers(signed=False)
        elif self.now.text == "uniform":
            how = self.advance().text
        elif self.now.kind == WORD and not self.at_statement():
            how, states = "include", [self.advance()]
        else:
            self.now.fail("the start is missing", "probabilities, a state or 'uniform'")
        self.tree.start = Start(word.place, how, tuple(states), vector)

    def entry(self, word: Token) -> None:
        self.take(COLON, "':'")
        keys = [self.key()]
        while self.now.kind == COLON:
            self.advance()
            if len(keys) == TABLES[word.text]:
                self.now.fail(f"{word.text} has {len(keys)} parts and no more", "a number")
            keys.append(self.key())
        shorthand, numbers = None, ()
        if self.now.kind == WORD and self.now.text in SHORTHAND:
            shorthand = self.advance()
        else:
            numbers = self.numbers(signed=word.text == "R")
        self.tree.entries.append(TableEntry(word.place, word.text, tuple(keys), shorthand, numbers))

    def key(self) -> Token:
        if self.now.kind not in (WORD, NUMBER, STAR) or self.now.text in RESERVED:
            self.now.fail("a part of this entry is missing", "a name, its number or '*'")
        return self.advance()

    def numbers(self, signed: bool) -> tuple[Written, ...]:
        found = [self.number("a number", signed)]
        while self.now.kind in (NUMBER, SIGN):
            found.append(self.number("a number", signed))
        return tuple(found)

    def number(self, expected: str, signed: bool = False) -> Written:
        place, sign = self.now.place, ""
        if signed and self.now.kind == SIGN:
            sign = self.advance().text
        if self.now.kind == SIGN and self.now.text == "-" and not signed:
            self.now.fail("this is a negative probability", "0 to 1")
        if self.now.kind != NUMBER:
            self.now.fail("a number is missing here", expected)
        return written(self.advance().text, place, sign == "-")

    def take(self, kind: str, expected: str) -> Token:
        if self.now.kind != kind:
            self.now.fail("something is missing here", expected)
        return self.advance()

    def advance(self) -> Token:
        token, self.now = self.now, self.after
        self.after = self.now if self.now.kind == END else next(self.tokens)
        return token


_TOKEN = re.compile(
    r"""
    (?P<blank>[ \t]+|\#[^\r\n]*)
  | (?P<newline>\r\n|\r|\n)
  | (?P<colon>:)
  | (?P<star>\*(?=[\s:#]|\Z))
  | (?P<sign>[+-](?=[ \t]*[0-9.]))
  | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?=[\s:#]|\Z))
  | (?P<word>[A-Za-z_][A-Za-z0-9_.-]*(?=[\s:#]|\Z))
  | (?P<wrong>[^\s:#]+|.)
    """,
    re.VERBOSE | re.ASCII,
)


class Token(NamedTuple):
    """One word, number or sign of the text."""

    kind: str
    text: str
    place: Place

    def fail(self, message: str, expected: str = "") -> NoReturn:
        """Refuse what stands here."""
        raise ParseError(message, self.place, self.text, expected)


def tokens(text: str) -> Iterator[Token]:
    """Cut `text`; the last token is the end, at the place where the text ends.

    Blanks and line ends only separate; `#` begins a comment. A word or number has to end where a
    separator or colon stands, so that `1.0.5` is a mistake and not two numbers.
    """
    line, line_start = 1, 0
    for match in _TOKEN.finditer(text):
        group = match.lastgroup
        place = Place(line, match.start() - line_start + 1)
        if group == "newline":
            line, line_start = line + 1, match.end()
        elif group == "wrong":
            names = "a name (letters, digits, '_', '-', '.', beginning with a letter)"
            said = "this is no word or number of the format"
            Token(group, match.group(), place).fail(said, f"{names}, a number, ':' or '*'")
        elif group != "blank" and group is not None:
            yield Token(group, match.group(), place)
    yield Token(END, "", Place(line, len(text) - line_start + 1))
