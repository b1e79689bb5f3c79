"""The states, actions and observations that a `.POMDP` file declares, and references to them."""

from __future__ import annotations

from collections.abc import Sequence

from clew.machines.formats.cassandra.lexer import NUMBER, STAR, Token
from clew.machines.formats.cassandra.tree import SETS, Listing, Tree
from clew.machines.formats.limits import Limits
from clew.machines.formats.place import ParseError
from clew.validate import hint

LONGEST_COUNT = 18
"""Digits of a count or an index; more is refused without being converted."""


class Names:
    """Declared names by kind ("states", …), and what a reference to one of them means."""

    def __init__(self, tree: Tree, limits: Limits):
        counts = {kind: _count(tree.sets[kind]) for kind in SETS}
        limits.of_tables(tree.sets["states"].place, **counts)
        self.of = {kind: _names(tree.sets[kind], counts[kind]) for kind in SETS}
        self._index = {
            kind: {name: i for i, name in enumerate(names)} for kind, names in self.of.items()
        }

    def find(self, token: Token, kind: str) -> Sequence[int]:
        """The indices that `token`, a name, a number from 0 or a wildcard, stands for."""
        names = self.of[kind]
        if token.kind == STAR:
            return range(len(names))
        if token.kind == NUMBER:
            index = _whole(token, f"number of one of the {kind}")
            if index >= len(names):
                span = f"a number from 0 to {len(names) - 1}, a name or '*'"
                raise ParseError(f"there are {len(names)} {kind}", token.place, token.text, span)
            return (index,)
        if token.text not in self._index[kind]:
            near = hint(token.text, names)
            raise ParseError(
                f"this is none of the {kind}{near}",
                token.place,
                token.text,
                f"a name that '{kind}:' lists, its number or '*'",
            )
        return (self._index[kind][token.text],)


def _count(listing: Listing) -> int:
    if listing.count is None:
        return len(listing.names)
    count = _whole(listing.count, "count")
    if count < 1:
        raise ParseError(
            "there has to be one", listing.count.place, listing.count.text, "1 or more"
        )
    return count


def _names(listing: Listing, count: int) -> tuple[str, ...]:
    if listing.count is not None:
        return tuple(str(i) for i in range(count))
    seen: set[str] = set()
    for token in listing.names:
        if token.text in seen:
            raise ParseError("this name is listed twice", token.place, token.text)
        seen.add(token.text)
    return tuple(token.text for token in listing.names)


def _whole(token: Token, what: str) -> int:
    if not token.text.isdigit() or len(token.text) > LONGEST_COUNT:
        raise ParseError(
            f"this is no {what}",
            token.place,
            token.text,
            f"a whole number of at most {LONGEST_COUNT} digits",
        )
    return int(token.text)
