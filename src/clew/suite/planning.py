"""From runs to packs, decided once for a store.

Packs are what workers claim, so all workers on a store must agree on them, whatever machine each
runs on: the first one writes the plan, the others follow it. It says how large the packs are, and
which runs with different bonuses share a program. Both are decided for the first one's device. Some
plans say nothing of the latter: those made on a CPU, or without `share`, or on a GPU where joining
was not worth it, or by a version that did not join. A plan is changed by writing its next revision,
which one of several writers does and the others then see: when a pack was too large for the memory
of a device, when one with several bonuses failed, or when a person asks for another size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import jax

from clew.learner import Knobs, Pack, Program
from clew.learner.execution import runs_at_once
from clew.store import ENDED, LEFT_ALONE, Store, digest, scan
from clew.store.canonical import JsonObject
from clew.suite.packs import (
    Bonuses,
    Groups,
    PackSpec,
    cut,
    group_by_program,
    joined,
    program_key,
    runs_of,
)
from clew.suite.resuming import furthest, gather, held_by_another, learned, newest_checkpoints
from clew.suite.sharing import Joint, joinable, worth_joining
from clew.suite.spec import BonusSpec, RunSpec
from clew.suite.suite import Suite
from clew.validate import BadInput, whole_number

MOST = 256
"""Runs in a pack: beyond it an accelerator gains nothing."""
TRIES = 100
"""Attempts to write a revision while others write theirs."""


class SuitePlan:
    """The packs of a suite in one store, as the newest revision of the plan has them."""

    def __init__(self, store: Store, groups: Groups) -> None:
        """Made by `plan` and `existing_plan`: there must be one in the store."""
        self._store, self._groups, self._name = store, groups, _name(groups)
        self._joint: Joint = []
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
            joint, packs = _joint(found[1]), _packs(self._groups, found[1])
        except (TypeError, LookupError, ValueError) as error:
            raise BadInput(
                f"the plan {self._name} in {str(self._store.root)!r} does not fit this suite "
                f"({error!r}); move it away, and run the same command again"
            ) from None
        self.revision, self.packs, self._joint = found[0], packs, joint
        return True

    def split(self, pack: PackSpec) -> None:
        """Put smaller packs in the place of one that was too large; for the holder of its lease."""
        done, left = self._over_and_left(pack)
        parts = [done, *cut(left, (len(left) + 1) // 2)]
        self._replace(pack, _made_of(pack, parts))

    def separate(self, pack: PackSpec) -> None:
        """Plan what is left of a pack's program again, every bonus in its own program.

        For the holder of its lease, if the program has several bonuses. Packs that somebody else
        is training stay as they are.
        """
        self._revise(lambda packs: self._separated(packs, pack))

    def regroup(self, pack: PackSpec) -> bool:
        """See that a pack's runs can be trained and are equally far; for the holder of its lease.

        What another pack has learned of them is taken over. True if other packs had to be put in
        the place of this one.
        """
        done, left = self._over_and_left(pack)
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
                each.folder(self._store).checkpoints.clear()

    def resize(self, pack_size: int) -> None:
        """Plan again what nobody is training now, in packs of another size.

        Packs that have a checkpoint are cut, so that what they have learned is kept, and never
        joined.
        """
        whole_number("pack_size", pack_size, 1)
        self._revise(lambda packs: self._resized(packs, pack_size))

    def _separated(self, packs: list[PackSpec], failed: PackSpec) -> list[PackSpec]:
        parts: dict[PackSpec, list[PackSpec]] = {}
        for pack in packs:
            if pack == failed or (
                pack.alike(failed) and not self._held(pack.folder(self._store).name)
            ):
                done, left = self._over_and_left(pack)
                by_bonus: dict[BonusSpec, list[RunSpec]] = {}
                for run in left:
                    by_bonus.setdefault(run.own_bonus, []).append(run)
                alone = [PackSpec(tuple(runs), (bonus,)) for bonus, runs in by_bonus.items()]
                parts[pack] = _made_of(pack, [done]) + alone
        return _replaced(packs, parts)

    def _resized(self, packs: list[PackSpec], size: int) -> list[PackSpec]:
        parts: dict[PackSpec, list[PackSpec]] = {}
        loose: dict[object, list[RunSpec]] = {}
        first: dict[object, PackSpec] = {}
        for pack in packs:
            folder, (done, left) = pack.folder(self._store), self._over_and_left(pack)
            if not left or self._held(folder.name):
                continue
            if folder.checkpoints.paths():
                parts[pack] = _made_of(pack, [done, *cut(left, size)])
            else:
                parts[pack] = _made_of(pack, [done])
                key = program_key(pack.runs[0]), pack.bonuses
                first.setdefault(key, pack)
                loose.setdefault(key, []).extend(left)
        whole = [_made_of(first[key], cut(runs, size)) for key, runs in loose.items()]
        return _replaced(packs, parts) + [pack for packs in whole for pack in packs]

    def _over_and_left(self, pack: PackSpec) -> tuple[list[RunSpec], list[RunSpec]]:
        done = {run for run in pack.runs if self._store.run(run.config).status in LEFT_ALONE}
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
            numbers = {run: n for n, run in enumerate(runs_of(self._groups))}
            planned = _bonuses_of(self._groups, self._joint)
            apart = [n for n, pack in enumerate(new) if pack.bonuses != planned[pack.runs[0]]]
            parts = [[numbers[run] for run in pack.runs] for pack in new]
            data = _written(parts, self._joint, apart)
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
        store.propose(_name(groups), 1, _first_revision(groups, suite.share, pack_size, store))
    raise _stuck(store, _name(groups))


def preview(suite: Suite, store: Store | None, pack_size: int | None = None) -> list[PackSpec]:
    """The packs that `plan` would find or make. Writes nothing."""
    groups = group_by_program(suite)
    if store is not None and store.plan(_name(groups)) is not None:
        return SuitePlan(store, groups).packs
    return _packs(groups, _first_revision(groups, suite.share, pack_size, store))


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


def fitting_for_all(groups: Groups) -> int:
    """How many runs of any of the programs fit this device."""
    # what a bonus takes is little beside the rest, and tracing a program takes a second
    unlike = {program_key(group[0]): (bonuses, group) for bonuses, group in groups}
    return min(fitting_size(bonuses, group) for bonuses, group in unlike.values())


def fitting_size(bonuses: Bonuses, group: Sequence[RunSpec]) -> int:
    """How many runs fit this device: on a CPU those trained at once, else what its memory holds.

    As on a CPU too, if their environments step on the host.
    """
    device = jax.local_devices()[0]
    if device.platform == "cpu" or group[0].env.hosted:
        return runs_at_once()
    limit = (device.memory_stats() or {}).get("bytes_limit", 16e9)
    return int(max(1, min(MOST, 0.6 * limit // bytes_of(group[0].program(*bonuses)))))


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


def _first_revision(
    groups: Groups, share: bool, pack_size: int | None, store: Store | None
) -> JsonObject:
    """Packs of one size; where some runs have ended or begun in other packs, those apart."""
    ended = {row.identity for row in scan(store) if row.status in ENDED} if store else set()
    steps = furthest(newest_checkpoints(store)) if store else {}
    joint = joinable(groups, ended) if share else []
    size = fitting_for_all(joined(groups, joint)) if pack_size is None else pack_size
    whole_number("pack_size", size, 1)
    joint = [numbers for numbers in joint if worth_joining(groups, numbers, size, ended)]
    numbers = {run: n for n, run in enumerate(runs_of(groups))}
    packs: list[Sequence[int]] = []
    for _, group in joined(groups, joint):
        alike: dict[tuple[bool, int], list[int]] = {}
        for run in group:
            over = bool(ended) and run.identity in ended
            how_far = steps.get(run.identity, 0) if steps and not over else 0
            alike.setdefault((over, how_far), []).append(numbers[run])
        packs += [part for same in alike.values() for part in cut(same, size)]
    # as one number where that says the same: it is what a plan has always been
    data, plain = _written(packs, joint), {"pack_size": size}
    return plain if _packs(groups, data) == _packs(groups, plain) else data


def _name(groups: Groups) -> str:
    identity = digest([[run.identity for run in group] for _, group in groups])
    return f"plan-{identity[:16]}"


def _stuck(store: Store, name: str) -> BadInput:
    return BadInput(
        f"a file of {str(store.root / 'plans')!r} whose name begins with {name!r} can neither be "
        f"read nor replaced; move it away, and run the same command again"
    )


def _written(packs: Sequence[Sequence[int]], joint: Joint, apart: Sequence[int] = ()) -> JsonObject:
    """A revision: the runs of every pack, by their numbers, and which groups share a program.

    With such groups the packs have another name, so that a version of Clew that does not know
    of them refuses the plan, rather than train runs with each other's bonus. `apart` are the
    numbers of packs that are in the program of their own bonus nevertheless.
    """
    if not joint:
        return {"packs": packs}
    return {"joint": joint, "joint_packs": packs} | ({"apart": apart} if apart else {})


def _joint(data: JsonObject) -> Joint:
    return data.get("joint", [])


def _packs(groups: Groups, data: JsonObject) -> list[PackSpec]:
    """What a revision says: a size for all packs, or the runs of every pack by their numbers."""
    if "pack_size" in data:
        return [
            PackSpec(tuple(part), bonuses)
            for bonuses, group in groups
            for part in cut(group, data["pack_size"])
        ]
    joint, runs, apart = _joint(data), list(runs_of(groups)), set(data.get("apart", ()))
    bonuses_of, found = _bonuses_of(groups, joint), list[PackSpec]()
    for n, numbers in enumerate(data["joint_packs" if joint else "packs"]):
        of_pack = tuple(runs[number] for number in numbers)
        bonuses = (of_pack[0].own_bonus,) if n in apart else bonuses_of[of_pack[0]]
        found.append(PackSpec(of_pack, bonuses))
    return found


def _bonuses_of(groups: Groups, joint: Joint) -> dict[RunSpec, Bonuses]:
    """Of the program in which each run is planned."""
    return {run: bonuses for bonuses, group in joined(groups, joint) for run in group}


def _made_of(pack: PackSpec, parts: Sequence[Sequence[RunSpec]]) -> list[PackSpec]:
    """Packs of some runs of another, or of its group."""
    return [PackSpec(tuple(runs), pack.bonuses) for runs in parts if runs]


def _replaced(packs: list[PackSpec], parts: dict[PackSpec, list[PackSpec]]) -> list[PackSpec]:
    return [part for pack in packs for part in parts.get(pack, [pack])]
