"""Finished is finished, and what was learned is kept, whatever becomes of the suite."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from clew.store import Store
from clew.suite import PackProgress, Suite, plan
from clew.suite.forecast import forecast
from clew.suite.resuming import newest_checkpoints
from tests.store.things import outcome
from tests.suite.declared import PERIODS, tiny
from tests.suite.trial import results, trained


def periods(steps: list[PackProgress]) -> int:
    """That were trained, of all runs together."""
    sizes = [
        int(step.name.split("-x")[1].split("-")[0]) for step in steps if step.what == "training"
    ]
    return sum(sizes)


def after(period: int) -> dict[str, object]:
    return {"until": lambda step: step.what == "training" and step.period == period}


def of_seeds(*seeds: int) -> Suite:
    return tiny(seeds=list(seeds))


def test_added_seeds_do_not_train_what_is_finished(finished: Path, tmp_path: Path) -> None:
    """The pack of two would have been seeds 2 and 3, of which 2 is finished."""
    outcome, _ = trained(of_seeds(0, 1, 2), tmp_path)
    assert outcome == (2, 0, "")
    before = forecast(tiny(), Store(tmp_path), 2).total
    assert (before.todo, before.packs, before.steps) == (1, 1, tiny().blocks[0].steps)
    outcome, steps = trained(tiny(), tmp_path)
    assert periods(steps) == PERIODS
    assert results(tmp_path) == results(finished)


def test_a_suite_edited_midway_goes_on(finished: Path, tmp_path: Path) -> None:
    """Seeds 0 and 1 are at period 3 in one pack, 2 and 3 at period 3 in another."""
    for seeds in ((0, 1), (2, 3)):
        assert trained(of_seeds(*seeds), tmp_path, **after(3))[0].left == 1
    outcome, steps = trained(of_seeds(0, 3, 1, 2), tmp_path)
    assert outcome.left == 0
    assert periods(steps) == 4 * (PERIODS - 3)
    assert results(tmp_path) == results(finished)
    assert not list(newest_checkpoints(Store(tmp_path)))


def test_runs_that_are_not_equally_far_go_on_apart(finished: Path, tmp_path: Path) -> None:
    trained(of_seeds(0, 1), tmp_path, **after(4))
    trained(of_seeds(2), tmp_path, **after(2))
    store = Store(tmp_path)
    # planned before anything was known, as a pack of all four
    packs = plan(tiny(), Store(tmp_path / "elsewhere"), 4)
    assert [len(pack.runs) for pack in packs.packs] == [4]
    assert store.propose(packs._name, 1, {"pack_size": 4})
    _, steps = trained(tiny(), tmp_path)
    assert periods(steps) == 2 * (PERIODS - 4) + (PERIODS - 2) + PERIODS
    assert results(tmp_path) == results(finished)
    assert not list(newest_checkpoints(store))


def test_seeds_taken_away_and_put_back(finished: Path, tmp_path: Path) -> None:
    trained(of_seeds(0, 1), tmp_path, **after(2))
    trained(of_seeds(1), tmp_path, **after(4))
    outcome, steps = trained(of_seeds(0, 1), tmp_path)
    assert outcome.left == 0
    assert periods(steps) == (PERIODS - 4) + (PERIODS - 2)
    ours, whole = results(tmp_path), results(finished)
    assert ours == {name: whole[name] for name in ours}


def test_killed_between_two_results(finished: Path, tmp_path: Path) -> None:
    """What has its result is left out, and the rest goes on from the checkpoint of both."""
    trained(of_seeds(0, 1), tmp_path, **after(5))
    store, theirs = Store(tmp_path), Store(finished)
    run = of_seeds(0).runs()[0]
    done = theirs.run(run.config)
    store.run(run.config).write_finished(
        done.result(),
        curve=done.curve(),
        diagnostics=done.diagnostics(),
        agent=done.agent(),
        provenance={},
    )
    _, steps = trained(of_seeds(0, 1), tmp_path)
    assert periods(steps) == PERIODS - 5
    assert all("-x1-" in step.name for step in steps if step.what == "training")
    ours, whole = results(tmp_path), results(finished)
    assert ours == {name: whole[name] for name in ours}


@pytest.mark.parametrize("newest", [True, False], ids=["newest", "both"])
def test_a_damaged_source_is_not_gone_on_from(finished: Path, tmp_path: Path, newest: bool) -> None:
    trained(of_seeds(0, 1), tmp_path, **after(4))
    paths = sorted(tmp_path.glob("packs/*/checkpoint-*.npz"), reverse=True)
    for path in paths[: 1 if newest else 2]:
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(bytes(data))
    _, steps = trained(of_seeds(1, 0), tmp_path)
    assert periods(steps) == 2 * (PERIODS - (3 if newest else 0))
    ours, whole = results(tmp_path), results(finished)
    assert ours == {name: whole[name] for name in ours}


def test_a_run_goes_on_in_another_program(tmp_path: Path) -> None:
    """Without a bonus, begun in the program of E3B: its state has more arrays."""
    shared = dataclasses.replace(tiny(bonuses=["none", "e3b"], seeds=1), share=True)
    trained(shared, tmp_path, **after(2))
    (before,) = newest_checkpoints(Store(tmp_path))
    assert len(before.runs) == 2
    _, steps = trained(tiny(seeds=1), tmp_path)
    assert periods(steps) == PERIODS - 2
    (still,) = newest_checkpoints(Store(tmp_path))
    assert still == before


def test_checkpoints_left_after_the_last_result_are_cleared(tmp_path: Path) -> None:
    trained(of_seeds(0, 1), tmp_path, **after(3))
    store = Store(tmp_path)
    for seed, run in enumerate(of_seeds(0, 1).runs()):
        store.run(run.config).write_finished(**outcome(seed))
    outcome_, steps = trained(of_seeds(0, 1), tmp_path)
    assert [step.what for step in steps] == ["found"]
    assert outcome_.left == 0
    assert not list(tmp_path.glob("packs/*/*"))
