"""Tables: the study's layout, four formats, and names that cannot break out of them."""

from __future__ import annotations

import csv
import io
import math
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.analysis import Results, Statistics, formatting, published, published_success
from clew.analysis.stats.curves import neighbours, steps_to_sustain, thinned
from clew.analysis.swept import swept
from clew.analysis.tables import FORMATS, TABLES, Cell, Grid, every, write
from clew.analysis.tables.gains import gain_table
from clew.analysis.tables.grid import csv_text, tex, word
from clew.analysis.tables.success import success_tables
from clew.analysis.tables.training import (
    cost_table,
    falls_table,
    first_success_table,
    magnitude_table,
    samples_table,
    sweep_table,
)
from tests.analysis.matrix import matrix

WHOLE = Statistics(matrix(evaluations=20))


def texts(grid: Grid) -> dict[tuple[str, ...], list[str]]:
    """Rows by their words on the left."""
    return {tuple(c.text for c in r[: grid.left]): [c.text for c in r[grid.left :]] for r in grid.rows}  # fmt: skip  # noqa: E501


def test_success_is_laid_out_as_published() -> None:
    mpg, s13, tiny = success_tables(Statistics(matrix()))
    assert mpg.groups == [("", 1), ("Sparse", 3), ("Penalty", 3), ("Aligned", 3), ("Distractor", 3)]
    assert [t for t, _ in s13.groups[1:]] == ["3×3 sparse", "3×3 penalty", "3×3 distractor", "7×7 sparse"]  # noqa: E501  # fmt: skip
    assert len(tiny.columns) == 7
    printed = published_success().set_index(["environment", "reward", "architecture", "bonus"])
    row = texts(mpg)["RetNet",]
    for cell, bonus in zip(row[:3], ("none", "e3b", "noveld"), strict=True):
        mean, std = printed.loc[[("MysteryPath-Grid", "sparse", "RetNet", bonus)]].to_numpy()[0]
        assert cell == f"{mean:.2f}±{std:.2f}".replace("0.", ".")
    bold = [c.bold for c in mpg.rows[0]]
    assert bold.index(True) == 4  # the frozen arm
    assert sum(bold) == 1


def test_published_seeds_give_the_published_cells() -> None:
    mpg, s13 = success_tables(Statistics(published()))
    assert texts(mpg)["GRU",][0] == ".14±.01"
    assert texts(s13)["Mamba-2",] == [".86±.14", ".76±.23", ".91±.06"]


def test_every_table_is_made_and_written(tmp_path: Path) -> None:
    made = every(Statistics(matrix(seeds=4, evaluations=12).only(environment="MysteryPath-Grid")))
    assert {"anova", "dispersion", "separation", "by-variant-e3b", "by-variant-noveld",
            "improvement", "learnt",
            "memoryless", "iqm", "samples", "falls", "first-success", "magnitude", "cost",
            "seed-vectors", "gains", "three-way-MysteryPath-Grid-e3b"} <= set(made)  # fmt: skip
    assert "sweep" not in made  # one coefficient is no sweep
    few = Statistics(published().only(environment="MysteryPath-Grid"))
    paths = write(few, tmp_path)
    assert {p.suffix for p in paths} == {".md", ".tex", ".csv", ".html"}
    again = {p.name: p.read_bytes() for p in write(few, tmp_path)}
    assert again == {p.name: p.read_bytes() for p in paths}


def test_both_ends_of_an_interval_are_exported() -> None:
    few = Statistics(published().only(environment="MysteryPath-Grid"))
    text = csv_text(gain_table(few))
    for gain in few.tasks[0].gains:
        assert f"[{gain.interval.low}, {gain.interval.high}]" in text
        assert f"[{gain.bootstrap.low}, {gain.bootstrap.high}]" in text


def test_samples_counts_the_seeds_that_got_there() -> None:
    rows = texts(samples_table(WHOLE))
    assert rows["LSTM",]  # of the last section, which holds the same names
    first = samples_table(WHOLE).rows[0]
    assert first[1].text == "never (0/10)"
    steps = np.arange(1.0, 11)
    late = np.array([0, 0, 1, 0, 0, 1, 1, 1, 1, 1])
    assert steps_to_sustain(steps, late, 0.8) == 9.0
    assert steps_to_sustain(steps, late, 1.0) == 10.0
    assert steps_to_sustain(steps, late[:4], 0.1) == np.inf
    assert steps_to_sustain(steps, 0 * late, 0.1) == np.inf


def test_small_budgets_are_not_zero() -> None:
    small = matrix(seeds=4, evaluations=12).only(environment="MysteryPath-Grid")
    small = Results.from_frames(
        small.runs.assign(steps=51_200, seconds=4.0),
        small.evaluations.assign(steps=small.evaluations["steps"] / 20e6 * 51_200),
        small.rollouts,
    )
    made = samples_table(Statistics(small))
    assert made.caption.startswith("Environment steps (thousands) until")
    reached = [c.text for r in made.rows for c in r[1:] if c.text and "never" not in c.text]
    assert reached
    assert min(float(text.split()[0]) for text in reached) > 1
    task, *_, total = cost_table(Statistics(small)).rows
    assert (task[1].text, task[3].text) == ("51.2 k", "4 s")
    runs = len(small.runs[small.runs["reward"] == small.runs["reward"].iloc[0]])
    assert task[4].text == f"{4 * runs / 60:.2g} min"
    assert total[4].value == pytest.approx(4 * len(small.runs) / 3600)


def test_numbers_with_a_unit() -> None:
    values = (20e6, 1.5e6, 1e6, 51_200, 512, 20, math.nan)
    told = ["20 M", "1.5 M", "1 M", "51.2 k", "512", "20", "—"]
    assert [formatting.steps(value) for value in values] == told
    times = [(1234.56, 1), (0.1, 2), (0.05, 2), (0.001, 1), (0.0, 1), (math.nan, 1)]
    told = ["1,234.6", "0.10", "3 min", "3.6 s", "0.0", "—"]
    assert [formatting.hours(*each) for each in times] == told


def test_training_tables() -> None:
    falling = falls_table(WHOLE)
    penalty = dict(falling.sections)["MPG / penalty"]
    arms = {(r[0].text, r[1].text): r[2].text for r in penalty}
    assert arms["GRU", "none"] == "0.0 ± 0.0"
    assert arms["GRU", "E3B"] == "12.3 ± 0.1"
    frozen = next(
        r for r in first_success_table(WHOLE).rows if r[0].text == "GRU" and r[2].text == "0/10"
    )
    assert frozen[3].text == ", ".join(["never"] * 10)
    ratios = texts(magnitude_table(WHOLE))
    assert ratios["MPG / penalty", "E3B"] == ["0.680", "0.0204", "2.6×"]
    assert ratios["Tiny / dense", "NovelD"][2] == "—"
    costs = cost_table(WHOLE)
    assert costs.rows[-1][2].text == "1,800"
    hours = [c.value for r in costs.rows for c in r[4:]]
    assert hours[-1] == pytest.approx(sum(h for h in hours[:-1] if isinstance(h, float)))


def test_sweep_shows_every_coefficient() -> None:
    runs = published().runs
    one = runs[(runs["architecture"] == "RetNet") & (runs["bonus"] == "e3b")]
    high = one.assign(bonus_coef=0.1, tail_mean=0.0).query("seed == 0")
    both = Results.from_frames(pd.concat([runs, high]))
    grid = sweep_table(Statistics(both))
    assert grid.columns[3:] == ("λ = 0.03", "λ = 0.1")
    assert texts(grid)["MPG / sparse", "RetNet", "E3B"] == ["0.561 ± 0.054", "0.000"]
    assert "sweep" in every(Statistics(both))
    costly = Results.from_frames(both.runs.assign(seconds=3600.0))
    assert cost_table(Statistics(costly)).rows[-1][2].value == len(runs) + 2  # all were trained
    assert len(both.usual().runs) == len(runs)
    assert len(both.usual().usual().runs) == len(runs)


def test_of_a_sweep_every_agent_keeps_its_runs() -> None:
    """One λ an agent: that of most finished runs, of those that it has."""
    runs = published().runs
    both = (runs["bonus"] == "e3b") & (runs["environment"] == "MysteryPath-Grid")
    tuned = runs[both].assign(
        bonus_coef=np.where(runs[both]["architecture"] == "GRU", 0.3, runs[both]["bonus_coef"])
    )
    worse = runs[both & (runs["architecture"] == "LSTM")].assign(bonus_coef=1.0, status="diverged")
    found = Results.from_frames(pd.concat([runs[~both], tuned, worse]))
    kept = found.usual().runs
    kept = kept[(kept["bonus"] == "e3b") & (kept["environment"] == "MysteryPath-Grid")]
    assert set(kept[kept["architecture"] == "GRU"]["bonus_coef"]) == {0.3}
    usual = runs[both]["bonus_coef"].iloc[0]
    assert set(kept[kept["architecture"] != "GRU"]["bonus_coef"]) == {usual}
    assert len(kept) == both.sum()
    told = swept(found)
    assert any(f"about λ = {usual:g} for " in note and "λ = 0.3 for GRU" in note for note in told)


def test_a_bonus_that_is_alone_has_its_table() -> None:
    runs = published().runs.query("environment == 'MysteryPath-Grid' and bonus != 'e3b'")
    made = every(Statistics(Results.from_frames(runs)))
    assert {name for name in made if "variant" in name} == {"by-variant-noveld"}


def test_names_that_would_share_a_file_are_kept_apart(tmp_path: Path) -> None:
    few = published().only(environment="MysteryPath-Grid", architecture="GRU").runs
    worlds = ("a/b", "a_b", "A_B", "other")
    runs = pd.concat([few.assign(environment=world) for world in worlds])
    write(Statistics(Results.from_frames(runs)), tmp_path, ["csv"])
    found = {path.name.casefold() for path in tmp_path.glob("success-*.csv")}
    assert len(found) == 4
    assert "success-other.csv" in found


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50), st.integers(1, 60))
def test_thinned_curves_are_means_of_neighbours(values: list[float], points: int) -> None:
    parts = np.array_split(np.array(values), min(points, len(values)))
    assert thinned(np.array(values), points) == pytest.approx([part.mean() for part in parts])
    starts, sizes = neighbours(len(values), points)
    assert list(sizes) == [len(part) for part in parts]
    assert starts[-1] + sizes[-1] == len(values)


names = st.text(min_size=1, max_size=12)


@given(st.lists(names, min_size=2, max_size=4), names)
def test_any_name_survives_every_format(row: list[str], caption: str) -> None:
    grid = Grid("t", caption, row, [[word(t) for t in row]], note=caption)
    read = list(csv.reader(io.StringIO(FORMATS["csv"](grid), newline="")))
    if not any(c in "\r\0\n" for t in row for c in t):
        assert read[1] == row

    class Cells(HTMLParser):
        found: list[str] = []  # noqa: RUF012
        inside = False

        def handle_starttag(self, tag: str, attrs: list) -> None:
            assert tag in ("table", "caption", "thead", "tbody", "tr", "th", "td", "p", "b")
            if tag == "td":
                self.found.append(dict(attrs)["data-value"] or "")

    parser = Cells()
    parser.found = []
    parser.feed(FORMATS["html"](grid))
    assert [t.replace("\r\n", "\n") for t in parser.found] == [t.replace("\r\n", "\n") for t in row]


@given(st.text(max_size=20))
def test_latex_special_characters_are_escaped(text: str) -> None:
    written = tex(text)
    bare = written.replace(r"\textbackslash{}", "").replace(r"\textasciitilde{}", "")
    bare = bare.replace(r"\textasciicircum{}", "")
    for special in "&%#_":
        assert bare.count(special) == bare.count("\\" + special)


def test_a_ragged_grid_is_refused() -> None:
    with pytest.raises(ValueError, match="rows of different widths"):
        Grid("t", "", ["a", "b"], [[Cell("1")]])


def test_a_table_from_outside_is_in_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TABLES, "_entries", {n: TABLES[n] for n in TABLES.names()})

    @TABLES.register("mine")
    def mine(statistics: Statistics) -> Grid:
        return Grid("mine", "My own", ["a"], [[word("found")]])

    made = every(Statistics(published().only(environment="MysteryPath-Grid")))
    first, *_, last = made
    assert (first, last) == ("success-MysteryPath-Grid", "mine")


def test_rewards_without_a_shared_architecture_have_no_three_way_table() -> None:
    few = published_success().query("environment == 'MysteryPath-Grid'")
    sparse = few.query("reward == 'sparse' and architecture in ['GRU', 'LSTM']")
    penalty = few.query("reward == 'penalty' and architecture in ['RetNet', 'Mamba-2']")
    made = every(Statistics(matrix(3, 0, pd.concat([sparse, penalty])), 100, 100))
    assert "anova" in made
    assert not any(name.startswith("three-way") for name in made)


def test_the_dispersion_without_a_bonus_does_not_need_the_first_bonus() -> None:
    few = published_success().query("environment == 'MysteryPath-Grid' and reward == 'sparse'")
    few = few.query("bonus != 'e3b' or architecture == 'GRU'")
    made = every(Statistics(matrix(3, 0, few), 100, 100))["dispersion"]
    assert isinstance(made.rows[0][1].value, float)
