"""Our statistics against scipy, statsmodels and what rliable was recorded to compute."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestIndPower
from statsmodels.stats.proportion import proportion_confint

from clew.analysis import Task, published, tasks
from clew.analysis.names import NONE
from clew.analysis.stats.anova import Design, anova
from clew.analysis.stats.families import holm
from clew.analysis.stats.gains import leave_one_out, welch_p
from clew.analysis.stats.improvement import wins
from clew.analysis.stats.intervals import bca, mean_interval, welch, wilson
from clew.analysis.stats.iqm import interquartile_mean, iqm
from clew.analysis.stats.power import detectable_difference, power_of

RLIABLE = json.loads((Path(__file__).parents[1] / "golden/analysis/rliable.json").read_text())
MPG, S13 = tasks(published())
TASKS: dict[str, Task] = {"mystery_path": MPG, "memory_s13": S13}
samples = st.lists(st.floats(0, 1), min_size=2, max_size=12).map(lambda v: np.array(v))


@pytest.mark.parametrize("case", RLIABLE["iqm"])
def test_iqm_is_rliables(case: str) -> None:
    environment, bonus = case.split("/")
    ours, theirs = iqm(TASKS[environment], bonus), RLIABLE["iqm"][case]
    assert ours.estimate == pytest.approx(theirs["estimate"], abs=1e-12)
    # two bootstraps of 10,000 and 20,000
    assert [ours.low, ours.high] == pytest.approx([theirs["low"], theirs["high"]], abs=0.0015)


@pytest.mark.parametrize("case", RLIABLE["improvement"])
def test_improvement_is_rliables(case: str) -> None:
    environment, architecture, bonus = case.split("/")
    arms = TASKS[environment].arms
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
def test_welch_is_scipys(one: np.ndarray, other: np.ndarray) -> None:
    found = welch(one, other)
    if max(np.ptp(one), np.ptp(other)) < 1e-6:  # scipy's own warning of lost precision
        return
    theirs: Any = stats.ttest_ind(one, other, equal_var=False)
    bounds = theirs.confidence_interval()
    assert found.low == pytest.approx(max(bounds.low, -1), abs=1e-9)
    assert found.high == pytest.approx(min(bounds.high, 1), abs=1e-9)
    assert welch_p(one, other) == pytest.approx(theirs.pvalue)


@given(samples)
def test_mean_interval_is_students(values: np.ndarray) -> None:
    found = mean_interval(values)
    error = stats.sem(values)
    if error > 1e-9:
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


@given(st.integers(0, 2**32 - 1))
def test_bca_is_scipys(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = rng.beta(2, 1, 8), rng.beta(1, 3, 10)
    theirs = stats.bootstrap(
        (one, other),
        lambda x, y, axis: x.mean(axis) - y.mean(axis),
        n_resamples=999,
        vectorized=True,
        paired=False,
        rng=rng,
    )
    gain = one.mean() - other.mean()
    left_out = [leave_one_out(one) - other.mean(), one.mean() - leave_one_out(other)]
    ours = bca(theirs.bootstrap_distribution, gain, left_out)
    # the same resamples; quantiles are taken differently, a rank or two apart
    ranks = [np.searchsorted(np.sort(theirs.bootstrap_distribution), x) for x in (ours, theirs.confidence_interval)]  # noqa: E501  # fmt: skip
    assert ranks[0] == pytest.approx(ranks[1], abs=2)


def test_power_is_statsmodels() -> None:
    rng = np.random.default_rng(0)
    one = rng.normal(size=10)
    other = one + 0.3  # equal spread: Welch's degrees of freedom are Student's
    error = np.sqrt(2 * one.var(ddof=1) / 10)
    theirs = TTestIndPower()
    effect = 0.8 / one.std(ddof=1)
    assert power_of(0.8, error, 18) == pytest.approx(theirs.power(effect, 10, 0.05))
    smallest = theirs.solve_power(nobs1=10, alpha=0.05, power=0.8) * one.std(ddof=1)
    assert detectable_difference(one, other) == pytest.approx(smallest, rel=1e-5)
