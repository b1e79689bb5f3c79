"""Probes of agents that were trained again, kept as a table and read back."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from clew.analysis.reproduction import results_folder
from clew.analysis.reproduction.trained import SUITE
from clew.probes.reproduction import (
    OTHERS,
    PUBLISHED,
    QUANTITIES,
    evaluate_again,
    read_measurements,
)
from clew.probes.stored import measurements, read_all_probes
from clew.store import Store
from from_store import take
from tests.test_results import check_runs


def test_a_store_as_tables_gives_the_same_measurements(probed: Path, tmp_path: Path) -> None:
    stored = measurements(read_all_probes(Store(probed, read_only=True)))
    assert take(probed, tmp_path) > 0
    check_runs(tmp_path)
    # without a bonus too
    assert set(pd.read_csv(tmp_path / "runs.csv").knobs) == {"learning_rate=0.003"}
    kept = read_measurements(tmp_path)[OTHERS]
    assert len(kept) == len(stored) > 0
    for one, other in zip(kept, stored, strict=True):
        assert one.fields == other.fields
        for name in (*QUANTITIES, "success"):
            assert one.quantities[name] == pytest.approx(
                other.quantities[name], abs=1e-4, nan_ok=True
            )


def test_a_second_store_is_added_after_the_first(probed: Path, tmp_path: Path) -> None:
    n = take(probed, tmp_path)
    first = [(tmp_path / name).read_text() for name in ("runs.csv", "probes.csv")]
    take(probed, tmp_path)
    assert [(tmp_path / name).read_text()[: len(text)] for name, text in
            zip(("runs.csv", "probes.csv"), first, strict=True)] == first  # fmt: skip
    check_runs(tmp_path)
    runs = pd.read_csv(tmp_path / "probes.csv").run
    assert list(runs[len(runs) // 2 :]) == [run + n for run in runs[: len(runs) // 2]]


def test_no_probes_no_measurements(tmp_path: Path) -> None:
    assert read_measurements(tmp_path) == {SUITE: [], OTHERS: []}


def test_agents_of_the_suites_reading_are_kept_apart() -> None:
    found = read_measurements(results_folder())
    assert {one.fields["environment"] for one in found[SUITE]} >= {
        "MysteryPath-Grid[revisit=standing]"
    }
    assert all("show_goal" not in str(one.fields["environment"]) for one in found[SUITE])


def test_the_studys_predictions_are_evaluated_by_the_agents_of_the_results() -> None:
    measured = read_measurements(results_folder())[OTHERS]
    found = {each.prediction.name: each for each in evaluate_again(measured)}
    assert found.keys() == PUBLISHED.keys()
    assert not any(each.late for each in found.values())
    # untrained memories hold the cue already, as the study found
    assert found["P4"].verdict == "not evaluable"
    assert "untrained_auc" in found["P4"].reason
    assert {part.label for part in found["P1"].parts} >= {"GRU", "GatedDeltaNet"}
