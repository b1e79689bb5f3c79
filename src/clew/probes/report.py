"""The report's section about probes: a table, three figures, and the outcomes of predictions."""

from __future__ import annotations

import base64
import dataclasses
import io
from collections.abc import Callable, Sequence

import pandas as pd
from matplotlib.figure import Figure

from clew.analysis import figures, formatting
from clew.analysis.figures.style import styled
from clew.analysis.names import bonus_label, task_label
from clew.analysis.tables.grid import Cell, Grid, figure, html, word
from clew.envs.registry import hosted
from clew.probes import stored
from clew.probes.arms import ArmProbes, arm_means, bonus_gains, delay_table, run_table
from clew.probes.predictions import PredictionOutcome, evaluate_predictions, read_registrations
from clew.probes.stored import ProbedRuns
from clew.store import Store, world_name

SHOWN = ("memory", "observation", "untrained", "shuffled", "selectivity", "mlp_memory")
LISTED_RUNS = 10
LISTED_QUESTIONS = 6
NOTE = (
    "AUC of linear probes, and of MLPs where it says so: the mean over n seeds [95%, t]. "
    "observation: the encoding of the step's own observation. untrained: a randomly initialised "
    "memory of the same shape with the same input. shuffled: labels swapped between episodes. "
    "selectivity: run by run, memory minus the strongest of the three, none below 0.5. dimension: "
    "participation ratio of the states, and how many numbers a state has."
)
OUT_OF_VIEW = "whenever it was seen before and is out of view"
AT_EVERY_STEP = "at every step at which info has it, in view or not"
"""In an environment on the host: nobody knows what is in view there."""
IN_SIGHT = " The control that sees the observation alone tells whether the answer was in view."


@dataclasses.dataclass(frozen=True)
class ProbeSection:
    """What page.html shows."""

    table: str
    """HTML."""
    figures: list[tuple[str, str]]
    """Caption, and the picture as a `data:` URL."""
    outcomes: list[PredictionOutcome]
    problems: tuple[str, ...]
    """What is wrong with the registered predictions."""
    notes: list[str]


def probe_section(store: Store, runs: ProbedRuns) -> ProbeSection | None:
    """The section of a store whose probes are `runs`; None if nothing was probed or predicted."""
    registered = read_registrations(store)
    if not runs and not registered.registrations and not registered.problems:
        return None
    arms = arm_means(run_table(runs))
    return ProbeSection(
        table=html(auc_table(arms)) if arms else "",
        figures=[(CAPTIONS[name], data_url(drawn)) for name, drawn in probe_figures(runs).items()],
        outcomes=evaluate_predictions(registered, stored.measurements(runs)),
        problems=registered.problems,
        notes=notes(runs),
    )


def auc_table(arms: Sequence[ArmProbes]) -> Grid:
    """A row an arm."""
    return Grid(
        name="probes",
        caption="What can be decoded from memory: AUC of linear probes, mean over seeds [95%, t]",
        columns=("Architecture", "Bonus", "n", "memory", "observation", "untrained",
                 "shuffled", "selectivity", "memory, MLP", "dimension"),
        sections=[
            (task, [_table_row(arm) for arm in arms if arm.task == task])
            for task in dict.fromkeys(arm.task for arm in arms)
        ],
        left=2,
        note=NOTE,
    )  # fmt: skip


def _table_row(arm: ArmProbes) -> list[Cell]:
    numbers = [
        figure(arm.text(name), arm.intervals[name].estimate, name == "memory",
               arm.intervals[name].why_not)
        for name in SHOWN
    ]  # fmt: skip
    dimension = arm.intervals["effective_dimension"].estimate
    size = arm.intervals["state_size"].estimate
    text = f"{formatting.number(dimension, 1)} of {size:.0f}"
    return [
        word(arm.architecture), word(bonus_label(arm.bonus)), figure(str(arm.seeds), arm.seeds),
        *numbers, figure(text, dimension),
    ]  # fmt: skip


CAPTIONS = {
    "auc": "AUC by architecture: every dot is a seed, thick bars are means, thin lines the "
    "controls.",
    "gains": "What a bonus adds to success, and to what can be decoded from memory, with 95% "
    "intervals.",
    "ages": "AUC by steps since the answer was last in view, mean over seeds.",
}
"""Of the figures."""


def probe_figures(runs: ProbedRuns) -> dict[str, Figure]:
    """Those that there are data for, by their names in `CAPTIONS`."""
    table = run_table(runs)
    drawn: dict[str, tuple[Callable[[pd.DataFrame], Figure], pd.DataFrame]] = {
        "auc": (figures.aucs, table),
        "gains": (figures.decodability, bonus_gains(table)),
        "ages": (figures.ages, delay_table(runs)),
    }
    return {name: draw(rows) for name, (draw, rows) in drawn.items() if len(rows)}


def data_url(drawn: Figure) -> str:
    """A figure as a URL that needs no file."""
    out = io.BytesIO()
    with styled():
        drawn.savefig(out, format="svg", metadata={"Date": None})
    return "data:image/svg+xml;base64," + base64.b64encode(out.getvalue()).decode()


def notes(runs: ProbedRuns) -> list[str]:
    """How the probes were measured, and which runs have no result."""
    protocols = {tuple(sorted(one["protocol"].items())) for _, one in runs}
    found = [
        f"{dict(one)['episodes']} episodes of every run were replayed, from seed "
        f"{dict(one)['seed']}"
        + (
            f", with the questions of the latent {dict(one)['latent']}."
            if "latent" in dict(one)
            else "."
        )
        for one in sorted(protocols)
    ]
    found += _questions(runs)
    found += filter(None, [stored.planted_check_sentence([one for _, one in runs])])
    if len(protocols) > 1:
        found.append("The runs were probed with different settings: run `clew probe` for all.")
    unconverged = [count for _, one in runs if (count := stored.unconverged(one))]
    if unconverged:
        found.append(
            f"{sum(unconverged)} logistic fits of {len(unconverged)} runs did not converge; their "
            "AUCs are those of the last iterate."
        )
    empty = [
        f"{world_name(config)} / {config['reward']} / {config['architecture']} / "
        f"{config['bonus']}, seed {config['seed']} has no result: {why}."
        for config, one in runs
        if (why := stored.why_no_result(one))
    ]
    more = [f"… and {len(empty) - LISTED_RUNS} more without a result."]
    return [*found, *empty[:LISTED_RUNS], *more * (len(empty) > LISTED_RUNS)]


def _questions(runs: ProbedRuns) -> list[str]:
    """What was asked, task by task, and when."""
    asked: dict[tuple[str, bool], dict[str, None]] = {}
    for config, one in runs:
        task = task_label(world_name(config), config["reward"]), hosted(config["environment"])
        asked.setdefault(task, {}).update(dict.fromkeys(q["question"] for q in one["questions"]))
    return [
        f"Asked on {task}, {AT_EVERY_STEP if everywhere else OUT_OF_VIEW}: "
        + "; ".join(names if len(names) <= LISTED_QUESTIONS else (names[0], f"… {names[-1]}"))
        + f".{IN_SIGHT * everywhere}"
        for (task, everywhere), names in ((task, [*questions]) for task, questions in asked.items())
    ]
