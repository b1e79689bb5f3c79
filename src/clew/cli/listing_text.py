"""What can be named, as text for a terminal: an overview, a page for a kind, one for a name."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from clew.cli.listing import SINGULAR, Listed, hyperparameters, problems
from clew.cli.next_steps import flags_typed
from clew.envs.registry import hosted
from clew.outline import REQUIRED, Option

INDENT, DEEP = " " * 2, " " * 6
HEADINGS = {
    "environments": "environments",
    "rewards": "rewards: what an environment pays for its events",
    "architectures": "architectures: the agent's memory",
    "bonuses": "bonuses: what exploring is paid",
    "suites": "suites: sets of runs, by name",
    "latents": "latents: what else `clew probe` can ask",
    "knobs": "knobs: hyperparameters that cost no compilation",
    "settings": "settings: hyperparameters that a program is compiled for",
}
ENDING = (
    "`clew list NAME` says more of one, with its options and examples. `clew list KIND` lists "
    "environments, rewards, architectures, bonuses, suites, latents, knobs or settings."
)
EXAMPLES: dict[str, Callable[[Listed], Sequence[str]]] = {
    "environments": lambda it: (
        f"{_train(it.name, next(iter(it.rewards), 'REWARD'))}{_options_flag(it)}",
        *([] if hosted(it.name) else [f"clew classify {it.name}"]),
    ),
    "architectures": lambda it: (
        f"{_train('TinyReproduce', 'dense', it.name)}{_options_flag(it)}",
    ),
    "bonuses": lambda it: (
        f"{_train('MysteryPath-Grid', 'sparse')} --bonus {it.name}{_options_flag(it)}",
    ),
    "suites": lambda it: (f"clew run {it.name} --dry-run", f"clew run {it.name} --store results"),
    "latents": lambda it: (f"clew probe SUITE --latent {it.name}",),
}


class Heading(str):
    """A line that begins a section."""

    __slots__ = ()


def overview(entries: Sequence[Listed], width: int) -> Iterator[str]:
    """A line or two for each name, kind by kind."""
    for kind in SINGULAR:
        rows = [(it.name, _in_short(it)) for it in entries if it.kind == kind]
        if rows:
            yield from (Heading(HEADINGS[kind]), *_columns(rows, width), "")
    for problem in problems():
        yield from (*_filled(problem, width, ""), "")
    yield textwrap.fill(ENDING, width)


def page_of_kind(kind: str, entries: Sequence[Listed], width: int) -> Iterator[str]:
    """Everything of one kind, with options and prices."""
    yield Heading(HEADINGS[kind])
    if kind in ("knobs", "settings"):
        yield from _options(hyperparameters(kind), width)
        return
    for it in entries:
        if kind == "rewards" and it.rewards and it.same_as == it.name:
            alike = sum(other.same_as == it.name for other in entries) > 1
            others = " (others of its world pay alike, at rates of their own)" if alike else ""
            yield from ("", f"{INDENT}{it.name}{others}")
            yield from _columns(_prices(it.rewards), width, DEEP)
        elif kind == it.kind:
            if it.same_as != it.name:
                yield from _columns([(it.name, _in_short(it))], width)
                continue
            yield from ("", f"{INDENT}{it.name}", *_filled(_in_short(it), width, DEEP))
            if it.options:
                yield from _filled(f"options: {_defaults(it.options)}", width, DEEP)


def page_of_name(it: Listed, width: int) -> Iterator[str]:
    """Everything of one name: description, rewards, events, options, examples."""
    kind = SINGULAR[it.kind]
    meant = f" ({_given(it.meant)})" if it.meant else ""
    yield Heading(f"{it.name}: {'an' if kind[0] in 'aeiou' else 'a'} {kind}{meant}")
    yield from ("", *_paragraphs(f"{it.about}\n\n{it.description}", width))
    yield from ("", f"from {it.origin}") if it.origin else ()
    if it.rewards:
        yield from ("", Heading("rewards"), *_columns(_prices(it.rewards), width))
    if any(it.events.values()):
        events = [(name, about.rstrip(".")) for name, about in it.events.items()]
        yield from ("", Heading("events"), *_columns(events, width))
    if it.options:
        yield from ("", Heading("options"), *_options(it.options, width))
    yield from _examples(EXAMPLES[it.kind](it), width)


def page_of_reward(name: str, entries: Sequence[Listed], width: int) -> Iterator[str]:
    """What a variant pays, in every environment that has it."""
    rows = [(it.name, price_words(it.rewards[name])) for it in entries if name in it.rewards]
    yield from (Heading(f"{name}: a reward variant"), "", *_columns(rows, width))
    yield from _examples([_train(rows[0][0], name)], width)


def price_words(prices: Mapping[str, float]) -> str:
    """`+1 for goal, −0.008 for fall`."""
    if not prices:
        return "depends on the environment's options"
    return ", ".join(
        f"{'−' if price < 0 else '+'}{abs(price):.3g} for {event}"
        for event, price in prices.items()
    )


def type_words(written: str) -> str:
    """A type as Python writes it, for somebody who types a value."""
    if choices := re.fullmatch(r"(?:\w+\.)*Literal\[(.*)\]", written):
        return " or ".join(each.strip(" '\"") for each in choices[1].split(","))
    known = {"bool": "true or false", "int": "whole number", "float": "number", "str": "text"}
    if several := re.fullmatch(r"(?:tuple|list|Sequence)\[(\w+)(?:, \.\.\.)?\]", written):
        return f"list of {known.get(several[1], several[1])}s"
    first, _, rest = written.partition(" | ")
    return known.get(first, first) + (f" or {rest.lower()}" if rest else "")


def value_text(value: object) -> str:
    """As TOML has it, but for text without quotation marks, and `none`, which TOML has not."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(value_text, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _in_short(it: Listed) -> str:
    if it.same_as != it.name:
        return f"the same with {_given(it.meant)}"
    return it.about + (f"\nrewards: {', '.join(it.rewards)}" if it.rewards else "")


def _prices(rewards: Mapping[str, Mapping[str, float]]) -> list[tuple[str, str]]:
    return [(name, price_words(prices)) for name, prices in rewards.items()]


def _options(options: Iterable[Option], width: int) -> Iterator[str]:
    for option in options:
        default = f"default {value_text(option.default)}"
        facts = (type_words(option.type), "needed" if option.default is REQUIRED else default)
        yield from _filled(f"{option.name} ({', '.join(filter(None, facts))})", width, INDENT)
        yield from _filled(option.about, width, DEEP) if option.about else ()


def _defaults(options: Iterable[Option]) -> str:
    return ", ".join(
        option.name if option.default is REQUIRED else _given({option.name: option.default})
        for option in options
    )


def _given(options: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value_text(value)}" for name, value in options.items())


def _train(environment: str, reward: str, architecture: str = "GRU") -> str:
    return (
        f"clew train {environment} --reward {reward} --architecture {architecture} --steps 1000000"
    )


def _options_flag(it: Listed) -> str:
    """What must be stated; else its first option, at its default, to show how one is given."""
    usual = (o for o in it.options if o.default not in (None, REQUIRED, ()))
    shown = it.needs or {option.name: option.default for option in islice(usual, 1)}
    words = " ".join(shlex.quote(_given({name: value})) for name, value in shown.items())
    return f" --{SINGULAR[it.kind]}-options {words}" if words else ""


def _examples(commands: Iterable[str], width: int) -> Iterator[str]:
    """With the modules that were named here, too.

    A command that is too long goes on in another line, as a shell has it.
    """
    yield from ("", Heading("examples"))
    for command in commands:
        line = INDENT
        for word in re.split(r" (?=--)", command + flags_typed()):
            if len(line) + len(word) + 3 > width:
                yield f"{line} \\"
                line = DEEP
            line += word if line.isspace() else f" {word}"
        yield line


def _columns(rows: Iterable[tuple[str, str]], width: int, indent: str = INDENT) -> Iterator[str]:
    """Names on the left, what is said of them on the right."""
    rows = list(rows)
    left = max((len(name) for name, _ in rows), default=0) + len(indent) + 2
    for name, about in rows:
        first, *more = _filled(about, width, " " * left)
        yield from (f"{indent}{name}".ljust(left) + first[left:], *more)


def _filled(text: str, width: int, indent: str) -> Iterator[str]:
    for line in text.split("\n"):
        yield textwrap.fill(
            line, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
        )


def _paragraphs(text: str, width: int) -> Iterator[str]:
    """Paragraphs filled anew; equations, which are indented, as they are."""
    for number, paragraph in enumerate(text.strip().split("\n\n")):
        yield from [""] if number else []
        yield paragraph if paragraph.startswith("  ") else textwrap.fill(paragraph, width)
