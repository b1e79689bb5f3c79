"""`clew demo`: a whole small study, from training to the report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from clew.cli.commands.report import require_extra, write_page
from clew.cli.commands.run import execute
from clew.cli.registry import register
from clew.cli.training import EXIT_FAILED
from clew.learner.execution import cores
from clew.store import Store
from clew.suite import find_suite
from clew.suite.launchers import WorkerConfig
from clew.suite.planning import group_by_program
from clew.validate import whole_number

if TYPE_CHECKING:
    from clew.analysis import TaskStatistics

OPENING = (
    "Will an exploration bonus help this agent on this task, or is memory the bottleneck? "
    "Here the agent is PPO with a GRU, a RetNet or no memory at all; the bonus is E3B; the tasks "
    "are TinyReproduce (say three tokens back: nothing to explore) and MysteryPath on a 4×4 grid "
    "(find an invisible path, where falling off it costs). {runs} runs, every arm with {seeds} "
    "seeds. Ctrl-C is safe: the same command goes on."
)
CLOSING = (
    "This is small on purpose: tiny networks, short budgets, few seeds. What it cannot settle is "
    "called so. `clew run paper` is the study itself."
)


@register("demo")
def demo(out: Path = Path("out"), workers: int | None = None) -> None:
    """Train a small study on this machine, in minutes, and write its table, figure and report.

    Args:
        out: Folder for the results.
        workers: Processes that train side by side; one a core if not given.
    """
    require_extra()
    suite = find_suite("demo")
    console, programs = Console(), group_by_program(suite)
    team = min(cores(), len(programs)) if workers is None else whole_number("workers", workers, 1)
    runs, seeds = len(suite.runs()), len(suite.blocks[0].seed_list)
    console.print(Panel(OPENING.format(runs=runs, seeds=seeds), title="clew demo"))
    # A program is compiled by every worker that trains with it, so each is one pack.
    config = WorkerConfig(
        suite=suite, store=out / "demo", pack_size=max(len(g) for _, g in programs)
    )
    code = execute(config, team)
    if code in (0, EXIT_FAILED):
        tell(config.store, out, console)
    sys.exit(code)


def tell(store: Path, out: Path, console: Console) -> None:
    """What was found and what was not, a figure, and the report."""
    from clew.analysis import Statistics, read_store, verdicts
    from clew.analysis.figures import save, strips

    statistics = Statistics(read_store(Store(store, read_only=True)).results)
    by_label = {found.task.label: found for found in statistics.tasks}
    for verdict in verdicts(statistics):
        console.print(_gains(by_label[verdict.task.label]))
        said = f"[bold]{verdict.pattern}[/bold] {escape(verdict.sentence)}\n"
        console.print(said, highlight=False)
    console.print(CLOSING, style="dim")
    page, _ = write_page(store, None, out / "report.html", console)
    _, _, picture = save(strips(statistics), out / "seeds")
    for what, where in (
        ("figure", picture),
        ("report", page),
        ("next", f"clew show RUN --store {store}, which also films the agent"),
    ):
        console.print(f"{what}: {where}", highlight=False, markup=False, soft_wrap=True)


def _gains(found: TaskStatistics) -> Table:
    """What the bonus does to each architecture, the control included."""
    from clew.analysis import formatting
    from clew.analysis.names import NONE, bonus_label

    table = Table(title=escape(found.task.label), title_justify="left")
    for column in ("memory", "bonus", "success without", "with", "gain, 95% interval", "Holm p"):
        table.add_column(column, justify="left" if column in ("memory", "bonus") else "right")
    for gain in found.gains:
        without, with_bonus = (
            formatting.rate(float(found.task.arms[gain.architecture, bonus].mean()))
            for bonus in (NONE, gain.bonus)
        )
        told = formatting.estimate(gain.interval, 2, plus=True)
        table.add_row(
            escape(gain.architecture),
            escape(bonus_label(gain.bonus)),
            without,
            with_bonus,
            escape(told),
            formatting.p_value(gain.p_holm),
        )
    return table
