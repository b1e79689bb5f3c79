"""The study's predictions about probes (P1 to P6), evaluated by agents that were trained again."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from clew.probes.predictions import (
    Measurement,
    PredictionOutcome,
    Registration,
    Registrations,
    evaluate_predictions,
    study,
)
from clew.store.names import ARM, bracketed

QUANTITIES = ("auc", "observation_auc", "untrained_auc", "shuffled_auc", "selectivity")
"""Columns of `probes.csv`, beside the run and the question asked of its memory (`latent`)."""
PUBLISHED = {
    "P1": "miss",
    "P2": "hit on ordering only",
    "P3": "hit",
    "P4": "not evaluable",
    "P5": "split: hit on MemoryS13, miss on MysteryPath",
    "P6": "not trustworthy",
}
"""The study's own outcomes, in its words."""
_BEFORE = "2000-01-01T00:00:00+00:00"


def read_measurements(folder: Path) -> list[Measurement]:
    """What was decoded from the agents of a folder of results; of a run probed twice, the last."""
    path = folder / "probes.csv"
    if not path.is_file():
        return []
    runs = pd.read_csv(folder / "runs.csv", keep_default_na=False).set_index("run")
    probes = pd.read_csv(path).drop_duplicates(["run", "latent"], keep="last")
    found = []
    for probed in probes.to_dict("records"):
        run = runs.loc[probed["run"]]
        options = dict(pair.split("=") for pair in str(run["environment_options"]).split())
        fields = {name: str(run[name]) for name in ARM}
        fields |= {"environment": bracketed(fields["environment"], options)}
        quantities = {name: float(probed[name]) for name in QUANTITIES}
        found.append(
            Measurement(
                {**fields, "seed": int(run["seed"]), "latent": str(probed["latent"])},
                {**quantities, "success": float(run["tail_mean"])},
            )
        )
    return found


def evaluate_again(measurements: list[Measurement]) -> list[PredictionOutcome]:
    """P1 to P6, which the study registered before either of us trained an agent."""
    made = Registration(1, tuple(study()), _BEFORE, "", {})
    return evaluate_predictions(Registrations((made,)), measurements)
