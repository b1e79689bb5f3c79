"""How often do 95% intervals cover the truth, at the numbers of seeds that people can afford?

Prints the tables of docs/concepts/statistics.md. Populations look like arms of the study: `narrow`
(an arm that converged), `ceiling` (most seeds near 1), `lottery` (at .5 or near 1), `floor` (mostly
0).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import numpy as np
from scipy import stats

from clew.analysis import TaskStatistics
from clew.analysis.names import NONE
from clew.analysis.stats.bootstrap import Statistic, bootstrap
from clew.analysis.stats.interaction import two_way
from clew.analysis.stats.intervals import mean_interval, welch, wilson
from clew.analysis.stats.spread import dispersion_ratio, separation_change
from clew.analysis.stats.success import improvement, interquartile_mean, iqm, wins
from clew.analysis.stats.task import Task

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
SEEDS = (3, 5, 10)
RESAMPLES = 1000
METHODS = ("percentile", "BCa")


def narrow(rng: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
    return rng.normal(0.5, 0.03, size)


def ceiling(rng: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
    return rng.beta(9.5, 0.5, size)


def lottery(rng: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
    low = rng.normal(0.5, 0.015, size)
    return np.where(rng.uniform(size=size) < 0.6, low, rng.beta(30, 1, size))


def floor(rng: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
    return np.where(rng.uniform(size=size) < 0.7, 0.0, rng.uniform(0, 0.15, size))


MEANS: dict[Draw, float] = {
    narrow: 0.5, ceiling: 0.95, lottery: 0.6 * 0.5 + 0.4 * 30 / 31, floor: 0.3 * 0.075,
}  # fmt: skip


def mean(task: Task) -> np.ndarray:
    return task.means(NONE, ("A0",))[..., 0]


def gain(task: Task) -> np.ndarray:
    return task.means("e3b", ("A0",))[..., 0] - mean(task)


def covered(task: Task, statistic: Statistic, truth: float) -> list[bool]:
    """Whether the percentile and the BCa interval contain the truth."""
    found = [
        bootstrap(task, {"it": statistic}, RESAMPLES, method=method)["it"] for method in METHODS
    ]
    return [f.low <= truth <= f.high for f in found]


def of_means(sims: int) -> Iterator[tuple]:
    for draw, truth in MEANS.items():
        for n in SEEDS:
            rng = np.random.default_rng(n)
            hits = np.zeros(3)
            for i in range(sims):
                x = draw(rng, (n,))
                t = mean_interval(x)
                task = Task(str(i), draw.__name__, {("A0", NONE): x})
                hits += [t.low <= truth <= t.high, *covered(task, mean, truth)]
            yield "mean", draw.__name__, n, *hits / sims


def of_gains(sims: int) -> Iterator[tuple]:
    for one, other in ((ceiling, lottery), (narrow, floor), (ceiling, narrow)):
        truth = MEANS[one] - MEANS[other]
        for n in SEEDS:
            rng = np.random.default_rng(n)
            hits = np.zeros(3)
            for i in range(sims):
                x, y = one(rng, (n,)), other(rng, (n,))
                t = welch(x, y).interval
                task = Task(str(i), one.__name__, {("A0", "e3b"): x, ("A0", NONE): y})
                hits += [t.low <= truth <= t.high, *covered(task, gain, truth)]
            yield "gain", f"{one.__name__} − {other.__name__}", n, *hits / sims


def of_shares() -> Iterator[tuple]:
    """Exactly, by summing over the binomial distribution."""
    for truth in (0.1, 0.5, 0.8):
        for n in SEEDS:
            k = np.arange(n + 1)
            chance = stats.binom.pmf(k, n, truth)
            score = [wilson(int(i), n) for i in k]
            covered = np.array([s.low <= truth <= s.high for s in score])
            half = 1.96 * np.sqrt(k / n * (1 - k / n) / n)
            wald = np.abs(k / n - truth) <= half
            yield "share of seeds", f"p = {truth}", n, chance @ covered, chance @ wald


def share_won(task: Task) -> np.ndarray:
    return wins(task.arms["A0", "e3b"], task.arms["A0", NONE])


def of_improvement(sims: int) -> Iterator[tuple]:
    for shift in (0.0, 1.19, 2.33):
        truth = float(stats.norm.cdf(shift / np.sqrt(2)))
        for n in SEEDS:
            rng = np.random.default_rng(n)
            hits = np.zeros(2)
            for i in range(sims):
                x, y = rng.normal(shift, 1, n), rng.normal(0, 1, n)
                score = improvement(x, y)
                task = Task(str(i), "sparse", {("A0", "e3b"): x, ("A0", NONE): y})
                found = bootstrap(task, {"wins": share_won}, RESAMPLES)["wins"]
                hits += [score.low <= truth <= score.high, found.low <= truth <= found.high]
            yield "improvement", f"Pr = {truth:.2f}", n, *hits / sims


SCENES = {  # means without and with the bonus, seed deviation without and with
    "amplify": ((0.14, 0.14, 0.16, 0.17, 0.20), (0.18, 0.17, 0.56, 0.63, 0.34), 0.02, 0.04),
    "equalise": ((0.50, 0.50, 0.49, 0.76, 0.86), (0.92, 0.98, 0.91, 0.97, 0.76), 0.08, 0.12),
    "null": ((0.90, 0.91, 0.00, 0.33, 0.01), (0.90, 0.91, 0.00, 0.33, 0.01), 0.04, 0.04),
    "equal arms, less noise": ((0.5,) * 5, (0.9,) * 5, 0.20, 0.05),
}  # fmt: skip


def scene(name: str, i: int, n: int, rng: np.random.Generator) -> Task:
    none, bonus, s_none, s_bonus = SCENES[name]
    sides = ((NONE, none, s_none), ("e3b", bonus, s_bonus))
    arms = {
        (f"A{k}", b): np.sort(rng.normal(m, s, n))
        for b, means, s in sides
        for k, m in enumerate(means)
    }
    return Task(str(i), name, arms)


def of_spreads(sims: int, what: str) -> Iterator[tuple]:
    """ΔSEP, or the ratio where there is one."""
    ratio = what == "ratio of dispersions"
    measure = dispersion_ratio if ratio else separation_change

    def statistic(task: Task) -> np.ndarray:
        return measure(task, "e3b", task.memories)

    for name in SCENES:
        exact = true_scene(name)
        truth = float(statistic(exact))
        if not np.isfinite(truth):
            continue
        for n in SEEDS:
            rng = np.random.default_rng(n)
            hits = np.zeros(2)
            for i in range(sims):
                hits += covered(scene(name, i, n, rng), statistic, truth)
            yield what, name, n, *hits / sims


def true_scene(name: str) -> Task:
    """One seed an arm, at the mean."""
    none, bonus, *_ = SCENES[name]
    sides = ((NONE, none), ("e3b", bonus))
    arms = {(f"A{k}", b): np.array([m]) for b, means in sides for k, m in enumerate(means)}
    return Task("exact", name, arms)


def of_iqm(sims: int) -> Iterator[tuple]:
    strata = (narrow, ceiling, lottery, floor, narrow)
    rng = np.random.default_rng(0)
    truth = float(interquartile_mean(np.concatenate([d(rng, (200_000,)) for d in strata])))
    for n in SEEDS:
        hits = 0
        for i in range(sims):
            arms = {(f"A{k}", NONE): d(rng, (n,)) for k, d in enumerate(strata)}
            task = Task(str(i), "sparse", arms)
            found = bootstrap(task, {"iqm": lambda t: iqm(t, NONE)}, RESAMPLES)["iqm"]
            hits += found.low <= truth <= found.high
        yield "interquartile mean", "five different arms", n, hits / sims


def false_alarms(sims: int) -> Iterator[tuple]:
    """Of ΔSEP alone, of the permutation test alone, and of both together (the verdict's rule)."""
    for name in ("null", "equal arms, less noise"):
        for n in SEEDS:
            rng = np.random.default_rng(n)
            alarms = np.zeros(3)
            for i in range(sims):
                task = scene(name, i, n, rng)
                alone = TaskStatistics(task, RESAMPLES).spread("e3b").p < 0.05
                test = two_way(task, "e3b", permutations=399).p_permutation < 0.05
                alarms += [alone, test, alone and test]
            yield name, n, *alarms / sims


def table(head: tuple[str, ...], rows: Iterator[tuple]) -> None:
    words = head.index("seeds") + 1
    print("| " + " | ".join(head) + " |\n|" + "---|" * words + "---:|" * (len(head) - words))
    for row in rows:
        cells = [f"{100 * c:.1f}" if isinstance(c, float) else str(c) for c in row]
        print("| " + " | ".join(cells) + " |", flush=True)
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=2000)
    sims = parser.parse_args().simulations
    three = ("t", "percentile", "BCa")
    table(("mean of", "population", "seeds", *three), of_means(sims))
    table(("difference", "populations", "seeds", *three), of_gains(sims))
    table(("count", "truth", "seeds", "Wilson", "Wald"), of_shares())
    table(("statistic", "truth", "seeds", "Newcombe", "percentile"), of_improvement(sims))
    for what in ("ΔSEP", "ratio of dispersions"):
        table(("statistic", "scene", "seeds", "percentile", "BCa"), of_spreads(sims // 4, what))
    table(("statistic", "arms", "seeds", "stratified percentile"), of_iqm(sims // 4))
    alarms = ("ΔSEP alone", "permutation alone", "both")
    table(("false alarms in", "seeds", *alarms), false_alarms(sims // 4))


if __name__ == "__main__":
    main()
