"""`clew report`: the answer of a store, as one page."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import Progress

from clew.cli.output import say
from clew.cli.parsing import StorePath
from clew.cli.registry import register
from clew.store import Store
from clew.validate import BadInput

if TYPE_CHECKING:
    from clew.analysis import Statistics, StoreContents
    from clew.analysis.report.page import Extras

NEEDS = ("pandas", "scipy", "matplotlib", "jinja2")
PAPER = "paper"
PROOF_SECONDS = 20.0


@register("report")
def report(
    store: StorePath = Path("results"),
    /,
    against: str | None = None,
    out: Path | None = None,
    proof_seconds: float = PROOF_SECONDS,
) -> None:
    """Write the answer of a store as one offline HTML page: words, figures, curves and tables.

    Args:
        store: Folder of the results. Runs that are not finished are listed, and left out.
        against: Compare with the published numbers (`paper`) or with another store (its folder).
        out: File for the page; report.html in the store if not given.
        proof_seconds: Longest time to decide what the rewards supervise, if it is not known yet.
    """
    console = Console()
    path, notes = write_page(store, against, out or store / "report.html", console, proof_seconds)
    for note in notes:
        say(console, note)
    say(console, f"report: {path} ({path.stat().st_size / 1e6:.2f} MB)")


def write_page(
    store: Path,
    against: str | None,
    out: Path,
    console: Console,
    proof_seconds: float = PROOF_SECONDS,
) -> tuple[Path, list[str]]:
    """Say the answer and write the page of a store; where it is, and notes to be read."""
    require_extra()
    from clew.analysis import Statistics, read_store
    from clew.analysis.report import write_report
    from clew.cli.task_verdicts import task_verdicts
    from clew.probes.report import probe_section

    with Progress(console=console, transient=True) as bars:

        def read(folder: Path) -> StoreContents:
            task = bars.add_task(f"reading {folder}", total=None)
            opened = Store(folder, read_only=True)
            return read_store(opened, lambda done, of: bars.update(task, completed=done, total=of))

        ours = read(store)
        extras, notes = _compared(ours, against, read)
        extras["notes"] = notes = [*ours.notes, *notes]
        bars.add_task("what the rewards supervise", total=None)
        extras["proofs"] = task_verdicts(store, ours.tasks, proof_seconds)
        bars.add_task("statistics and pictures", total=None)
        extras["configuration"] = {"store": str(store), **ours.configuration}
        extras["probes"] = probe_section(Store(store, read_only=True))
        statistics = Statistics(ours.results)
        path = write_report(statistics, out, **extras)
    say_answer(console, statistics)
    return path, notes


def say_answer(console: Console, statistics: Statistics) -> None:
    """The answer in lines, as the page begins."""
    from clew.analysis.answer import answers
    from clew.analysis.summary import lines

    for line in lines(answers(statistics), statistics.results.lower):
        say(console, line)


def _compared(
    ours: StoreContents, against: str | None, read: Callable[[Path], StoreContents]
) -> tuple[Extras, list[str]]:
    """The comparison for the page, and notes on where the two were not trained alike."""
    from clew.analysis.from_store import differences_in_training
    from clew.analysis.report import compare, compare_with_published

    if against is None:
        return {}, []
    if against == PAPER:
        return {"compared": compare_with_published(ours.results)}, []
    if not Path(against).is_dir():
        raise BadInput(f"against={against!r} is not valid; give 'paper' or the folder of a store")
    theirs = read(Path(against))
    compared = compare(ours.results, theirs.results)
    return {"compared": compared, "compared_with": against}, differences_in_training(ours, theirs)


def require_extra(what: str = "the report") -> None:
    """Raise an error that names what is not installed."""
    missing = [name for name in NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        raise BadInput(
            f"{what} needs {', '.join(missing)}; install the extra: pip install 'clew[report]'"
        )
