"""The notebooks run from the first cell to the last, and are kept without their outputs: these
would differ on every machine, and hide what a change does."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbformat
import pytest

FOLDER = Path(__file__).parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_kept_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code
    assert not any(cell.outputs or cell.execution_count for cell in code)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nbclient import NotebookClient

    commands = Path(sys.executable).parent
    monkeypatch.setenv("PATH", os.pathsep.join((str(commands), os.environ["PATH"])))
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=1200, resources=resources).execute()
    said = "".join(str(cell.get("outputs")) for cell in notebook.cells)
    assert "report.html" in said
    assert "GRU" in said
    assert "Warning" not in said
