"""Formulas in disjunctive normal form, as the format writes them: `a&!b|c`, `True`, `False`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from clew.machines.formats.text import ParseError, Place
from clew.machines.model.reward_machine import Label

_LITERAL = re.compile(r"(\s*)((?:!\s*)*)([^\s!&|()'\",\\#]+)\s*")


@dataclass(frozen=True)
class Clause:
    """A conjunction of literals."""

    true: Label
    false: Label

    def holds(self, label: Label) -> bool:
        """Whether exactly the propositions of `label` being true makes the clause true."""
        return self.true <= label and not self.false & label


Formula = tuple[Clause, ...]
"""A disjunction of clauses; without any it is false."""


def holds(formula: Formula, label: Label) -> bool:
    """Whether exactly the propositions of `label` being true makes the formula true."""
    return any(clause.holds(label) for clause in formula)


def propositions(formula: Formula) -> Label:
    """The propositions that a formula speaks of."""
    return frozenset().union(*(clause.true | clause.false for clause in formula))


def parse_formula(text: str, place: Place) -> Formula:
    """Read a formula whose first character stands at `place`."""
    clauses: list[Clause] = []
    at = 0
    for part in text.split("|"):
        clause = _clause(part, Place(place.line, place.column + at))
        if clause is not None:
            clauses.append(clause)
        at += len(part) + 1
    return tuple(clauses)


def _clause(text: str, place: Place) -> Clause | None:
    """A conjunction; None for one that is never true."""
    sides: tuple[set[str], set[str]] = (set(), set())
    possible, at = True, 0
    for part in text.split("&"):
        match = _LITERAL.fullmatch(part)
        if match is None:
            where = Place(place.line, place.column + at + len(part) - len(part.lstrip()))
            wanted = "a proposition, '!' and a proposition, 'True' or 'False'"
            raise ParseError("this is no part of a formula", where, part.strip() or None, wanted)
        denied = match[2].count("!") % 2
        if match[3] in ("True", "False"):
            possible = possible and (match[3] == "True") != bool(denied)
        else:
            sides[denied].add(match[3])
        at += len(part) + 1
    clause = Clause(frozenset(sides[0]), frozenset(sides[1]))
    return clause if possible and not clause.true & clause.false else None


def subsets(names: Sequence[str]) -> Iterable[Label]:
    """All sets of propositions, small ones first."""
    for size in range(len(names) + 1):
        yield from map(frozenset, combinations(names, size))


def formula_text(labels: Iterable[Label], names: Sequence[str]) -> str:
    """A short formula over `names` that is true for exactly these labels (Quine, McCluskey)."""
    wanted = set(labels)
    clauses = _prime({Clause(label, frozenset(names) - label) for label in wanted})
    chosen: list[Clause] = []
    while wanted:
        best = max(
            clauses, key=lambda c: (sum(map(c.holds, wanted)), -len(c.true | c.false), _text(c))
        )
        chosen.append(best)
        wanted = {label for label in wanted if not best.holds(label)}
    return "|".join(_text(clause) for clause in chosen) or "False"


def _prime(clauses: set[Clause]) -> set[Clause]:
    """The shortest clauses that cover nothing more: merge any two that differ in one sign."""
    prime: set[Clause] = set()
    while clauses:
        merged: set[Clause] = set()
        used: set[Clause] = set()
        for clause in clauses:
            for name in clause.true:
                other = Clause(clause.true - {name}, clause.false | {name})
                if other in clauses:
                    used |= {clause, other}
                    merged.add(Clause(other.true, clause.false))
        prime |= clauses - used
        clauses = merged
    return prime


def _text(clause: Clause) -> str:
    signs = dict.fromkeys(clause.true, "") | dict.fromkeys(clause.false, "!")
    return "&".join(signs[name] + name for name in sorted(signs)) or "True"
