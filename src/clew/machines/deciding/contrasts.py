"""Two histories that look the same now: which a machine confuses, or every encoder tells apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from clew.machines.certificates.claims import History, Mixed, Pair, Sparse, Unencodable
from clew.machines.deciding.classify import Classification
from clew.machines.deciding.examine import Examination
from clew.machines.model.belief import BeliefCell, BeliefRow, Stepper


@dataclass(frozen=True)
class Contrast:
    """Two histories that end in one observation."""

    about: str
    """What is to be seen, in a sentence."""
    histories: tuple[History, History]
    action: int | None
    """After which something else may come; None if the next step is the same after both."""


def confused(examined: Examination) -> list[Contrast]:
    """What a given machine confuses, if it is not perfect."""
    mixed, machine = examined.perfect, examined.product.machine.name
    return [_mixed(machine + " confuses", mixed)] if isinstance(mixed, Mixed) else []


def contrasts(answer: Classification) -> list[Contrast]:
    """What the reward keeps apart, and what the machine of the verdict forgets."""
    return list(_contrasts(answer))


def _contrasts(answer: Classification) -> Iterator[Contrast]:
    if kept := _kept(answer):
        yield kept
    if isinstance(answer.verdict, Sparse):
        size = len(answer.verdict.product.machine.states)
        who = f"The machine of {size:,} state{'s' * (size > 1)} does not tell apart"
        yield _mixed(who, answer.verdict.mixed)


def _mixed(who: str, mixed: Mixed) -> Contrast:
    return Contrast(
        f"{who} these two histories, after which {mixed.product.pomdp.actions[mixed.action]!r} has "
        "different consequences",
        (mixed.first, mixed.second),
        mixed.action,
    )


def _kept(answer: Classification) -> Contrast | None:
    """A pair that every encoder keeps apart: if possible one that good play tells apart now."""
    facts, beliefs, best = answer.bound.distinctions, answer.beliefs, answer.best
    first: dict[int, int] = {}
    for cell, number in enumerate(facts.class_of):
        first.setdefault(number, cell)

    def differing(one: int, two: int) -> int | None:
        if max(one, two) >= len(beliefs.rows):
            return None
        rows = zip(beliefs.rows[one], beliefs.rows[two], strict=True)
        differ = [a for a, (row, other) in enumerate(rows) if row.joint is not other.joint]
        wanted = best.actions[one] + best.actions[two] if best else ()
        return next((a for a in wanted if a in differ), differ[0] if differ else None)

    def order(pair: Pair) -> tuple[bool, bool, int]:
        one, two = (first[number] for number in pair)
        shared = best is None or bool({*best.actions[one]} & {*best.actions[two]})
        return shared, differing(one, two) is None, one + two

    if not facts.route:
        return None
    one, two = sorted(first[number] for number in min(facts.route, key=order))
    who = (
        "Whatever encodes this reward, which takes infinitely many states, tells"
        if isinstance(answer.verdict, Unencodable)
        else "The reward forces every machine that encodes it to tell"
    )
    return Contrast(
        f"{who} these two histories apart, although they look the same now",
        (beliefs.history(one), beliefs.history(two)),
        differing(one, two),
    )


@dataclass(frozen=True)
class Future:
    """What comes after a history."""

    good: tuple[int, ...]
    """The optimal actions; none where they were not computed."""
    law: tuple[tuple[int, bool, Fraction, Fraction], ...]
    """(o', whether the episode is over, r, probability) after the action of the contrast."""


def future(answer: Classification, history: History, action: int | None) -> Future:
    """Bayes' rule along a history, and one step more."""
    step = Stepper(answer.pomdp)
    cell = next(cell for cell, _ in step.begin() if cell.observation == history[0])
    for done, seen in zip(history[1::2], history[2::2], strict=True):
        cell = next(c for c in step(cell.posterior, done)[0] if c.observation == seen)
    row: BeliefRow | None = None if action is None else step(cell.posterior, action)[1]
    return Future(_good(answer, cell), () if row is None else row.joint)


def _good(answer: Classification, cell: BeliefCell) -> tuple[int, ...]:
    best = answer.best
    return () if best is None else best.actions[best.beliefs.cells.index(cell)]
