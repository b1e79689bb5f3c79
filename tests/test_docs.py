"""Every Python block in the README and the docs runs, in order, as a reader would type it; every
command can be called like that; every link leads somewhere; the site builds."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.cli import COMMANDS, split_modules
from clew.cli.parsing import parse
from cli_reference import page as cli_reference

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r'\w+ title="(.+)"')
COMMAND = re.compile(r"^(?:\$ )?(?:[A-Z_]+=\S+ )?clew ([a-z].*)$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path, *kinds: str) -> list[str]:
    """`python` runs; `py` is an example for packages that are not installed here."""
    return [text for kind, text in FENCE.findall(page.read_text()) if kind in kinds]


def files(page: Path) -> list[tuple[str, str]]:
    """Files that a page tells its reader to write; its Python blocks run beside them."""
    found = ((TITLE.fullmatch(kind), text) for kind, text in FENCE.findall(page.read_text()))
    return [(title[1], text) for title, text in found if title]


def commands(page: Path) -> Iterator[list[str]]:
    """The words of every command that a page shows, but for those that leave some out."""
    for block in blocks(page, "", "sh", "console"):
        for line in COMMAND.findall(block.replace("\\\n", " ")):
            if "…" not in line:
                yield shlex.split(line, comments=True)


WITH_EXAMPLES = [page for page in PAGES if blocks(page, "python")]

RUN_PAGES = """
import json, os, pathlib, sys, traceback

errors = {}
home = os.getcwd()
for page, (files, source) in json.load(open("pages.json")).items():
    os.mkdir(page.replace("/", " ") + " files")
    os.chdir(page.replace("/", " ") + " files")
    sys.path.insert(0, os.getcwd())
    for name, text in files:
        pathlib.Path(name).write_text(text, encoding="utf-8")
    try:
        exec(compile(source, page, "exec"), {"__name__": "__main__"})
    except BaseException:
        errors[page] = traceback.format_exc()
    finally:
        sys.path.pop(0)
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
        name(page): (files(page), "\n".join(blocks(page, "python")))
        for page in WITH_EXAMPLES
        if f"test_examples_run[{name(page)}]" in chosen
    }
    (folder / "pages.json").write_text(json.dumps(sources))
    done = subprocess.run(
        [sys.executable, "-c", RUN_PAGES], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "errors.json").read_text())


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=name)
def test_examples_run(page: Path, errors: dict[str, str]) -> None:
    assert name(page) not in errors, errors[name(page)]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_examples_for_other_packages_can_be_read(page: Path) -> None:
    for source in blocks(page, "py"):
        compile(source, name(page), "exec")
    for source in [*blocks(page, "toml"), *(s for n, s in files(page) if n.endswith(".toml"))]:
        tomllib.loads(source)


@pytest.mark.parametrize("page", [page for page in PAGES if any(commands(page))], ids=name)
def test_commands_can_be_called_like_that(page: Path) -> None:
    """Names of commands and flags, and the kinds of their values; nothing is run."""
    for words in commands(page):
        (command, *rest), _ = split_modules(words)
        parse(COMMANDS[command].factory(), rest, f"clew {command}")


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        if not target.startswith("https://"):
            assert (page.parent / target).exists(), target


def test_the_page_of_commands_is_theirs() -> None:
    page = ROOT / "docs" / "reference" / "cli.md"
    assert page.read_text() == cli_reference(), "`make docs` writes it anew"


def test_the_site_builds_and_needs_no_network(tmp_path: Path) -> None:
    """Strictly: a link or an anchor that leads nowhere, or a page in no menu, is an error."""
    build = ("-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path))
    done = subprocess.run(
        [sys.executable, *build], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    loaded = re.compile(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"?https?:[^>]*")
    for page in tmp_path.rglob("*.html"):
        assert not loaded.search(page.read_text(encoding="utf-8")), page


def test_pages_that_the_source_names_are_there() -> None:
    """In help, error messages, docstrings and other pages."""
    sources = [ROOT / "Makefile", *ROOT.glob("*.md")]
    for folder in ("src", "benchmarks", "docs", "examples", "tests"):
        sources += [p for p in (ROOT / folder).rglob("*") if p.suffix in (".py", ".md", ".toml")]
    for source in sources:
        for page in re.findall(r"(?<![\w./])docs/[\w/-]+\.md", source.read_text(encoding="utf-8")):
            assert (ROOT / page).exists(), (name(source), page)
