"""`clew export`: everything of a store or a table as files, for papers and for other programs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from rich.progress import Progress

from clew.cli.commands.report import MARGIN
from clew.cli.output import console_for, say
from clew.cli.parsing import ResultsPath
from clew.cli.registry import register
from clew.cli.results_source import (
    TableOptions,
    read_probes,
    read_source,
    require_extra,
    statistics_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from clew.analysis.tables import Grid
    from clew.probes.stored import ProbedRuns


@register("export")
def export(
    source: ResultsPath = Path("results"),
    /,
    *,
    out: Path,
    force: bool = False,
    baseline: str | None = None,
    lower: str | None = None,
    upper: str | None = None,
    score_range: tuple[str, ...] = (),
    margin: float = MARGIN,
) -> None:
    """Write all tables, figures and data of a store, or of a table of anyone's results, as files.

    Tables are CSV, LaTeX and Markdown, figures PDF, SVG and PNG, data CSV and, where pyarrow is
    installed, Parquet; the answer is answer.json.

    Args:
        source: Folder of a store, or a .csv, .tsv, .jsonl or .parquet file.
        out: Folder for the files. An earlier export in it is replaced.
        force: Overwrite files that an export did not write, or that were changed since.
        baseline: Of a file: the bonus that means none.
        lower: Of a file: the agent that is the control without a memory, if not Memoryless.
        upper: Of a file: the agent that is given what a perfect memory would hold, if not Given.
        score_range: Of a file: the least and the largest score, LOW HIGH, if they are not 0 and 1;
            for one environment ENVIRONMENT=LOW:HIGH.
        margin: A difference in success inside plus or minus this does not matter.
    """
    require_extra("the export")
    from clew.analysis import export as files

    console = console_for()
    with Progress(console=console, transient=True) as bars:
        options = TableOptions(baseline, lower, upper, score_range)
        contents = read_source(source, options, bars)
        bars.add_task("tables, figures and data", total=None)
        probed = read_probes(source)
        drawn, tables = _of_probes(probed)
        statistics = statistics_of(contents, probed, margin)
        done = files.export(statistics, out, contents.notes, drawn, tables, force)
    for note in contents.notes:
        say(console, note)
    counts = Counter(path.parts[0] for path in done.files if len(path.parts) > 1)
    for folder, number in sorted(counts.items()):
        say(console, f"{out / folder}: {number} files")
    say(console, f"{out / 'answer.json'}")
    if not done.parquet:
        say(console, "data as CSV only: for Parquet, install the package pyarrow")
    if done.removed:
        say(console, f"{len(done.removed)} files of an earlier export have no data now: removed")


def _of_probes(runs: ProbedRuns) -> tuple[dict[str, Figure], list[Grid]]:
    """Figures by name, and the table."""
    from clew.probes.arms import arm_means, run_table
    from clew.probes.report import auc_table, probe_figures

    if not runs:
        return {}, []
    drawn = {f"probes-{name}": figure for name, figure in probe_figures(runs).items()}
    return drawn, [auc_table(arm_means(run_table(runs)))]
