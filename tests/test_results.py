"""The runs that are kept as data are whole, and their two tables agree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from clew.metrics import tail_mean

FOLDER = Path(__file__).parent.parent / "results"


def check_runs(folder: Path) -> None:
    """Every run has its curve, and its tail mean is the curve's."""
    runs, curves = pd.read_csv(folder / "runs.csv"), pd.read_csv(folder / "curves.csv")
    assert list(runs.run) == list(curves.run) == list(range(len(runs)))
    for (_, run), (_, curve) in zip(runs.iterrows(), curves.iterrows(), strict=True):
        success = np.array(str(curve.successes).split(), int) / curve.evaluation_episodes
        assert run.steps == curve.evaluation_steps * len(success)
        assert run.tail_mean == pytest.approx(tail_mean(success), abs=1e-4)


def test_every_run_has_its_curve() -> None:
    check_runs(FOLDER)


def test_every_probe_is_of_a_run() -> None:
    runs, probes = pd.read_csv(FOLDER / "runs.csv"), pd.read_csv(FOLDER / "probes.csv")
    assert set(probes.run) <= set(runs.run)
    aucs = probes[["auc", "observation_auc", "untrained_auc"]].to_numpy()
    assert ((aucs >= 0) & (aucs <= 1)).all()
