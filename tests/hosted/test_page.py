"""What `docs/your-environment.md` tells a reader to type."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.cli.called import called

PAGE = (Path(__file__).parents[2] / "docs" / "your-environment.md").read_text(encoding="utf-8")
TINY = {
    "steps = 40_960": "steps = 256",
    "envs = 8\nsteps = 64\nchunk = 32\nchunks_per_batch = 8": (
        "envs = 4\nsteps = 16\nchunk = 8\nchunks_per_batch = 4"
    ),
    "eval_every = 10": "eval_every = 2",
    "seeds = 3": "seeds = 1",
    '["GRU", "Memoryless", "Given"]': '["Given"]',
    '["none", "noveld"]': '["none"]',
}


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the page's two files."""
    (tmp_path / "my_maze.py").write_text(block("python"), encoding="utf-8")
    (tmp_path / "mine.toml").write_text(block("toml"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "my_maze", raising=False)
    return tmp_path


def test_the_page_at_a_tiny_size(here: Path) -> None:
    suite = (here / "mine.toml").read_text()
    for old, new in TINY.items():
        assert old in suite
        suite = suite.replace(old, new)
    (here / "mine.toml").write_text(suite)
    assert "1 runs in 1 pack" in called("run", "mine.toml", "--dry-run").out
    done = called("run", "mine.toml", "--store", "results")
    assert done.code == 0, done
    assert called("report", "results").code == 0
    assert "my_maze:make" in (here / "results" / "report.html").read_text()


@pytest.mark.slow
def test_the_answer_that_the_page_tells(here: Path) -> None:
    done = called("run", "mine.toml", "--store", "results")
    assert done.code == 0, done
    told = called("report", "results").out
    for line in re.findall(r"^  \w+: .*$", PAGE, re.MULTILINE):
        assert line.split(",")[0] in told, told
