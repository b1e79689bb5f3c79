"""The life of a run's folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clew.store import CannotRead, Conflict, Lease, LeaseLost, Store, merge, names, scan
from clew.store.state import FAILURE, RESULT
from clew.validate import BadInput
from tests.store.things import PROVENANCE, config, contents, finish, outcome


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


class Held(Lease):
    """A lease that is lost after so many calls."""

    def __init__(self, calls: int = 99) -> None:
        self.place, self.calls = Path("held"), calls

    def check(self) -> None:
        if self.calls <= 0:
            raise LeaseLost("gone")
        self.calls -= 1

    confirm = check


def test_from_absent_to_finished(store: Store) -> None:
    run = store.run(config())
    assert run.status == "absent"
    run.begin()
    assert run.status == "begun"
    run.write_finished(**outcome(), lease=Held())
    assert run.finished()
    assert run.result() == outcome()["result"]
    assert run.provenance() == PROVENANCE
    np.testing.assert_array_equal(run.curve()["success"], outcome()["curve"]["success"])
    assert list(run.diagnostics()) == ["report/loss"]


def test_identity_is_content(store: Store) -> None:
    finish(store)
    backwards = dict(reversed(config().items()))
    assert store.run(backwards).finished()
    assert store.run(config(bonus="none")).status == "absent"
    assert store.run(config(settings={"gamma": 0.99})).status == "absent"


def test_the_same_result_again_changes_nothing(store: Store) -> None:
    run = finish(store)
    before = contents(run.path)
    run.write_finished(**{**outcome(), "provenance": {"another": "machine"}})
    assert contents(run.path) == before


@pytest.mark.parametrize("part", ["result", "curve", "diagnostics"])
def test_another_result_is_a_conflict_and_changes_nothing(store: Store, part: str) -> None:
    run = finish(store)
    before = contents(run.path)
    with pytest.raises(Conflict, match=f"{run.name} is already finished"):
        run.write_finished(**{**outcome(), part: outcome(1)[part]})
    with pytest.raises(Conflict):
        run.write_failed("late", provenance=PROVENANCE)
    assert contents(run.path) == before
    assert store.incidents == ()


@pytest.mark.parametrize("status", ["failed", "diverged"])
def test_failures_are_kept_and_retried_when_asked(store: Store, status: Any) -> None:
    run = store.run(config())
    run.write_failed("loss is not finite", status=status, provenance=PROVENANCE,
                     curve=outcome(9)["curve"])  # fmt: skip
    assert (run.find().status, run.find().reason) == (status, "loss is not finite")
    assert run.failure()["reason"] == "loss is not finite"
    assert list(run.curve()) == ["events", "success"]
    run.retry()
    assert run.status == "begun"
    run.write_failed("again", provenance=PROVENANCE)
    run.retry()
    run.write_finished(**outcome())
    assert run.finished()
    assert {"failure-1.json", "failure-2.json"} < set(os.listdir(run.path))
    assert FAILURE not in os.listdir(run.path)


def test_a_result_wins_over_a_failure(store: Store) -> None:
    run = store.run(config())
    run.write_failed("out of memory", provenance=PROVENANCE)
    run.write_finished(**outcome())
    assert run.finished()
    assert store.incidents == ()


def test_a_first_failure_stays(store: Store) -> None:
    run = store.run(config())
    run.write_failed("one", provenance=PROVENANCE)
    run.write_failed("two", provenance=PROVENANCE)
    assert run.find().reason == "one"


@pytest.mark.parametrize("calls", [0, 1])
def test_who_lost_the_lease_writes_no_result(store: Store, calls: int) -> None:
    run = store.run(config())
    with pytest.raises(LeaseLost):
        run.write_finished(**outcome(), lease=Held(calls))
    assert not (run.path / RESULT).exists()
    # found out at the beginning, or only before the last step
    assert run.status == ("begun" if calls else "absent")


def test_bad_results_are_refused_before_anything_is_written(store: Store) -> None:
    run = store.run(config())
    with pytest.raises(BadInput, match=r"result\.tail_mean=nan"):
        run.write_finished(**{**outcome(), "result": {"tail_mean": float("nan")}})
    assert run.status == "absent"


def test_a_shared_name_is_refused_and_nothing_touched(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names, "HASH", 0)
    run = finish(store)
    before = contents(store.root)
    twin = store.run(config(settings={}))
    assert twin.path == run.path
    with pytest.raises(BadInput, match="two configurations share the name"):
        twin.finished()
    with pytest.raises(BadInput, match="two configurations share the name"):
        twin.write_finished(**outcome())
    assert contents(store.root) == before


def test_what_is_not_a_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(BadInput, match="is not a store"):
        Store(tmp_path)
    with pytest.raises(BadInput, match="nothing' does not exist; name the folder of a store"):
        Store(tmp_path / "nothing", read_only=True)
    with pytest.raises(BadInput, match="is not a folder"):
        Store(tmp_path / "thesis.tex")
    assert os.listdir(tmp_path) == ["thesis.tex"]


def test_a_newer_store_is_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.store.store.LAYOUT", 0)
    with pytest.raises(BadInput, match="layout 1, and this version of Clew reads layout 0"):
        Store(store.root)


def test_the_store_needs_no_jax() -> None:
    """Analysis reads it on machines without an accelerator, and status must be quick."""
    code = "import sys, clew.store, clew.suite.tensorboard; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_rows(store: Store) -> None:
    finish(store, 1)
    store.run(config(2)).write_failed("why", provenance=PROVENANCE)
    store.run(config(3)).begin()
    rows = scan(store, deep=True)
    assert [(row.status, row.reason) for row in rows] == [
        ("finished", ""), ("failed", "why"), ("begun", ""),
    ]  # fmt: skip
    assert rows[0].result == outcome(1)["result"]
    assert [row.config["seed"] for row in rows] == [1, 2, 3]


def test_notes_stand_beside_a_run(store: Store, tmp_path: Path) -> None:
    run = finish(store)
    assert run.note("probe") is None
    run.write_note("probe", {"auc": 0.5})
    run.write_note("probe", {"auc": 0.75})
    assert run.note("probe") == {"auc": 0.75}
    assert run.finished()
    with pytest.raises(BadInput, match="role='result' is not valid; choose 'probe'"):
        run.write_note("result", {})
    other = Store(tmp_path / "other")
    merge(other, store)
    copy = other.run(run.config)
    assert copy.note("probe") == {"auc": 0.75}
    copy.write_note("probe", {"auc": 0.25})
    merge(other, store)
    assert copy.note("probe") == {"auc": 0.25}, "what was there first stays"
    path = run.path / "probe.json"
    path.write_bytes(path.read_bytes().replace(b"0.75", b"0.95"))
    assert run.note("probe") is None
    assert [incident.path.endswith("probe.json") for incident in store.incidents] == [True]
    assert not path.exists()
    assert run.finished()


def test_plans_that_cannot_be_read_are_said_to_be_so(tmp_path: Path) -> None:
    store = Store(tmp_path)
    (tmp_path / "plans").touch()
    with pytest.raises(CannotRead, match="plans"):
        store.plan("some")
