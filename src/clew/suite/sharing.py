"""Which runs with different bonuses are trained in one program.

An accelerator is filled better by one large pack than by several small ones, and one program is
compiled sooner than two. But every run then computes all the bonuses. A CPU trains run by run: it
would only have more to compute.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import jax

from clew.suite.packs import Bonuses, Groups, cut, joined, program_key
from clew.suite.rates import PER_PACK, guess
from clew.suite.spec import NONE, RunSpec, make_bonus

Joint = list[list[int]]
"""Numbers of the groups that are put together."""


def joinable(groups: Groups, ended: Collection[str | None]) -> Joint:
    """Groups that could be put together on this device.

    They have runs left to train. They agree in all but the bonus, and in `normalise` and `clip`.
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
    """Whether these groups are trained sooner together, in packs of this size."""
    left = [(groups[number][0], _left(groups[number][1], ended)) for number in numbers]
    return seconds(joined(left, [range(len(left))]), size) < seconds(left, size)


def seconds(groups: Groups, size: int) -> float:
    """What an accelerator takes for them, roughly: each is compiled, and then trained."""
    total = 0.0
    for bonuses, runs in groups:
        program, rate = runs[0].program(NONE), None
        for part in cut(runs, size):
            rate = guess(program, len(part), "gpu", bonuses=computed(bonuses))
            total += PER_PACK + runs[0].steps * rate.seconds_per_step
        total += rate.compile if rate else 0.0
    return total


def computed(bonuses: Bonuses) -> int:
    """How many of them there are, without "none": that is nothing to compute."""
    return len(set(bonuses) - {NONE})


def _left(runs: Sequence[RunSpec], ended: Collection[str | None]) -> list[RunSpec]:
    return [run for run in runs if not (ended and run.identity in ended)]
