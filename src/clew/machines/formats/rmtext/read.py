"""Reward-machine text into a `RewardMachine`.

    0                                            # initial state
    [2]                                          # terminal states
    (0,1,'e&!n',ConstantRewardFunction(0))       # from, to, formula, reward

Formulas of a state are tried in the order of the file and the first that is true counts; where
none is, the episode ends and nothing is paid.
"""  # fmt: skip

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from clew.machines.formats.numbers import written
from clew.machines.formats.rmtext.formula import (
    Formula,
    holds,
    parse_formula,
    propositions,
    subsets,
)
from clew.machines.formats.text import LIMITS, Limits, ParseError, Place
from clew.machines.model.reward_machine import Edge, Label, RewardMachine

CONSTANT = "ConstantRewardFunction"
# no two parts of a pattern can share a run of blanks or digits: matching stays linear
_STATE = r"(-?[0-9]{1,18})"
_STATES = r"-?[0-9]{1,18}(?:\s*,\s*-?[0-9]{1,18})*"
_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_TAIL = r"\s*(?:\#.*)?"
_INITIAL = re.compile(rf"\s*{_STATE}{_TAIL}")
_TERMINAL = re.compile(rf"\s*\[\s*(?:({_STATES})\s*(?:,\s*)?)?\]{_TAIL}")
_EDGE = re.compile(
    rf"\s*\(\s*{_STATE}\s*,\s*{_STATE}\s*,\s*(?:'([^'\\]*)'|\"([^\"\\]*)\")\s*,\s*([A-Za-z_]\w*)\s*"
    rf"\(\s*(?:({_NUMBER})\s*(?:/\s*([0-9]+)\s*)?)?\)\s*\){_TAIL}"
)


@dataclass(frozen=True)
class _Rule:
    source: int
    target: int
    formula: Formula
    reward: Fraction
    place: Place


def parse_machine(text: str, name: str = "machine", limits: Limits = LIMITS) -> RewardMachine:
    """Read a machine; its states are named by their numbers."""
    lines = _lines(text)
    initial = _initial(*next(lines))
    terminal = _terminal(*next(lines))
    rules = [_rule(line, place) for line, place in lines if line.strip()]
    _refuse_contradictions(rules)
    rules = [rule for rule in rules if rule.source not in terminal]
    numbers = {initial, *terminal, *(r.source for r in rules), *(r.target for r in rules)}
    known = sorted({p for rule in rules for p in propositions(rule.formula)})
    size = len(numbers) * 2 ** min(len(known), 64)
    where = f"{len(numbers)} states and {len(known)} propositions make too many labels"
    limits.check("labels", size, Place(1, 1), where)
    return _machine(name, initial, terminal, rules, numbers, list(subsets(known)))


def _machine(
    name: str,
    initial: int,
    terminal: list[int],
    rules: list[_Rule],
    numbers: set[int],
    labels: list[Label],
) -> RewardMachine:
    falls = terminal[0] if terminal else min(-1, min(numbers) - 1)
    rows: dict[int, dict[Label, Edge]] = {}
    for u in sorted(numbers - set(terminal)):
        mine = [rule for rule in rules if rule.source == u]
        fits = {label: next((r for r in mine if holds(r.formula, label)), None) for label in labels}
        ways = {
            label: (rule.target, rule.reward) if rule else (falls, Fraction(0))
            for label, rule in fits.items()
        }
        rows[u] = {label: Edge(*way) for label, way in ways.items() if way != (u, 0)}
    named = {p for row in rows.values() for label in row for p in label}
    for u in list(rows)[:1]:  # those that only keep a formula from being true are named as well
        rows[u] |= {frozenset({p}): Edge(u, Fraction(0)) for p in sorted(labels[-1] - named)}
    if any(edge.state == falls for row in rows.values() for edge in row.values()):
        terminal = terminal or [falls]
    order = {u: place for place, u in enumerate(sorted({*numbers, *terminal}))}
    return RewardMachine(
        tuple(str(u) for u in order),
        tuple(
            {label: Edge(order[e.state], e.reward) for label, e in rows.get(u, {}).items()}
            for u in order
        ),
        order[initial],
        frozenset(order[u] for u in terminal),
        name,
    )


def _lines(text: str) -> Iterator[tuple[str, Place]]:
    """The lines; two at least, empty if need be, so that an error can point at them."""
    number = 0
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        yield line, Place(number, 1)
    yield from (("", Place(n, 1)) for n in range(number + 1, 3))


def _initial(line: str, place: Place) -> int:
    match = _INITIAL.fullmatch(line)
    if match is None:
        raise ParseError("the first line is the initial state", place, line, "a whole number")
    return int(match[1])


def _terminal(line: str, place: Place) -> list[int]:
    match = _TERMINAL.fullmatch(line)
    if match is None:
        wanted = "whole numbers in brackets, for example [2] or []"
        raise ParseError("the second line is the terminal states", place, line, wanted)
    return [int(part) for part in match[1].split(",")] if match[1] else []


def _rule(line: str, place: Place) -> _Rule:
    match = _EDGE.fullmatch(line)
    if match is None:
        wanted = f"(from, to, 'formula', {CONSTANT}(number))"
        column = len(line) - len(line.lstrip()) + 1
        raise ParseError("this is no transition", Place(place.line, column), line.strip(), wanted)
    source, target, _, _, function, number, denominator = match.groups()
    if function != CONSTANT or number is None:
        where = Place(place.line, match.start(5) + 1)
        wanted = f"{CONSTANT} and a number: other rewards depend on a simulator"
        raise ParseError("this reward is no constant", where, function, wanted)
    where = Place(place.line, match.start(6) + 1)
    value = written(number.lstrip("+-"), where, number.startswith("-")).value
    below = written(denominator, where).value if denominator else Fraction(1)
    if not below:
        raise ParseError("this divides by zero", where, denominator, "another number")
    group = 3 if match[3] is not None else 4
    formula = parse_formula(match[group], Place(place.line, match.start(group) + 1))
    return _Rule(int(source), int(target), formula, value / below, Place(place.line, 1))


def _refuse_contradictions(rules: list[_Rule]) -> None:
    """One formula of one state that stands twice and means two things."""
    seen: dict[tuple[int, Formula], _Rule] = {}
    for rule in rules:
        first = seen.setdefault((rule.source, rule.formula), rule)
        if (first.target, first.reward) != (rule.target, rule.reward):
            raise ParseError(
                f"state {rule.source} has this formula already, with another target or reward, "
                f"at {first.place}",
                rule.place,
            )
