"""`clew export`, and what `clew report` says of a file and to a machine."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pandas as pd
import pytest

import clew
from clew.analysis import read_store, read_table
from clew.analysis.as_json import SCHEMA, plain
from clew.analysis.stats.intervals import Interval
from clew.cli.parsing import parse
from clew.store import Store
from tests.cli.called import called

KEYS = {"schema", "clew", "answers", "verdicts", "tasks", "notes", "gaps"}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Two agents, one bonus, three seeds, scores from 0 to 500."""
    rows = [
        ("Maze", agent, bonus, seed, 100 + 30 * seed + 200 * (bonus == "rnd") * (agent == "LSTM"))
        for agent in ("LSTM", "MLP")
        for bonus in ("off", "rnd")
        for seed in range(3)
    ]
    path = tmp_path / "mine.csv"
    columns = ["env", "agent", "bonus", "seed", "return"]
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
    return path


OPTIONS = ("--score-range", "0", "500", "--lower", "MLP")


def test_the_page_of_a_file_lies_beside_it(table: Path) -> None:
    done = called("report", str(table), *OPTIONS)
    assert done.code == 0
    page = (table.parent / "report.html").read_text(encoding="utf-8")
    for text in (done.out, page):
        assert "share of the range 0 to 500" in text
    assert "Maze" in page
    assert str(table) in page
    assert "What was decided" not in page
    out = table.parent / "elsewhere" / "page.html"
    assert called("report", str(table), *OPTIONS, "--out", str(out)).code == 0
    assert out.exists()


def test_two_files_are_compared(table: Path) -> None:
    other = table.with_name("other.csv")
    other.write_text(table.read_text(encoding="utf-8").replace("100.", "400."), encoding="utf-8")
    done = called("report", str(table), *OPTIONS, "--against", str(other))
    assert done.code == 0, done.err
    assert f"Beside {other}" in (table.parent / "report.html").read_text(encoding="utf-8")


def test_json_is_all_that_is_printed(table: Path) -> None:
    done = called("report", str(table), *OPTIONS, "--json")
    found = json.loads(done.out)
    assert found.keys() == KEYS
    assert (found["schema"], found["clew"]) == (SCHEMA, clew.__version__)
    assert not (table.parent / "report.html").exists()
    assert found["notes"][-1] in done.err
    (task,) = found["tasks"]
    assert (task["environment"], task["lower"], task["upper"]) == ("Maze", "MLP", None)
    arm = next(a for a in task["arms"] if (a["architecture"], a["bonus"]) == ("LSTM", "rnd"))
    assert arm["seeds"] == [{"seed": i, "score": (300 + 30 * i) / 500} for i in range(3)]
    assert arm["mean"].keys() == {"estimate", "low", "high", "n", "method"}
    assert arm["mean"]["estimate"] == pytest.approx(330 / 500)
    gain = next(g for g in task["gains"] if g["architecture"] == "LSTM")
    assert gain["interval"]["estimate"] == pytest.approx(0.4)
    answer = next(a for a in found["answers"] if a["agent"] == "LSTM")
    assert (answer["effect"]["said"], answer["held_back_by"]) == ("helps", "exploration")
    assert answer["effect"]["interval"] == gain["interval"]
    assert "+.40" in answer["advice"]
    assert answer["reason"]
    (verdict,) = found["verdicts"]
    assert verdict["task"] == {"environment": "Maze", "reward": "native"}
    assert verdict["spread"]["ratio"]["estimate"] is None
    assert found["gaps"] == {"finished": 12, "expected": 12, "runs": []}


def test_json_into_a_file_and_the_page_beside_it(table: Path) -> None:
    target = table.with_name("answer.json")
    page = table.with_name("page.html")
    words = ("report", str(table), *OPTIONS, "--json", str(target), "--out", str(page))
    done = called(*words)
    assert done.out == ""
    assert f"answer: {target}" in done.err or page.exists()
    assert json.loads(target.read_text(encoding="utf-8")).keys() == KEYS
    assert page.exists()


def test_json_never_overwrites_the_results(table: Path) -> None:
    before = table.read_bytes()
    done = called("report", *OPTIONS, "--json", str(table))
    assert done.code == 2
    assert "does not end in .json; name the results before --json" in done.err
    assert table.read_bytes() == before


def test_a_store_is_exported_and_read_back(trained: Path, tmp_path: Path) -> None:
    out = tmp_path / "files"
    done = called("export", str(trained), "--out", str(out))
    assert done.code == 0, done.err
    found = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    world = "TinyReproduce_k_2_v_2_"
    for name in ("seeds", f"curves-{world}"):
        assert {f"figures/{name}.{suffix}" for suffix in ("pdf", "svg", "png")} <= found
    for name in ("gains", "seed-vectors", "cost", "success-TinyReproduce"):
        assert {f"tables/{name}.{suffix}" for suffix in ("csv", "tex", "md")} <= found
    data = {f"data/{name}.csv" for name in ("runs", "evaluations", "rollouts")}
    assert data | {"answer.json", "export.json"} <= found
    assert not [name for name in found if ".tmp-" in name]
    assert ("data/runs.parquet" in found) == bool(importlib.util.find_spec("pyarrow"))
    assert f"{out / 'tables'}: " in done.out
    results = read_store(Store(trained, read_only=True)).results
    again = read_table(out / "data" / "runs.csv").results
    assert (again.runs["run"] == "").all()  # `clew show` has no store to look into
    pd.testing.assert_frame_equal(again.runs.drop(columns="run"), results.runs.drop(columns="run"))
    curves = read_table(out / "data" / "evaluations.csv").results
    pd.testing.assert_frame_equal(curves.evaluations, results.evaluations)
    theirs = [
        json.loads(called("report", str(source), "--json").out)
        for source in (trained, out / "data" / "runs.csv")
    ]
    assert theirs[0] == theirs[1] == json.loads((out / "answer.json").read_text(encoding="utf-8"))


def test_an_export_replaces_itself_and_nothing_else(table: Path) -> None:
    out = table.parent / "files"
    words = ("export", str(table), *OPTIONS, "--out", str(out))
    assert called(*words).code == 0
    first = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    # fewer data: what cannot be made again goes, what is not ours stays
    rows = pd.read_csv(table)
    rows[rows["bonus"] == "off"].to_csv(table, index=False)
    done = called(*words)
    assert done.code == 0, done.err
    assert "files of an earlier export have no data now: removed" in done.out
    assert not (out / "tables" / "gains.md").exists()
    assert (out / "notes.txt").read_text(encoding="utf-8") == "mine"
    rows.to_csv(table, index=False)
    assert called(*words).code == 0
    assert {path: path.read_bytes() for path in first} == first


def test_worlds_that_would_share_a_file_are_all_exported(table: Path) -> None:
    rows = pd.read_csv(table)
    both = pd.concat([rows.assign(env=world) for world in ("a/b", "a_b")])
    both.to_csv(table, index=False)
    out = table.parent / "files"
    assert called("export", str(table), *OPTIONS, "--out", str(out)).code == 0
    assert len([*(out / "tables").glob("success-*.csv")]) == 2


def test_a_file_that_was_changed_is_not_overwritten(table: Path) -> None:
    out = table.parent / "files"
    words = ("export", str(table), *OPTIONS, "--out", str(out))
    (out / "tables").mkdir(parents=True)
    mine = out / "tables" / "gains.md"
    mine.write_text("mine", encoding="utf-8")
    done = called(*words)
    assert done.code == 2
    assert "did not write, or that were changed since: tables/gains.md; choose another" in done.err
    assert [path for path in out.rglob("*") if path.is_file()] == [mine]
    assert called(*words, "--force").code == 0
    assert "mine" not in mine.read_text(encoding="utf-8")
    assert called(*words).code == 0
    mine.write_text("mine again", encoding="utf-8")
    assert called(*words).code == 2


def test_a_list_of_files_that_leads_elsewhere_is_not_believed(table: Path) -> None:
    out = table.parent / "files"
    words = ("export", str(table), *OPTIONS, "--out", str(out))
    assert called(*words).code == 0
    listed = json.loads((out / "export.json").read_text(encoding="utf-8"))
    checksum = next(iter(listed["files"].values()))
    outside = table.with_name("outside.md")
    outside.write_bytes((out / next(iter(listed["files"]))).read_bytes())
    listed["files"]["../outside.md"] = checksum
    (out / "export.json").write_text(json.dumps(listed), encoding="utf-8")
    assert called(*words).code == 0
    assert outside.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("report TABLE", "row 2: score=100 is not from 0 to 1; say which scores there can be"),
        ("report TABLE --score-range 0", "--score-range '0' is not valid; write LOW HIGH"),
        ("report --score-range 0 500 TABLE", "name the file before the options"),
        ("report TABLE --baseline x --score-range 0 500", "no bonus is called 'x'"),
        ("report NOWHERE.csv", "does not exist; name a file of results or a store's folder"),
        ("report STORE --baseline x", "--baseline is for a file of results, and"),
        ("export TABLE", "clew export needs --out"),
        ("export NOWHERE --out x", "does not exist; name the folder of a store"),
        ("report TABLE --score-range 0 500 --against NOWHERE", "give 'paper', the folder of a"),
    ],
)
def test_a_mistake_is_a_sentence(words: str, said: str, table: Path, trained: Path) -> None:
    named = {"TABLE": table, "NOWHERE": table.with_name("nowhere"), "STORE": trained}
    for name, path in named.items():
        words = words.replace(name, str(path))
    done = called(*words.split())
    assert (done.code, done.out.strip()) == (2, "")
    assert said in done.err
    assert done.err.strip().count("\n") == 0


def test_ranges_may_be_given_one_by_one() -> None:
    def command(name: str, /, score_range: tuple[str, ...] = (), json: bool = False) -> None:
        taken.append((name, score_range, json))

    taken: list[tuple[str, tuple[str, ...], bool]] = []
    typed = ["x", "--score-range", "-1", "1", "--json", "--score_range=A=0:3"]
    parse(command, typed, "clew command")()
    assert taken == [("x", ("-1", "1", "A=0:3"), True)]


def test_what_json_lacks_is_null() -> None:
    nan = float("nan")
    interval = Interval(0.5, nan, nan, (1,), "t", "one seed")
    found = {"estimate": 0.5, "low": None, "high": None, "n": [1], "method": "t"}
    assert plain(interval) == {**found, "why_not": "one seed"}
    with pytest.raises(TypeError, match="set has no form in JSON"):
        plain({1})
