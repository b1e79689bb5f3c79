"""What `results/` says beside the published numbers. Trains nothing.

    python benchmarks/reproduced.py

First, every arm that was trained to the study's budget: agrees or differs, by Welch's interval of
the difference. Then every other arm, beside the longest run of the same arm with E3B as it is by
default, over the same evaluations: so a run that the clock ended is compared with one of its age.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from clew.analysis.published import SEEDS, published_success
from clew.analysis.report.comparison import ArmSummary, Comparison, difference
from clew.metrics import tail_mean
from clew.suite.library.paper import MEMORY_S13, MYSTERY_PATH, TINY_REPRODUCE

RESULTS = Path(__file__).parent.parent / "results"
ARM = ["environment", "reward", "architecture", "bonus"]
READING = ["environment_options", "bonus_options", "settings", "knobs"]
BUDGET = {
    block.keywords["environment"]: block.keywords["steps"]
    for block in (MYSTERY_PATH, MEMORY_S13, TINY_REPRODUCE)
}


def read() -> pd.DataFrame:
    """A line a run, with the share of successes at each evaluation."""
    runs = pd.read_csv(RESULTS / "runs.csv", keep_default_na=False)
    curves = pd.read_csv(RESULTS / "curves.csv").set_index("run")
    runs["curve"] = [
        np.array(str(curves.successes[run]).split(), float) / curves.evaluation_episodes[run]
        for run in runs["run"]
    ]
    runs["period"] = curves.evaluation_steps[runs["run"]].to_numpy()
    return runs


def summary(runs: pd.DataFrame, evaluations: int) -> ArmSummary:
    """Of the tail means after so many evaluations."""
    tails = np.array([tail_mean(curve[:evaluations]) for curve in runs.curve])
    return ArmSummary(float(tails.mean()), float(tails.std(ddof=1)) if len(tails) > 1 else 0.0,
                      len(tails))  # fmt: skip


def figure(found: ArmSummary) -> str:
    spread = f" ± {found.std:.2f}" if found.n > 1 else ""
    return f"{found.mean:.2f}{spread} (n = {found.n})"


def gap(ours: ArmSummary, theirs: ArmSummary) -> str:
    found = difference(ours, theirs)
    if not found.known:
        return f"{found.estimate:+.2f}"
    return f"{found.estimate:+.2f} [{found.low:+.2f}, {found.high:+.2f}]"


def arms(runs: pd.DataFrame) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """One reading of one arm after one number of steps."""
    for key, of_arm in runs.groupby([*ARM, *READING, "steps"], sort=False):
        yield dict(zip([*ARM, *READING, "steps"], key, strict=True)), of_arm


def main() -> None:
    runs = read()
    published: dict[tuple[str, ...], ArmSummary] = {}
    for row in published_success().to_dict("records"):
        key = tuple(row[name] for name in ARM)
        published[key] = ArmSummary(row["mean"], row["std"], SEEDS, 0.005)

    print("| arm | reading | ours | published | difference | |\n|---|---|---:|---:|---:|---|")
    done = set()
    for arm, of_arm in arms(runs):
        period = int(of_arm.period.iloc[0])
        if arm["steps"] < BUDGET[arm["environment"]] - period:
            continue
        key = tuple(arm[name] for name in ARM)
        done.add(key)
        ours, theirs = summary(of_arm, len(of_arm.curve.iloc[0])), published[key]
        verdict = Comparison(key, ours, theirs, difference(ours, theirs)).agreement
        print("|", ", ".join(key), "|", reading(arm), "|", figure(ours), end=" | ")
        print(f"{theirs.mean:.2f} ± {theirs.std:.2f}", "|", gap(ours, theirs), "|", verdict, "|")
    print(f"\n{len(published) - len(done)} of {len(published)} arms not run to the end.\n")

    print("| arm | reading | M steps | ours | default E3B then | difference | late bonus |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for arm, of_arm in arms(runs):
        evaluations = len(of_arm.curve.iloc[0])
        if arm["steps"] >= BUDGET[arm["environment"]] - int(of_arm.period.iloc[0]):
            continue
        ours, beside = summary(of_arm, evaluations), ("", "")
        if arm["bonus_options"] or arm["knobs"] or arm["settings"]:
            same = (runs[ARM] == [arm[name] for name in ARM]).all(axis=1)
            same &= runs.environment_options == arm["environment_options"]
            same &= (runs[READING[1:]] == "").all(axis=1) & (runs.steps >= arm["steps"])
            if same.any():
                longest = runs[same & (runs.steps == runs.steps[same].max())]
                default = summary(longest, evaluations)
                beside = (figure(default), gap(ours, default))
        bonus = pd.to_numeric(of_arm.late_bonus).mean()
        print("|", ", ".join(arm[name] for name in ARM), "|", reading(arm), "|",
              f"{arm['steps'] / 1e6:.1f}", "|", figure(ours), "|", *beside[:1], "|", beside[1], "|",
              f"{bonus:.2f} |")  # fmt: skip


def reading(arm: dict[str, str]) -> str:
    """What is not the package's default."""
    return " ".join(arm[name] for name in READING if arm[name])


if __name__ == "__main__":
    main()
