"""Our statistics against scipy, statsmodels and what rliable was recorded to compute."""

from __future__ import annotations

import json
from pathlib import Path

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
from clew.analysis.stats.anova import Design, anova
from clew.analysis.stats.gains import average_gain
from clew.analysis.stats.intervals import holm, mean_interval, welch, wilson
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


@given(samples, samples)
def test_welch_is_statsmodels(one: np.ndarray, other: np.ndarray) -> None:
    assume(max(np.ptp(one), np.ptp(other)) > 1e-6)  # less is lost in rounding
    found = welch(one, other)
    theirs = CompareMeans(DescrStatsW(one), DescrStatsW(other))
    low, high = theirs.tconfint_diff(usevar="unequal")
    assert found.interval.low == pytest.approx(max(low, -1), abs=1e-9)
    assert found.interval.high == pytest.approx(min(high, 1), abs=1e-9)
    assert found.p == pytest.approx(theirs.ttest_ind(usevar="unequal")[1], abs=1e-12)


@given(samples, samples)
def test_the_average_gain_of_one_architecture_is_welchs(one: np.ndarray, other: np.ndarray) -> None:
    assume(max(np.ptp(one), np.ptp(other)) > 1e-6)
    found = average_gain(Task("world", "sparse", {("A", "e3b"): one, ("A", NONE): other}), "e3b")
    theirs = welch(one, other).interval
    clipped = [max(found.low, -1.0), min(found.high, 1.0)]
    assert clipped == pytest.approx([theirs.low, theirs.high], abs=1e-9)


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
