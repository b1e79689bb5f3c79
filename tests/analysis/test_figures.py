"""Figures: every seed is drawn, the same data give the same bytes, and nothing needs colour."""

from __future__ import annotations

import colorsys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from clew.analysis import Results, Statistics, figures, published, published_success
from clew.analysis.figures.seeds import beeswarm
from clew.analysis.figures.style import architecture_style, bonus_style, styled, wrapped
from clew.analysis.names import ARCHITECTURES, BONUSES
from clew.analysis.report.interaction_svg import apart
from clew.validate import BadInput
from tests.analysis.matrix import matrix

SMALL = Statistics(matrix(seeds=3, evaluations=8).only(environment="MysteryPath-Grid"))
PUBLISHED = Statistics(published())


def marks(figure: Figure) -> int:
    """Points drawn as marks, without the means' lines."""
    lines = [line for axes in figure.axes for line in axes.get_lines()]
    return sum(
        len(np.asarray(line.get_xdata()))
        for line in lines
        if line.get_marker() not in ("None", None, "") and line.get_linestyle() == "None"
    )


def test_strips_show_every_seed() -> None:
    assert marks(figures.strips(PUBLISHED)) == 360


def test_curves_show_every_tail_mean() -> None:
    figure = figures.curves(SMALL, "MysteryPath-Grid")
    assert marks(figure) == len(SMALL.results.runs)
    assert len(figure.axes) == 4 * 6


def test_the_legend_has_every_bonus_whoever_was_trained_with_it() -> None:
    means = published_success().query("environment == 'MysteryPath-Grid' and reward == 'sparse'")
    means = means.query("architecture != 'GRU' or bonus == 'none'")
    few = Statistics(matrix(3, 8, means))
    for figure in (figures.strips(few), figures.curves(few, "MysteryPath-Grid")):
        (legend,) = figure.legends
        assert [text.get_text() for text in legend.get_texts()] == ["none", "E3B", "NovelD"]


def assert_legible(figure: Figure) -> None:
    """No title, legend or label is cut off, or stands on another."""
    with styled():
        figure.draw_without_rendering()
    shown = [axes for axes in figure.axes if axes.get_visible()]
    texts = [*figure.texts, *(axes._left_title for axes in shown), *(a.title for a in shown)]  # type: ignore[attr-defined]
    texts += [text for axes in shown for text in axes.get_xticklabels()]
    texts = [text for text in texts if text.get_text()]
    boxes = [each.get_window_extent() for each in (*texts, *figure.legends)]
    whole = figure.bbox.padded(1)
    for i, box in enumerate(boxes):
        assert whole.x0 <= box.x0 <= box.x1 <= whole.x1
        assert whole.y0 <= box.y0 <= box.y1 <= whole.y1
        assert not any(box.overlaps(other) for other in boxes[:i])


@pytest.mark.parametrize("tasks", [1, 2, 3])
@pytest.mark.parametrize("agents", [["GRU"], ["GRU", "A-very-long-name-of-an-agent", "LSTM"]])
def test_long_names_and_few_points_are_legible(tasks: int, agents: list[str]) -> None:
    few = matrix(3, 4, published_success().query("architecture == 'GRU' and bonus != 'e3b'"))
    few = few.only(environment="MysteryPath-Grid", reward="sparse")
    long = "keydoor:make[knowledge=hint,max_episode_steps=20,n={},success_return=0.5,steps=51200]"
    named = [(long.format(n), agent) for n in range(tasks) for agent in agents]
    runs, curves = (
        pd.concat([frame.assign(environment=e, architecture=a) for e, a in named])
        for frame in (few.runs, few.evaluations.assign(steps=few.evaluations["steps"] / 200.01))
    )
    statistics = Statistics(Results.from_frames(runs, curves))
    assert_legible(figures.strips(statistics))
    figure = figures.curves(statistics, long.format(0))
    assert_legible(figure)
    ticks = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert all(len(tick) < 5 for tick in ticks)
    assert "(thousands)" in figure.get_supxlabel()


@pytest.mark.parametrize("bonuses", [["none", "noveld"], ["none", "e3b", "noveld"]])
def test_many_agents_with_long_names_are_legible(bonuses: list[str]) -> None:
    few = SMALL.results.only(reward="sparse", architecture="GRU")
    agents = ["GRU", "LSTM", "Mamba-2", "FFM", "LRU_big_net", "Transformer-XL gated (8 layers)"]
    runs, curves = (
        pd.concat([f[f["bonus"].isin(bonuses)].assign(architecture=a) for a in agents])
        for f in (few.runs, few.evaluations)
    )
    statistics = Statistics(Results.from_frames(runs, curves))
    assert_legible(figures.strips(statistics))
    assert_legible(figures.curves(statistics, "MysteryPath-Grid"))


def test_lines_are_cut_at_spaces_and_marks() -> None:
    def lines(text: str) -> list[str]:
        return wrapped(text, 1, 7, bold=False).split("\n")  # of 16 letters

    assert lines("Transformer-XL gated (8 layers)") == ["Transformer-XL", "gated (8 layers)"]
    assert lines("ppo_lstm_with_a_big_network") == ["ppo_lstm_with_a_", "big_network"]
    assert lines("a,b") == ["a, b"]
    assert lines("Averyveryverylongname indeed") == ["Averyveryverylon", "gname", "indeed"]
    assert lines("") == [""]


def test_a_label_that_says_only_in_part_says_so() -> None:
    runs = SMALL.results.only(reward="sparse", architecture="RetNet").runs
    runs = runs[runs["bonus"] != "noveld"]
    (label,) = figures.strips(Statistics(Results.from_frames(runs))).axes[0].get_xticklabels()
    assert label.get_text() == "RetNet\nuse E3B\nneeds exploration, at least in part"


def test_worlds_that_would_share_a_file_are_kept_apart(tmp_path: Path) -> None:
    few = SMALL.results.only(reward="sparse", architecture="GRU")
    runs, curves = (
        pd.concat([frame.assign(environment=e) for e in ("a/b", "a_b", "c")])
        for frame in (few.runs, few.evaluations)
    )
    drawn = figures.every(Statistics(Results.from_frames(runs, curves)), tmp_path)
    stems = {path.stem for path in drawn}
    assert len(stems) == 4
    assert {"seeds", "curves-c"} < stems


def test_the_studys_own_figures_are_legible() -> None:
    assert_legible(figures.strips(SMALL))
    assert_legible(figures.curves(SMALL, "MysteryPath-Grid"))
    assert_legible(figures.freeze(Statistics(SMALL.results), "MysteryPath-Grid"))


def test_a_curve_of_many_points_is_a_line() -> None:
    few = SMALL.results.only(reward="penalty", architecture="GRU", bonus="none")
    steps = np.linspace(1, 2e7, 5000)
    rows = [
        few.evaluations.iloc[[0]].assign(seed=s, steps=steps_) for s in (0, 1) for steps_ in steps
    ]
    figure = figures.curves(
        Statistics(Results.from_frames(few.runs, pd.concat(rows))), "MysteryPath-Grid"
    )
    assert max(len(np.asarray(line.get_xdata())) for line in figure.axes[0].get_lines()) <= 100


def test_the_same_data_give_the_same_files(tmp_path: Path) -> None:
    few = Statistics(SMALL.results.only(reward="penalty"))
    for name in ("one", "two"):
        paths = figures.save(figures.freeze(few, "MysteryPath-Grid"), tmp_path / name / "freeze")
        assert [p.suffix for p in paths] == [".svg", ".pdf", ".png"]
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_every_draws_what_there_is(tmp_path: Path) -> None:
    few = matrix(3, 8, published_success().query("architecture in ['GRU', 'RetNet']"))
    few = few.only(environment="MysteryPath-Grid", reward="penalty")
    drawn = {p.stem for p in figures.every(Statistics(few), tmp_path)}
    assert drawn == {"seeds", "curves-MysteryPath-Grid", "freeze-MysteryPath-Grid"}


def test_names_are_escaped_in_svg(tmp_path: Path) -> None:
    runs = SMALL.results.runs.assign(environment="<script>alert(1)</script>$x_$")
    svg, *_ = figures.save(
        figures.strips(Statistics(Results.from_frames(runs))), tmp_path / "seeds"
    )
    assert "<script" not in svg.read_text()


def test_bonuses_and_architectures_differ_in_more_than_colour() -> None:
    assert len({str(bonus_style(b)[1]) for b in BONUSES}) == len(BONUSES)
    assert len({bonus_style(b)[2] for b in BONUSES}) == len(BONUSES)
    assert len({architecture_style(a)[1] for a in ARCHITECTURES}) == len(ARCHITECTURES)
    assert all(colorsys.rgb_to_hls(*to_rgb(bonus_style(b)[0]))[1] < 0.6 for b in BONUSES)
    assert architecture_style("MyOwn") == architecture_style("MyOwn")


def test_what_others_call_their_agents_and_bonuses_is_told_apart() -> None:
    bonuses = ("none", "e3b", "RND", "ICM", "RE3", "Go-Explore")
    assert len({str(bonus_style(b, bonuses)[1:]) for b in bonuses}) == len(bonuses)
    agents = ("GRU", "PPO", "PPO-LSTM", "R2D2", "DQN", "Dreamer", "GTrXL")
    assert len({architecture_style(a, agents) for a in agents}) == len(agents)


def test_labels_keepapart() -> None:
    placed = sorted(apart([0.5, 0.5, 0.51, 0.98, 1.0]))
    assert min(np.diff(placed)) > 0.05


def test_equal_seeds_lie_side_by_side() -> None:
    assert len(set(beeswarm(np.zeros(10), 0.01))) == 10


def test_what_cannot_be_drawn_is_explained() -> None:
    with pytest.raises(BadInput, match="no learning curves"):
        figures.curves(PUBLISHED, "MysteryPath-Grid")
    with pytest.raises(BadInput, match="no curves of falls"):
        figures.freeze(PUBLISHED, "MysteryPath-Grid")
    with pytest.raises(BadInput, match="needs rows with the columns"):
        figures.decodability(pd.DataFrame())
    failed = published().runs.assign(status="failed", tail_mean=np.nan)
    with pytest.raises(BadInput, match="no run is finished"):
        figures.strips(Statistics(Results.from_frames(failed)))


def test_decodability_has_a_point_a_row() -> None:
    row = {"task": "MPG / sparse", "architecture": "GRU", "gain": 0.1, "gain_low": 0.0,
           "gain_high": 0.2, "auc": 0.0, "auc_low": -0.1, "auc_high": 0.1}  # fmt: skip
    figure = figures.decodability(pd.DataFrame([row, {**row, "architecture": "LSTM"}]))
    assert len(figure.axes[0].containers) == 2
