"""What `clew run` would do, in a short table and a few sentences; and whether that is too much."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import chain

from clew.cli.beforehand import doubts, existing_store, why_no_answer
from clew.cli.other_code import trained_with_other_code
from clew.cli.output import console_for, counted, print_json, say
from clew.cli.progress import duration
from clew.learner.execution import THREADS, cores, runs_at_once
from clew.suite import Suite
from clew.suite.forecast import Forecast, TaskForecast, forecast
from clew.suite.launchers import WorkerConfig
from clew.suite.rates import MEASURED_ON
from clew.validate import BadInput, printable

MOST_RUNS = 20_000
"""More than this is trained only if it is asked for twice."""
HEAD = "environment"
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
    say(console, config.suite.name, style="italic")
    head, *rows = _table(found, console.width)
    say(console, head, style="bold")
    for row in rows:
        say(console, row)
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


def _table(found: Forecast, width: int) -> list[str]:
    """A line of heads, and the rows. Columns that are nothing but zeros are left out."""
    total = found.total
    shown = ["runs"]
    if total.todo < total.runs:
        shown += ["done", "failed", "to do"] if total.failed else ["done", "to do"]
    shown += ["packs", "programs", "steps", "time", "disk"]
    tasks = [*found.tasks, total] if len(found.tasks) > 1 else found.tasks
    heads = {column: column for column in shown}
    rows = {task.task: _cells(task) for task in tasks}
    wide = {column: max(len(row[column]) for row in [heads, *rows.values()]) for column in shown}
    room = width - sum(2 + each for each in wide.values())
    beside = {name: _in_lines(name, min(LONGEST + 6, room)) for name in rows}
    # a name that does not fit beside the numbers stands above them
    beside = {name: lines if max(map(len, lines)) <= room else [] for name, lines in beside.items()}
    left = max(map(len, [HEAD, *chain(*beside.values())]))

    def line(name: str, row: Mapping[str, str]) -> str:
        return name.ljust(left) + "".join(f"  {row[column]:>{wide[column]}}" for column in shown)

    said = [line(HEAD, heads)]
    for name, row in rows.items():
        said += [] if beside[name] else _in_lines(name, width)
        first, *below = beside[name] or [""]
        said += [line(first, row), *below]
    return said


def _in_lines(task: str, room: int) -> list[str]:
    """Its options below a long name. None is cut in two, unless it is longer than a line."""
    if len(task) <= min(LONGEST, room):
        return [task]
    name, bracket, options = task.partition("[")
    first, *others = re.split(r",(?=\w+=)", options)
    lines = [name, f"  {bracket}{first}"] if bracket else [name]
    for option in others:
        lines[-1] += ","
        if len(lines[-1]) + len(option) + 1 < room:  # and a comma
            lines[-1] += f" {option}"
        else:
            lines.append(f"   {option}")
    return lines


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
