"""What `clew run` would do, in a short table and a few sentences; and whether that is too much."""

from __future__ import annotations

import json
import os
from pathlib import Path
from textwrap import wrap

from rich.markup import escape
from rich.table import Table

from clew.cli.beforehand import doubts, why_no_answer
from clew.cli.other_code import trained_with_other_code
from clew.cli.output import console_for, counted, print_json, say
from clew.cli.progress import duration
from clew.learner.execution import THREADS, cores, runs_at_once
from clew.store import Store
from clew.suite import Suite
from clew.suite.forecast import Forecast, TaskForecast, forecast
from clew.suite.launchers import WorkerConfig
from clew.suite.rates import MEASURED_ON
from clew.validate import BadInput, printable

MOST_RUNS = 20_000
"""More than this is trained only if it is asked for twice."""
LONGEST = 28
"""Of an environment's name in a line with numbers; its options go into the next."""


def require_moderate(suite: Suite, yes: bool) -> None:
    """Refuse very many runs, which are counted and not made, unless they are meant."""
    if suite.size > MOST_RUNS and not yes:
        steps = sum(block.size * block.steps for block in suite.blocks)
        raise BadInput(
            f"{suite.name} has {suite.size:,} runs, {number(steps)} environment steps in all; for "
            f"more than {MOST_RUNS:,} runs add --yes if you mean it, or take fewer seeds or sweeps"
        )


def print_forecast(
    config: WorkerConfig,
    workers: int = 1,
    retry: bool = False,
    as_json: bool = False,
    on: str = "local",
) -> None:
    """Say what training the suite would take here. Trains nothing and writes nothing."""
    store, console = existing_store(config.store), console_for(as_json)
    found = forecast(config.suite, store, config.pack_size, retry, workers)
    if as_json:
        plain = {**found._asdict(), "tasks": [task._asdict() for task in found.tasks]}
        print_json(json.dumps({**plain, "total": found.total._asdict()}))
        return
    console.print(_table(config.suite.name, found))
    for line in sentences(found, retry):
        console.print(line, highlight=False, markup=False)
    said = [*doubts(config.suite), why_no_answer(config.suite)]
    said += trained_with_other_code(config.suite, store) if store else []
    for line in filter(None, said):
        console.print(printable(line), style="bold", highlight=False, markup=False)
    idle = idle_cores(found.total.packs, workers) if found.platform == "cpu" else ""
    if on == "local" and idle:
        say(console, idle)
    elif on != "local":
        say(console, f"Workers on {on} plan packs for their own devices, and have their own pace.")
    say(console, "Nothing was trained or written.", style="dim")


def existing_store(path: Path) -> Store | None:
    """To read; None if the folder is yet to be made, or to be filled."""
    if not path.exists() or (path.is_dir() and not os.listdir(path)):
        return None
    return Store(path, read_only=True)


def sentences(found: Forecast, retry: bool) -> list[str]:
    """How much, how long, and what that rests on."""
    total, cpu = found.total, found.platform == "cpu"
    said = []
    if total.failed and not retry:
        said.append(f"{total.failed:,} failed before and stay as they are; --retry trains them.")
    if not total.todo:
        return [*said, "Nothing is left to train."]
    runs = counted(total.todo, "run")
    if total.todo < total.runs:
        runs = f"{total.todo:,} of {total.runs:,} runs are left,"
    here = f"{found.cores} cores" if cpu else found.device
    said.append(
        f"{runs} in {counted(total.packs, 'pack')} of {counted(total.programs, 'program')}; about "
        f"{duration(total.seconds)} on this machine ({here}); {size(total.bytes)}, and "
        f"{size(found.checkpoints)} for checkpoints while it trains."
    )
    rests = []
    if found.measured:
        rests.append(f"{counted(found.measured, 'finished run')} of this store")
    if found.guessed:
        on = MEASURED_ON["cpu" if cpu else "gpu"]
        rests.append(f"a rough guess, ± a factor of two, from steps and sizes measured on {on}")
    return [*said, f"The time rests on {'; for the others, on '.join(rests)}."]


def idle_cores(packs: int, workers: int) -> str:
    """How to use the cores that these workers leave idle; empty if there is nothing to gain."""
    more = min(packs, cores() // THREADS)
    if more <= workers:
        return ""
    return (
        f"This machine has {cores()} cores, and {counted(workers, 'worker')} "
        f"{'uses' if workers == 1 else 'use'} {runs_at_once(workers)} of them: --workers {more} "
        "is faster."
    )


def number(value: float) -> str:
    """`950`, `82 k`, `4.9 M`, `36 G`: two digits at least."""
    for unit, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= scale:
            return f"{value / scale:.{int(value < 9.95 * scale)}f} {unit}"
    return f"{value:.0f}"


def size(bytes_: float) -> str:
    """`12 MB`."""
    return f"{number(bytes_)}B" if bytes_ >= 1000 else f"{bytes_:.0f} B"


def _table(title: str, found: Forecast) -> Table:
    """Columns that are nothing but zeros are left out."""
    total = found.total
    shown = ["runs"]
    if total.todo < total.runs:
        shown += ["done", "failed", "to do"] if total.failed else ["done", "to do"]
    shown += ["packs", "programs", "steps", "time", "disk"]
    table = Table(title=escape(title), title_justify="left", box=None, pad_edge=False)
    table.add_column("environment", overflow="fold")
    for column in shown:
        table.add_column(column, justify="right", no_wrap=True)
    for task in [*found.tasks, total] if len(found.tasks) > 1 else found.tasks:
        table.add_row(escape(_in_lines(task.task)), *map(_cells(task).__getitem__, shown))
    return table


def _in_lines(task: str) -> str:
    """Its options below a long name, none of them cut in two."""
    name, bracket, options = task.partition("[")
    if len(task) <= LONGEST:
        return task
    below = wrap(
        bracket + options.replace(",", ", "), LONGEST + 6, initial_indent="  ",
        subsequent_indent="   ", break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return "\n".join([name, *below])


def _cells(task: TaskForecast) -> dict[str, str]:
    return {
        "runs": f"{task.runs:,}",
        "done": f"{task.finished:,}",
        "failed": f"{task.failed:,}",
        "to do": f"{task.todo:,}",
        "packs": f"{task.packs:,}",
        "programs": f"{task.programs:,}",
        "steps": number(task.steps),
        "time": duration(task.seconds),
        "disk": size(task.bytes),
    }
