"""`clew probe` and what the report shows of it, on a store that was really trained."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from clew.cli import main
from clew.cli.report import report
from tests.probes.conftest import EPISODES, copied

PREDICTIONS = """
[[prediction]]
name = "told"
statement = "What was <shown> can be told from memory."
quantity = "auc"
above = 0.6

[[prediction]]
name = "wrong"
statement = "It can be told from what is seen."
quantity = "observation_auc"
above = 0.99
"""


@pytest.fixture
def clew(monkeypatch: pytest.MonkeyPatch):
    """The command, in this process, which has compiled everything already."""

    def command(*words: object) -> int:
        monkeypatch.setattr(sys, "argv", ["clew", *map(str, words)])
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0)
        return 0

    return command


def test_from_a_trained_suite_to_the_page(
    clew, trained: Path, suite_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copied(trained, tmp_path / "results")
    foretold = tmp_path / "foretold.toml"
    foretold.write_text(PREDICTIONS, encoding="utf-8")
    words = ["probe", suite_file, "--store", folder, "--episodes", EPISODES]
    assert clew(*words, "--predictions", foretold) == 0
    said = capsys.readouterr().out
    assert "2 predictions, registered" in said
    assert "told: hit." in said
    assert "wrong: miss." in said
    assert "3 runs: 3 probed now, 0 before, 0 without a result" in said

    assert clew(*words, "--json") == 0
    out = capsys.readouterr()
    assert "3 runs: 0 probed now, 3 before" in out.err
    whole = json.loads(out.out.splitlines()[-1])
    (cell,) = whole["cells"]
    assert (cell["architecture"], cell["bonus"], cell["seeds"]) == ("GRU", "none", 3)
    assert cell["memory"]["low"] <= cell["memory"]["mean"] <= cell["memory"]["high"]
    assert [each["verdict"] for each in whole["predictions"]] == ["hit", "miss"]
    assert not any(each["late"] for each in whole["predictions"])

    report(folder, out=tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "What memory encodes" in page
    assert f"{EPISODES} episodes of every run were replayed, from seed 0." in page
    assert page.count('src="data:image/svg+xml;base64,') == 2  # without a bonus there is no gain
    assert "<dt>told: hit</dt>" in page
    assert "What was &lt;shown&gt; can be told" in page
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?!#|data:)""", page)


def test_predictions_after_the_results_are_late(
    clew, probed: Path, suite_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copied(probed, tmp_path / "results")
    words = ["probe", suite_file, "--store", folder, "--episodes", EPISODES]
    assert clew(*words, "--predictions", "study", "--json") == 0
    out = capsys.readouterr()
    assert "6 predictions, registered" in out.err
    assert "which is after the first result" in out.err
    graded = json.loads(out.out.splitlines()[-1])["predictions"]
    assert [each["name"] for each in graded] == [f"P{i}" for i in range(1, 7)]
    assert {each["verdict"] for each in graded} == {"not evaluable"}


def test_unfinished_runs_are_named(
    clew, suite_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    assert clew("probe", suite_file, "--store", tmp_path / "empty") == 0
    said = capsys.readouterr().out
    assert said.count("the run is not begun, not finished") == 3
    assert "3 runs: 0 probed now, 0 before, 3 without a result" in said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nonsense"], "suite='nonsense' is not valid; choose"),
        (["probe", "--store", "nowhere"], "store='nowhere' does not exist"),
        (["probe", "--episodes", "2"], "episodes=2 is not valid; it must be a whole number"),
        (["probe", "--seed", "-1"], "seed=-1 is not valid; it must be a whole number"),
        (["probe", "--predictions", "nothing.toml"], "nothing.toml"),
    ],
)
def test_mistakes_are_answered_in_a_sentence(
    clew, words: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = [] if "--store" in words else ["--store", tmp_path]
    assert clew("probe", *words, *place) == 2
    assert told in capsys.readouterr().err
