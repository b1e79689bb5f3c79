"""Every Python block in the README and the docs runs, in order, as a reader would type it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
WITH_EXAMPLES = [page for page in PAGES if BLOCK.search(page.read_text())]
FOREIGN = re.compile(r"^```py\n(.*?)^```", re.MULTILINE | re.DOTALL)
"""Examples for packages that are not installed here."""
LINK = re.compile(r"\]\(([^)#]+)[^)]*\)")
OUTSIDE = re.compile(r"https://[\w-]+(\.[\w-]+)+(/[^\s\"'<>]*)?")
"""A link to another site is not followed."""

RUN_PAGES = """
import json, os, sys, traceback

errors = {}
for page, source in json.load(open("pages.json")).items():
    folder = os.path.join(os.getcwd(), page + " files")
    os.mkdir(folder)
    home = os.getcwd()
    os.chdir(folder)
    try:
        exec(compile(source, page, "exec"), {"__name__": "__main__"})
    except BaseException:
        errors[page] = traceback.format_exc()
    finally:
        os.chdir(home)
json.dump(errors, open("errors.json", "w"))
"""


@pytest.fixture(scope="module")
def errors(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """Tracebacks by page. One process runs them all, each page in an empty folder of its own."""
    folder = tmp_path_factory.mktemp("pages")
    chosen = {item.name for item in request.session.items}
    sources = {
        page.name: "\n".join(BLOCK.findall(page.read_text()))
        for page in WITH_EXAMPLES
        if f"test_examples_run[{page.name}]" in chosen
    }
    (folder / "pages.json").write_text(json.dumps(sources))
    done = subprocess.run(
        [sys.executable, "-c", RUN_PAGES], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "errors.json").read_text())


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda p: p.name)
def test_examples_run(page: Path, errors: dict[str, str]) -> None:
    assert page.name not in errors, errors[page.name]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_examples_for_other_packages_can_be_read(page: Path) -> None:
    for source in FOREIGN.findall(page.read_text()):
        compile(source, page.name, "exec")


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        assert OUTSIDE.fullmatch(target) or (page.parent / target).exists(), target
