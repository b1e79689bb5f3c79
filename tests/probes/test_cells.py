"""Means over questions and seeds, tables and figures, of documents made by hand."""

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
from hypothesis import given
from hypothesis import strategies as st

from clew.analysis import figures
from clew.analysis.figures import probes
from clew.analysis.tables.grid import html
from clew.probes.cells import ages, cells, gains, table
from clew.probes.document import check, check_sentence
from clew.probes.fitting import Bin, Measured, Probe
from clew.probes.fitting.measured import PLANTED
from clew.probes.section import address, auc_table, notes
from clew.probes.summary import FEATURES, selectivity, summary
from clew.validate import BadInput

AUCS = st.floats(0, 1)
NASTY = "</td><script>alert(1)</script>"


def measured(auc: float, observation: float = 0.5, reason: str = "", rows: int = 10) -> Measured:
    levels = {"memory": auc, "observation": observation, "untrained": 0.5, "shuffled": 0.45}
    return Measured(
        probes={name: Probe(level, level, 1.0, 8) for name, level in levels.items()},
        rows={"train": 7 * rows, "validation": rows, "test": 2 * rows},
        effective_dimension=3.0,
        by_since=(Bin(1, 1, rows, 5, levels), Bin(2, 3, rows, 5, {**levels, "memory": math.nan})),
        reason=reason,
    )


def document(auc: float, tail: float = 0.5, observation: float = 0.5) -> dict[str, Any]:
    return {"summary": summary([measured(auc, observation)]), "tail_mean": tail}


def config(**changes: Any) -> dict[str, Any]:
    return {
        "environment": "MysteryPath-Grid", "environment_options": {}, "reward": "sparse",
        "architecture": "GRU", "bonus": "none", "seed": 0, **changes,
    }  # fmt: skip


def pairs() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """E3B adds 0.2 to success and nothing to what can be told; seed and memory add a little."""
    return [
        (config(architecture=a, bonus=b, seed=s, reward=r),
         document(0.6 + 0.01 * s + 0.05 * i, 0.3 + 0.2 * (b == "e3b") + 0.01 * s))
        for i, a in enumerate(("GRU", "LSTM"))
        for b in ("none", "e3b")
        for s in (0, 1)
        for r in ("sparse", "aligned")
    ]  # fmt: skip


@given(st.lists(st.tuples(AUCS, AUCS, st.booleans()), min_size=1, max_size=8))
def test_a_summary_is_the_mean_of_what_could_be_answered(
    asked: list[tuple[float, float, bool]],
) -> None:
    told = summary([measured(m, o, "" if known else "why") for m, o, known in asked])
    sound = [(m, o) for m, o, known in asked if known]
    if not sound:
        assert told is None
        return
    memory, observation = np.mean(sound, 0)
    assert told is not None
    assert told["linear"]["memory"] == pytest.approx(memory)
    assert told["linear"]["observation"] == pytest.approx(observation)
    assert told["selectivity"] == pytest.approx(memory - max(0.5, observation))
    assert told["questions"] == len(sound)
    assert told["rows"] == 100 * len(sound)


@given(st.lists(st.tuples(AUCS, st.integers(1, 99)), min_size=1, max_size=8))
def test_ages_are_weighted_by_rows(asked: list[tuple[float, int]]) -> None:
    told = summary([measured(auc, rows=rows) for auc, rows in asked])
    assert told is not None
    first, second = told["by_since"]
    weights = [rows for _, rows in asked]
    assert first["auc"]["memory"] == pytest.approx(
        np.average([a for a, _ in asked], weights=weights)
    )
    assert second["auc"]["memory"] is None
    assert first["rows"] == sum(weights)


def test_selectivity_of_nothing_is_nothing() -> None:
    assert selectivity(dict.fromkeys(FEATURES)) is None


def test_cells_are_in_the_order_of_the_study() -> None:
    found = cells(table(pairs()[::-1]))
    assert [(c.reward, c.architecture, c.bonus) for c in found] == [
        (r, a, b) for r in ("sparse", "aligned") for a in ("GRU", "LSTM") for b in ("none", "e3b")
    ]
    assert {c.seeds for c in found} == {2}
    assert found[0].intervals["memory"].estimate == pytest.approx(0.605)
    assert found[0].text("memory", 3) == "0.605 [0.541, 0.669]"
    # it may be below nothing
    weak = cells(table([(config(seed=s), document(0.4, observation=0.6 + s / 10)) for s in (0, 1)]))
    assert weak[0].intervals["selectivity"].estimate == pytest.approx(-0.25)
    assert weak[0].intervals["selectivity"].low < -0.25


def test_one_seed_has_no_interval() -> None:
    (cell,) = cells(table([(config(), document(0.7))]))
    assert cell.text("memory") == "0.70"
    assert cell.plain()["memory"] == {"mean": pytest.approx(0.7), "low": None, "high": None}


def test_runs_without_an_answer_are_left_out() -> None:
    frame = table(
        [(config(), {"summary": None, "tail_mean": 0.1}), (config(seed=1), document(0.7))]
    )
    assert list(frame["seed"]) == [1]
    assert table([]).empty
    assert cells(table([])) == []


def test_coefficients_are_told_apart() -> None:
    swept = [(config(bonus="e3b", knobs={"bonus_coef": c}), document(0.7)) for c in (0.01, 0.03)]
    assert {c.bonus for c in cells(table(swept))} == {"e3b (λ = 0.01)", "e3b (λ = 0.03)"}


def test_gains_are_what_the_bonus_adds() -> None:
    rows = gains(table(pairs()))
    assert len(rows) == 4
    assert rows["gain"].to_numpy() == pytest.approx(0.2)
    assert rows["auc"].to_numpy() == pytest.approx(0)
    assert gains(table([(config(), document(0.7))])).empty


def marks(figure: Any, mark: str) -> int:
    lines = [line for axes in figure.axes for line in axes.get_lines()]
    return sum(len(line.get_xdata()) for line in lines if line.get_marker() == mark)


def test_every_seed_is_a_dot() -> None:
    frame = table(pairs())
    figure = probes.aucs(frame)
    assert marks(figure, "o") + marks(figure, "s") == len(frame) == 16
    aged = probes.ages(ages(pairs()))
    assert [axes.get_title(loc="left") for axes in aged.axes] == ["MPG / sparse", "MPG / aligned"]
    assert len(figures.decodability(gains(frame)).axes) == 1
    for draw in (probes.aucs, probes.ages):
        with pytest.raises(BadInput, match="needs rows with the columns"):
            draw(pd.DataFrame())


def test_names_are_escaped_and_pictures_repeat() -> None:
    nasty = [(config(architecture=NASTY, seed=s), document(0.7)) for s in (0, 1)]
    assert "<script" not in html(auc_table(cells(table(nasty))))
    one, two = (address(probes.aucs(table(nasty))) for _ in range(2))
    assert one == two
    assert one.startswith("data:image/svg+xml;base64,")


def test_reading_probes_needs_no_jax(tmp_path: Path) -> None:
    code = (
        "import sys; from clew.probes.section import probe_section; "
        "from clew.store import Store; "
        f"assert probe_section(Store({str(tmp_path / 'new')!r})) is None; "
        "assert 'jax' not in sys.modules and 'clew.learner' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_notes_say_what_was_asked_and_what_did_not_converge() -> None:
    asked = [{"question": f"<{number}>", "why_not": ""} for number in range(9)]
    made = {**document(0.7), "protocol": {"episodes": 5, "seed": 1, "version": 2}}
    sound = (config(), {**made, "questions": asked[:2]})
    told = notes([sound])
    assert told[0] == "5 episodes of every run were replayed, from seed 1."
    assert told[1].endswith("out of view: <0>; <1>.")
    assert len(told) == 2
    failed = {**made, "questions": asked, "summary": {**made["summary"], "unconverged": 3}}
    told = notes([sound, (config(reward="aligned"), failed)])
    assert any(note.endswith("<0>; … <8>.") for note in told)
    assert "3 logistic fits of 1 runs did not converge; their AUCs are what was reached." in told


def test_whether_probes_can_be_relied_on_is_said() -> None:
    one = measured(0.7)
    made = []
    for planted in (0.8, 0.9):
        probes = {**one.probes, PLANTED: Probe(planted)}
        told = summary([one, dataclasses.replace(one, probes=probes)])
        made.append({"summary": told})
    unanswered = {"summary": None}
    found = check([*made, unanswered, document(0.7)])
    assert found == pytest.approx({PLANTED: 0.85, "lowest": 0.8, "shuffled": 0.45})
    said = check_sentence(made)
    assert "they find 0.85 (in the worst run 0.80); of labels swapped between episodes 0.45" in said
    for silent in ([], [unanswered], [document(0.7)]):
        assert check(silent) == {}
        assert check_sentence(silent) == ""


def test_fits_that_do_not_converge_are_counted_in_the_summary() -> None:
    one = measured(0.7)
    probes = {
        **one.probes,
        "memory": Probe(0.7, unconverged=2),
        "shuffled": Probe(0.5, unconverged=5),
    }
    told = summary([one, dataclasses.replace(one, probes=probes)])
    assert told is not None
    assert told["unconverged"] == 7
