"""`clew probe`: what do the memories of a suite encode?"""

from __future__ import annotations

import json as text
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from clew.cli.next_steps import flags_typed
from clew.cli.output import EXIT_FAILED, EXIT_INTERRUPTED, console_for, json_alone, print_json, say
from clew.cli.parsing import SuiteName
from clew.cli.registry import register
from clew.cli.results_source import require_extra
from clew.store import Store
from clew.suite import find_suite
from clew.validate import BadInput

if TYPE_CHECKING:
    from clew.probes.arms import ArmProbes
    from clew.probes.predictions import PredictionOutcome
    from clew.probes.probing import ProbedRun

STUDY = "study"
LISTED = 3
"""Runs that are listed for each reason why there is no result."""
SHOWN = ("memory", "observation", "untrained", "shuffled", "selectivity")
WITH_INTERVAL = ("memory", "selectivity")
"""A terminal has no room for the other intervals."""
WIDE = 100
"""Columns of a terminal on which an interval fits beside its mean."""


@register("probe")
def probe(
    suite: SuiteName,
    /,
    store: Path = Path("results"),
    episodes: int = 200,
    seed: int = 0,
    latent: str = "",
    predictions: str | None = None,
    json: bool = False,
) -> None:
    """Replay every finished run of a suite and measure what can be decoded from its memory.

    Results are written into the store and not measured again, so the same command goes on after a
    stop. Exit code 3 if there is no result at all.

    Args:
        suite: A suite that ships (`clew list` names them), or a TOML file of your own.
        store: Folder of its results.
        episodes: Episodes of every run to replay.
        seed: Seed of the episodes, the untrained memories, the split of the data and the fits.
        latent: What to ask instead of the worlds' own questions: a latent of `clew list`.
        predictions: Register predictions first: `study` for the published ones, or a TOML file.
        json: Print one JSON object a line instead of progress bars and a table.
    """
    require_extra("the table of probes")
    from clew.probes import stored
    from clew.probes.fitting.parallel import single_threaded_xla
    from clew.probes.probing import Protocol, probe_runs

    single_threaded_xla()
    protocol = Protocol(episodes, seed, latent)
    runs = find_suite(suite).runs()
    train = shlex.join(["clew", "run", suite, "--store", str(store)])
    if not store.exists():
        raise BadInput(
            f"store={str(store)!r} does not exist; name the folder of a store, or train: "
            f"{train}{flags_typed()}"
        )
    opened, console = Store(store), console_for(json)
    if predictions is not None:
        _register(opened, predictions, console)
    try:
        with json_alone(json), _bars(console, json) as bars:  # an environment may print
            probed = probe_runs(opened, runs, protocol, bars)
    except KeyboardInterrupt:
        say(console, "stopped early; the same command goes on", style="bold")
        sys.exit(EXIT_INTERRUPTED)
    new = sum(one.new for one in probed)
    before = sum(one.probes is not None for one in probed) - new
    skipped = [
        (opened.run(one.run.config).name, why)
        for one in probed
        if (why := one.skipped or (stored.why_no_result(one.probes) if one.probes else ""))
    ]
    _print_results(console, opened, probed, skipped, json)
    counts = f"{new} probed now, {before} before, {len(skipped)} without a result"
    say(console, f"{len(probed)} runs: {counts}")
    if untrained := [one.untrained for one in probed if one.untrained]:
        are, them = ("are", "them") if len(untrained) > 1 else ("is", "it")
        again = " --retry" if "to retry" in untrained else ""
        say(
            console,
            f"{len(untrained)} of them {are} not trained to the end; "
            f"this trains {them}: {train}{again}{flags_typed()}",
        )
    if len(skipped) == len(probed):
        sys.exit(EXIT_FAILED)


def _register(store: Store, asked: str, console: Console) -> None:
    """Before anything is fitted: what is registered later is no prediction."""
    from clew.probes import predictions, stored

    given = predictions.study() if asked == STUDY else predictions.read_predictions(Path(asked))
    registered = predictions.read_registrations(store).registrations
    known = {prediction.digest for one in registered for prediction in one.predictions}
    first_results = predictions.first_results_about(given, stored.past_measurements(store))
    made = predictions.register_predictions(store, given, first_results=first_results)
    new = {one.name for one in given if one.digest not in known}
    names = ", ".join(name for name in made.late if name in new)
    late = f"; {names} after the first results that they are about" if names else ""
    say(
        console,
        f"{len(given)} predictions, registered {made.registered}{late}; hash {made.hash}",
    )


@contextmanager
def _bars(console: Console, as_json: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Two bars on a terminal, recording and fitting; or lines of JSON for a script."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    times = (TimeElapsedColumn(), TimeRemainingColumn())
    hidden = as_json or not console.is_terminal
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, *times, console=console, transient=True, disable=hidden) as bars:

        def show(what: str, done: int, total: int) -> None:
            if as_json:
                print_json(text.dumps({"what": what, "done": done, "total": total}))
                return
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

        yield show


def _print_results(
    console: Console,
    store: Store,
    probed: Sequence[ProbedRun],
    skipped: Sequence[tuple[str, str]],
    as_json: bool,
) -> None:
    from clew.probes import stored
    from clew.probes.arms import arm_means, run_table
    from clew.probes.predictions import evaluate_predictions, read_registrations

    runs = [(one.run.config, one.probes) for one in probed if one.probes is not None]
    documents = [probes for _, probes in runs]
    arms = arm_means(run_table(runs))
    registered = read_registrations(store)
    outcomes = evaluate_predictions(registered, stored.measurements(runs))
    unconverged = {
        store.run(config).name: count
        for config, probes in runs
        if (count := stored.unconverged(probes))
    }
    if as_json:
        whole = {
            "arms": [arm.to_json() for arm in arms],
            "skipped": dict(skipped),
            "unconverged": unconverged,
            "check": stored.planted_check(documents),
            "predictions": [_to_json(one) for one in outcomes],
            "register": registered.problems,
        }
        print(text.dumps(whole))
        return
    for task in dict.fromkeys(arm.task for arm in arms):
        console.print(_table([arm for arm in arms if arm.task == task], console.width))
    about = "AUC of linear probes, mean over n seeds [95%]; the report has the controls' intervals"
    for line in filter(None, [about if arms else "", stored.planted_check_sentence(documents)]):
        say(console, line, style="dim")
    lines = []
    if unconverged:
        lines.append(
            f"{sum(unconverged.values())} logistic fits did not converge, their AUCs are those of "
            f"the last iterate: {_first_few(list(unconverged))}"
        )
    lines += [
        f"{one.prediction.name}{' (revised)' if one.revises else ''}: {one.verdict}. "
        f"{one.prediction.statement} {one.reason}"
        for one in outcomes
    ]
    lines += [
        f"something is wrong with the registered predictions: {problem}"
        for problem in registered.problems
    ]
    for line in [*lines, *_by_reason(skipped)]:
        say(console, line)


def _table(arms: Sequence[ArmProbes], width: int) -> Table:
    """The arms of one task."""
    from clew.analysis import formatting
    from clew.analysis.names import bonus_label

    shown = Table(title=escape(arms[0].task), title_justify="left", box=None, padding=(0, 1, 0, 0))
    shown.add_column("arm")
    for column in ("n", *SHOWN):
        shown.add_column(column, justify="right", no_wrap=column in WITH_INTERVAL)
    for arm in arms:
        numbers = [
            arm.text(name)
            if name in WITH_INTERVAL
            else formatting.number(arm.intervals[name].estimate, 2)
            for name in SHOWN
        ]
        if width < WIDE:
            numbers = [number.replace(" [", "\n[") for number in numbers]
        name = f"{arm.architecture}, {bonus_label(arm.bonus)}"
        shown.add_row(*map(escape, (name, str(arm.seeds), *numbers)))
    return shown


def _by_reason(skipped: Sequence[tuple[str, str]]) -> list[str]:
    """A line for each reason, with the first few runs."""
    reasons: dict[str, list[str]] = {}
    for name, why in skipped:
        reasons.setdefault(why, []).append(name)
    return [f"skipped, {why}: {_first_few(runs)}" for why, runs in reasons.items()]


def _first_few(runs: Sequence[str]) -> str:
    more = f" and {len(runs) - LISTED} more" if len(runs) > LISTED else ""
    return ", ".join(runs[:LISTED]) + more


def _to_json(outcome: PredictionOutcome) -> dict[str, object]:
    names = ("verdict", "reason", "registered", "late", "revises")
    return {
        "name": outcome.prediction.name,
        "statement": outcome.prediction.statement,
        **{name: getattr(outcome, name) for name in names},
    }
