"""Runs whose files stay, though nobody here can judge them: the others are trained."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import clew.suite.worker as worker
from clew.cli.commands.status import status
from clew.cli.training import train_here
from clew.store import Store, scan
from clew.store.columns import SCHEMA
from clew.store.documents import Header, document
from clew.store.errors import stamp
from clew.store.leases import Owner, _create, highest
from clew.suite import PackProgress
from clew.suite.launchers import WorkerConfig
from clew.suite.planning import SuitePlan
from tests.suite.declared import tiny
from tests.suite.trial import results, trained

FUTURE = "written by a later version of Clew"


def of_the_future(root: Path, seed: int) -> Path:
    """A result as a later version may write it; its folder."""
    (spec,) = (run for run in tiny().runs() if run.seed == seed)
    run = Store(root).run(spec.config)
    path = run.path / "result.json"
    data = json.loads(path.read_text())["data"]
    path.write_bytes(document(Header("result", run.identity, SCHEMA + 1), data))
    return run.path


@pytest.mark.parametrize("stuck", ["future", "unreadable"])
def test_the_runs_beside_it_are_trained(
    finished: Path, tmp_path: Path, stuck: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is in a pack with another, and that pack is the first of two."""
    trained(tiny(seeds=1), tmp_path)
    folder = of_the_future(tmp_path, 0)
    if stuck == "unreadable":
        (folder / "result.json").unlink()
        (folder / "result.json").symlink_to("result.json")
    before = {path.name: stamp(path) for path in folder.iterdir()}
    assert train_here(WorkerConfig(suite=tiny(), store=tmp_path, pack_size=2)) == 4
    said = capsys.readouterr()
    told = [line for line in said.err.splitlines() if line.startswith("clew:")]
    assert len(told) == 1
    assert f"{folder.name} is not trained: " in told[0]
    assert (FUTURE if stuck == "future" else "cannot be read") in told[0]
    assert f"move {str(folder)!r} away" in told[0]
    assert {path.name: stamp(path) for path in folder.iterdir()} == before
    assert [row.status for row in scan(Store(tmp_path))].count("finished") == 3
    with pytest.raises(SystemExit):
        status(tmp_path)
    said = capsys.readouterr().out
    assert "trains it again" not in said
    assert "is in no result and is not trained:" in "".join(said.splitlines())
    folder.rename(tmp_path / "away")
    beside = {name: data for name, data in results(finished).items() if folder.name not in name}
    assert results(tmp_path) == beside


def test_a_lease_that_is_lost_before_training_is_left_to_who_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else takes the first pack while this worker looks how far its runs are."""
    regroup, lost = SuitePlan.regroup, list[str]()

    def slowly(plan: SuitePlan, pack: worker.PackSpec) -> bool:
        found = regroup(plan, pack)
        if not lost:
            store = Store(tmp_path)
            lost.append(pack.folder(store).name)
            place = store.claims().folder / lost[0]
            other = Owner.current()._replace(pid=1, started="1", machine="another")
            held = highest(place)
            assert held is not None
            assert _create(place, held.number + 1, other)
            return True  # which is told, under the lease
        return found

    monkeypatch.setattr(SuitePlan, "regroup", slowly)
    outcome, steps = trained(tiny(), tmp_path, wait=False)
    assert (outcome.finished, outcome.left) == (1, 1)
    assert {step.name for step in steps if step.what == "finished"}.isdisjoint(lost)


def test_a_failure_that_is_not_unicode_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name of a file, in an error, may be any bytes."""

    def fails(*_: object) -> bool:
        raise RuntimeError("no such file: \udcff.bin")

    monkeypatch.setattr(worker, "train_pack", fails)
    steps: list[PackProgress]
    outcome, steps = trained(tiny(), tmp_path)
    assert (outcome.left, [step.what for step in steps]) == (0, ["failed"] * 2)
    assert {row.reason for row in scan(Store(tmp_path))} == {
        "RuntimeError: no such file: \\udcff.bin"
    }
