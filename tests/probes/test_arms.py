"""Means over questions and seeds, tables and figures, of results made by hand."""

from __future__ import annotations

import dataclasses
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clew.analysis import figures
from clew.analysis.tables.grid import html
from clew.probes.arms import arm_means, bonus_gains, delay_table, run_table
from clew.probes.report import IN_SIGHT, auc_table, data_url, notes
from clew.probes.results import (
    FEATURES,
    PLANTED,
    DelayBin,
    ProbeScores,
    QuestionResult,
    selectivity,
    summarize,
)
from clew.probes.stored import StoredProbes, StoredQuestion, planted_check, planted_check_sentence
from clew.validate import BadInput

AUCS = st.floats(0, 1)
NASTY = "</td><script>alert(1)</script>"


def result(
    auc: float, observation: float = 0.5, reason: str = "", rows: int = 10
) -> QuestionResult:
    levels = {"memory": auc, "observation": observation, "untrained": 0.5, "shuffled": 0.45}
    return QuestionResult(
        probes={name: ProbeScores(level, level, 1.0, 8) for name, level in levels.items()},
        rows={"train": 7 * rows, "validation": rows, "test": 2 * rows},
        effective_dimension=3.0,
        by_since=(
            DelayBin(1, 1, rows, 5, levels),
            DelayBin(2, 3, rows, 5, {**levels, "memory": math.nan}),
        ),
        reason=reason,
    )


def probes(auc: float | None, tail: float = 0.5, observation: float = 0.5) -> StoredProbes:
    return StoredProbes(
        protocol={"episodes": 5, "seed": 1, "version": 2},
        agent="",
        when="",
        success=tail,
        tail_mean=tail,
        summary=None if auc is None else summarize([result(auc, observation)]),
        questions=[],
    )


def questions(number: int) -> list[StoredQuestion]:
    return [
        StoredQuestion(question=f"<{i}>", rows=1, episodes=1, why_not="", measured=None)
        for i in range(number)
    ]


def config(**changes: Any) -> dict[str, Any]:
    return {
        "environment": "MysteryPath-Grid", "environment_options": {}, "reward": "sparse",
        "architecture": "GRU", "bonus": "none", "seed": 0, **changes,
    }  # fmt: skip


def pairs() -> list[tuple[dict[str, Any], StoredProbes]]:
    """E3B adds 0.2 to success and nothing to what can be told; seed and memory add a little."""
    return [
        (config(architecture=a, bonus=b, seed=s, reward=r),
         probes(0.6 + 0.01 * s + 0.05 * i, 0.3 + 0.2 * (b == "e3b") + 0.01 * s))
        for i, a in enumerate(("GRU", "LSTM"))
        for b in ("none", "e3b")
        for s in (0, 1)
        for r in ("sparse", "aligned")
    ]  # fmt: skip


@given(st.lists(st.tuples(AUCS, AUCS, st.booleans()), min_size=1, max_size=8))
def test_a_summary_is_the_mean_of_what_could_be_answered(
    asked: list[tuple[float, float, bool]],
) -> None:
    sound = [(m, o) for m, o, known in asked if known]
    assume(sound)
    told = summarize([result(m, o, "" if known else "why") for m, o, known in asked])
    memory, observation = np.mean(sound, 0)
    assert told is not None
    assert told["linear"]["memory"] == pytest.approx(memory)
    assert told["linear"]["observation"] == pytest.approx(observation)
    assert told["selectivity"] == pytest.approx(memory - max(0.5, observation))
    assert told["questions"] == len(sound)
    assert told["rows"] == 100 * len(sound)


@given(st.lists(st.tuples(AUCS, st.integers(1, 99)), min_size=1, max_size=8))
def test_delays_are_weighted_by_rows(asked: list[tuple[float, int]]) -> None:
    told = summarize([result(auc, rows=rows) for auc, rows in asked])
    assert told is not None
    first, second = told["by_since"]
    weights = [rows for _, rows in asked]
    assert first["auc"]["memory"] == pytest.approx(
        np.average([a for a, _ in asked], weights=weights)
    )
    assert second["auc"]["memory"] is None
    assert first["rows"] == sum(weights)


def test_without_a_result_there_is_no_summary() -> None:
    assert summarize([]) is None
    assert summarize([result(0.7, reason="why")]) is None


def test_selectivity_of_nothing_is_nothing() -> None:
    assert selectivity(dict.fromkeys(FEATURES)) is None


def test_arms_are_in_the_order_of_the_study() -> None:
    found = arm_means(run_table(pairs()[::-1]))
    assert [(c.reward, c.architecture, c.bonus) for c in found] == [
        (r, a, b) for r in ("sparse", "aligned") for a in ("GRU", "LSTM") for b in ("none", "e3b")
    ]
    assert {c.seeds for c in found} == {2}
    assert found[0].intervals["memory"].estimate == pytest.approx(0.605)
    assert found[0].text("memory", 3) == "0.605 [0.541, 0.669]"
    # selectivity may be negative
    weak = arm_means(
        run_table([(config(seed=s), probes(0.4, observation=0.6 + s / 10)) for s in (0, 1)])
    )
    assert weak[0].intervals["selectivity"].estimate == pytest.approx(-0.25)
    assert weak[0].intervals["selectivity"].low < -0.25


def test_one_seed_has_no_interval() -> None:
    (arm,) = arm_means(run_table([(config(), probes(0.7))]))
    assert arm.text("memory") == "0.70"
    assert arm.to_json()["memory"] == {"mean": pytest.approx(0.7), "low": None, "high": None}


def test_runs_without_an_answer_are_left_out() -> None:
    frame = run_table([(config(), probes(None, 0.1)), (config(seed=1), probes(0.7))])
    assert list(frame["seed"]) == [1]
    assert run_table([]).empty
    assert arm_means(run_table([])) == []


def test_coefficients_are_told_apart() -> None:
    swept = [(config(bonus="e3b", knobs={"bonus_coef": c}), probes(0.7)) for c in (0.01, 0.03)]
    assert {c.bonus for c in arm_means(run_table(swept))} == {"e3b (λ = 0.01)", "e3b (λ = 0.03)"}


def test_gains_are_what_the_bonus_adds() -> None:
    rows = bonus_gains(run_table(pairs()))
    assert len(rows) == 4
    assert rows["gain"].to_numpy() == pytest.approx(0.2)
    assert rows["auc"].to_numpy() == pytest.approx(0)
    assert bonus_gains(run_table([(config(), probes(0.7))])).empty


def marks(figure: Any, mark: str) -> int:
    lines = [line for axes in figure.axes for line in axes.get_lines()]
    return sum(len(line.get_xdata()) for line in lines if line.get_marker() == mark)


def test_every_seed_is_a_dot() -> None:
    frame = run_table(pairs())
    figure = figures.aucs(frame)
    assert marks(figure, "o") + marks(figure, "s") == len(frame) == 16
    aged = figures.ages(delay_table(pairs()))
    assert [axes.get_title(loc="left") for axes in aged.axes] == ["MPG / sparse", "MPG / aligned"]
    assert len(figures.decodability(bonus_gains(frame)).axes) == 1
    for draw in (figures.aucs, figures.ages):
        with pytest.raises(BadInput, match="needs rows with the columns"):
            draw(pd.DataFrame())


def test_names_are_escaped_and_pictures_repeat() -> None:
    nasty = [(config(architecture=NASTY, seed=s), probes(0.7)) for s in (0, 1)]
    assert "<script" not in html(auc_table(arm_means(run_table(nasty))))
    one, two = (data_url(figures.aucs(run_table(nasty))) for _ in range(2))
    assert one == two
    assert one.startswith("data:image/svg+xml;base64,")


def test_reading_probes_needs_no_jax(tmp_path: Path) -> None:
    code = (
        "import sys; from clew.probes.report import probe_section; "
        "from clew.store import Store; "
        f"assert probe_section(Store({str(tmp_path / 'new')!r}), ()) is None; "
        "assert 'jax' not in sys.modules and 'clew.learner' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_notes_say_what_was_asked_and_what_did_not_converge() -> None:
    sound = probes(0.7)
    sound["questions"] = questions(2)
    told = notes([(config(), sound)])
    assert told[0] == "5 episodes of every run were replayed, from seed 1."
    assert told[1].endswith("out of view: <0>; <1>.")
    assert len(told) == 2
    asked = notes([(config(environment="a:b"), sound)])[1]
    assert asked.endswith("in view or not: <0>; <1>." + IN_SIGHT)
    assert "out of view" not in asked
    failed = probes(0.7)
    failed["questions"] = questions(9)
    assert failed["summary"] is not None
    failed["summary"]["unconverged"] = 3
    told = notes([(config(), sound), (config(reward="aligned"), failed)])
    assert any(note.endswith("<0>; … <8>.") for note in told)
    assert (
        "3 logistic fits of 1 runs did not converge; their AUCs are those of the last iterate."
        in told
    )


def test_whether_probes_can_be_relied_on_is_said() -> None:
    one = result(0.7)
    made = []
    for planted in (0.8, 0.9):
        scores = {**one.probes, PLANTED: ProbeScores(planted)}
        summary = summarize([one, dataclasses.replace(one, probes=scores)])
        made.append({**probes(None), "summary": summary})
    unanswered = probes(None)
    found = planted_check([*made, unanswered, probes(0.7)])
    assert found == pytest.approx({PLANTED: 0.85, "lowest": 0.8, "shuffled": 0.45})
    said = planted_check_sentence(made)
    assert "theirs is 0.85 (in the worst run 0.80); for labels shuffled between episodes" in said
    for silent in ([], [unanswered], [probes(0.7)]):
        assert planted_check(silent) == {}
        assert planted_check_sentence(silent) == ""


def test_fits_that_do_not_converge_are_counted_in_the_summary() -> None:
    one = result(0.7)
    scores = {
        **one.probes,
        "memory": ProbeScores(0.7, unconverged=2),
        "shuffled": ProbeScores(0.5, unconverged=5),
    }
    told = summarize([one, dataclasses.replace(one, probes=scores)])
    assert told is not None
    assert told["unconverged"] == 7
