"""Every Python block in the README and the docs runs, in order, as a reader would type it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
WITH_EXAMPLES = [page for page in PAGES if BLOCK.search(page.read_text())]
LINK = re.compile(r"\]\(([^)#]+)\)")


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda p: p.name)
def test_examples_run(page: Path, tmp_path: Path) -> None:
    script = tmp_path / "example.py"
    script.write_text("\n".join(BLOCK.findall(page.read_text())))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), target
