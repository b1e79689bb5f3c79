"""The decision: a table of cases, the same cases from seeds, and how often it is wrong."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import TTestIndPower
from statsmodels.stats.weightstats import ttost_ind

from clew.analysis import Results, Statistics, advice, answers, reason
from clew.analysis.advice import bottleneck, choice, in_brief, label, line, needs
from clew.analysis.answer import Answer, held_back_by, of_task, strongest
from clew.analysis.formatting import change
from clew.analysis.report.answer_grid import grid
from clew.analysis.stats.effects import (
    EQUIVALENT_SEEDS,
    SEEDS,
    Said,
    effect,
    seeds_needed,
)
from clew.analysis.stats.intervals import TINY, mean_interval
from clew.analysis.stats.task import Task, Values
from clew.analysis.summary import held_back, lines
from clew.validate import BadInput

HELPS, HURTS, EVEN, OPEN = "helps", "hurts", "does not matter", "cannot be told"
SAID: tuple[Said, ...] = (HELPS, HURTS, EVEN, OPEN)

# bonus, memory, both, bonus over memory, bonus on memory, memory on bonus, solved → held back by
CASES = [
    (HELPS, EVEN, HELPS, HELPS, HELPS, EVEN, False, "exploration"),
    (HELPS, HURTS, HURTS, HELPS, EVEN, HURTS, False, "exploration"),
    (EVEN, HURTS, HURTS, HELPS, EVEN, HURTS, False, "cannot be told"),
    (HURTS, HURTS, HURTS, OPEN, EVEN, HURTS, False, "cannot be told"),
    (HELPS, OPEN, HELPS, HELPS, HELPS, EVEN, False, "exploration"),
    (HELPS, OPEN, HELPS, OPEN, HELPS, EVEN, False, "cannot be told"),
    (EVEN, HELPS, HELPS, HURTS, EVEN, HELPS, False, "memory"),
    (HURTS, HELPS, HELPS, HURTS, HURTS, HELPS, False, "memory"),
    (OPEN, HELPS, HELPS, HURTS, EVEN, HELPS, False, "memory"),
    (OPEN, HELPS, HELPS, OPEN, EVEN, OPEN, False, "cannot be told"),
    (HELPS, HELPS, HELPS, OPEN, HELPS, HELPS, False, "both"),
    (HELPS, HELPS, HELPS, HELPS, EVEN, EVEN, False, "both"),
    (EVEN, EVEN, HELPS, EVEN, HELPS, HELPS, False, "both"),
    (OPEN, OPEN, HELPS, OPEN, HELPS, HELPS, False, "both"),
    (OPEN, OPEN, HELPS, OPEN, HELPS, OPEN, False, "cannot be told"),
    (EVEN, EVEN, EVEN, EVEN, EVEN, EVEN, True, "nothing"),
    (OPEN, EVEN, OPEN, OPEN, EVEN, EVEN, True, "nothing"),
    (HURTS, EVEN, HURTS, HURTS, HURTS, EVEN, True, "nothing"),
    (EVEN, EVEN, EVEN, EVEN, EVEN, EVEN, False, "something else"),
    (HURTS, EVEN, HURTS, HURTS, HURTS, EVEN, False, "something else"),
    (EVEN, EVEN, OPEN, EVEN, OPEN, OPEN, False, "cannot be told"),
    (OPEN, OPEN, OPEN, OPEN, OPEN, OPEN, False, "cannot be told"),
]
INPUTS = (
    "bonus", "memory", "both", "bonus_over_memory", "bonus_on_memory", "memory_on_bonus", "solved",
)  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_table_of_cases(case: tuple) -> None:
    assert decide(case[:-1]) == case[-1]


def decide(inputs: tuple[Any, ...]) -> str:
    return held_back_by(**dict(zip(INPUTS, inputs, strict=True)))


def test_every_combination_has_one_answer_that_its_evidence_allows() -> None:
    seen = set()
    for said in itertools.product(*[SAID] * 6, (False, True)):
        inputs = dict(zip(INPUTS, said, strict=True))
        found = decide(said)
        seen.add(found)
        if found == "exploration":
            assert inputs["bonus"] == HELPS != inputs["memory"]
        if found == "memory":
            assert inputs["memory"] == HELPS != inputs["bonus"]
        if found == "both":
            assert HELPS in (inputs["bonus"], inputs["both"])
        if found in ("nothing", "something else"):
            assert HELPS not in (inputs["bonus"], inputs["memory"])
    assert seen >= {"exploration", "memory", "both", "nothing", "something else"}


def table(**arms: tuple[float, float] | list[float]) -> Results:
    """Arms `AGENT_BONUS` of (mean, standard deviation) over eight seeds, or of these seeds."""
    rows = []
    for name, about in arms.items():
        agent, bonus = name.split("_")
        spread = stats.norm.ppf((np.arange(8) + 0.5) / 8)
        seeds = np.clip(about[0] + about[1] * spread, 0, 1) if isinstance(about, tuple) else about
        rows += [
            {
                "environment": "Maze", "reward": "sparse", "architecture": agent, "bonus": bonus,
                "seed": seed, "tail_mean": value, "status": "finished",
            }
            for seed, value in enumerate(seeds)
        ]  # fmt: skip
    return Results.from_frames(pd.DataFrame(rows))


def answer(**arms: tuple[float, float] | list[float]) -> Answer:
    (found,) = answers(Statistics(table(**arms)))
    return found


def test_one_agent_gets_a_full_answer_about_the_bonus() -> None:
    found = answer(GRU_none=(0.2, 0.05), GRU_e3b=(0.8, 0.05))
    assert found.effect.said == HELPS
    assert advice(found).startswith("Use E3B: +.60 [+.5")
    assert not found.intervened
    assert "a Given arm would tell" in reason(found)


@pytest.mark.parametrize(
    ("own", "with_bonus", "given_", "with_both", "expected", "words"),
    [
        (0.2, 0.8, 0.2, 0.8, "exploration", "not memory"),
        (0.2, 0.5, 0.2, 0.9, "exploration", "what holds it back next"),
        (0.3, 0.3, 0.9, 0.9, "memory", "Memory is the bottleneck"),
        (0.3, 0.1, 0.9, 0.5, "memory", "Memory is the bottleneck"),
        (0.1, 0.1, 0.1, 0.9, "both", "neither alone"),
        (0.1, 0.4, 0.5, 0.9, "both", "each hold it back"),
        (0.97, 0.97, 0.97, 0.97, "nothing", "Nothing holds it back"),
        (0.02, 0.02, 0.02, 0.02, "cannot be told", "hardly any run of this task succeeds"),
        (0.08, 0.08, 0.08, 0.08, "something else", "optimisation, capacity and budget"),
        (0.5, 0.5, 0.5, 0.5, "something else", "Neither memory nor exploration"),
    ],
)
def test_intervention(
    own: float, with_bonus: float, given_: float, with_both: float, expected: str, words: str
) -> None:
    found = answer(
        GRU_none=(own, 0.02),
        GRU_e3b=(with_bonus, 0.02),
        Given_none=(given_, 0.02),
        Given_e3b=(with_both, 0.02),
    )
    assert found.held_back_by == expected
    assert words in reason(found)


def test_given_memory_that_does_harm_is_a_control_that_failed() -> None:
    rest = {"Given_none": (0.1, 0.02), "Given_e3b": (0.1, 0.02)}
    found = answer(GRU_none=(0.5, 0.02), GRU_e3b=(0.3, 0.02), **rest)
    assert found.held_back_by == "cannot be told"
    assert "given memory does worse than its own (−.40" in reason(found)
    helped = answer(GRU_none=(0.5, 0.02), GRU_e3b=(0.8, 0.02), **rest)
    assert (helped.held_back_by, helped.intervened) == ("exploration", False)
    assert "not memory" not in reason(helped)
    assert "cannot be told: given memory does worse" in bottleneck(helped)


def test_failed_runs_are_said_where_they_would_change_the_answer() -> None:
    fine = table(GRU_none=(0.5, 0.02), GRU_e3b=(0.9, 0.02))
    lost = fine.runs.assign(
        status=np.where(
            (fine.runs["bonus"] == "e3b") & (fine.runs["seed"] > 3), "failed", "finished"
        )
    )
    (found,) = answers(Statistics(Results.from_frames(lost)))
    assert found.effect.said == HELPS
    assert found.failed == 4
    assert "with the 4 runs that failed counted as success 0: whether E3B helps" in line(found)
    one = fine.runs.assign(status=np.where(fine.runs.index == 0, "diverged", "finished"))
    (same,) = answers(Statistics(Results.from_frames(one)))
    assert (same.failed, same.with_failures) == (1, None)


def test_an_agent_all_of_whose_runs_failed_leaves_the_control_its_answer() -> None:
    """Given is asked about where it is alone, as here it is; counted as 0, the other is there."""
    fine = table(GRU_none=(0.5, 0.02), Given_none=(0.5, 0.02), Given_e3b=(0.9, 0.02))
    lost = np.where(fine.runs["architecture"] == "GRU", "failed", "finished")
    (found,) = answers(Statistics(Results.from_frames(fine.runs.assign(status=lost))))
    assert (found.agent, found.effect.said, found.with_failures) == ("Given", HELPS, None)


def test_together_is_not_alone_unless_shown() -> None:
    wide = answer(GRU_none=(0.3, 0.12), GRU_e3b=(0.44, 0.15), Given_none=(0.44, 0.15),
                  Given_e3b=(0.9, 0.05))  # fmt: skip
    assert wide.held_back_by == "both"
    assert "whether either alone would do cannot be told" in reason(wide)


def test_the_half_that_is_shown_stands_in_the_grid() -> None:
    arms = {"GRU_none": (0.3, 0.05), "Given_none": (0.8, 0.12), "Given_e3b": (0.9, 0.05)}
    found = answer(**arms, GRU_e3b=(0.55, 0.3))
    assert (found.effect.said, found.held_back_by) == (OPEN, "cannot be told")
    assert "Memory holds it back; whether exploration does" in bottleneck(found)
    assert (label(found), needs(found)) == (
        "memory, at least in part", "needs memory, at least in part"
    )  # fmt: skip
    assert "■</i> memory, at least in part" in grid([found], "Memoryless")


def test_a_bonus_that_helps_once_memory_is_given_is_said() -> None:
    found = answer(GRU_none=(0.2, 0.02), GRU_e3b=(0.2, 0.02), Given_none=(0.5, 0.02),
                   Given_e3b=(0.95, 0.02))  # fmt: skip
    assert found.held_back_by == "memory"
    assert "Once memory is given, E3B helps: +.45" in reason(found)


def test_a_wide_margin_does_not_make_an_agent_good() -> None:
    results = table(GRU_none=(0.45, 0.02), GRU_e3b=(0.5, 0.02))
    (found,) = answers(Statistics(results, margin=0.3))
    assert not found.solved


def test_three_good_seeds_are_not_enough_to_say_that_nothing_holds_it_back() -> None:
    """An agent that one seed in five never learns shows three good ones in half of all studies."""
    few = answer(GRU_none=[0.97, 0.98, 0.99], GRU_e3b=[0.98, 0.98, 0.99])
    assert few.held_back_by == "cannot be told"
    enough = answer(GRU_none=[0.97, 0.98, 0.99, 0.98, 0.98], GRU_e3b=[0.98, 0.98, 0.99])
    assert enough.held_back_by == "nothing"


def test_harm_is_called_harm() -> None:
    found = answer(GRU_none=(0.8, 0.05), GRU_e3b=(0.4, 0.05))
    assert advice(found).startswith("Do not use E3B: −.40")


def test_floor_and_ceiling_are_not_the_same_null() -> None:
    low = answer(GRU_none=(0.02, 0.01), GRU_e3b=(0.02, 0.01), Memoryless_none=(0.02, 0.01))
    high = answer(GRU_none=(0.98, 0.01), GRU_e3b=(0.98, 0.01), Memoryless_none=(0.3, 0.01))
    assert (low.effect.said, high.effect.said) == (OPEN, EVEN)
    assert advice(low).startswith("Make the task easier or train longer, since hardly any run")
    assert (low.held_back_by, high.held_back_by) == ("cannot be told", "nothing")
    assert "hardly ever succeeds" in reason(low)


@pytest.mark.parametrize(
    ("seeds", "words"),
    [
        ([0.21, 0.25, 0.24], "Probes find what must be remembered in its memory (AUC +.23"),
        ([0.0, 0.01, -0.01], "Probes do not find what must be remembered in its memory"),
        ([-0.1, 0.2, 0.3], ""),
        ([0.3], ""),
    ],
)
def test_probes_are_hints_where_memory_was_not_given(seeds: list[float], words: str) -> None:
    decoded = {("Maze", "sparse", "GRU", "none"): mean_interval(np.array(seeds), inside=(-1, 1))}
    alone = table(GRU_none=(0.5, 0.05), GRU_e3b=(0.5, 0.05))
    (found,) = answers(Statistics(alone, decoded=decoded))
    assert ("Probes" in reason(found)) == bool(words)
    assert words in reason(found)
    given_too = table(GRU_none=(0.5, 0.05), GRU_e3b=(0.5, 0.05), Given_none=(0.5, 0.05))
    (found,) = answers(Statistics(given_too, decoded=decoded))
    assert "Probes" not in reason(found)


def test_agents_and_bonuses_of_a_task_are_corrected_together() -> None:
    """A gain that one agent alone would show is not shown as one of five; controls count."""
    arms = {"GRU_none": (0.5, 0.09), "GRU_e3b": (0.62, 0.09)}
    assert answer(**arms).effect.said == HELPS
    p = answer(**arms).effect.p
    even = {
        f"{a}_{b}": (0.5, 0.09) for a in ("LSTM", "Memoryless", "Given") for b in ("none", "e3b")
    }
    found = answers(Statistics(table(**arms, **even, GRU_noveld=(0.5, 0.09))))
    (mine,) = [a for a in found if (a.agent, a.bonus) == ("GRU", "e3b")]
    assert mine.effect.p == pytest.approx(5 * p)
    assert mine.effect.said == OPEN


def test_a_bonus_with_which_every_run_fails_is_told_not_to_be_used() -> None:
    """As one with which all but one fail; and where all runs without it fail, to be used."""
    runs = table(GRU_none=(0.5, 0.02), GRU_e3b=(0.5, 0.02), LSTM_none=(0.5, 0.02),
                 LSTM_e3b=(0.9, 0.02)).runs  # fmt: skip
    for bonus, said in (("e3b", "hurts"), ("none", "helps")):
        lost = (runs["architecture"] == "GRU") & (runs["bonus"] == bonus)
        status = np.where(lost, "diverged", "finished")
        found = {
            a.agent: a for a in answers(Statistics(Results.from_frames(runs.assign(status=status))))
        }
        assert found["LSTM"].effect.said == HELPS
        assert (found["GRU"].effect.said, found["GRU"].lost) == (said, True)
        assert f"with the {lost.sum()} runs that failed counted as success 0" in line(found["GRU"])


@pytest.mark.parametrize("share", [1.0, 0.75, 0.5])
def test_an_arm_whose_runs_failed_names_no_bottleneck(share: float) -> None:
    """What memory adds on top of the bonus is not known where the bonus was hardly trained."""
    runs = table(GRU_none=(0.3, 0.02), GRU_e3b=(0.6, 0.02), Given_none=(0.3, 0.02),
                 Given_e3b=(0.6, 0.02)).runs  # fmt: skip
    for agent, bonus in (("GRU", "e3b"), ("GRU", "none"), ("Given", "e3b"), ("Given", "none")):
        lost = (runs["architecture"] == agent) & (runs["bonus"] == bonus)
        lost &= runs["seed"] < 8 * share
        status = np.where(lost, "diverged", "finished")
        (found,) = [
            a.with_failures or a
            for a in answers(Statistics(Results.from_frames(runs.assign(status=status))))
            if a.agent == "GRU"
        ]
        held = "exploration" if agent == "Given" else "cannot be told"
        assert found.held_back_by == held
        assert "together" not in reason(found) or "which of the two is needed" in reason(found)
        assert "at least in part" not in reason(found) or agent == "Given"


def test_claims_about_memory_are_corrected_over_agents() -> None:
    """Of five agents without any difference, one in twenty studies names a bottleneck."""
    rng, named = np.random.default_rng(0), 0
    pairs = [(a, b) for a in ("A", "B", "C", "D", "E", "Given") for b in ("none", "e3b")]
    for _ in range(300):
        found = of_task(Task("a", "b", {pair: rng.normal(0.5, 0.12, 10) for pair in pairs}))
        named += any(a.held_back_by not in (OPEN, "something else") for a in found)
    assert named <= 24  # 5% of 300 is 15, and 24 are exceeded once in a hundred times


def test_of_several_bonuses_the_one_that_helps_most_is_named() -> None:
    arms = {"GRU_none": (0.2, 0.02), "GRU_e3b": (0.5, 0.02), "GRU_noveld": (0.9, 0.02)}
    found = {a.bonus: a for a in answers(table(**arms))}
    assert (choice(found["e3b"]), found["noveld"].over_others["e3b"].said) == ("", HELPS)
    first, second, *rest = lines(Statistics(table(**arms)), tuple(found.values()))
    assert first.startswith("GRU: use NovelD, +.70 [")
    assert second.startswith("GRU: NovelD does more: +.40 [")
    assert rest[-1].startswith("  GRU: use E3B, +.30 [")
    assert rest[-1].endswith("].")  # what holds it back is said once
    alike = {**arms, "GRU_e3b": (0.9, 0.02)}
    best = strongest(answers(Statistics(table(**alike))))
    assert "or" in choice(best)
    assert choice(best).endswith("does more cannot be told.")


def test_what_holds_an_agent_back_does_not_depend_on_how_many_bonuses_were_tried() -> None:
    arms = {"GRU_none": (0.2, 0.02), "GRU_e3b": (0.8, 0.02), "GRU_noveld": (0.1, 0.02),
            "Given_none": (0.2, 0.02), "Given_e3b": (0.8, 0.02), "Given_noveld": (0.2, 0.02),
            "LSTM_none": (0.2, 0.02), "LSTM_e3b": (0.8, 0.02)}  # fmt: skip
    found = answers(Statistics(table(**arms)))
    assert len({a.held_back_by for a in found if a.agent == "GRU"}) == 2
    assert held_back(found) == "Held back by exploration: GRU and LSTM."


def test_a_bonus_that_only_speeds_learning_up_is_said_to() -> None:
    results = table(GRU_none=(0.9, 0.02), GRU_e3b=(0.9, 0.02))
    names = ["environment", "reward", "architecture", "bonus", "bonus_coef", "seed"]
    after = np.where(results.runs["bonus"] == "e3b", 2, 8)
    noise = 0.01 * results.runs["seed"]
    curves = pd.concat(
        results.runs[names].assign(steps=k * 1000, success=np.where(k >= after, 0.9, noise))
        for k in range(1, 21)
    )
    (found,) = answers(Statistics(Results.from_frames(results.runs, curves)))
    assert found.effect.said == EVEN
    gain = found.over_training
    assert gain is not None
    assert gain.estimate == pytest.approx(6 * (0.9 - 0.01 * 3.5) / 19, abs=0.02)
    assert "With E3B it learns sooner: mean success over all of training +.2" in line(found)
    slower = results.runs.assign(bonus=results.runs["bonus"].map({"e3b": "none", "none": "e3b"}))
    curves["bonus"] = curves["bonus"].map({"e3b": "none", "none": "e3b"})
    (found,) = answers(Statistics(Results.from_frames(slower, curves)))
    assert "With E3B it learns later" in line(found)


def test_few_seeds_say_how_many_would_tell() -> None:
    found = answer(GRU_none=[0.2, 0.5, 0.4], GRU_e3b=[0.3, 0.6, 0.6])
    assert found.effect.said == OPEN
    assert f"about {found.effect.needed} seeds an arm would tell" in advice(found)
    single = answer(GRU_none=[0.2], GRU_e3b=[0.9])
    assert advice(single) == f"Train at least {SEEDS} seeds with E3B and without: +.70."


def test_an_arm_with_fewer_seeds_than_would_tell_says_how_many() -> None:
    found = answer(GRU_none=(0.3, 0.1), GRU_e3b=[0.35, 0.6, 0.85])
    assert advice(found).endswith("seeds an arm would tell.")


def test_how_many_seeds_would_tell_what_holds_it_back() -> None:
    """As few as settle it, though whether the bonus helps would need many more."""
    own, perfect = [0.0, 0.23, 0.52], [1.0, 1.0, 1.0]
    with_bonus = [0.05, 0.2, 0.6]
    arms = {"GRU_e3b": with_bonus, "Given_none": perfect, "Given_e3b": perfect}
    found = answer(GRU_none=own, **arms)
    assert found.held_back_by == OPEN
    assert found.effect.needed is not None
    assert found.effect.needed > 50
    assert found.needed == 4
    gain = change(found.memory.interval) if found.memory is not None else ""
    assert reason(found).startswith(
        f"What holds it back cannot be told with 3 seeds; given memory changes success by {gain}; "
        "about 4 seeds an arm would tell."
    )
    more = {arm: [*values, values[0]] for arm, values in arms.items()}
    assert answer(GRU_none=[*own, 0.3], **more).held_back_by == "memory"


def test_seeds_without_any_spread() -> None:
    """All 0 against all 1: no variance to judge by, and yet plain enough with five seeds."""
    assert answer(GRU_none=[0.0] * 5, GRU_e3b=[1.0] * 5).effect.said == HELPS
    few = answer(GRU_none=[0.0] * 3, GRU_e3b=[1.0] * 3)
    assert few.effect.said == OPEN
    assert advice(few).endswith("with 3 seeds: +1.00; about 4 seeds an arm would tell.")
    nearly = answer(GRU_none=[0.0] * 3, GRU_e3b=[1.0, 1.0, 0.999999])
    assert nearly.effect.said == OPEN
    assert answer(GRU_none=[1.0] * 5, GRU_e3b=[1.0] * 5).effect.said == EVEN
    assert answer(GRU_none=[0.0] * 5, GRU_e3b=[0.0] * 5).effect.said == OPEN  # nothing succeeds
    assert answer(GRU_none=[0.0] * 3, GRU_e3b=[0.0] * 3).effect.said == OPEN


def test_given_memory_is_no_agent_unless_alone() -> None:
    found = answers(
        Statistics(table(GRU_none=(0.2, 0.1), GRU_e3b=(0.3, 0.1), Memoryless_none=(0.1, 0.1),
                         Memoryless_e3b=(0.1, 0.1), Given_none=(0.9, 0.1), Given_e3b=(0.9, 0.1)))
    )  # fmt: skip
    assert [a.agent for a in found] == ["GRU", "Memoryless"]
    alone = answer(Given_none=(0.2, 0.1), Given_e3b=(0.3, 0.1))
    assert (alone.agent, alone.intervened) == ("Given", False)


def test_a_curve_that_still_rises_is_said() -> None:
    results = table(GRU_none=(0.5, 0.02), GRU_e3b=(0.5, 0.02), Given_none=(0.5, 0.02),
                    Given_e3b=(0.5, 0.02))  # fmt: skip
    names = ["environment", "reward", "architecture", "bonus", "bonus_coef", "seed"]
    curves = pd.concat(
        [
            results.runs[names].assign(steps=k * 1000, success=0.04 * k + 0.001 * (k % 3))
            for k in range(10)
        ]
    )
    again = Results.from_frames(results.runs, curves)
    (found,) = answers(Statistics(again))
    assert found.held_back_by == "something else"
    assert "still rising" in reason(found)
    (flat,) = answers(Statistics(Results.from_frames(results.runs, curves.assign(success=0.5))))
    assert not flat.rising
    slow = curves.assign(success=curves["success"] / 10)  # by .008 in a fifth of training
    (steady,) = answers(Statistics(Results.from_frames(results.runs, slow)))
    assert not steady.rising
    # logged ten times as densely at the end: a fifth of the rows is a fiftieth of the steps
    late = [curves[curves["steps"] < 9000], *(
        curves[curves["steps"] == 9000].assign(steps=9000 + 10 * i) for i in range(100)
    )]  # fmt: skip
    (dense,) = answers(Statistics(Results.from_frames(results.runs, pd.concat(late))))
    assert dense.rising


def test_margin_must_be_a_share() -> None:
    with pytest.raises(BadInput, match="margin"):
        Statistics(table(GRU_none=(0.5, 0.1), GRU_e3b=(0.5, 0.1)), margin=0)


values = st.lists(st.floats(0, 1), min_size=EQUIVALENT_SEEDS, max_size=9)


@given(values, values)
def test_effects_agree_with_statsmodels(after: list[float], before: list[float]) -> None:
    a, b = np.array(after), np.array(before)
    found = effect(a, b)
    # seeds that are nearly equal have no spread to judge by
    assume(a.std() + b.std() > 2 * TINY)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        p, _, _ = ttost_ind(a, b, -0.05, 0.05, usevar="unequal")
    assert found.equivalent == (p < 0.05) or abs(p - 0.05) < 1e-6
    assert found.interval.low <= found.interval.estimate <= found.interval.high


def test_seeds_needed_agrees_with_statsmodels() -> None:
    rng = np.random.default_rng(0)
    for gap, std in zip(rng.uniform(0.06, 0.3, 20), rng.uniform(0.2, 0.3, 20), strict=True):
        theirs = TTestIndPower().solve_power(gap / std, alpha=0.05, power=0.8)
        assert seeds_needed(gap, std, 1e-6) == max(SEEDS, int(np.ceil(theirs)))
    assert seeds_needed(0.06, 3.0, 0.05) is None


def test_seeds_needed_near_the_margin_are_enough() -> None:
    """To be said to help, a gain must also be as large as the margin in the seeds."""
    rng = np.random.default_rng(2)
    n = seeds_needed(0.08, 0.06, 0.05)
    assert n is not None
    draws = (rng.normal(0.5, 0.06, (2, n)) for _ in range(400))
    assert 0.72 < np.mean([effect(a + 0.08, b).helps for a, b in draws]) < 0.9


def test_seeds_needed_for_equivalence_are_enough() -> None:
    rng = np.random.default_rng(1)
    n = seeds_needed(0.0, 0.05, 0.05)
    assert n is not None
    shown = [effect(*rng.normal(0.5, 0.05, (2, n))).equivalent for _ in range(400)]
    assert 0.7 < np.mean(shown) < 0.92


Draw = Callable[[np.random.Generator, tuple[int, ...]], Values]
ARMS = [(agent, bonus) for agent in ("GRU", "Given") for bonus in ("none", "e3b")]
SHAPES: dict[str, Draw] = {
    "narrow": lambda rng, size: rng.normal(0.5, 0.03, size),
    "ceiling": lambda rng, size: rng.beta(9.5, 0.5, size),
    "floor": lambda rng, size: np.where(
        rng.uniform(size=size) < 0.7, 0, rng.uniform(0, 0.15, size)
    ),
    "all or nothing": lambda rng, size: (rng.uniform(size=size) < 0.3).astype(float),
}


@pytest.mark.parametrize(
    ("shape", "n"),
    [
        ("floor", 5),
        ("all or nothing", 5),
        *(pytest.param(s, 5, marks=pytest.mark.slow) for s in ("narrow", "ceiling")),
        *(pytest.param(s, 10, marks=pytest.mark.slow) for s in SHAPES),
    ],
)
def test_no_effect_is_rarely_called_one(shape: str, n: int) -> None:
    """Four arms of one population: wrong in at most 5% (three standard errors of 200)."""
    rng = np.random.default_rng(n)
    helps, held = 0, 0
    for _ in range(200):
        own, bonus, given_, both = np.clip(SHAPES[shape](rng, (4, n)), 0, 1)
        arms = [own, bonus, given_, both]
        (found,) = of_task(Task("Maze", "sparse", dict(zip(ARMS, arms, strict=True))))
        helps += found.effect.said == HELPS
        held += found.held_back_by in ("exploration", "memory", "both")
    assert helps / 200 < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)
    assert held / 200 < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


@pytest.mark.parametrize(("before", "after"), [(10, 3), (20, 5)])
def test_no_effect_is_rarely_called_one_by_uneven_arms(before: int, after: int) -> None:
    """Three seeds that happen to agree are no certainty: seeds learn the task, or do not."""
    rng = np.random.default_rng(0)

    def draw(n: int) -> Values:
        return np.where(rng.uniform(size=n) < 0.5, 0.95, 0) + rng.uniform(0, 0.05, n)

    said = [effect(draw(after), draw(before)).said for _ in range(200)]
    assert np.mean([s in (HELPS, HURTS) for s in said]) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


def test_a_certain_but_tiny_effect_does_not_matter() -> None:
    small = effect(np.full(8, 0.52) + np.linspace(0, 1e-3, 8), np.full(8, 0.5))
    assert small.p < 1e-6
    assert small.said == EVEN
    # certainly not 0, and perhaps above the margin: whether it matters cannot be told
    rng = np.random.default_rng(0)
    above, below = 0.53 + 0.03 * rng.normal(size=8), 0.49 + 0.03 * rng.normal(size=8)
    middling = effect(above - above.mean() + 0.54, below - below.mean() + 0.5)
    assert middling.p < 0.05
    assert middling.said == OPEN
    found = answer(GRU_none=(0.5, 0.03), GRU_e3b=(0.54, 0.03))
    assert found.effect.said == OPEN
    assert advice(found) == (
        "E3B helps a little: +.04 [+.01, +.07]; whether by more than ±.05 is open."
    )
    assert in_brief(found) == "E3B helps a little"
    worse = answer(GRU_none=(0.54, 0.03), GRU_e3b=(0.5, 0.03))
    assert line(worse).startswith("GRU: E3B hurts a little, −.04 [")
