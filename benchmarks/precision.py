"""Whether agents learn the same with TF32 products: runs of `results/` that were trained both ways.

    python benchmarks/precision.py results

Runs on TinyReproduce with `precision=default` beside the float32 runs of the same arms and seeds
that have the suite's reading, over the evaluations that both have.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

TF32 = " precision=default"
ARM = ["environment", "reward", "architecture", "bonus", "bonus_options", "knobs", "seed"]


def both_ways(folder: Path) -> tuple[np.ndarray, np.ndarray, int]:
    """Success by run and evaluation, in float32 and in TF32; and steps between evaluations."""
    runs = pd.read_csv(folder / "runs.csv", keep_default_na=False)
    runs = runs.merge(pd.read_csv(folder / "curves.csv"), on="run")
    runs["share"] = [
        np.array(text.split(), float) / n
        for text, n in zip(runs.successes, runs.evaluation_episodes, strict=True)
    ]
    coarse = runs[runs.settings.str.endswith(TF32)]
    coarse = coarse.assign(settings=coarse.settings.str.removesuffix(TF32))
    # of an arm and seed that was trained twice, the later
    fine = runs[runs.device.str.startswith("gpu")].drop_duplicates([*ARM, "settings"], keep="last")
    pairs = fine.merge(coarse, on=[*ARM, "settings"], suffixes=("", "_tf32"))
    n = min(map(len, [*pairs.share, *pairs.share_tf32]))
    every = [np.stack([curve[:n] for curve in pairs[name]]) for name in ("share", "share_tf32")]
    return every[0], every[1], int(pairs.evaluation_steps.iloc[0])


def pace(curves: np.ndarray, period: int, level: float = 0.5) -> float:
    """Median of the steps until five evaluations together have this success."""
    held = np.apply_along_axis(lambda curve: np.convolve(curve, np.ones(5) / 5, "valid"), 1, curves)
    return float(np.median((np.argmax(held >= level, 1) + 5) * period))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    fine, coarse, period = both_ways(parser.parse_args().folder)
    means = [curves.mean(1) for curves in (fine, coarse)]
    apart = stats.ttest_ind(means[1], means[0], equal_var=False)
    low, high = apart.confidence_interval()
    print(f"{len(fine)} runs each way, {fine.shape[1] * period:,} steps")
    for name, mean, curves in zip(("float32", "TF32"), means, (fine, coarse), strict=True):
        steps = pace(curves, period) / 1e6
        print(f"{name}: success {mean.mean():.3f}, past .50 after {steps:.2f} M steps (median)")
    print(f"TF32 - float32: {means[1].mean() - means[0].mean():+.3f} [{low:+.3f}, {high:+.3f}]")


if __name__ == "__main__":
    main()
