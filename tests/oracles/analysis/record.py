"""Record rliable's interquartile means, stratified bootstrap and probabilities of improvement."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
from rliable import library, metrics

ROOT = Path(__file__).parents[3]
SEEDS = ROOT / "src/clew/analysis/published/seed_vectors.csv"
GOLDEN = ROOT / "tests/golden/analysis/rliable.json"
MEMORIES = ("GRU", "LSTM", "RetNet", "GatedDeltaNet", "Mamba-2")


def main() -> None:
    arms: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for row in csv.DictReader(SEEDS.open()):
        key = tuple(row[c] for c in ("environment", "architecture", "bonus"))
        arms[key].append(float(row["tail_mean"]))
    found: dict[str, dict] = {"iqm": {}, "improvement": {}}
    for environment in ("mystery_path", "memory_s13"):
        for bonus in ("none", "e3b", "noveld"):
            # rliable's layout: runs × tasks, whose columns are the strata
            scores = np.array([arms[environment, a, bonus] for a in MEMORIES]).T
            found["iqm"][f"{environment}/{bonus}"] = iqm(scores)
        for architecture in (*MEMORIES, "Memoryless"):
            for bonus in ("e3b", "noveld"):
                pair = [
                    np.array(arms[environment, architecture, b])[:, None] for b in (bonus, "none")
                ]
                value = float(metrics.probability_of_improvement(*pair))
                found["improvement"][f"{environment}/{architecture}/{bonus}"] = value
    GOLDEN.parent.mkdir(parents=True, exist_ok=True)
    GOLDEN.write_text(json.dumps(found, indent=1) + "\n")


def iqm(scores: np.ndarray) -> dict[str, float]:
    aggregate = lambda x: np.array([metrics.aggregate_iqm(x)])  # noqa: E731
    point, interval = library.get_interval_estimates(
        {"x": scores}, aggregate, reps=20_000, random_state=np.random.RandomState(0)
    )
    low, high = interval["x"][:, 0]
    return {"estimate": float(point["x"][0]), "low": float(low), "high": float(high)}


if __name__ == "__main__":
    main()
