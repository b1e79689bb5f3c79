"""Our statistics against scipy, statsmodels and what rliable was recorded to compute."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestIndPower
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from clew.analysis import Statistics, Task, TaskStatistics, published
from clew.analysis.names import NONE
from clew.analysis.stats import intervals
from clew.analysis.stats.anova import Design, anova
from clew.analysis.stats.gains import average_gain
from clew.analysis.stats.intervals import (
    TINY,
    holm,
    mean_interval,
    permuted,
    pooled_std,
    welch,
    wilson,
)
from clew.analysis.stats.success import interquartile_mean, wins

RLIABLE = json.loads((Path(__file__).parents[1] / "golden/analysis/rliable.json").read_text())
FOUND: dict[str, TaskStatistics] = dict(
    zip(("mystery_path", "memory_s13"), Statistics(published()).tasks, strict=True)
)
samples = st.lists(st.floats(0, 1), min_size=2, max_size=12).map(lambda v: np.array(v))


@pytest.mark.parametrize("case", RLIABLE["iqm"])
def test_iqm_is_rliables(case: str) -> None:
    environment, bonus = case.split("/")
    ours, theirs = FOUND[environment].iqm[bonus], RLIABLE["iqm"][case]
    assert ours.estimate == pytest.approx(theirs["estimate"], abs=1e-12)
    # two bootstraps of 10,000 and 20,000
    assert [ours.low, ours.high] == pytest.approx([theirs["low"], theirs["high"]], abs=0.0015)


@pytest.mark.parametrize("case", RLIABLE["improvement"])
def test_improvement_is_rliables(case: str) -> None:
    environment, architecture, bonus = case.split("/")
    arms = FOUND[environment].task.arms
    found = float(wins(arms[architecture, bonus], arms[architecture, NONE]))
    assert found == pytest.approx(RLIABLE["improvement"][case], abs=1e-12)


@given(samples, samples)
def test_wins_is_mann_whitneys_u(one: np.ndarray, other: np.ndarray) -> None:
    u = stats.mannwhitneyu(one, other).statistic
    assert float(wins(one, other)) == pytest.approx(u / (len(one) * len(other)))


@given(samples)
def test_iqm_is_a_trimmed_mean(values: np.ndarray) -> None:
    assert float(interquartile_mean(values)) == pytest.approx(stats.trim_mean(values, 0.25))


NOTHING = (("A", 0.1, 0.02), ("B", 0.5, 0.2), ("C", 0.7, 0.1))


@given(samples, samples)
def test_welch_is_statsmodels(one: np.ndarray, other: np.ndarray) -> None:
    assume(pooled_std(one, other) >= TINY)  # less is taken as none
    found = welch(one, other)
    theirs = CompareMeans(DescrStatsW(one), DescrStatsW(other))
    low, high = theirs.tconfint_diff(usevar="unequal")
    assert found.interval.low == pytest.approx(max(low, -1), abs=1e-9)
    assert found.interval.high == pytest.approx(min(high, 1), abs=1e-9)
    p = theirs.ttest_ind(usevar="unequal")[1]
    if len(one) == len(other):
        assert found.p == pytest.approx(p, abs=1e-12)
    else:
        assert found.p == pytest.approx(max(p, permuted(one, other)), abs=1e-12)


rounded = st.lists(st.integers(0, 20), min_size=2, max_size=6).map(lambda v: np.array(v) / 20)


@settings(max_examples=30)
@given(rounded, rounded)
def test_permuted_is_scipys(one: np.ndarray, other: np.ndarray) -> None:
    """Of all ways, with t² computed by scipy, which warns of arms without a spread."""
    assume(one.std() > 0 and other.std() > 0)

    def squared(*arms: np.ndarray) -> float:
        error = sum(arm.var(ddof=1) / len(arm) for arm in arms)
        return round((arms[0].mean() - arms[1].mean()) ** 2 / max(error, TINY**3), 9)

    options: Any = {"n_resamples": 10**4, "vectorized": False, "alternative": "greater"}
    theirs: Any = stats.permutation_test((one, other), squared, **options)
    assert permuted(one, other) == permuted(other, one) == pytest.approx(theirs.pvalue, abs=1e-12)


def test_permuted_by_a_sample_is_about_that_by_all(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = np.random.default_rng(0).normal(size=5), np.linspace(0, 2, 10)
    exact = permuted(one, other)
    monkeypatch.setattr(intervals, "SPLITS", 3000)
    intervals._splits.cache_clear()
    assert permuted(one, other) == pytest.approx(exact, abs=0.01)
    intervals._splits.cache_clear()


@given(samples, samples)
def test_the_average_gain_of_one_architecture_is_welchs(one: np.ndarray, other: np.ndarray) -> None:
    assume(pooled_std(one, other) >= 2 * TINY)
    task = Task("world", "sparse", {("A", "e3b"): one, ("A", NONE): other})
    found, theirs = average_gain(task, "e3b"), welch(one, other)
    clipped = [max(found.interval.low, -1.0), min(found.interval.high, 1.0)]
    assert clipped == pytest.approx([theirs.interval.low, theirs.interval.high], abs=1e-9)
    if len(one) == len(other):
        assert found.p == pytest.approx(theirs.p, abs=1e-12)


@given(st.floats(0, 1), st.floats(0, 1), st.integers(2, 8), st.integers(2, 8))
def test_seeds_without_spread_are_judged_by_permutation(
    one: float, other: float, n: int, m: int
) -> None:
    """As scipy's permutation test of all permutations."""
    assume(abs(one - other) > 2 * TINY)
    arms = np.full(n, one), np.full(m, other)
    theirs: Any = stats.permutation_test(arms, lambda a, b: a.mean() - b.mean(), n_resamples=10**5)
    task = Task("world", "sparse", {("A", "e3b"): arms[0], ("A", NONE): arms[1]})
    # unless the arms are equally large, only one way is as extreme; what is given is not less
    given = 2 / math.comb(n + m, n)
    assert theirs.pvalue <= given * (1 + 1e-9)
    for found in (welch(*arms), average_gain(task, "e3b")):
        assert found.p == pytest.approx(min(1.0, given))
        assert not found.interval.known


def test_arms_without_spread_have_no_f() -> None:
    """Whatever their means are: what is left of them is rounding."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        a, n = int(rng.integers(2, 7)), int(rng.integers(2, 11))
        codes = np.repeat(np.arange(a), 2 * n), np.tile(np.repeat([0, 1], n), a)
        y = np.repeat(np.round(rng.random(2 * a), 2), n)
        found = anova(y, Design({"A": codes[0], "B": codes[1]}))
        assert "equal" in found.why_not
        assert math.isnan(found.effects[-1].p)


def test_an_average_gain_of_nothing_is_seldom_found() -> None:
    """At the size of the test, with arms of five seeds that differ in mean and in spread."""
    rng = np.random.default_rng(0)
    ps = []
    for _ in range(2000):
        arms = {(a, b): rng.normal(m, sd, 5) for a, m, sd in NOTHING for b in (NONE, "e3b")}
        ps.append(average_gain(Task("world", "sparse", arms), "e3b").p)
    assert 0.03 < np.mean(np.array(ps) < 0.05) < 0.06


@given(samples)
def test_mean_interval_is_students(values: np.ndarray) -> None:
    found = mean_interval(values)
    error = stats.sem(values)
    assume(error > 1e-9)
    low, high = stats.t.interval(0.95, len(values) - 1, values.mean(), error)
    assert [found.low, found.high] == pytest.approx([max(low, 0), min(high, 1)], abs=1e-9)


@given(st.integers(1, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_statsmodels(case: tuple[int, int]) -> None:
    found = wilson(*case)
    assert (found.low, found.high) == pytest.approx(proportion_confint(*case, method="wilson"))


@settings(max_examples=15)
@given(st.lists(st.floats(1e-8, 1), min_size=1, max_size=12))
def test_holm_is_statsmodels(ps: list[float]) -> None:
    assert holm(ps) == pytest.approx(list(np.asarray(multipletests(ps, method="holm")[1])))


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_anova_is_statsmodels(seed: int, balanced: bool) -> None:
    rng = np.random.default_rng(seed)
    cells = [(a, b, c) for a in range(3) for b in range(2) for c in range(2)]
    each = [4 if balanced else int(rng.integers(2, 6)) for _ in cells]
    codes = np.repeat(cells, each, axis=0).T
    y = rng.normal(size=codes.shape[1]) + codes[0] * codes[1] * rng.normal()
    ours = anova(y, Design({"a": codes[0], "b": codes[1], "c": codes[2]}))
    frame = pd.DataFrame({"y": y, "a": codes[0], "b": codes[1], "c": codes[2]})
    model = ols("y ~ C(a, Sum) * C(b, Sum) * C(c, Sum)", frame).fit()
    theirs = sm.stats.anova_lm(model, typ=3)
    for effect in ours.effects:
        row = theirs.loc[":".join(f"C({f}, Sum)" for f in effect.factors)]
        assert effect.ss == pytest.approx(row["sum_sq"], rel=1e-6, abs=1e-9)
        assert (effect.df, effect.f, effect.p) == pytest.approx(
            (row["df"], row["F"], row["PR(>F)"]), rel=1e-6, abs=1e-9
        )
    assert ours.residual_ss == pytest.approx(theirs.loc["Residual", "sum_sq"])


def test_what_can_be_detected_is_statsmodels() -> None:
    one = np.random.default_rng(0).normal(size=10)
    other = one + 0.3  # equal spread: Welch's degrees of freedom are Student's
    smallest = TTestIndPower().solve_power(nobs1=10, alpha=0.05, power=0.8) * one.std(ddof=1)
    assert welch(one, other).detectable == pytest.approx(smallest, rel=1e-5)
