"""From runs to packs, decided once for a store.

Packs are what workers claim, so all workers on a store must agree on them, whatever machine each
runs on: the first one writes the plan, the others follow it. A plan is changed by writing its next
revision, which one of several writers does and the others then see: when a pack was too large for
the memory of a device, or when a person asks for another size.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple, TypeVar

import jax

from clew.learner import Knobs, Pack, Program
from clew.learner.execution import runs_at_once
from clew.store import PackFolder, Store, digest, scan
from clew.store.canonical import JsonObject
from clew.suite.resuming import furthest, gather, held_by_another, learned, newest_checkpoints
from clew.suite.schema import Options
from clew.suite.spec import RunSpec
from clew.suite.suite import Suite
from clew.validate import BadInput, whole_number

T = TypeVar("T")
Groups = list[tuple[tuple[str, Options], list[RunSpec]]]
"""A program's bonus, and the runs that it trains."""
MOST = 256
"""Runs in a pack: beyond it an accelerator gains nothing."""
TRIES = 100
"""Attempts to write a revision while others write theirs."""
ENDED = ("finished", "failed", "diverged")


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
        return self.bonus == other.bonus and program_key(mine) == program_key(theirs)

    def folder(self, store: Store) -> PackFolder:
        """Where its checkpoints and results are."""
        return store.pack([run.config for run in self.runs])


class SuitePlan:
    """The packs of a suite in one store, as the newest revision of the plan has them."""

    def __init__(self, store: Store, groups: Groups) -> None:
        """Made by `plan` and `existing_plan`: there must be one in the store."""
        self._store, self._groups, self._name = store, groups, _name(groups)
        self.revision, self.packs = 0, list[PackSpec]()
        self.refresh()

    @property
    def periods(self) -> int:
        """Of all packs together."""
        return sum(pack.periods for pack in self.packs)

    def refresh(self) -> bool:
        """Follow the newest revision; whether it is another than before."""
        found = self._store.plan(self._name)
        if found is None or found[0] == self.revision:
            return False
        try:
            packs = _packs(self._groups, found[1])
        except (TypeError, LookupError, ValueError) as error:
            raise BadInput(
                f"the plan {self._name} in {str(self._store.root)!r} does not fit this suite "
                f"({error!r}); move it away, and run the same command again"
            ) from None
        self.revision, self.packs = found[0], packs
        return True

    def split(self, pack: PackSpec) -> None:
        """Put smaller packs in the place of one that was too large; for the holder of its lease."""
        done, left = self._ended_and_left(pack)
        parts = [done, *_cut(left, (len(left) + 1) // 2)]
        self._replace(pack, _made_of(pack, parts))

    def regroup(self, pack: PackSpec) -> bool:
        """See that a pack's runs have not ended and are equally far; for the holder of its lease.

        What another pack has learned of them is taken over. True if other packs had to be put in
        the place of this one.
        """
        done, left = self._ended_and_left(pack)
        for _ in range(TRIES):  # each that fails has put a damaged checkpoint away
            sources = learned(self._store, pack)
            by_step: dict[int, list[RunSpec]] = {}
            for run in left:
                by_step.setdefault(sources[run].step if run in sources else 0, []).append(run)
            if done or len(by_step) > 1:
                parts = [done, *(by_step[step] for step in sorted(by_step, reverse=True))]
                self._replace(pack, _made_of(pack, parts))
                return True
            if gather(self._store, pack, sources):
                break
        return False

    def clear_superseded(self) -> None:
        """Remove checkpoints that nobody will go on from: their runs are finished, or in others."""
        planned = {pack.folder(self._store).name for pack in self.packs}
        every = list(newest_checkpoints(self._store))
        here = furthest(each for each in every if each.name in planned)
        for each in every:
            needless = (
                (each.name not in planned and here.get(identity, -1) >= each.step)
                or self._store.run(run).find(deep=False).status in ("finished", "diverged")
                for run, identity in zip(each.runs, each.identities, strict=True)
            )
            if all(needless) and not held_by_another(self._store, each.name):
                self._store.pack(each.runs).checkpoints.clear()

    def resize(self, pack_size: int) -> None:
        """Plan again what nobody is training now, in packs of another size.

        Packs that have a checkpoint are cut, so that what they have learned is kept, and never
        joined.
        """
        whole_number("pack_size", pack_size, 1)
        self._revise(lambda packs: self._resized(packs, pack_size))

    def _resized(self, packs: list[PackSpec], size: int) -> list[PackSpec]:
        parts: dict[PackSpec, list[PackSpec]] = {}
        loose: dict[object, list[RunSpec]] = {}
        first: dict[object, PackSpec] = {}
        for pack in packs:
            folder, (done, left) = pack.folder(self._store), self._ended_and_left(pack)
            if not left or self._held(folder.name):
                continue
            if folder.checkpoints.paths():
                parts[pack] = _made_of(pack, [done, *_cut(left, size)])
            else:
                parts[pack] = _made_of(pack, [done])
                key = program_key(pack.runs[0]), pack.bonus
                first.setdefault(key, pack)
                loose.setdefault(key, []).extend(left)
        joined = [_made_of(first[key], _cut(runs, size)) for key, runs in loose.items()]
        return _replaced(packs, parts) + [pack for packs in joined for pack in packs]

    def _ended_and_left(self, pack: PackSpec) -> tuple[list[RunSpec], list[RunSpec]]:
        done = {run for run in pack.runs if self._store.run(run.config).status in ENDED}
        left = [run for run in pack.runs if run not in done]
        return [run for run in pack.runs if run in done], left

    def _held(self, name: str) -> bool:
        holder = self._store.claims().holder(name)
        return holder is not None and not holder.dead()

    def _replace(self, pack: PackSpec, parts: list[PackSpec]) -> None:
        self._revise(lambda packs: _replaced(packs, {pack: parts}))

    def _revise(self, change: Callable[[list[PackSpec]], list[PackSpec]]) -> None:
        """Write the next revision. If somebody else does so first, change theirs."""
        for _ in range(TRIES):
            self.refresh()
            old, new = self.packs, change(self.packs)
            if new == old:
                return
            for pack in new:
                if pack not in old:
                    alike = {each.folder(self._store).name for each in old if each.alike(pack)}
                    gather(self._store, pack, learned(self._store, pack, alike))
            numbers = {run: n for n, run in enumerate(_runs(self._groups))}
            data = {"packs": [[numbers[run] for run in pack.runs] for pack in new]}
            if self._store.propose(self._name, self.revision + 1, data):
                self.refresh()
                self.clear_superseded()
                return
        raise _stuck(self._store, self._name)


def plan(suite: Suite, store: Store, pack_size: int | None = None) -> SuitePlan:
    """The packs of a suite in this store; only the first worker's `pack_size` counts."""
    groups = group_by_program(suite)
    for _ in range(TRIES):
        if store.plan(_name(groups)) is not None:
            return SuitePlan(store, groups)
        store.propose(_name(groups), 1, _first_revision(groups, pack_size, store))
    raise _stuck(store, _name(groups))


def preview(suite: Suite, store: Store | None, pack_size: int | None = None) -> list[PackSpec]:
    """The packs that `plan` would find or make. Writes nothing."""
    groups = group_by_program(suite)
    if store is not None and store.plan(_name(groups)) is not None:
        return SuitePlan(store, groups).packs
    return _packs(groups, _first_revision(groups, pack_size, store))


def existing_plan(suite: Suite, store: Store) -> SuitePlan | None:
    """The plan that somebody has made; None if nobody has yet."""
    groups = group_by_program(suite)
    return None if store.plan(_name(groups)) is None else SuitePlan(store, groups)


def retry_failed(suite: Suite, store: Store, pack_size: int | None = None) -> None:
    """Let runs that failed or diverged be trained again, in packs of another size if one is given.

    To be called once, before any worker starts: one that starts later must not forget what failed
    meanwhile.
    """
    for run in suite.runs():
        store.run(run.config).retry()
    if pack_size is not None and (made := existing_plan(suite, store)) is not None:
        made.resize(pack_size)


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


def fitting_for_all(groups: Groups) -> int:
    """How many runs of any of the programs fit this device."""
    # what a bonus takes is little beside the rest, and tracing a program takes a second
    unlike = {program_key(group[0]): (bonus, group) for bonus, group in groups}
    return min(fitting_size(bonus, group) for bonus, group in unlike.values())


def fitting_size(bonus: tuple[str, Options], group: Sequence[RunSpec]) -> int:
    """How many runs fit this device: on a CPU those trained at once, else what its memory holds.

    As on a CPU too, if their environments step on the host.
    """
    device = jax.local_devices()[0]
    if device.platform == "cpu" or group[0].env.hosted:
        return runs_at_once()
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


def _first_revision(groups: Groups, pack_size: int | None, store: Store | None) -> JsonObject:
    """Packs of one size; where some runs have ended or begun in other packs, those apart."""
    size = fitting_for_all(groups) if pack_size is None else pack_size
    whole_number("pack_size", size, 1)
    ended = {row.identity for row in scan(store) if row.status in ENDED} if store else set()
    steps = furthest(newest_checkpoints(store)) if store else {}
    packs: list[Sequence[int]] = []
    numbers = itertools.count()
    for _, group in groups if ended or steps else ():
        alike: dict[tuple[bool, int], list[int]] = {}
        for run, number in zip(group, numbers, strict=False):
            over = run.identity in ended
            how_far = over, 0 if over else steps.get(run.identity, 0)
            alike.setdefault(how_far, []).append(number)
        packs += [part for same in alike.values() for part in _cut(same, size)]
    # as one number where that says the same: it is what a plan has always been
    same = _packs(groups, {"packs": packs}) == _packs(groups, {"pack_size": size})
    return {"packs": packs} if packs and not same else {"pack_size": size}


def _name(groups: Groups) -> str:
    identity = digest([[run.identity for run in group] for _, group in groups])
    return f"plan-{identity[:16]}"


def _stuck(store: Store, name: str) -> BadInput:
    return BadInput(
        f"a file of {str(store.root / 'plans')!r} whose name begins with {name!r} can neither be "
        f"read nor replaced; move it away, and run the same command again"
    )


def _runs(groups: Groups) -> Iterator[RunSpec]:
    """In the order in which a plan numbers them."""
    return (run for _, group in groups for run in group)


def _packs(groups: Groups, data: JsonObject) -> list[PackSpec]:
    """What a revision says: a size for all packs, or the runs of every pack by their numbers."""
    if "packs" not in data:
        return [
            PackSpec(tuple(part), bonus)
            for bonus, group in groups
            for part in _cut(group, data["pack_size"])
        ]
    runs = list(_runs(groups))
    bonus_of = [bonus for bonus, group in groups for _ in group]
    return [PackSpec(tuple(runs[n] for n in pack), bonus_of[pack[0]]) for pack in data["packs"]]


def _cut(runs: Sequence[T], size: int) -> list[Sequence[T]]:
    return [runs[start : start + size] for start in range(0, len(runs), size)]


def _made_of(pack: PackSpec, parts: Sequence[Sequence[RunSpec]]) -> list[PackSpec]:
    """Packs of some runs of another, or of its group."""
    return [PackSpec(tuple(runs), pack.bonus) for runs in parts if runs]


def _replaced(packs: list[PackSpec], parts: dict[PackSpec, list[PackSpec]]) -> list[PackSpec]:
    return [part for pack in packs for part in parts.get(pack, [pack])]
