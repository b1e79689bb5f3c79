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
from clew.cli.commands.report import read_all, write_page
from clew.cli.next_steps import shown
from clew.cli.output import EXIT_FAILED, console_for, say
from clew.cli.registry import register
from clew.cli.results_source import require_extra
from clew.suite import find_suite
from clew.validate import whole_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.analysis import Answer

OPENING = (
    "{question} Here the agents are PPO with a GRU, a RetNet or no memory at all, and the bonus is "
    "E3B. The tasks: MysteryPath on a 4×4 grid (find an invisible path; falling off it costs) and "
    "TinyReproduce (watch five tokens, then say them backwards; nothing to explore). A fourth "
    "agent, Given, is told what a perfect memory would hold. {runs} runs, every arm with {seeds} "
    "seeds. You may stop it with Ctrl-C: the same command goes on."
)
CLOSING = (
    "This study is small on purpose: tiny networks, few steps, few seeds. Where that is too little "
    "for an answer, it says so. `clew run paper` trains the study itself."
)


@register("demo")
def demo(out: Path = Path("out"), workers: int | None = None, no_cache: bool = False) -> None:
    """Train a small study on this machine in minutes; write its table, figure and report.

    Args:
        out: Folder for the results.
        workers: Processes that train at the same time; one for each core if not given.
        no_cache: Neither read nor keep compiled programs in the user's cache folder.
    """
    from clew.cli.training import train_here
    from clew.learner.execution import cores
    from clew.suite.launchers import WorkerConfig
    from clew.suite.packs import group_by_program

    require_extra()
    suite, console = find_suite("demo"), console_for()
    programs = group_by_program(suite)
    team = min(cores(), len(programs)) if workers is None else whole_number("workers", workers, 1)
    runs, seeds = len(suite.runs()), len(suite.blocks[0].seed_list)
    opening = OPENING.format(question=QUESTION, runs=runs, seeds=seeds)
    console.print(Panel(opening, title="clew demo"))
    # every worker compiles the programs that it trains, so each program is one pack
    size = max(len(group) for _, group in programs)
    config = WorkerConfig(suite=suite, store=out / "demo", pack_size=size, cache=not no_cache)
    code = train_here(config, team, demo=True)
    if code in (0, EXIT_FAILED):
        print_answer(config.store, out, console)
    sys.exit(code)


def print_answer(store: Path, out: Path, console: Console) -> None:
    """Write the report and a figure; what was found."""
    from clew.analysis import advice, answers, reason
    from clew.analysis.figures import save, strips
    from clew.store import Store, scan

    page = write_page(store, read_all(store, console), out / "report.html", console)
    _, _, picture = save(strips(page.statistics), out / "seeds")
    given = answers(page.statistics)
    for found in page.statistics.tasks:
        task = found.task
        mine = [a for a in given if (a.environment, a.reward) == (task.environment, task.reward)]
        console.print(_table(task.label, mine))
        for answer in mine:
            line = f"[bold]{escape(answer.agent)}[/bold]: {escape(advice(answer))}"
            console.print(f"{line} {escape(reason(answer))}", highlight=False)
        console.print()
    console.print(CLOSING, style="dim")
    say(console, f"figure: {picture}")
    say(console, f"report: {page.path}")
    best = max(
        (row for row in scan(Store(store, read_only=True)) if row.status == "finished"),
        key=lambda row: row.result["tail_mean"],
        default=None,
    )
    if best is not None:
        watch = f"clew show {best.name} --store {shown(store)} --gif play.gif"
        say(console, f"next, an agent at play: {watch}", style="bold")


def _table(title: str, answers: Sequence[Answer]) -> Table:
    """Success of the four arms of every agent, and what the bonus gains."""
    from clew.analysis import formatting
    from clew.analysis.names import bonus_label

    bonus = bonus_label(answers[0].bonus) if answers else "bonus"
    places = ("own", "own + bonus", "given", "given + bonus")
    titles = ("alone", f"+ {bonus}", "given memory", f"given + {bonus}")
    table = Table(title=escape(title), title_justify="left")
    table.add_column("agent")
    for column in (*titles, f"{bonus} gains, 95%"):
        table.add_column(column, justify="right")
    for answer in answers:
        rates = [
            formatting.rate(answer.success[place].estimate) if place in answer.success else ""
            for place in places
        ]
        gain = escape(formatting.change(answer.effect.interval))
        table.add_row(escape(answer.agent), *rates, gain)
    return table
