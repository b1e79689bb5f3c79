"""What has been learned of a run, whichever pack it was trained in.

A checkpoint is a pack's, for one file is written faster than many; but all its arrays begin with an
axis over runs. So a run can go on in any pack whose other runs are as far, also in a program with
other bonuses (`rows`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clew.store import CannotRead, Damaged, PackFolder, Store, digest
from clew.store.canonical import JsonObject
from clew.store.checkpoints import about_checkpoint, checkpoints_in
from clew.suite.rows import Row, fitted, layout, layout_of, usable
from clew.suite.spec import NONE
from clew.validate import BadInput

if TYPE_CHECKING:
    from clew.suite.packs import PackSpec
    from clew.suite.spec import RunSpec

RECORD = "record/"
SPENT = "seconds"
"""In a checkpoint, what the pack took so far. All its other arrays begin with an axis over runs."""


class PackCheckpoint(NamedTuple):
    """The newest checkpoint of a pack, as it describes itself."""

    path: Path
    step: int
    runs: list[JsonObject]
    """Configurations."""
    bonuses: list[str]
    """Names of the program's bonuses. Empty if it has one: the pack is then named by its runs."""
    identities: list[str]

    @property
    def name(self) -> str:
        """Of the pack."""
        return self.path.parent.name

    @property
    def joint(self) -> bool:
        """Whether its program has several bonuses."""
        return len(self.bonuses) > 1

    @property
    def tells_program(self) -> bool:
        """Whether all packs of this name are of one program.

        Runs without a bonus may have been trained in the program of any.
        """
        return self.joint or any(run["bonus"] != NONE[0] for run in self.runs)

    def folder(self, store: Store) -> PackFolder:
        """Of the pack."""
        return store.pack(self.runs, self.bonuses)


def newest_checkpoints(store: Store) -> Iterator[PackCheckpoint]:
    """Of every pack that has one."""
    for folder in store.pack_folders():
        for path in checkpoints_in(folder):
            try:
                step, config = about_checkpoint(path)
                identities = [digest(run) for run in config["runs"]]
            except (Damaged, CannotRead, BadInput, FileNotFoundError, KeyError, TypeError):
                continue
            yield PackCheckpoint(path, step, config["runs"], config.get("bonuses", []), identities)
            break


def furthest(checkpoints: Iterable[PackCheckpoint]) -> dict[str, int]:
    """How far each run is, by its identity, in the checkpoint that is furthest."""
    found: dict[str, int] = {}
    for each in checkpoints:
        for identity in each.identities:
            found[identity] = max(each.step, found.get(identity, 0))
    return found


def learned(
    store: Store, pack: PackSpec, alike: Collection[str] = ()
) -> dict[RunSpec, PackCheckpoint]:
    """For every run of a pack the furthest checkpoint to go on from, if there is one.

    The pack's own is preferred. Those that another worker is going on from are left to it, as are
    those that cannot be made to fit. `alike` are packs that are known to be of the same program.
    """
    own, wanted = pack.folder(store).name, {run.identity: run for run in pack.runs}
    found: dict[RunSpec, PackCheckpoint] = {}
    for each in newest_checkpoints(store):
        mine = [wanted[identity] for identity in each.identities if identity in wanted]
        if not mine:
            continue
        if each.name != own and held_by_another(store, each.name):
            continue
        if each.name != own and each.name not in alike:
            theirs = layout_of(each.path)
            mine = [run for run in mine if usable(pack, run, theirs, each.joint)]
        for run in mine:
            best = found.get(run)
            if best is None or (each.step, each.name == own) > (best.step, best.name == own):
                found[run] = each
    return found


def gather(store: Store, pack: PackSpec, sources: Mapping[RunSpec, PackCheckpoint]) -> bool:
    """Give a pack a checkpoint, made of those that its runs are in, if all are equally far.

    False if one of them turns out to be damaged; it is then in quarantine.
    """
    folder, every = pack.folder(store), {each.path: each for each in sources.values()}
    if set(sources) != set(pack.runs) or len({each.step for each in every.values()}) != 1:
        return True
    if all(_is_own(pack, folder, each) for each in every.values()):
        return True
    loaded: dict[Path, dict[str, np.ndarray]] = {}
    for path, source in every.items():
        found = source.folder(store).checkpoints.latest()
        if found is None or found.step != source.step:
            return False
        loaded[path] = found.arrays
    rows: list[Row] = []
    spent = 0.0
    for run in pack.runs:
        source = sources[run]
        arrays, row = loaded[source.path], source.identities.index(run.identity)
        of_run = {name: array[row] for name, array in arrays.items() if array.ndim}
        rows.append(Row(of_run, source.joint))
        spent += float(arrays[SPENT]) / len(source.identities)
    made = fitted(pack, rows)
    changed = any(row.arrays is not arrays for row, arrays in zip(rows, made, strict=True))
    own = {each.name for each in every.values()} == {folder.name}
    if len({frozenset(row) for row in made}) != 1 or (own and not changed):
        return True
    joined = {name: np.stack([row[name] for row in made]) for name in made[0]}
    (step,) = {each.step for each in every.values()}
    folder.checkpoints.save(step, {**joined, SPENT: np.array(spent)})
    if changed:
        folder.checkpoints.prune(1)  # what was before may be of the other program
    return True


def held_by_another(store: Store, name: str) -> bool:
    """Whether some other process is at work on a pack."""
    try:
        holder = store.claims().holder(name)
    except CannotRead:
        return True
    return holder is not None and not holder.dead() and not holder.is_current()


def _is_own(pack: PackSpec, folder: PackFolder, each: PackCheckpoint) -> bool:
    """Whether a checkpoint is the pack's, and of its program."""
    return each.name == folder.name and (
        each.tells_program or layout_of(each.path) == layout(pack.program)
    )
