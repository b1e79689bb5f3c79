"""What hangs on choices that the study's text leaves open, or that the verdict makes.

Prints the tables of "Choices that were made knowing the answer" in docs/concepts/statistics.md.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from clew.analysis import Task, TaskStatistics, published, published_success, tasks
from clew.analysis.names import NONE
from clew.analysis.stats.anova import Design
from clew.analysis.stats.interaction import TWO_WAY, in_long_form
from clew.analysis.stats.spread import dispersion_ratio
from clew.analysis.stats.task import logit, rescaled
from clew.analysis.verdict import MARGIN

PRINTED = {("MPG", "e3b"): "0.0002", ("MPG", "noveld"): "0.0002",
           ("S13", "e3b"): "0.00005", ("S13", "noveld"): "0.021"}  # fmt: skip


def permutations(task: Task, bonus: str, within: bool) -> tuple[float, float]:
    """p of F and of the sum of squares."""
    y, codes = in_long_form([task], bonus, task.both(bonus))
    design = Design({"architecture": codes[0], "bonus": codes[1]})
    rng = np.random.default_rng(0)
    drawn = np.tile(y, (20_000, 1))
    for block in np.unique(codes[0]) if within else [None]:
        at = np.flatnonzero(codes[0] == block) if within else np.arange(len(y))
        drawn[:, at] = rng.permuted(drawn[:, at], axis=1)
    found = design.explained(y, TWO_WAY), design.explained(drawn, TWO_WAY)
    f = [design.f(*pair, TWO_WAY) for pair in found]
    shares = [np.sum(f[1] >= f[0]), np.sum(found[1][0] >= found[0][0])]
    return tuple((1 + float(s)) / 20_001 for s in shares)  # type: ignore[return-value]


def logit_ratio(task: Task, bonus: str, edge: float) -> float:
    scaled = rescaled(task, partial(logit, edge=edge))
    return float(dispersion_ratio(scaled, bonus, task.both(bonus)))


def main() -> None:
    group = tasks(published())
    print("| task | bonus | printed p | F, within | SS, within | F, freely | SS, freely |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for task in group:
        for bonus in task.bonuses:
            ps = [*permutations(task, bonus, True), *permutations(task, bonus, False)]
            cells = " | ".join(f"{p:.5f}" for p in ps)
            printed = PRINTED[task.label.split(" ")[0], bonus]
            print(f"| {task.label} | {bonus} | {printed} | {cells} |")
    edges = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05)
    print("\n| logit ratio, clipped at | " + " | ".join(map(str, edges)) + " |")
    print("|---|" + "---:|" * len(edges))
    for task in group:
        for bonus in task.bonuses:
            cells = " | ".join(f"{logit_ratio(task, bonus, e):.2f}" for e in edges)
            print(f"| {task.label}, {bonus} | {cells} |")
    print("\n| task | bonus | ΔSEP | with seed noise taken out |\n|---|---|---:|---:|")
    for task in group:
        for bonus in task.bonuses:
            s = TaskStatistics(task).spread(bonus)
            both = f"{s.delta.estimate:+.3f} | {s.delta_beyond_noise:+.3f}"
            print(f"| {task.label} | {bonus} | {both} |")
    wide = published_success().query(
        "environment == 'TinyReproduce' and architecture == 'GatedDeltaNet'"
    )
    arms = {(r.reward, r.bonus): r for r in wide.itertuples()}
    print("\n| GatedDeltaNet on TinyReproduce | gain | half its 95% interval | inside ±"
          f"{MARGIN}? |\n|---|---:|---:|---|")  # fmt: skip
    for (reward, bonus), arm in arms.items():
        if bonus != NONE:
            none = arms[reward, NONE]
            half = 2.1 * np.hypot(float(arm.std), float(none.std)) / np.sqrt(10)
            gain = float(arm.mean) - float(none.mean)
            inside = "yes" if abs(gain) + half < MARGIN else "no"
            print(f"| {reward}, {bonus} | {gain:+.2f} | {half:.2f} | {inside} |")


if __name__ == "__main__":
    main()
