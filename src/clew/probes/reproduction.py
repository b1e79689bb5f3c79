"""The study's predictions about probes (P1 to P6), evaluated by agents that were trained again."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from clew.analysis.reproduction.trained import SUITE, named_reading
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
OTHERS = "other readings"
"""Agents that were trained otherwise than the suite `paper` has it."""
_BEFORE = "2000-01-01T00:00:00+00:00"


def read_measurements(folder: Path) -> dict[str, list[Measurement]]:
    """What was decoded from the agents of a folder of results, by reading: `SUITE` and `OTHERS`.

    Of a run probed twice, the last.
    """
    found: dict[str, list[Measurement]] = {SUITE: [], OTHERS: []}
    path = folder / "probes.csv"
    if not path.is_file():
        return found
    runs = pd.read_csv(folder / "runs.csv", keep_default_na=False).set_index("run")
    probes = pd.read_csv(path).drop_duplicates(["run", "latent"], keep="last")
    for probed in probes.to_dict("records"):
        run = runs.loc[probed["run"]]
        world = str(run["environment_options"])
        fields = {name: str(run[name]) for name in ARM}
        rest = ("environment_options", "bonus_options", "settings", "knobs")
        _, reading = named_reading(*(str(run[name]) for name in (*ARM, *rest)))
        options = dict(pair.split("=") for pair in world.split())
        fields |= {"environment": bracketed(fields["environment"], options)}
        quantities = {name: float(probed[name]) for name in QUANTITIES}
        found[SUITE if reading.of_suite else OTHERS].append(
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
