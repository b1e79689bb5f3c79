"""Every file of a store spoilt at once: found, quarantined, trained again to the same bytes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import clew.suite.worker as worker
from clew.store import Claims, Store
from clew.suite import PackProgress
from tests.store.things import SPOIL
from tests.suite.declared import PERIODS, tiny
from tests.suite.trial import results, trained

PER_RUN = {
    "config.json", "provenance.json", "curve.npz", "diagnostics.npz", "agent.npz", "result.json",
}  # fmt: skip


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One pack finished, the other left after three periods, with two checkpoints."""
    root, names = tmp_path_factory.mktemp("left") / "store", set()

    def until(step: PackProgress) -> bool:
        names.add(step.name)
        return len(names) == 2 and step.period == 3

    trained(tiny(), root, until=until)
    return root


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits two minutes for the holder of a ticket that cannot be read."""
    monkeypatch.setattr(worker, "POLL", 0.05)
    claims = lambda store: Claims(store.root / "leases", beat=0.1, stale=0.5)  # noqa: E731
    monkeypatch.setattr(Store, "claims", claims)


@pytest.mark.parametrize("spoil", ["empty", "cut short", "bit flipped"])
@pytest.mark.parametrize("n", [3, 4567])
def test_every_file_at_once(left: Path, finished: Path, tmp_path: Path, spoil: str, n: int) -> None:
    root = tmp_path / "store"
    shutil.copytree(left, root)
    older, newest = sorted(root.glob("packs/*/checkpoint-*.npz"))
    # without its result a run is unfinished, and its arrays are written anew
    result, other = sorted(root.glob("runs/*/result.json"))
    sound = {older, result, *other.parent.glob("*.npz"), other.parent / "provenance.json"}
    spoilt = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    spoilt = {path: SPOIL[spoil](data, n) for path, data in spoilt.items() if path not in sound}
    for path, data in spoilt.items():
        path.write_bytes(data)
    alone = result.read_bytes()
    outcome, steps = trained(tiny(), root)
    assert outcome == (2, 0, "")
    assert results(root) == results(finished)
    # one pack from its beginning, the other from the checkpoint that was sound
    begun = sorted(step.period for step in steps if step.what == "compiling")
    assert begun == [0, 2]
    assert sum(step.what == "training" for step in steps) == 2 * PERIODS - 2
    damaged = {root / each["was"]: root / each["at"] for each in Store(root).quarantined()}
    # leases and progress are renewed by whoever comes next
    kept = {path: data for path, data in spoilt.items() if "leases" not in path.parts}
    assert {path: (place / path.name).read_bytes() for path, place in damaged.items()} == {
        **kept,
        result: alone,
    }
    assert {path.name for path in damaged} == PER_RUN | {
        "clew-store.json", newest.name, *(p.name for p in root.glob("plans/*"))
    }  # fmt: skip
