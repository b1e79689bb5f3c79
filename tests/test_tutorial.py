"""What the tutorial tells its reader to save and to type, at a tiny size; its answer at its own."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.cli.called import called
from tests.test_docs import ROOT, blocks, commands, files

PAGE = ROOT / "docs" / "tutorial" / "index.md"
TINY = {
    "steps = 40_960": "steps = 256",
    "steps = 64\nchunk = 4\nchunks_per_batch = 64": "steps = 16\nchunk = 4\nchunks_per_batch = 4",
    "eval_every = 10\neval_episodes = 50": "eval_every = 2\neval_episodes = 4",
    "seeds = 5": "seeds = 1",
    '["GRU", "Memoryless", "Given"]': '["Given"]',
    '["none", "noveld"]': '["none"]',
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the page's two files."""
    for name, text in files(PAGE):
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "my_maze", raising=False)
    return tmp_path


def test_at_a_tiny_size(here: Path) -> None:
    suite = (here / "mine.toml").read_text()
    for old, new in TINY.items():
        assert old in suite
        suite = suite.replace(old, new)
    (here / "mine.toml").write_text(suite)
    dry, train, report, *_ = commands(PAGE)
    assert "1 run in 1 pack" in called(*dry).out
    done = called(*train)
    assert done.code == 0, done
    assert "next: clew report results" in done.out
    assert called(*report).code == 0
    assert "my_maze:make" in (here / "results" / "report.html").read_text()


@pytest.mark.slow
def test_the_answer_that_it_tells(here: Path) -> None:
    """But for the figures, which other processors round differently."""
    _, train, report, *_ = commands(PAGE)
    assert called(*train).code == 0
    found = called(*report).out
    told = next(text for text in blocks(PAGE, "console") if text.startswith("$ clew report"))
    for agent in ("GRU", "Memoryless"):
        (line,) = re.findall(rf"^ *{agent}: .*", told, re.MULTILINE)
        assert "Memory is the bottleneck." in line
        (line,) = re.findall(rf"^ *{agent}: .*", found, re.MULTILINE)
        assert "Memory is the bottleneck." in line
