"""Packs trained into a store by the real learner: no-ops, failures, damage, and who made what."""

from __future__ import annotations

import dataclasses
import errno
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clew
import clew.suite.training as training
from clew.cli.training import train_here
from clew.store import CannotWrite, RunFolder, Store, count, merge, scan
from clew.store.leases import Owner
from clew.suite import PackProgress, plan
from clew.suite.launchers import WorkerConfig
from clew.suite.progress import last_published, unfinished
from clew.validate import BadInput
from tests.store.faults import failing, nth, watched
from tests.store.things import outcome
from tests.suite.declared import PERIOD, PERIODS, tiny
from tests.suite.trial import results, trained

HIGH = 1e30
NUMBERS = ("tail_mean", "final_success", "normalised", "delivered")


def test_what_is_stored(finished: Path) -> None:
    store = Store(finished, read_only=True)
    for run in tiny().runs():
        folder = store.run(run.config)
        assert folder.finished()
        result, curve, diagnostics = folder.result(), folder.curve(), folder.diagnostics()
        assert result["steps"] == PERIOD * PERIODS
        assert curve["steps"].tolist() == [PERIOD * n for n in range(1, PERIODS + 1)]
        assert diagnostics["steps"][-1] == PERIOD * PERIODS
        assert len(diagnostics["reward"]) == 2 * PERIODS
        assert result["final_success"] == curve["success"][-1]
        assert result["tail_mean"] == pytest.approx(curve["success"][-2:].mean(), abs=0.5)
        assert len(diagnostics["events"][0]) == len(result["events"])
        agent = folder.agent()
        assert agent
        assert all(name.startswith(("actor/", "policy/")) for name in agent)
    assert not list(finished.glob("packs/*"))


def test_how_far_it_was_is_told_through_the_store(finished: Path) -> None:
    told = [last_published(place) for place in finished.glob("leases/*")]
    assert len(told) == 2
    for news in told:
        assert news is not None
        step = news.progress
        assert (step.what, step.period, step.periods) == ("finished", PERIODS, PERIODS)
        assert step.steps == 2 * PERIOD * PERIODS
        assert step.seconds > 0
        assert step.left == 0
        assert 0 <= step.success <= 1
    # a moment, if another test of this process had compiled the same programs
    assert max(news.progress.compiled for news in told if news) > 0
    assert list(unfinished(Store(finished, read_only=True))) == []


def test_who_made_it_is_stored(finished: Path) -> None:
    about = Store(finished).run(tiny().runs()[0].config).provenance()
    assert about["clew"] == clew.__version__
    assert about["runs"] == 2
    assert about["device"].startswith("cpu")
    assert about["seconds"] > 0
    assert {
        "commit",
        "python",
        "jax",
        "jaxlib",
        "numpy",
        "equinox",
        "optax",
        "platform",
        "processor",
        "pack",
    } <= (about.keys())


def test_again_is_a_no_op(finished: Path) -> None:
    before = {p: p.stat().st_mtime_ns for p in finished.rglob("*") if p.is_file()}
    outcome, steps = trained(tiny(), finished)
    assert outcome == (2, 0, "")
    assert [step.what for step in steps] == ["found", "found"]
    outcome, _ = trained(tiny(), finished, stop={"time_limit": 0})
    assert outcome == (2, 0, "")
    assert {p: p.stat().st_mtime_ns for p in finished.rglob("*") if p.is_file()} == before


def test_stopped_after_any_leg_it_ends_the_same(finished: Path, tmp_path: Path) -> None:
    rounds, seen = 0, set()
    while True:
        outcome, steps = trained(tiny(), tmp_path, until=lambda step: step.what == "training")
        periods = [(step.name, step.period) for step in steps if step.what == "training"]
        assert len(periods) <= 1
        assert not seen & set(periods)
        seen |= set(periods)
        rounds += 1
        if not outcome.left:
            break
        assert outcome.stopped == "the test says so"
    assert rounds == 2 * PERIODS
    assert results(tmp_path) == results(finished)


def test_a_limit_that_comes_near_begins_nothing_else(tmp_path: Path) -> None:
    now = [0.0]

    def watch(step: PackProgress) -> bool:
        now[0] = 99.999999 if step.what == "training" else now[0]
        return False

    stop = {"time_limit": 100, "clock": lambda: now[0]}
    outcome, steps = trained(tiny(), tmp_path, stop=stop, until=watch)
    assert [step.what for step in steps] == ["compiling", "training", "stopped"]
    assert outcome == (0, 2, "the time limit is reached")


@pytest.mark.parametrize("spoil", [b"", b"PK\x03\x04 nonsense"])
def test_a_spoilt_checkpoint_is_quarantined(finished: Path, tmp_path: Path, spoil: bytes) -> None:
    trained(tiny(), tmp_path, until=lambda step: step.period == 3)
    newest = max(tmp_path.glob("packs/*/*.npz"), key=lambda path: path.name)
    newest.write_bytes(spoil)
    _, steps = trained(tiny(), tmp_path)
    assert steps[0].what == "compiling"
    assert steps[0].period == 2
    assert results(tmp_path) == results(finished)
    assert [each["was"] for each in Store(tmp_path).quarantined()] == [
        str(newest.relative_to(tmp_path))
    ]


@pytest.mark.parametrize("way", ["merged", "copied"])
def test_a_store_is_taken_elsewhere_and_goes_on(finished: Path, tmp_path: Path, way: str) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    trained(tiny(), here, until=lambda step: step.period == 3)
    if way == "copied":
        shutil.copytree(here, there)
    else:
        # which knows another run of the pack already
        trained(tiny(seeds=[2]), there)
        assert len(merge(Store(there), Store(here, read_only=True)).checkpoints) == 1
    _, steps = trained(tiny(), there)
    assert (steps[0].what, steps[0].period) == ("compiling", 3)
    assert results(there) == results(finished)


def test_another_versions_checkpoint_is_refused_with_a_way_out(tmp_path: Path) -> None:
    suite, store = tiny(), Store(tmp_path)
    pack = plan(suite, store, 2).packs[0].folder(store)
    pack.checkpoints.save(2, {"state/other": np.zeros(3), "seconds": np.array(1.0)})
    with pytest.raises(BadInput, match=rf"{pack.name}.*cannot be resumed from.*remove the folder"):
        trained(suite, tmp_path)


def test_a_run_that_diverges(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], recwarn: Any
) -> None:
    mixed = tiny(knobs={"learning_rate": [1e-4, HIGH]}, seeds=2)
    assert train_here(WorkerConfig(suite=mixed, store=tmp_path, pack_size=3), as_json=True) == 3
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert told[-1]["counts"] == {"diverged": 2, "finished": 2}
    assert all("not finite after" in each["reason"] for each in told[-1]["troubles"])
    assert not [each for each in recwarn if "empty slice" in str(each.message)]
    store = Store(tmp_path)
    for run in mixed.runs():
        folder = store.run(run.config)
        if run.knobs.learning_rate == HIGH:
            assert folder.failure()["status"] == "diverged"
            assert np.isnan(folder.curve()["success"][-1])
        else:
            assert folder.finished()
    # those that are sound are what they would be without the others
    sound = {str(path.parent.name) for path in tmp_path.glob("runs/*/result.json")}
    kept = {k: v for k, v in results(tmp_path).items() if Path(k).parent.name in sound}
    assert len(kept) == 2 * 4
    assert kept.items() <= results(finished).items()
    # not tried again unless asked; then only those, with the same end
    before = results(tmp_path)
    assert train_here(WorkerConfig(suite=mixed, store=tmp_path), as_json=True) == 3
    assert "training" not in capsys.readouterr().out
    assert train_here(WorkerConfig(suite=mixed, store=tmp_path), retry=True, as_json=True) == 3
    assert "training" in capsys.readouterr().out
    assert results(tmp_path) == before
    assert len(list(tmp_path.glob("runs/*/failure-1.json"))) == 2


def breaking(periods: Callable[..., Any], broken: set[int]) -> Callable[..., Any]:
    """Training that fails in the second period of packs with these seeds."""

    def spoilt(pack: Any, *rest: Any) -> Any:
        for progress in periods(pack, *rest):
            if progress.period == 2 and broken & set(pack.runs.seed.tolist()):
                raise RuntimeError("out of [memory]\nand more")
            yield progress

    return spoilt


def test_an_exception_is_recorded_and_the_others_go_on(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(training, "periods", breaking(training.periods, {0}))
        outcome, steps = trained(tiny(), tmp_path)
    assert outcome == (2, 0, "")
    assert [step.what for step in steps if step.what in ("failed", "finished")] == [
        "failed", "finished",
    ]  # fmt: skip
    store = Store(tmp_path)
    assert count(scan(store)) == {"failed": 2, "finished": 2}
    folder = store.run(tiny().runs()[0].config)
    assert folder.failure()["reason"] == "RuntimeError: out of [memory]"
    assert "in spoilt" in folder.provenance()["traceback"]
    assert train_here(WorkerConfig(suite=tiny(), store=tmp_path)) == 3
    # asked to, they go on from the checkpoint before
    for run in tiny().runs():
        store.run(run.config).retry()
    _, steps = trained(tiny(), tmp_path)
    assert [step.period for step in steps if step.what == "training"] == [2, 3, 4, 5, 6]
    assert results(tmp_path) == results(finished)


@pytest.mark.parametrize("n", [8, 20, 32])
def test_a_full_disk(finished: Path, tmp_path: Path, n: int) -> None:
    among = ("write", "mkdir")
    with (
        pytest.raises(CannotWrite, match=r"No space left.*the same command") as error,
        watched(nth(n, failing(errno.ENOSPC), among)),
    ):
        trained(tiny(), tmp_path)
    assert "\n" not in str(error.value)
    assert {row.status for row in scan(Store(tmp_path), deep=True)} <= {"begun", "finished"}
    assert trained(tiny(), tmp_path)[0] == (2, 0, "")
    assert results(tmp_path) == results(finished)
    assert Store(tmp_path).quarantined() == []


def test_a_run_of_two_suites_is_trained_once(finished: Path, tmp_path: Path) -> None:
    assert train_here(WorkerConfig(suite=tiny(seeds=[0]), store=tmp_path)) == 0
    before = {p: p.stat().st_mtime_ns for p in tmp_path.glob("runs/*/*")}
    assert train_here(WorkerConfig(suite=tiny(), store=tmp_path, pack_size=4)) == 0
    after = {p: p.stat().st_mtime_ns for p in tmp_path.glob("runs/*/*")}
    assert before.items() <= after.items()
    assert results(tmp_path) == results(finished)


@pytest.mark.parametrize("rate", [1e-4, HIGH], ids=["finished", "diverged"])
@pytest.mark.parametrize("late", [True, False], ids=["its arrays are written", "not yet"])
def test_a_run_that_another_suite_finishes_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rate: float, late: bool
) -> None:
    """On another device, with other bits: that result stays, and the other runs get theirs."""
    suite, store = tiny(knobs={"learning_rate": [rate]}, seeds=2), Store(tmp_path)
    first, second = (store.run(run.config) for run in suite.runs())
    diagnostics, write_provenance = training._diagnostics, RunFolder.write_provenance

    others: list[RunFolder] = [first]

    def finish() -> None:
        while others:
            others.pop().write_finished(**outcome())

    def before(planned: Any, history: Any, run: int, last: int | None = None) -> Any:
        if last is None and not late:
            finish()
        return diagnostics(planned, history, run, last)

    def between(run: RunFolder, provenance: Any) -> None:
        write_provenance(run, provenance)
        if late and run.name == first.name and "pack" in provenance:
            finish()

    monkeypatch.setattr(training, "_diagnostics", before)
    monkeypatch.setattr(RunFolder, "write_provenance", between)
    assert trained(suite, tmp_path)[0].left == 0
    assert first.result() == outcome()["result"]
    np.testing.assert_array_equal(first.curve()["success"], outcome()["curve"]["success"])
    assert second.status == ("finished" if rate < HIGH else "diverged")
    assert store.quarantined() == []
    assert not list(tmp_path.glob("packs/*/*"))


@pytest.mark.slow
def test_none_in_anothers_program_is_none(tmp_path: Path) -> None:
    suite = tiny(bonuses=["none", "e3b"], seeds=2)
    shared = dataclasses.replace(suite, share=True)
    assert train_here(WorkerConfig(suite=shared, store=tmp_path / "shared")) == 0
    assert train_here(WorkerConfig(suite=suite, store=tmp_path / "apart")) == 0
    shared, apart = Store(tmp_path / "shared"), Store(tmp_path / "apart")
    for run in suite.runs():
        one, other = shared.run(run.config), apart.run(run.config)
        mine, theirs = one.result(), other.result()
        assert mine.keys() == theirs.keys()
        for name, value in mine.items():
            close = pytest.approx(theirs[name], rel=1e-3) if name in NUMBERS else theirs[name]
            assert value == close, name
        for mine, theirs in (
            (one.curve(), other.curve()),
            (one.diagnostics(), other.diagnostics()),
        ):
            assert mine.keys() == theirs.keys()
            for name in mine:
                np.testing.assert_allclose(mine[name], theirs[name], rtol=1e-3, atol=1e-4)


def test_retry_with_a_pack_size_plans_again(
    finished: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A size alone does not: other workers go by what was planned."""

    def broken(*_: object) -> None:
        raise ArithmeticError("it broke")

    config = WorkerConfig(suite=tiny(), store=tmp_path, pack_size=2)
    with monkeypatch.context() as patch:
        patch.setattr(training, "periods", broken)
        assert train_here(config) == 3
    single = dataclasses.replace(config, pack_size=1)
    assert train_here(single) == 3
    assert "4 runs in 2 packs" in capsys.readouterr().out
    assert train_here(single, retry=True) == 0
    assert "4 runs in 4 packs" in capsys.readouterr().out
    assert results(tmp_path) == results(finished)


def test_a_store_deleted_during_a_run_is_said_and_not_made_again(tmp_path: Path) -> None:
    store = tmp_path / "store"

    def delete(step: PackProgress) -> bool:
        if step.what == "training" and step.period == 2:
            shutil.rmtree(store)
        return False

    with pytest.raises(BadInput, match="was deleted or moved while it was in use"):
        trained(tiny(), store, until=delete)
    assert not store.exists()


def test_who_waits_says_for_whom_and_ends_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clew.suite.worker.POLL", 0.01)
    monkeypatch.setattr("clew.suite.worker.SAY_AFTER", 0.02)
    store = Store(tmp_path)
    claims = store.claims(beat=1000, stale=3000)
    held = [claims.take(pack.folder(store).name) for pack in plan(tiny(), store, 2).packs]
    assert all(held)
    told = list[str]()
    outcome, steps = trained(
        tiny(), tmp_path, until=lambda step: told.append(step.name) or len(told) == 2
    )
    assert outcome == (0, 2, "the test says so")
    assert [step.what for step in steps] == ["waiting", "waiting"]
    assert {step.holder for step in steps} == {str(Owner.current())}
