"""`clew demo`, on a study that is trained already."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import clew.cli.commands.demo as command
from clew.store import Store, scan
from clew.suite import find_suite
from clew.suite.packs import group_by_program
from tests.cli.conftest import suite


def test_it_ends_with_table_answer_figure_and_report(
    trained: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(trained, tmp_path / "demo")
    monkeypatch.setattr(command, "find_suite", lambda name: suite())
    with pytest.raises(SystemExit) as ended:
        command.demo(tmp_path, workers=1)
    assert ended.value.code == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "4 runs" in said
    assert "4 finished" in said
    assert "Memoryless: Train at least 3 seeds with E3B and without: " in said
    assert f"figure: {tmp_path / 'seeds.png'}" in said
    assert f"report: {tmp_path / 'report.html'}" in said
    assert "next: clew report" not in said  # it is written already
    best = re.search(r"next, an agent at play: clew show (\S+) --store (\S+) --gif play.gif", said)
    assert best is not None
    tails = {row.name: row.result["tail_mean"] for row in scan(Store(best[2], read_only=True))}
    assert tails[best[1]] == max(tails.values())
    assert (tmp_path / "seeds.png").read_bytes().startswith(b"\x89PNG")
    assert "<html" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_what_it_trains() -> None:
    demo = find_suite("demo")
    runs, programs = demo.runs(), group_by_program(demo)
    assert len(runs) == 80
    assert len(programs) == 8  # without a bonus and with one share theirs
    assert len({len(group) for _, group in programs}) == 1
    assert {run.seed for run in runs} == set(range(5))
