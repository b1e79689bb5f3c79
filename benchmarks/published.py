"""The study's statistics from its own seeds: ours, what rounding leaves open, and what it printed.

Prints a table of docs/concepts/statistics.md.
"""

from __future__ import annotations

from collections.abc import Callable

from clew.analysis import Task, published, tasks
from clew.analysis.names import NONE
from clew.analysis.stats import success
from clew.analysis.stats.interaction import two_way
from clew.analysis.stats.spread import dispersion_ratio, separation
from rounding import rounding_range


def f(bonus: str) -> Callable[[Task], float]:
    return lambda task: two_way(task, bonus, permutations=0).f


def ratio(bonus: str) -> Callable[[Task], float]:
    return lambda task: float(dispersion_ratio(task, bonus, task.memories))


def sep(bonus: str) -> Callable[[Task], float]:
    return lambda task: float(separation(task.means(bonus, task.memories)))


def iqm(bonus: str) -> Callable[[Task], float]:
    return lambda task: float(success.iqm(task, bonus))


PRINTED = {
    "F of architecture × bonus": (f, 1, {"e3b": (226.4, 22.1), "noveld": (234.7, 8.0)}),
    "ratio of dispersions": (ratio, 2, {"e3b": (63.2, 0.27), "noveld": (52.1, 0.19)}),
    "SEP": (sep, 3, {NONE: (0.024, 0.155), "e3b": (0.188, 0.080), "noveld": (0.170, 0.068)}),
    "IQM": (iqm, 3, {NONE: (0.154, 0.546), "e3b": (0.358, 0.963), "noveld": (0.336, 0.953)}),
}


def main() -> None:
    print("| statistic | task | bonus | from the rounded seeds | rounding leaves open | printed |")
    print("|---|---|---|---:|---:|---:|")
    for name, (statistic, decimals, by_bonus) in PRINTED.items():
        for bonus, printed in by_bonus.items():
            for task, number in zip(tasks(published()), printed, strict=True):
                low, high = rounding_range(statistic(bonus), task)
                cells = [f"{x:.{decimals}f}" for x in (statistic(bonus)(task), low, high)]
                span = f"{cells[1]} to {cells[2]}"
                print(f"| {name} | {task.label} | {bonus} | {cells[0]} | {span} | {number:g} |")


if __name__ == "__main__":
    main()
