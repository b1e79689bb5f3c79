"""`clew report`: the answer of a store or of a table, as one page or as JSON."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console
from rich.progress import Progress

from clew.cli.output import console_for, say
from clew.cli.parsing import STANDARD_OUTPUT, JsonFile, ResultsPath
from clew.cli.registry import register
from clew.cli.reproduction import show_reproduction
from clew.cli.results_source import (
    TableOptions,
    is_file_of_rows,
    read_probes,
    read_source,
    require_extra,
    statistics_of,
)
from clew.store import CannotWrite, Store
from clew.store.atomic import write
from clew.validate import BadInput, hint

if TYPE_CHECKING:
    from clew.analysis import Statistics, StoreContents, TableContents
    from clew.analysis.report.page import Extras
    from clew.probes.stored import ProbedRuns

PAPER = "paper"
PROOF_SECONDS = 20.0
MARGIN = 0.05
"""`clew.analysis.stats.effects.MARGIN`, without importing the analysis."""
OF_ROWS = TableOptions()
DOUBT = "Caution"
"""How a note begins that makes an answer doubtful."""


@register("report")
def report(
    source: ResultsPath = Path("results"),
    /,
    against: str | None = None,
    out: Path | None = None,
    json: JsonFile = None,
    baseline: str | None = None,
    lower: str | None = None,
    upper: str | None = None,
    score_range: tuple[str, ...] = (),
    margin: float = MARGIN,
    proof_seconds: float = PROOF_SECONDS,
) -> None:
    """Write the answer of a store, or of a table of anyone's results, as one offline HTML page.

    A table is a .csv, .tsv, .jsonl or .parquet file with the columns environment, agent, bonus,
    seed and score; docs/howto/results.md says more. `clew report paper` prints how far the
    published study was reproduced, from runs that come with Clew: its claims and arms beside ours.

    Args:
        source: Folder of a store, or a file. Runs that are not finished are listed, and left out.
            Or `paper`; then --out is a .md, .html, .png, .svg or .pdf file, and the only option.
        against: Compare with the published numbers (`paper`), or with another store or file.
        out: File for the page; report.html in the store or beside the file if not given.
        json: Write the whole answer as JSON instead of the page: to FILE, or else to standard
            output. With --out, write the page as well.
        baseline: Of a file: the bonus that means none.
        lower: Of a file: the agent that is the control without a memory, if not Memoryless.
        upper: Of a file: the agent that is given what a perfect memory would hold, if not Given.
        score_range: Of a file: the least and the largest score, LOW HIGH, if they are not 0 and 1;
            for one environment ENVIRONMENT=LOW:HIGH.
        margin: A difference in success inside plus or minus this does not matter.
        proof_seconds: Longest time to decide what the rewards supervise, if it is not known yet.
    """
    console = console_for(json is not None)
    if source == Path(PAPER) and not source.exists():
        usual = (margin, proof_seconds) == (MARGIN, PROOF_SECONDS)
        if not usual or any((json, against, baseline, lower, upper, *score_range)):
            raise BadInput("`clew report paper` takes --out only; results/runs.csv has every run")
        show_reproduction(console, out)
        return
    if not source.exists() and (meant := hint(source, [PAPER])):
        raise BadInput(f"{str(source)!r} does not exist{meant}; name a store, a file or `paper`")
    if out is not None and out.suffix.lower() not in ("", ".html", ".htm"):
        raise BadInput(
            f"--out: {str(out)!r} does not end in .html; name such a file: a browser prints it as "
            "a PDF, and `clew export` writes tables and figures"
        )
    options = TableOptions(baseline, lower, upper, score_range)
    read = read_all(source, console, options, margin)
    notes: list[str] = []
    if json is not None:
        notes = _write_json(read, json)
    if json is None or out is not None:
        beside = source.parent if is_file_of_rows(source) else source
        target = out or beside / "report.html"
        try:
            page = write_page(source, read, target, console, against, proof_seconds, options)
        except CannotWrite as error:
            if out is not None:
                raise
            raise BadInput(f"{error}; with --out FILE the page goes elsewhere") from error
        doubts = [note for note in page.notes if note.startswith(DOUBT)]
        for doubt in doubts:  # before the answer, which may be wrong for this reason
            say(console, doubt)
        say_answer(console, page.statistics)
        size = page.path.stat().st_size / 1e6
        rest = [note for note in page.notes if note not in doubts]
        notes = [*rest, f"report: {page.path} ({size:.2f} MB)"]
    for note in notes:
        say(console, note)


class Read(NamedTuple):
    """What there is of a store or file."""

    contents: StoreContents | TableContents
    probed: ProbedRuns
    statistics: Statistics


class Written(NamedTuple):
    """A page that was written."""

    path: Path
    notes: list[str]
    """What a reader must know."""
    statistics: Statistics


def read_all(
    source: Path, console: Console, options: TableOptions = OF_ROWS, margin: float = MARGIN
) -> Read:
    """Read a store or file."""
    require_extra()
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bars:
        contents = read_source(source, options, bars)
        probed = read_probes(source)
        return Read(contents, probed, statistics_of(contents, probed, margin))


def write_page(
    source: Path,
    read: Read,
    out: Path,
    console: Console,
    against: str | None = None,
    proof_seconds: float = PROOF_SECONDS,
    options: TableOptions = OF_ROWS,
) -> Written:
    """Write the page of a store or file, of which this was read."""
    from clew.analysis import StoreContents
    from clew.analysis.report import write_report

    ours, probed, statistics = read
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bars:
        extras, notes = _compared(
            ours, against, lambda path: read_source(path, _meant_for(path, options), bars)
        )
        extras["notes"] = notes = [*ours.notes, *notes]
        if isinstance(ours, StoreContents):
            bars.add_task("what the rewards supervise", total=None)
            extras |= _of_store(source, ours, probed, proof_seconds)
        else:
            extras["configuration"] = {"file": str(source)}
        bars.add_task("statistics and pictures", total=None)
        path = write_report(statistics, out, **extras)
    return Written(path, notes, statistics)


def _write_json(read: Read, target: Path) -> list[str]:
    """Print or write the document; notes, and where it is."""
    from clew.analysis.as_json import as_json

    notes = read.contents.notes
    text = as_json(read.statistics, notes)
    if target == STANDARD_OUTPUT:
        print(text)
        return notes
    write(target, lambda file: file.write(f"{text}\n".encode()))
    return [*notes, f"answer: {target}"]


def _of_store(store: Path, ours: StoreContents, probed: ProbedRuns, proof_seconds: float) -> Extras:
    """What only a store has: proofs, probes, and how the runs were made."""
    from clew.cli.task_verdicts import task_verdicts
    from clew.probes.report import probe_section

    return {
        "proofs": task_verdicts(store, ours.tasks, proof_seconds),
        "probes": probe_section(Store(store, read_only=True), probed),
        "configuration": {"store": str(store), **ours.configuration},
    }


def say_answer(console: Console, statistics: Statistics) -> None:
    """The answer in lines, as the page begins."""
    from clew.analysis.answer import answers
    from clew.analysis.summary import lines

    for line in lines(statistics, answers(statistics)):
        say(console, line)


def _compared(
    ours: StoreContents | TableContents,
    against: str | None,
    read: Callable[[Path], StoreContents | TableContents],
) -> tuple[Extras, list[str]]:
    """The comparison for the page, and notes on where the two were not trained alike."""
    from clew.analysis import StoreContents
    from clew.analysis.from_store import differences_in_training
    from clew.analysis.report import compare, compare_with_published

    if against is None:
        return {}, []
    if against == PAPER:
        return {"compared": compare_with_published(ours.results)}, []
    if not Path(against).exists():
        raise BadInput(
            f"against={against!r} is not valid; give 'paper', the folder of a store or a file of "
            "results"
        )
    theirs = read(Path(against))
    extras: Extras = {
        "compared": compare(ours.results, theirs.results),
        "compared_with": against,
    }
    if isinstance(ours, StoreContents) and isinstance(theirs, StoreContents):
        return extras, differences_in_training(ours, theirs)
    return extras, []


def _meant_for(path: Path, options: TableOptions) -> TableOptions:
    """The options, where they can be meant for the results compared with."""
    return options if is_file_of_rows(path) else OF_ROWS
