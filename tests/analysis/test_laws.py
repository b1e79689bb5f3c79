"""What must hold of the statistics whatever the data."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.analysis import Results, Statistics, TaskStatistics, published, task, verdicts
from clew.analysis.cautions import cautions
from clew.analysis.names import NONE
from clew.analysis.report import page
from clew.analysis.stats import bootstrap, interaction
from clew.analysis.stats.gains import average_gain
from clew.analysis.stats.interaction import two_way
from clew.analysis.stats.intervals import holm, wilson
from clew.analysis.stats.missing import gaps
from clew.analysis.stats.spread import separation_change
from clew.analysis.stats.success import improvement
from clew.analysis.stats.task import Task
from clew.analysis.verdict import RULES
from tests.analysis.matrix import matrix

arm = st.lists(st.floats(0, 1).map(lambda x: round(x, 3)), min_size=2, max_size=6)


@st.composite
def some_task(draw: st.DrawFn) -> Task:
    names = draw(st.lists(st.sampled_from("ABCD"), min_size=2, max_size=4, unique=True))
    arms = {(a, b): np.sort(draw(arm)) for a in names for b in (NONE, "e3b")}
    return Task("world", "sparse", arms)


@given(some_task())
def test_estimates_lie_in_their_intervals(task: Task) -> None:
    found = TaskStatistics(task, resamples=200)
    for share in found.improvements.values():
        assert 0 <= share.low <= share.estimate <= share.high <= 1
    for gain in found.gains:
        assert gain.detectable >= 0
        assert -1 <= gain.bootstrap.low <= gain.bootstrap.high <= 1
    average = found.average_gains["e3b"].interval
    assert not average.known or average.low <= average.estimate <= average.high


@given(some_task())
def test_exchanging_the_arms_turns_every_sign(task: Task) -> None:
    swapped = dataclasses.replace(
        task, arms={(a, NONE if b == "e3b" else "e3b"): v for (a, b), v in task.arms.items()}
    )
    one, other = (average_gain(t, "e3b").interval for t in (task, swapped))
    assert one.estimate == pytest.approx(-other.estimate)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low), nan_ok=True)
    one, other = (separation_change(t, "e3b", t.memories) for t in (task, swapped))
    assert one == pytest.approx(-other)
    for a in task.architectures:
        pair = task.arms[a, "e3b"], task.arms[a, NONE]
        one, other = improvement(pair[0], pair[1]), improvement(pair[1], pair[0])
        assert one.low == pytest.approx(1 - other.high, abs=1e-6)


@given(some_task(), st.floats(-0.5, 0.5))
def test_f_and_separation_ignore_a_common_shift(task: Task, shift: float) -> None:
    moved = dataclasses.replace(task, arms={k: v + shift for k, v in task.arms.items()})
    one, other = (two_way(t, "e3b", permutations=0) for t in (task, moved))
    if not one.anova.why_not and one.anova.residual_ss > 1e-6:
        assert one.f == pytest.approx(other.f, rel=1e-5, abs=1e-7)
    one, other = (separation_change(t, "e3b", t.memories) for t in (task, moved))
    assert one == pytest.approx(other, abs=1e-9)


@given(st.lists(st.one_of(st.floats(0, 1), st.just(float("nan"))), max_size=10))
def test_holm_only_raises_and_keeps_order(ps: list[float]) -> None:
    corrected = holm(ps)
    for p, q in zip(ps, corrected, strict=True):
        assert np.isnan(p) == np.isnan(q)
        assert np.isnan(p) or p <= q <= 1
    real = sorted((p, q) for p, q in zip(ps, corrected, strict=True) if p == p)
    assert [q for _, q in real] == sorted(q for _, q in real)


@given(st.integers(1, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_stays_inside_and_never_closes(case: tuple[int, int]) -> None:
    found = wilson(*case)
    assert 0 <= found.low <= found.estimate <= found.high <= 1
    assert found.high - found.low > 0.05


def test_permutation_p_is_uniform_where_the_bonus_does_nothing() -> None:
    rng = np.random.default_rng(0)
    ps = []
    for i in range(300):
        arms = {(a, b): rng.beta(2, 2, 5) for a in "ABC" for b in (NONE, "e3b")}
        ps.append(two_way(Task(str(i), "null", arms), "e3b", permutations=199).p_permutation)
    # 300 draws: three standard errors
    assert np.mean(np.array(ps) <= 0.05) == pytest.approx(0.05, abs=3 * np.sqrt(0.05 * 0.95 / 300))
    assert np.mean(ps) == pytest.approx(0.5, abs=3 * np.sqrt(1 / 12 / 300))


def test_the_same_runs_in_another_order_or_beside_others_give_the_same_bytes() -> None:
    runs = published().runs
    shuffled = Results.from_frames(runs.sample(frac=1, random_state=3))
    alone = Results.from_frames(runs[runs["environment"] == "MysteryPath-Grid"])
    for other in (shuffled, alone):
        one, two = (Statistics(table).tasks[0] for table in (published(), other))
        assert one.spread("e3b") == two.spread("e3b")
        assert one.iqm == two.iqm
        assert one.interactions == two.interactions
        assert one.gains == two.gains


def test_ten_thousand_resamples_of_the_whole_matrix_take_seconds() -> None:
    whole = matrix()
    assert len(whole.runs) == 1800
    start = time.perf_counter()
    given_ = verdicts(Statistics(whole))
    assert time.perf_counter() - start < 30  # about 3 on one core
    assert len(given_) == 20


def test_published_patterns() -> None:
    patterns = {(v.task.label, v.bonus): v.pattern for v in verdicts(Statistics(published()))}
    assert patterns == {
        ("MPG / sparse", "e3b"): "amplify",
        ("MPG / sparse", "noveld"): "amplify",
        ("S13 / sparse", "e3b"): "equalise",
        ("S13 / sparse", "noveld"): "equalise",
    }


def test_the_null_and_the_harm_are_told_apart() -> None:
    patterns = {(v.task.label, v.bonus): v for v in verdicts(Statistics(matrix(), 2000, 2000))}
    tiny = {v.pattern for (label, _), v in patterns.items() if label.startswith("Tiny")}
    assert tiny == {"null"}
    aligned = patterns["MPG / aligned", "e3b"]
    assert aligned.pattern == "shift"
    assert "hurts on average" in aligned.sentence
    assert {v.pattern for v in patterns.values()} <= set(RULES)


def test_the_studys_cautions_are_raised() -> None:
    mpg, s13 = Statistics(published()).tasks
    assert {c.choice for c in cautions(s13, "e3b")} == {"scale", "control"}
    assert cautions(mpg, "e3b") == []


def test_less_noise_is_not_taken_for_equalisation() -> None:
    """Equal architectures whose seeds scatter without the bonus and not with it."""
    rng = np.random.default_rng(1)
    arms = {(a, b): np.sort(rng.normal(0.5, s, 10)) for a in "ABCDE" for b, s in ((NONE, 0.2), ("e3b", 0.01))}  # noqa: E501  # fmt: skip
    noisy = TaskStatistics(Task("world", "sparse", arms), permutations=500)
    assert noisy.spread("e3b").delta.high < 0
    assert "noise" in {c.choice for c in cautions(noisy, "e3b")}
    assert noisy.interactions["e3b"].p_permutation > 0.05


def test_failed_runs_are_left_out_listed_and_their_weight_is_told() -> None:
    runs = published().runs
    runs = runs[runs["environment"] == "MiniGrid-MemoryS13"].copy()
    lost = (runs["architecture"] == "GRU") & (runs["bonus"] == "e3b") & (runs["seed"] > 2)
    runs.loc[lost, ["status", "tail_mean"]] = ["diverged", np.nan]
    broken = Results.from_frames(runs)
    found = gaps(broken)
    assert found.sentence() == "173 of 180 runs are finished; 7 diverged."
    assert "GRU / e3b, seed 3" in found.lines()[0]
    here = task(broken, "MiniGrid-MemoryS13", "sparse")
    assert len(here.arms["GRU", "e3b"]) == 3
    assert "failures" in {c.choice for c in cautions(TaskStatistics(here), "e3b")}


def test_absent_seeds_are_missing() -> None:
    runs = published().runs
    gone = runs.drop(index=runs.index[[5, 100]])
    found = gaps(Results.from_frames(gone))
    assert (found.finished, found.expected) == (358, 360)
    assert set(found.runs["status"]) == {"missing"}


def test_a_report_resamples_every_task_once(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[tuple[object, ...]] = []

    def recorded(*key: object) -> np.random.Generator:
        drawn.append(key)
        return made(*key)

    made = bootstrap.generator
    for module in (bootstrap, interaction):
        monkeypatch.setattr(module, "generator", recorded)
    page(Statistics(published(), resamples=100, permutations=100))
    assert len(drawn) == len(set(drawn))
    # two tasks; and the permutations of each with two bonuses
    assert sorted(str(key[0]) for key in drawn) == ["bootstrap"] * 2 + ["permutation"] * 4
