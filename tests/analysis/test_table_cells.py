"""Cells and columns as other programs write them, and what makes a table doubtful."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from clew.analysis import Statistics, tables
from clew.analysis.from_table import TableContents, read_table
from clew.analysis.report import page
from clew.analysis.table_cautions import copied_seeds
from clew.cli import main
from clew.validate import BadInput

Rows = list[dict[str, object]]
HOWTO = Path(__file__).parents[2] / "docs" / "howto" / "results.md"
SCORES = {"none": (0.2113, 0.2507, 0.2251), "rnd": (0.5113, 0.5507, 0.5251)}


def rows(scores: Mapping[str, tuple[object, ...]] | None = None, **cells: object) -> Rows:
    return [
        {"environment": "Maze", "agent": "GRU", "bonus": bonus, "seed": seed, "score": score}
        | cells
        for bonus, values in (scores or SCORES).items()
        for seed, score in enumerate(values)
    ]


def read(folder: Path, table: Rows, **renamed: str) -> TableContents:
    path = folder / "results.csv"
    pd.DataFrame(table).rename(columns=renamed).to_csv(path, index=False)
    return read_table(path)


def refused(folder: Path, table: Rows, **renamed: str) -> str:
    with pytest.raises(BadInput) as error:
        read(folder, table, **renamed)
    assert "\n" not in str(error.value)
    return str(error.value)


def means(table: TableContents) -> list[float]:
    return sorted(table.results.finished["tail_mean"])


@pytest.mark.parametrize(
    ("state", "status"),
    [("crashed", "failed"), ("killed", "failed"), ("Failed", "failed"), ("running", "running"),
     ("preempted", "unfinished"), ("Finished", "finished")],
)  # fmt: skip
def test_the_states_of_wandb(tmp_path: Path, state: str, status: str) -> None:
    table = rows(State="finished")
    table[0]["State"] = state
    found = read(tmp_path, table)
    assert found.results.runs["status"].tolist() == [status] + 5 * ["finished"]
    assert "'State' as the status" in found.notes[0]


def test_a_state_that_is_no_status(tmp_path: Path) -> None:
    found = read(tmp_path, rows(state="pixels"))
    assert found.notes == ["Of the table's columns, the report left 'state' aside."]
    table = rows(state="finished")
    table[1]["state"] = "hm"
    assert "row 3: state='hm' is not valid; choose 'finished'" in refused(tmp_path, table)


def test_columns_that_are_left_aside_are_named_settings_first(tmp_path: Path) -> None:
    table = [
        {"loss": i / 9, **row, "entity": "me", "lr": 0.1 * (i > 2), "memory": "LSTM", "x": i % 3}
        for i, row in enumerate(rows())
    ]
    (note,) = read(tmp_path, table).notes
    assert note.endswith("the report left 'memory', 'lr', 'x', 'loss' and 1 more aside.")


def test_seeds_that_are_copies_are_told(tmp_path: Path) -> None:
    copies = {"none": (0.4127, 0.455, 0.4127), "rnd": (0.52, 0.52, 0.52), "icm": (0.0, 0.0, 0.3)}
    caution, *others = read(tmp_path, rows(copies)).notes
    assert caution.startswith(
        "Caution: these seeds have exactly the same score: Maze / native / GRU / none: 0 and 2 "
        "(.41) | Maze / native / GRU / RND: 0, 1 and 2 (.52). If their seed was not applied"
    )
    assert others == []


SCALES: dict[str, Callable[[np.random.Generator], float]] = {
    "three decimals": lambda rng: round(rng.normal(0.6, 0.05), 3),
    "whole returns": lambda rng: int(rng.normal(300, 40)) / 500,
    "200 episodes": lambda rng: rng.binomial(200, np.clip(rng.normal(0.6, 0.05), 0, 1)) / 200,
    "1,000 episodes": lambda rng: rng.binomial(1000, np.clip(rng.normal(0.6, 0.05), 0, 1)) / 1000,
    "near the top or not": lambda rng: round(
        min(0.999, rng.normal(0.985, 0.01)) if rng.random() < 0.6 else rng.normal(0.5, 0.02), 3
    ),
}


def drawn(rng: np.random.Generator, draw: Callable[[np.random.Generator], float]) -> pd.DataFrame:
    """Six arms of ten seeds."""
    table = [
        {**row, "environment": "Maze", "reward": "native", "bonus_coef": 0.0, "architecture": agent}
        for agent in "abc"
        for row in rows({b: tuple(draw(rng) for _ in range(10)) for b in ("none", "rnd")})
    ]
    return pd.DataFrame(table).rename(columns={"score": "tail_mean"}).assign(status="finished")


@pytest.mark.parametrize("scale", SCALES)
def test_independent_seeds_are_seldom_taken_for_copies(scale: str) -> None:
    """In at most 1 of 100 tables, or by chance in four of these."""
    rng = np.random.default_rng(0)
    told = sum(bool(copied_seeds(drawn(rng, SCALES[scale]), None)) for _ in range(100))
    assert told <= 4


def test_copies_among_scores_without_a_grid_are_always_found() -> None:
    rng = np.random.default_rng(0)
    table = drawn(rng, lambda rng: rng.normal(0.6, 0.05))
    assert copied_seeds(table, None) == []
    table["tail_mean"] = [table["tail_mean"].tolist()[i] for i in (0, 0, *range(2, 60))]
    assert "Maze / native / a / none: 0 and 1 (" in copied_seeds(table, None)[0]


def test_seeds_that_may_be_equal_by_chance_are_not(tmp_path: Path) -> None:
    arms = {"none": (0.0, 0.0, 0.0), "rnd": (0.85, 0.85, 0.9), "icm": (1 / 3, 1 / 3, 1.0)}
    assert read(tmp_path, rows(arms)).notes == []
    assert read(tmp_path, rows({"none": (1, 1, 1), "rnd": (0.99, 0.5, 0.4)})).notes == []


def test_curves_that_are_copies_are_told(tmp_path: Path) -> None:
    def curves(different: float) -> Rows:
        return [
            {**row, "step": t, "score": (t + different * (t == 7) * int(str(row["seed"]))) / 20}
            for row in rows()
            for t in range(1, 11)
        ]

    (caution,) = read(tmp_path, curves(0)).notes
    assert "same scores at every step: Maze / native / GRU / none: 0, 1 and 2 |" in caution
    assert read(tmp_path, curves(0.1)).notes == []


def test_a_run_that_is_there_twice_says_in_what_its_rows_differ(tmp_path: Path) -> None:
    table = [{**r, "lr": lr, "time": i} for i, lr in enumerate((0.01, 0.1)) for r in rows()]
    said = refused(tmp_path, [{**r, "time": i} for i, r in enumerate(table)])
    assert said.endswith(
        "row 8: Maze / native / GRU / none, seed 0 is there twice; its rows differ in 'lr' ('0.01' "
        "and '0.1'): keep the rows of one value, or make it part of the name in 'agent', such as "
        "'GRU 0.01'"
    )
    memories = [{**row, "memory": memory} for memory in ("LSTM", "GRU") for row in rows()]
    said = refused(tmp_path, memories, agent="algo")
    assert "differ in 'memory' ('LSTM' and 'GRU'), which was passed over for 'algo': keep" in said
    epochs = [{**row, "epoch": epoch} for epoch in range(4) for row in rows()]
    assert refused(tmp_path, epochs).endswith("; or call it 'step' if scores are over time")


def test_two_studies_in_one_table_are_told(tmp_path: Path) -> None:
    """Final scores that all stand at one step are no scores over time."""
    final = [{**row, "step": 1000} for row in rows()]
    both = [*final, *({**row, "score": 0.1} for row in final)]
    said = refused(tmp_path, both)
    why = "no run has rows at two different steps; give every run a seed of its own"
    assert said.endswith(f"seed 0 is there twice; {why}")
    over_time = [
        {**row, "step": step, "score": float(str(row["score"])) * step / 3}
        for row in both
        for step in (1, 2)
    ]
    assert read(tmp_path, over_time[: len(over_time) // 2]).notes == []
    (caution,) = read(tmp_path, over_time).notes
    assert caution.startswith("Caution: runs (6 in all) have rows at every step that differ")
    told = [{**row, "episode": i} for i, row in enumerate(over_time)]
    assert not any("at every step" in note for note in read(tmp_path, told).notes)


def test_settings_that_were_averaged_over_time_are_told(tmp_path: Path) -> None:
    table = [
        {**r, "step": t, "lr": lr, "score": float(str(r["score"])) + t / 1000, "loss": t}
        for lr in (0.01, 0.1)
        for t in range(1, 30)
        for r in rows()
    ]
    caution, note = read(tmp_path, table).notes
    assert "several values of 'lr' ('0.01' and '0.1'), and they were averaged" in caution
    assert "left 'lr' and 'loss' aside" in note


def test_settings_in_turn_are_told_and_counts_and_flags_are_not(tmp_path: Path) -> None:
    """Episodes of two runs seldom end at one step."""

    def table(**cells: Callable[[int], object]) -> Rows:
        return [
            {**r, "step": t, **{name: cell(t) for name, cell in cells.items()}}
            for t in range(1, 61)
            for r in rows()
        ]

    caution, _ = read(tmp_path, table(lr=lambda t: 0.1 if t % 2 else 0.01)).notes
    assert caution.startswith(
        "Caution: every run has rows of several values of 'lr' ('0.1' and '0.01') from beginning"
    )
    for cell in (
        lambda t: t % 2,
        lambda t: t % 3,
        lambda t: bool(t % 2),
        lambda t: 0.1 ** (t > 30),
    ):
        assert not any("Caution" in each for each in read(tmp_path, table(x=cell)).notes)


def test_true_and_false_are_one_and_zero(tmp_path: Path) -> None:
    arms = {"none": (False, False, True), "rnd": (True, True, True)}
    assert means(read(tmp_path, rows(arms))) == [0, 0, 1, 1, 1, 1]
    path = tmp_path / "results.jsonl"
    path.write_text("\n".join(map(json.dumps, rows(arms))))
    assert means(read_table(path)) == [0, 0, 1, 1, 1, 1]


def test_percentages(tmp_path: Path) -> None:
    arms = {"none": (20, 30, 40), "rnd": (50, 60, 70)}
    expected = pytest.approx([0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
    named = read(tmp_path, rows(arms), score="success rate (%)")
    assert means(named) == expected
    assert "share of the range 0 to 100" in named.notes[-1]
    signed = rows({bonus: tuple(f"{s}%" for s in scores) for bonus, scores in arms.items()})
    assert means(read(tmp_path, signed)) == expected
    found = read_table(tmp_path / "results.csv", ranges={None: (0, 200)})
    assert max(means(found)) == pytest.approx(0.35)
    shares = rows({bonus: tuple(s / 100 for s in scores) for bonus, scores in arms.items()})
    assert refused(tmp_path, shares, score="success %").endswith(
        "no score in 'success %' is above 1; if they are shares and no percentages, say so with "
        "--score-range 0 1, or else with --score-range 0 100"
    )
    read_table(tmp_path / "results.csv", ranges={None: (0, 1)})
    read(tmp_path, signed)
    signed[0]["score"] = "20"
    assert "score='30%' is no number" in refused(tmp_path, signed)


def test_a_switch_and_coefficients_are_no_names(tmp_path: Path) -> None:
    found = read(tmp_path, rows({"False": SCORES["none"], "True": SCORES["rnd"]}))
    assert set(found.results.runs["bonus"]) == {"none", "bonus"}
    assert found.notes == [
        "The column 'bonus' has no names of bonuses: 'True' is shown as 'bonus'."
    ]
    several = {"0.00": SCORES["none"], "0.01": SCORES["rnd"], "1e-1": SCORES["rnd"]}
    found = read(tmp_path, rows(several))
    assert set(found.results.runs["bonus"]) == {"none", "bonus 0.01", "bonus 0.1"}
    named = read(tmp_path, rows({"0": SCORES["none"], "rnd": SCORES["rnd"]}))
    assert set(named.results.runs["bonus"]) == {"none", "rnd"}
    assert named.notes == []


def test_a_column_reward_of_numbers_is_no_variant_though_a_cell_is_empty(tmp_path: Path) -> None:
    table = [{**row, "reward": 1.5 * i} for i, row in enumerate(rows())]
    del table[2]["reward"]
    found = read(tmp_path, table)
    assert set(found.results.runs["reward"]) == {"native"}
    assert "left 'reward' aside" in found.notes[0]


def test_seeds_beyond_floats_are_told_apart(tmp_path: Path) -> None:
    table = rows()
    for row in table:
        row["seed"] = 2**60 + int(str(row["seed"]))
    assert set(read(tmp_path, table).results.runs["seed"]) == {2**60, 2**60 + 1, 2**60 + 2}


def test_columns_and_cells_that_no_table_should_have(tmp_path: Path) -> None:
    pd.DataFrame(rows(score2=0.5)).rename(columns={"score2": "score"}).to_csv(
        tmp_path / "results.csv", index=False
    )
    with pytest.raises(BadInput, match="has several columns called 'score'; keep one of them"):
        read_table(tmp_path / "results.csv")
    path = tmp_path / "results.jsonl"
    path.write_text("\n".join(json.dumps(row | {"histogram": [1, 2]}) for row in rows()))
    assert means(read_table(path)) == sorted(sum(SCORES.values(), ()))


def test_environment_steps_are_read_before_rows_of_a_log(tmp_path: Path) -> None:
    over = [{**r, "step": t, "time/total_timesteps": 10 * t} for r in rows() for t in (1, 2, 3)]
    found = read(tmp_path, over)
    assert set(found.results.runs["steps"]) == {30}
    assert "'time/total_timesteps' as the step and left 'step' aside" in found.notes[0]


def test_names_that_are_nearly_the_same_are_told(tmp_path: Path) -> None:
    table = rows()
    for row in table[::3]:
        row |= {"environment": "maze ", "agent": "gru"}
    found = read(tmp_path, table)
    assert found.notes == [
        "'Maze' and 'maze' are different environments here; if they are one, write them alike.",
        "'GRU' and 'gru' are different agents here; if they are one, write them alike.",
    ]


def test_tables_of_single_scores_say_so(tmp_path: Path) -> None:
    def captions(found: TableContents) -> str:
        return " ".join(
            grid.caption for grid in tables.every(Statistics(found.results, 20, 20)).values()
        )

    said = captions(read(tmp_path, rows()))
    assert "one score a run" in said
    assert "tail" not in said
    assert "final 20%" in captions(read(tmp_path, rows(), score="tail_mean"))


def test_cautions_stand_on_the_terminal_and_open_on_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = rows({"False": (0.4127, 0.4127, 0.4127), "True": (0.51, 0.52, 0.53)}, lr=1)
    read(tmp_path, table, score="return", environment="game")
    main(["report", str(tmp_path / "results.csv"), "--score-range", "0", "2"])
    terminal = " ".join(capsys.readouterr().out.split())
    answer, caution = terminal.index("use bonus"), terminal.index("Caution: these seeds")
    assert caution < answer  # who reads one line only must see it
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    before = html[: html.index("Caution: these seeds")]
    assert before.rindex("<details") == before.rindex('<details class="gaps" open')


def blocks(heading: str) -> list[str]:
    """The Python blocks under a heading of the how-to page."""
    section = HOWTO.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [part.split("```")[0] for part in section.split("```py\n")[1:]]


def follow(block: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> TableContents:
    with contextlib.chdir(folder), monkeypatch.context():
        exec(compile(block, "results.md", "exec"), {})
    return read_table(folder / "results.csv")


def test_the_script_for_runs_of_wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(row: dict[str, object], state: str = "finished") -> SimpleNamespace:
        config = {"env_id": "Maze", **{k: row[k] for k in ("agent", "bonus", "seed")}}
        log = [(i, 1000 * i, row["score"]) for i in range(1, 11)] if state == "finished" else []
        history = pd.DataFrame(log, columns=["_step", "global_step", "charts/episodic_return"])
        return SimpleNamespace(config=config, state=state, history=lambda **_: history)

    runs = [*map(run, rows()), run({**rows()[0], "seed": 9}, "crashed")]
    api = SimpleNamespace(runs=lambda path: runs)
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(Api=lambda: api))
    found = follow(blocks("From wandb")[0], tmp_path, monkeypatch).results
    assert found.runs["status"].value_counts().to_dict() == {"finished": 6, "failed": 1}
    assert sorted(found.finished["tail_mean"]) == pytest.approx(sorted(sum(SCORES.values(), ())))
    assert len(found.evaluations) == 60


def chart(folder: Path) -> Path:
    """Laid out like wandb's export of a chart."""
    columns: dict[str, object] = {"Step": [1000, 2000, 3000]}
    for row in rows():
        name = f"{row['agent']}-{row['bonus']}-{row['seed']} - eval/success"
        score = row["score"]
        columns |= {name: [0, score, score], f"{name}__MIN": 0, f"{name}__MAX": 1}
    pd.DataFrame(columns).to_csv(folder / "wandb_chart.csv", index=False)
    return folder / "wandb_chart.csv"


def test_the_script_for_a_chart_of_wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match=r"has one column a run \('GRU-none-0 - eval/success' and"):
        read_table(chart(tmp_path))
    found = follow(blocks("From wandb")[1], tmp_path, monkeypatch)
    runs = found.results.runs
    assert set(zip(runs["environment"], runs["architecture"], strict=True)) == {("KeyMaze", "GRU")}
    assert sorted(runs["tail_mean"]) == pytest.approx(sorted(sum(SCORES.values(), ())))


def test_one_column_a_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["environment", "agent", "bonus"]
    wide = pd.DataFrame(rows()).pivot(index=names, columns="seed", values="score")
    wide.add_prefix("seed").reset_index().to_csv(tmp_path / "wide.csv", index=False)
    with pytest.raises(BadInput, match=r"one column a seed \('seed0' and 'seed1', …\)") as error:
        read_table(tmp_path / "wide.csv")
    assert "pandas.melt" in str(error.value)
    found = follow(blocks("From one column a seed")[0], tmp_path, monkeypatch)
    assert means(found) == pytest.approx(sorted(sum(SCORES.values(), ())))


def test_the_table_of_runs_of_wandb_and_its_step(tmp_path: Path) -> None:
    table = [{"Name": f"sunny-{i}", "State": "finished", "_step": 100} | r for i, r in enumerate(rows())]  # noqa: E501  # fmt: skip
    table[0] |= {"State": "crashed", "score": None}
    found = read(tmp_path, table, score="charts/episodic_return")
    assert len(found.results.finished) == 5
    over = [{**r, "_step": t, "global_step": 10 * t} for r in rows() for t in (1, 2, 3)]
    assert set(read(tmp_path, over).results.runs["steps"]) == {30}
    del over[0]["global_step"]
    over = [{k: v for k, v in r.items() if k != "global_step"} for r in over]
    assert set(read(tmp_path, over).results.runs["steps"]) == {3}
    assert "Maze" in page(Statistics(read(tmp_path, over).results, 20, 20))
