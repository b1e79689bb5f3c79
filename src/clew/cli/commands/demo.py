"""`clew demo`: a whole small study, from training to the report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from clew.cli import QUESTION
from clew.cli.commands.report import require_extra, write_page
from clew.cli.next_steps import shown
from clew.cli.output import EXIT_FAILED, say
from clew.cli.registry import register
from clew.suite import find_suite
from clew.validate import whole_number

if TYPE_CHECKING:
    from clew.analysis import TaskStatistics

OPENING = (
    "{question} Here the agent is PPO with a GRU, a RetNet or no memory at all; the bonus is E3B; "
    "the tasks are TinyReproduce (repeat three tokens: nothing to explore) and MysteryPath on a "
    "4×4 grid (find an invisible path, where falling off it costs). {runs} runs, every arm with "
    "{seeds} seeds. You may stop it with Ctrl-C: the same command goes on."
)
CLOSING = (
    "This study is small on purpose: tiny networks, few steps, few seeds. Where that is too little "
    "for an answer, it says so. `clew run paper` trains the study itself."
)


@register("demo")
def demo(out: Path = Path("out"), workers: int | None = None) -> None:
    """Train a small study on this machine in minutes; write its table, figure and report.

    Args:
        out: Folder for the results.
        workers: Processes that train at the same time; one for each core if not given.
    """
    from clew.cli.training import train_here
    from clew.learner.execution import cores
    from clew.suite.launchers import WorkerConfig
    from clew.suite.planning import group_by_program

    require_extra()
    suite, console = find_suite("demo"), Console()
    programs = group_by_program(suite)
    team = min(cores(), len(programs)) if workers is None else whole_number("workers", workers, 1)
    runs, seeds = len(suite.runs()), len(suite.blocks[0].seed_list)
    opening = OPENING.format(question=QUESTION, runs=runs, seeds=seeds)
    console.print(Panel(opening, title="clew demo"))
    # every worker compiles the programs that it trains, so each program is one pack
    size = max(len(group) for _, group in programs)
    config = WorkerConfig(suite=suite, store=out / "demo", pack_size=size)
    code = train_here(config, team, demo=True)
    if code in (0, EXIT_FAILED):
        print_answer(config.store, out, console)
    sys.exit(code)


def print_answer(store: Path, out: Path, console: Console) -> None:
    """What was found and what was not; then write a figure and the report."""
    from clew.analysis import Statistics, read_store, verdicts
    from clew.analysis.figures import save, strips
    from clew.store import Store, scan

    opened = Store(store, read_only=True)
    statistics = Statistics(read_store(opened).results)
    by_label = {found.task.label: found for found in statistics.tasks}
    for verdict in verdicts(statistics):
        console.print(_gains(by_label[verdict.task.label]))
        line = f"[bold]{verdict.pattern}[/bold] {escape(verdict.sentence)}\n"
        console.print(line, highlight=False)
    console.print(CLOSING, style="dim")
    page, _ = write_page(store, None, out / "report.html", console)
    _, _, picture = save(strips(statistics), out / "seeds")
    say(console, f"figure: {picture}")
    say(console, f"report: {page}")
    best = max(
        (row for row in scan(opened) if row.status == "finished"),
        key=lambda row: row.result["tail_mean"],
        default=None,
    )
    if best is not None:
        watch = f"clew show {best.name} --store {shown(store)} --gif play.gif"
        say(console, f"next, an agent at play: {watch}", style="bold")


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
        names = escape(gain.architecture), escape(bonus_label(gain.bonus))
        interval = escape(formatting.estimate(gain.interval, 2, plus=True))
        table.add_row(*names, without, with_bonus, interval, formatting.p_value(gain.p_holm))
    return table
