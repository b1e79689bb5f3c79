"""Probes and predictions that an earlier version wrote: they are read, and mean what they meant."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from clew.probes import stored
from clew.probes.arms import arm_means, run_table
from clew.probes.predictions import (
    evaluate_predictions,
    read_registrations,
    register_predictions,
    study,
)
from clew.store import Store

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    shutil.copytree(GOLDEN / "store-1", tmp_path / "results")
    shutil.copytree(GOLDEN / "probes-1", tmp_path / "results", dirs_exist_ok=True)
    return Store(tmp_path / "results")


def test_results_are_read(store: Store) -> None:
    arms = {arm.bonus: arm for arm in arm_means(run_table(stored.read_all_probes(store)))}
    assert {bonus: arm.seeds for bonus, arm in arms.items()} == {"none": 2, "e3b": 2}
    numbers = ("memory", "shuffled", "mlp_shuffled", "effective_dimension")
    found = {bonus: [arm.intervals[n].estimate for n in numbers] for bonus, arm in arms.items()}
    assert found["none"] == pytest.approx([1.0, 0.72917, 0.72917, 1.82585], abs=1e-5)
    assert found["e3b"] == pytest.approx([1.0, 0.72917, 0.70833, 1.82431], abs=1e-5)


@pytest.mark.parametrize(
    "change",
    [
        {"summary": {}},
        {"summary": {"linear": "high"}},
        {"success": "high"},
        {"questions": [{}]},
        {
            "questions": [
                {"question": "a", "rows": 1, "episodes": 1, "why_not": "", "measured": {"x": 1}}
            ]
        },
        {"protocol": [3]},
    ],
    ids=str,
)
def test_what_is_made_up_was_not_measured(store: Store, change: dict[str, Any]) -> None:
    runs = [store.run(config) for config, _ in stored.read_all_probes(store)]
    sound = runs[0].note(stored.ROLE)
    assert sound is not None
    runs[0].write_note(stored.ROLE, sound | change)
    assert stored.read_probes(runs[0]) is None
    assert len(stored.read_all_probes(store)) == len(runs) - 1


def test_predictions_are_read_and_keep_their_hashes(store: Store) -> None:
    kept = read_registrations(store)
    assert not kept.problems
    assert [one.hash[:12] for one in kept.registrations] == ["877e056378b5", "8e437d3f5efc"]
    assert register_predictions(store, study()) == kept.registrations[0], (
        "they are registered already"
    )
    measured = stored.measurements(stored.read_all_probes(store))
    outcomes = {one.prediction.name: one for one in evaluate_predictions(kept, measured)}
    told, gain = outcomes["told"], outcomes["gain"]
    assert (told.verdict, told.late) == ("hit", True)
    assert [part.label for part in told.parts] == ["e3b", "none"]
    assert (gain.verdict, gain.late) == ("not evaluable", True)
    assert "untrained_auc is 1.000, above 0.99" in gain.reason
    assert {outcomes[f"P{i}"].verdict for i in range(1, 7)} == {"not evaluable"}
