"""Whether runs with different bonuses are trained in one program, and which.

An accelerator is filled better by one large pack than by several small ones, and one program is
compiled sooner than two; but every run then computes all the bonuses. A CPU trains run by run: it
would only compute more.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import jax

from clew.store import Store
from clew.suite.packs import Bonuses, Groups, PackSpec, cut, joined, program_key
from clew.suite.rates import PER_PACK, guess
from clew.suite.resuming import learned
from clew.suite.spec import NONE, RunSpec, make_bonus

Joint = list[list[int]]
"""Numbers of the groups that are put together."""


def joinable(groups: Groups, ended: Collection[str | None]) -> Joint:
    """Groups that one program could train on this device, of those that have a run to train.

    They agree in all but the bonus, and in what is done to its scores.
    """
    if jax.local_devices()[0].platform == "cpu":
        return []
    found: dict[object, list[int]] = {}
    for number, ((bonus, *_), runs) in enumerate(groups):
        # environments on the host are trained run by run, too
        if not runs[0].env.hosted and _left(runs, ended):
            made = make_bonus((bonus,))
            key = program_key(runs[0]), made.normalise, made.clip
            found.setdefault(key, []).append(number)
    return [numbers for numbers in found.values() if len(numbers) > 1]


def worth_joining(
    groups: Groups, numbers: Sequence[int], size: int, ended: Collection[str | None]
) -> bool:
    """Whether these groups would be trained sooner together, in packs of this size."""
    left = [(groups[number][0], _left(groups[number][1], ended)) for number in numbers]
    return seconds(joined(left, [range(len(left))]), size) < seconds(left, size)


def seconds(groups: Groups, size: int) -> float:
    """That an accelerator would take for them, roughly: compiled, and trained one by one."""
    total = 0.0
    for bonuses, runs in groups:
        program, rate = runs[0].program(NONE), None
        for part in cut(runs, size):
            rate = guess(program, len(part), "gpu", bonuses=computed(bonuses))
            total += PER_PACK + runs[0].steps * rate.seconds_per_step
        total += rate.compile if rate else 0.0
    return total


def computed(bonuses: Bonuses) -> int:
    """How many of them are anything to compute."""
    return len(set(bonuses) - {NONE})


def goes_on(store: Store, groups: Groups, numbers: Sequence[int]) -> bool:
    """Whether no less of what the store has learned of their runs is gone on from, if joined.

    What was begun in another program starts again.
    """
    apart = [groups[number] for number in numbers]
    together = joined(apart, [range(len(apart))])
    return _learned(store, together) >= _learned(store, apart)


def _learned(store: Store, groups: Groups) -> int:
    """Periods, of all runs together."""
    packs = [PackSpec(tuple(runs), bonuses) for bonuses, runs in groups]
    return sum(each.step for pack in packs for each in learned(store, pack).values())


def _left(runs: Sequence[RunSpec], ended: Collection[str | None]) -> list[RunSpec]:
    return [run for run in runs if not (ended and run.identity in ended)]
