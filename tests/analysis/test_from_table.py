"""Anyone's table of results: what is understood, what is refused, and that nothing is lost."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from clew.analysis import Results, Statistics, published, verdicts
from clew.analysis.as_json import document
from clew.analysis.export import _write_data
from clew.analysis.from_table import TableContents, read_table
from clew.analysis.report import page
from clew.analysis.score_range import Range, parse_ranges
from clew.analysis.table_cautions import alike_names
from clew.analysis.table_file import READERS
from clew.cli.results_source import TABLE_SUFFIXES
from clew.metrics import tail_mean
from clew.validate import BadInput
from tests.analysis.matrix import matrix

HEAD = "environment,agent,bonus,seed,score\n"
ROWS = "".join(
    f"Maze,{agent},{bonus},{seed},{score + seed / 100}\n"
    for agent, bonus, score in (("A", "none", 0.1), ("A", "rnd", 0.5), ("B", "none", 0.1), ("B", "rnd", 0.2))  # noqa: E501
    for seed in range(3)
)  # fmt: skip


def table(folder: Path, text: str, name: str = "results.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def read(folder: Path, text: str, ranges: dict[str | None, Range] | None = None) -> TableContents:
    return read_table(table(folder, text), ranges=ranges)


def test_one_row_a_run(tmp_path: Path) -> None:
    found = read(tmp_path, HEAD + ROWS)
    assert found.notes == []
    runs = found.results.runs
    assert len(runs) == 12
    assert set(runs["reward"]) == {"native"}
    assert set(runs["status"]) == {"finished"}
    assert runs["tail_mean"].max() == 0.52
    (task,) = Statistics(found.results).tasks
    assert list(task.task.arms["A", "rnd"]) == [0.5, 0.51, 0.52]


def test_names_of_others_are_understood_and_said(tmp_path: Path) -> None:
    head = "Env ID,Algo,Exploration,seed,eval/Mean-Reward,notes\n"
    rows = ROWS.replace("\n", ",mine\n")
    found = read(tmp_path, head + rows)
    assert read(tmp_path, HEAD + ROWS).results.runs.equals(found.results.runs)
    note, assumed = found.notes
    assert "No range was given for 'eval/Mean-Reward'" in assumed
    assert "'Env ID' as the environment" in note
    assert "'Algo' as the agent, 'Exploration' as the bonus" in note
    assert "'eval/Mean-Reward' as the score" in note


def test_of_several_scores_one_is_read_and_the_other_named(tmp_path: Path) -> None:
    rows = "".join(f"{row},400\n" for row in ROWS.splitlines())
    found = read(tmp_path, "environment,agent,bonus,seed,success,return\n" + rows)
    assert found.results.runs["tail_mean"].max() == 0.52
    renamed = "environment,agent,bonus,seed,success,mean_return\n" + rows
    assert read(tmp_path, renamed).notes == [
        "Of the table's columns, the report left 'mean_return' aside."
    ]


def test_a_reward_in_numbers_is_no_variant(tmp_path: Path) -> None:
    rows = "".join(f"{row},{i / 7}\n" for i, row in enumerate(ROWS.splitlines()))
    found = read(tmp_path, HEAD.replace("\n", ",reward\n") + rows)
    assert set(found.results.runs["reward"]) == {"native"}
    assert found.notes == ["Of the table's columns, the report left 'reward' aside."]


@pytest.mark.parametrize("none", ["", "None", "no", "OFF", "nan", "False", "0"])
def test_no_bonus_has_many_names(tmp_path: Path, none: str) -> None:
    found = read(tmp_path, HEAD + ROWS.replace(",none,", f",{none},"))
    assert set(found.results.runs["bonus"]) == {"none", "rnd"}


def test_the_baseline_can_be_named(tmp_path: Path) -> None:
    path = table(tmp_path, HEAD + ROWS.replace(",none,", ",vanilla,"))
    found = read_table(path, baseline="vanilla")
    assert set(found.results.runs["bonus"]) == {"none", "rnd"}
    assert "Gains are over 'vanilla': that is what 'without a bonus' means here." in found.notes
    with pytest.raises(BadInput, match="say with --baseline which of 'rnd' or 'vanilla' means"):
        read_table(path)
    with pytest.raises(BadInput, match=r"no bonus is called 'vanila'.*'rnd' or 'vanilla'"):
        read_table(path, baseline="vanila")
    with pytest.raises(BadInput, match="'rnd' and 'none', and both would mean none"):
        read_table(table(tmp_path, HEAD + ROWS), baseline="rnd")


def test_without_a_column_of_bonuses_agents_are_compared(tmp_path: Path) -> None:
    text = "environment,agent,seed,score\nMaze,A,0,0.5\nMaze,B,0,0.25\n"
    statistics = Statistics(read(tmp_path, text).results)
    assert verdicts(statistics) == []
    assert statistics.tasks[0].task.architectures == ("A", "B")


def test_controls_are_found_or_named(tmp_path: Path) -> None:
    path = table(tmp_path, HEAD + ROWS.replace(",A,", ",memoryless,").replace(",B,", ",given,"))
    found = read_table(path).results
    assert (found.lower, found.upper) == ("memoryless", "given")
    assert Statistics(found).tasks[0].task.memories == ()
    found = read_table(table(tmp_path, HEAD + ROWS), lower="A").results
    assert (found.lower, found.upper) == ("A", "Given")
    with pytest.raises(BadInput, match="upper='C' is not valid; choose 'A' or 'B'"):
        read_table(path.with_name("results.csv"), upper="C")
    with pytest.raises(BadInput, match="both 'A'; name two different agents"):
        read_table(path.with_name("results.csv"), lower="A", upper="A")


def over_time(steps: int = 20) -> pd.DataFrame:
    arms = [("A", "", 0.1), ("A", "rnd", 0.5), ("B", "", 0.1), ("B", "rnd", 0.2)]
    return pd.DataFrame(
        [
            ("Maze", agent, bonus, seed, 1000 * t, 10 * (score + seed / 100) * t / steps)
            for agent, bonus, score in arms
            for seed in range(3)
            for t in range(1, steps + 1)
        ],
        columns=["env", "agent", "bonus", "seed", "global_step", "return"],
    )


def test_scores_over_time_give_tail_means_and_curves(tmp_path: Path) -> None:
    frame = over_time().sample(frac=1, random_state=0)
    path = tmp_path / "curves.tsv"
    frame.to_csv(path, sep="\t", index=False)
    found = read_table(path, ranges={None: (0, 10)})
    assert "share of the range 0 to 10" in found.notes[-1]
    run = found.results.only(architecture="A", bonus="rnd", seed=2)
    mine = frame[(frame["agent"] == "A") & (frame["bonus"] == "rnd") & (frame["seed"] == 2)]
    scores = mine.sort_values("global_step")["return"].to_numpy() / 10
    assert run.runs["tail_mean"].item() == pytest.approx(tail_mean(scores))
    assert run.runs["final_success"].item() == pytest.approx(scores[-1])
    assert run.runs["steps"].item() == 20_000
    assert run.evaluations["success"].to_numpy() == pytest.approx(scores)


def test_rows_at_one_step_are_averaged(tmp_path: Path) -> None:
    """Several environments at once may end an episode at the same step."""
    frame = over_time()
    twice = pd.concat([frame.assign(**{"return": frame["return"] + d}) for d in (-0.01, 0.01)])
    paths = tmp_path / "one.csv", tmp_path / "two.csv"
    frame.to_csv(paths[0], index=False)
    twice.to_csv(paths[1], index=False)
    one, two = (read_table(path, ranges={None: (-1, 10)}).results for path in paths)
    pd.testing.assert_frame_equal(one.runs, two.runs)
    pd.testing.assert_frame_equal(one.evaluations, two.evaluations)


def test_runs_that_end_early_are_told(tmp_path: Path) -> None:
    frame = over_time()
    frame = frame[(frame["seed"] > 0) | (frame["global_step"] <= 10_000)]
    frame.to_csv(tmp_path / "x.csv", index=False)
    found = read_table(tmp_path / "x.csv", ranges={None: (0, 10)})
    assert found.notes[0].startswith("The runs of Maze / native end between 10,000 and 20,000")


@pytest.mark.filterwarnings("error")
def test_episodes_that_end_at_any_step_are_drawn(tmp_path: Path) -> None:
    frame = over_time()
    steps = np.random.default_rng(0).integers(0, 30_000, len(frame))
    frame.assign(global_step=steps).to_csv(tmp_path / "x.csv", index=False)
    found = read_table(tmp_path / "x.csv", ranges={None: (0, 10)})
    assert "Maze" in page(Statistics(found.results, 50, 50))


def test_a_run_that_failed_is_listed_and_left_out(tmp_path: Path) -> None:
    rows = [f"{row},finished\n" for row in ROWS.splitlines()]
    rows[2] = "Maze,A,none,2,nan,diverged\n"
    found = read(tmp_path, HEAD.replace("\n", ",status\n") + "".join(rows))
    gaps = Statistics(found.results).gaps
    assert gaps.sentence() == "11 of 12 runs are finished; 1 diverged."
    frame = over_time().assign(status="")
    last = (frame["seed"] == 0) & (frame["agent"] == "A") & (frame["global_step"] == 20_000)
    frame.loc[last, "status"] = "crashed"
    frame.to_csv(tmp_path / "x.csv", index=False)
    results = read_table(tmp_path / "x.csv", ranges={None: (0, 10)}).results
    assert results.runs["status"].value_counts().to_dict() == {"finished": 10, "failed": 2}
    assert results.only(architecture="A", seed=0).evaluations.empty


def test_every_scale(tmp_path: Path) -> None:
    rows = ROWS + ROWS.replace("Maze", "Pole[a=1]")
    usual = read(tmp_path, HEAD + ROWS).results.runs["tail_mean"].to_numpy()
    scaled = [row.rpartition(",") for row in rows.splitlines()]
    text = HEAD + "".join(
        f"{names},{float(score) * (200 if 'Pole' in names else 1) - 100 * ('Pole' in names)}\n"
        for names, _, score in scaled
    )
    with pytest.raises(BadInput, match=r"row 14: score=-80 is not from 0 to 1; say .*LOW HIGH"):
        read(tmp_path, text)
    found = read(tmp_path, text, {"Pole[a=1]": (-100, 100)})
    assert found.results.runs["tail_mean"].to_numpy() == pytest.approx([*usual, *usual])
    assert "Maze from 0 to 1; Pole[a=1] from -100 to 100" in found.notes[0]
    ends = ["0,1" if "Maze" in row else "-100,100" for row in text.splitlines()[1:]]
    lines = zip(text.splitlines()[1:], ends, strict=True)
    columned = HEAD.replace("\n", ",score_min,score_max\n") + "".join(f"{a},{b}\n" for a, b in lines)  # noqa: E501  # fmt: skip
    assert read(tmp_path, columned).results.runs.equals(found.results.runs)
    with pytest.raises(BadInput, match="leave --score-range out, or those columns"):
        read(tmp_path, columned, {None: (0, 1)})
    with pytest.raises(BadInput, match="unknown environment 'Poll'"):
        read(tmp_path, text, {"Poll": (0, 1)})


@pytest.mark.parametrize(
    ("words", "ranges"),
    [
        ("0 500", {None: (0, 500)}),
        ("-1 1 A=0:3", {None: (-1, 1), "A": (0, 3)}),
        ("W[k=2]=-2.5:1e3 B=0:1", {"W[k=2]": (-2.5, 1000), "B": (0, 1)}),
    ],
)
def test_ranges_as_they_are_typed(words: str, ranges: object) -> None:
    assert parse_ranges(words.split()) == ranges


@pytest.mark.parametrize("words", ["5", "1 0", "0 1 2", "a b", "A=0", "A=3:1", "A=0:inf"])
def test_ranges_that_are_none(words: str) -> None:
    with pytest.raises(BadInput, match=r"--score-range .* is not valid; write LOW HIGH, such as"):
        parse_ranges(words.split())


MISTAKES = {
    "no seed": (HEAD.replace("seed", "sead") + ROWS,
                r"has no seed: its columns are .*'sead'.*; call one of its columns 'seed'"),
    "no score": (HEAD.replace("score", "reward") + ROWS,
                 "has no score: .*; 'reward' names the reward's variant"),
    "a run twice": (HEAD + ROWS + "Maze,A,none,0,0.3\n",
                    "row 14: Maze / native / A / none, seed 0 is there twice; .* a column step"),
    "a seed in words": (HEAD + "Maze,A,none,first,0.3\n", "row 2: seed='first' is no number; num"),
    "half a seed": (HEAD + "Maze,A,none,0.5,0.3\n", "row 2: seed='0.5' is no whole number"),
    "an empty seed": (HEAD + "Maze,A,none,,0.3\n", "row 2: seed='' is no whole number"),
    "a score in words": (HEAD + "Maze,A,none,0,high\n", "row 2: score='high' is no number; write"),
    "an empty score": (HEAD + ROWS + "Maze,A,none,9,\n", "row 14: .* has no score; if the run"),
    "out of range": (HEAD + "Maze,A,none,0,1.5\n", "row 2: score=1.5 is not from 0 to 1; say"),
    "no agent": (HEAD + "Maze,,none,0,0.5\n", "row 2: the agent is empty; name it"),
    "an odd status": (HEAD.replace("\n", ",status\n") + "Maze,A,none,0,0.5,hm\n",
                      "row 2: status='hm' is not valid; choose 'finished'"),
    "one agent": (HEAD + "Maze,A,none,0,0.5\nMaze,A,none,1,0.5\n",
                  r"has one agent \(A\) and no bonus, so there is nothing to compare; add"),
    "nothing": ("", "is empty; a first line with the columns' names is expected"),
    "a header": (HEAD, "has no rows below its header"),
    "semicolons": ((HEAD + ROWS).replace(",", ";"), "is separated by semicolons, and commas are"),
    "tabs": ((HEAD + ROWS).replace(",", "\t"), r"is separated by tabs, .*; name it \.tsv"),
    "a cell too many": (HEAD + "Maze,A,none,0,0,5\n", "line 2: 6 cells, but the header has 5"),
    "steps and none": ("env,agent,bonus,seed,step,score\nM,A,,0,1,0\nM,A,,0,,0\nM,A,r,0,1,0\n",
                       "row 3 has no step, and other rows of the table have one; give"),
    "two columns": ("env,agent,bonus,seed,score,Score\nM,A,,0,1,0\n",
                    "has several columns for one thing, 'score' and 'Score'; keep one"),
    "one end": (HEAD.replace("\n", ",score_min\n") + "M,A,,0,1,0\n", "give both score_min and"),
    "ends": ("env,agent,seed,score,score_min,score_max\nM,A,0,1,3,3\n",
             "row 2: score_min=3 is not below score_max=3"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence_with_a_way_out(tmp_path: Path, mistake: str) -> None:
    text, said = MISTAKES[mistake]
    path = table(tmp_path, text)
    with pytest.raises(BadInput, match=said) as error:
        read_table(path)
    assert "\n" not in str(error.value)
    assert repr(str(path)) in str(error.value)


def test_files_that_are_no_table(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    for content in ((HEAD + ROWS).replace("Maze", "Mäze").encode("latin-1"), (HEAD + ROWS).encode("utf-16")):  # noqa: E501  # fmt: skip
        path.write_bytes(content)
        with pytest.raises(BadInput, match="is not UTF-8 text; save it again as 'CSV UTF-8'"):
            read_table(path)
    with pytest.raises(BadInput, match=r"is no \.csv, \.tsv, \.jsonl or \.parquet file"):
        read_table(table(tmp_path, HEAD, "results.xlsx"))
    with pytest.raises(BadInput, match="does not exist; name a file of results or a store's"):
        read_table(tmp_path / "nowhere.csv")
    with pytest.raises(BadInput, match="line 2 is no JSON object; one a line is expected"):
        read_table(table(tmp_path, '{"seed": 1}\n[]\n', "results.jsonl"))


def test_the_commands_know_the_same_files() -> None:
    assert set(TABLE_SUFFIXES) == set(READERS)


def test_json_lines_and_a_byte_order_mark(tmp_path: Path) -> None:
    usual = read(tmp_path, HEAD + ROWS).results.runs
    columns = HEAD.strip().split(",")
    records = [dict(zip(columns, row.split(","), strict=True)) for row in ROWS.splitlines()]
    typed = [{**r, "seed": int(r["seed"]), "score": float(r["score"])} for r in records]
    path = table(tmp_path, "\n".join(map(json.dumps, typed)), "results.jsonl")
    assert read_table(path).results.runs.equals(usual)
    assert read(tmp_path, "\ufeff" + HEAD + "\n" + ROWS).results.runs.equals(usual)


def test_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    published().runs.to_parquet(tmp_path / "runs.parquet")
    found = read_table(tmp_path / "runs.parquet").results
    pd.testing.assert_frame_equal(found.runs, published().runs)


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(BadInput, match="needs the package pyarrow to be read; install it, or"):
        read_table(table(tmp_path, "", "runs.parquet"))


@st.composite
def some_runs(draw: st.DrawFn) -> pd.DataFrame:
    """Runs that need not be a whole matrix, with names and numbers of all kinds."""
    name = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=6)
    unit = st.floats(0, 1)
    rows = draw(
        st.lists(
            st.tuples(
                st.sampled_from(["MysteryPath-Grid", "W[a=1]"]),
                st.sampled_from(["sparse", "native"]),
                st.one_of(st.sampled_from(["GRU", "Memoryless", "Given", "x,\"y'"]), name),
                st.sampled_from(["none", "e3b", "rnd"]),
                st.integers(0, 5),
                st.sampled_from(["finished", "finished", "finished", "failed", "missing"]),
                unit,
                st.one_of(unit, st.just(np.nan)),
            ),
            min_size=1,
            max_size=30,
            unique_by=lambda row: row[:5],
        )
    )
    columns = [
        "environment", "reward", "architecture", "bonus", "seed", "status", "tail_mean", "seconds",
    ]  # fmt: skip
    runs = pd.DataFrame(rows, columns=columns)
    runs["tail_mean"] = runs["tail_mean"].where(runs["status"] == "finished")
    runs["bonus_coef"] = np.where(runs["bonus"] == "none", 0.0, draw(st.sampled_from([0.0, 0.1])))
    return runs


@settings(deadline=None, max_examples=25)
@given(some_runs())
def test_what_is_exported_is_read_back_the_same(runs: pd.DataFrame) -> None:
    assume((runs["bonus"] == "none").any())
    assume(runs["architecture"].nunique() > 1 or runs["bonus"].nunique() > 1)
    results = Results.from_frames(runs)
    assume(not alike_names(runs))  # these are noted
    # names that differ in case from a control's are taken for it
    assume(not {"memoryless", "given"} & set(runs["architecture"]))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_data(results, folder / "data", parquet=False)
        again = read_table(folder / "data" / "runs.csv")
    assert again.notes == []
    pd.testing.assert_frame_equal(again.results.runs, results.runs)
    one, two = (Statistics(r, resamples=20, permutations=20) for r in (results, again.results))
    assert document(one) == document(two)


def test_curves_that_are_exported_are_read_back(tmp_path: Path) -> None:
    results = matrix(seeds=2, evaluations=10).only(environment="MysteryPath-Grid")
    _write_data(results, tmp_path / "data", parquet=False)
    again = read_table(tmp_path / "data" / "evaluations.csv").results
    pd.testing.assert_frame_equal(again.evaluations, results.evaluations)
    assert len(again.runs) == len(results.runs)


def test_a_report_of_a_table_needs_no_jax(tmp_path: Path) -> None:
    path = table(tmp_path, HEAD + ROWS)
    words = [["report", str(path)], ["export", str(path), "--out", str(tmp_path / "e")]]
    code = (
        f"import sys; from clew.cli import main; [main(each) for each in {words!r}]; "
        "sys.exit('jax' in sys.modules or 'clew.learner' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Maze" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert (tmp_path / "e" / "answer.json").exists()
