"""Which runs can be trained in one program, and a pack of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

from clew.learner import Pack, Program
from clew.store import PackFolder, Store
from clew.suite.spec import NONE, BonusSpec, RunSpec, bonus_name
from clew.suite.suite import Suite

T = TypeVar("T")
Bonuses = tuple[BonusSpec, ...]
"""Of a program: one, or several of which each run has one."""
Groups = list[tuple[Bonuses, list[RunSpec]]]
"""A program's bonuses, and the runs that it trains."""


class PackSpec(NamedTuple):
    """Runs that are trained side by side, in one program."""

    runs: tuple[RunSpec, ...]
    bonuses: Bonuses
    """Of the program."""

    @property
    def program(self) -> Program:
        """What is compiled."""
        return self.runs[0].program(*self.bonuses)

    @property
    def joint(self) -> bool:
        """Whether its program has several bonuses."""
        return len(self.bonuses) > 1

    @property
    def periods(self) -> int:
        """How many evaluation periods its steps allow."""
        return self.runs[0].steps // self.runs[0].settings.period

    @property
    def pack(self) -> Pack:
        """For the learner."""
        program = self.program
        return Pack.join([run.pack(program) for run in self.runs])

    def alike(self, other: PackSpec) -> bool:
        """Whether both are of one program."""
        mine, theirs = self.runs[0], other.runs[0]
        return self.bonuses == other.bonuses and program_key(mine) == program_key(theirs)

    def same_program(self, other: PackSpec) -> bool:
        """Whether an accelerator has one program for both: it is compiled for a number of runs."""
        return len(self.runs) == len(other.runs) and self.alike(other)

    def folder(self, store: Store) -> PackFolder:
        """Where its checkpoints and results are."""
        # a pack in a program with one bonus is named by its runs alone, as it always was
        names = sorted(map(bonus_name, self.bonuses)) if self.joint else []
        return store.pack([run.config for run in self.runs], names)


def program_key(run: RunSpec) -> object:
    """Everything that a program is compiled for, except the bonus."""
    return (
        run.environment,
        run.environment_options,
        run.architecture,
        run.architecture_options,
        run.settings,
        run.steps,
    )


def group_by_program(suite: Suite) -> Groups:
    """Runs by program, one for every bonus; with `share`, those without are in another's.

    A plan is named after these groups and numbers its runs by them, also if it joins some.
    """
    runs = suite.runs()
    shared_bonus: dict[object, BonusSpec] = {}
    if suite.share:
        for run in runs:
            if run.bonus != NONE[0]:
                shared_bonus.setdefault(program_key(run), run.own_bonus)
    groups: dict[tuple[object, BonusSpec], list[RunSpec]] = {}
    for run in runs:
        key = program_key(run)
        bonus = shared_bonus.get(key, NONE) if run.bonus == NONE[0] else run.own_bonus
        groups.setdefault((key, bonus), []).append(run)
    return [((bonus,), group) for (_, bonus), group in groups.items()]


def joined(groups: Groups, joint: Sequence[Sequence[int]]) -> Groups:
    """The same with some put together, by their numbers, in one program with all their bonuses."""
    parts = {numbers[0]: numbers for numbers in joint}
    inside = {number for numbers in joint for number in numbers[1:]}
    found: Groups = []
    for number, group in enumerate(groups):
        if number in parts:
            runs = [run for part in parts[number] for run in groups[part][1]]
            found.append((tuple(dict.fromkeys(run.own_bonus for run in runs)), runs))
        elif number not in inside:
            found.append(group)
    return found


def runs_of(groups: Groups) -> Iterator[RunSpec]:
    """In the order in which a plan numbers them."""
    return (run for _, group in groups for run in group)


def cut(runs: Sequence[T], size: int) -> list[Sequence[T]]:
    """Parts of one size, and what is left."""
    return [runs[start : start + size] for start in range(0, len(runs), size)]
