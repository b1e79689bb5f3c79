"""From runs to packs, decided once for a store.

Packs are what workers claim, so all workers on a store must agree on them, whatever machine each
runs on: the first one writes the plan, the others follow it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import jax

from clew.learner import Knobs, Pack, Program
from clew.learner.execution import cores
from clew.store import Store, digest
from clew.suite.options import Options
from clew.suite.spec import RunSpec
from clew.suite.suite import Suite
from clew.validate import whole_number

Groups = list[tuple[tuple[str, Options], list[RunSpec]]]
"""A program's bonus, and the runs that it trains."""
MOST = 256
"""Runs in a pack: beyond it an accelerator gains nothing."""


class PackSpec(NamedTuple):
    """Runs that are trained side by side, in one program."""

    runs: tuple[RunSpec, ...]
    bonus: tuple[str, Options]
    """Of the program."""

    @property
    def program(self) -> Program:
        """What is compiled."""
        return self.runs[0].program(*self.bonus)

    @property
    def periods(self) -> int:
        """How many its budget pays for."""
        return self.runs[0].steps // self.runs[0].settings.period

    @property
    def pack(self) -> Pack:
        """For the learner."""
        program = self.program
        return Pack.join([run.pack(program) for run in self.runs])


def plan(suite: Suite, store: Store, pack_size: int | None = None) -> list[PackSpec]:
    """The packs of a suite in this store; `pack_size` counts only for whoever comes first."""
    groups = group_by_program(suite)
    if pack_size is None:
        # what a bonus takes is little beside the rest, and tracing a program takes a second
        unlike = {program_key(group[0]): (bonus, group) for bonus, group in groups}
        pack_size = min(fitting_size(*each) for each in unlike.values())
    proposed = {"pack_size": whole_number("pack_size", pack_size, 1)}
    return _packs(groups, store.agreed(_name(groups), proposed)["pack_size"])


def existing_plan(suite: Suite, store: Store) -> list[PackSpec] | None:
    """The packs that somebody has decided on; None if nobody has yet."""
    groups = group_by_program(suite)
    agreed = store.agreement(_name(groups))
    return None if agreed is None else _packs(groups, agreed["pack_size"])


def group_by_program(suite: Suite) -> Groups:
    """Runs by the program that trains them."""
    runs = suite.runs()
    shared_bonus: dict[object, tuple[str, Options]] = {}
    if suite.share:
        for run in runs:
            if run.bonus != "none":
                shared_bonus.setdefault(program_key(run), (run.bonus, run.bonus_options))
    groups: dict[object, list[RunSpec]] = {}
    bonus_of: dict[object, tuple[str, Options]] = {}
    for run in runs:
        own = (run.bonus, run.bonus_options)
        bonus = shared_bonus.get(program_key(run), own) if run.bonus == "none" else own
        key = (program_key(run), bonus)
        bonus_of[key] = bonus
        groups.setdefault(key, []).append(run)
    return [(bonus_of[key], group) for key, group in groups.items()]


def fitting_size(bonus: tuple[str, Options], group: Sequence[RunSpec]) -> int:
    """How many runs fit this device: on a CPU one a core, else what its memory holds."""
    device = jax.local_devices()[0]
    if device.platform == "cpu":
        return cores()
    limit = (device.memory_stats() or {}).get("bytes_limit", 16e9)
    return int(max(1, min(MOST, 0.6 * limit // bytes_of(group[0].program(*bonus)))))


@cache
def bytes_of(program: Program) -> int:
    """What one run of a pack takes on the device, roughly and rather too much.

    The state three times (donated, being updated, and Adam's update), and for a minibatch some
    sixty tensors of the memory's width in each of the two backbones, which is what the largest of
    the six, Mamba-2, was seen to hold.
    """
    state = Pack.single(program, 0, {}, Knobs()).state_shapes()
    held = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))
    s = program.settings
    rows = s.chunk * s.chunks_per_batch
    return 3 * held + 2 * 60 * 4 * rows * s.memory_width


def _name(groups: Groups) -> str:
    identity = digest([[run.identity for run in group] for _, group in groups])
    return f"plan-{identity[:16]}"


def _packs(groups: Groups, size: int) -> list[PackSpec]:
    return [
        PackSpec(tuple(group[start : start + size]), bonus)
        for bonus, group in groups
        for start in range(0, len(group), size)
    ]


def program_key(run: RunSpec) -> object:
    """Everything that a program is compiled for, but for the bonus."""
    return (
        run.environment,
        run.environment_options,
        run.architecture,
        run.architecture_options,
        run.settings,
        run.steps,
    )
