"""A store's runs as tables of results, also those that were stopped."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from from_store import take
from tests.suite.declared import PERIOD, PERIODS, tiny
from tests.suite.test_resuming import after
from tests.suite.trial import trained
from tests.test_results import check_runs

MEASURED = ["tail_mean", "late_length", "late_entropy", "late_bonus", "first_success", "diverged"]


def taken(store: Path, folder: Path, *, unfinished: bool = False) -> pd.DataFrame:
    take(store, folder, unfinished)
    check_runs(folder)
    runs, curves = (pd.read_csv(folder / name) for name in ("runs.csv", "curves.csv"))
    return runs.merge(curves[["run", "successes"]], on="run").set_index("seed").sort_index()


def test_runs_that_were_stopped_are_as_far_as_their_checkpoint(
    finished: Path, tmp_path: Path
) -> None:
    """Packs have two runs: one is finished, one is after two of its periods."""
    trained(tiny(seeds=2), tmp_path / "store")
    trained(tiny(), tmp_path / "store", **after(2))
    assert len(taken(tmp_path / "store", tmp_path / "finished")) == 2
    found = taken(tmp_path / "store", tmp_path / "all", unfinished=True)
    whole = taken(finished, tmp_path / "whole", unfinished=True)
    assert sorted(found.steps // PERIOD) == [2, 2, PERIODS, PERIODS]
    assert list(whole.steps // PERIOD) == [PERIODS] * 4
    for far, end in zip(found.successes, whole.successes, strict=True):
        assert end.startswith(far)
    same = ["settings", "knobs", "device", "runs_in_pack"]
    pd.testing.assert_frame_equal(found[same], whole[same])


def test_a_run_that_was_stopped_is_measured_as_one_that_ends_there(tmp_path: Path) -> None:
    """The same runs, stopped after three periods, and with a budget of three."""
    trained(tiny(seeds=2), tmp_path / "stopped", **after(3))
    trained(tiny(seeds=2, steps=3 * PERIOD), tmp_path / "short")
    found = taken(tmp_path / "stopped", tmp_path / "one", unfinished=True)
    wanted = taken(tmp_path / "short", tmp_path / "two")
    assert list(found.steps) == [3 * PERIOD] * 2
    pd.testing.assert_frame_equal(found[MEASURED], wanted[MEASURED])
