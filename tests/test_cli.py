"""The command line, as a user meets it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import clew


def clew_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    code = "from clew.cli import main; main()"
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_mistakes_are_answered_in_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    mistakes = (
        ["demo", "--workers", "0"],
        ["demo", "--out", str(file)],
        ["bench", "train", "--architectures", "GRUU"],
        ["bench", "train", "--chunk", "60"],
    )
    for arguments in mistakes:
        done = clew_command(*arguments)
        assert done.returncode == 2
        assert done.stderr.startswith("clew: ")
        assert "Traceback" not in done.stderr


def test_version() -> None:
    assert clew_command("--version").stdout.strip() == f"clew {clew.__version__}"
