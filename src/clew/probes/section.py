"""The report's section about probes: a table, three figures, and predictions with their grades."""

from __future__ import annotations

import base64
import dataclasses
import io
from collections.abc import Callable

import pandas as pd
from matplotlib.figure import Figure

from clew.analysis import figures, words
from clew.analysis.figures.style import styled
from clew.analysis.names import bonus_label, task_label
from clew.analysis.tables.grid import Cell as Entry
from clew.analysis.tables.grid import Grid, figure, html, word
from clew.probes import document
from clew.probes.cells import Cell, Pairs, ages, cells, gains, table
from clew.probes.predictions import Grade, grade, read_register
from clew.store import Store, world_name

SHOWN = ("memory", "observation", "untrained", "shuffled", "selectivity", "mlp_memory")
LISTED = 10
FEW = 6
"""Questions that are listed whole."""
NOTE = (
    "AUC of linear probes, and of MLPs where it says so: the mean over n seeds [95%, t]. "
    "observation: what the encoder makes of the step's own observation. untrained: a new memory of "
    "the same shape, fed the same. shuffled: labels swapped between episodes. selectivity: run by "
    "run, memory minus the strongest of the three, none below 0.5. dimension: participation ratio "
    "of the states, of how many numbers."
)


@dataclasses.dataclass(frozen=True)
class Section:
    """What page.html shows, ready to be put there."""

    table: str
    """HTML."""
    figures: list[tuple[str, str]]
    """Caption, and the picture as a `data:` address."""
    grades: list[Grade]
    problems: tuple[str, ...]
    """What is wrong with the register of predictions."""
    notes: list[str]


def probe_section(store: Store) -> Section | None:
    """What the store knows; None if nothing was probed or predicted."""
    pairs = document.every(store)
    register = read_register(store)
    if not pairs and not register.registrations and not register.problems:
        return None
    frame = table(pairs)
    found = cells(frame)
    return Section(
        table=html(auc_table(found)) if found else "",
        figures=_figures(pairs, frame),
        grades=grade(register, [o for pair in pairs for o in document.observed(*pair)]),
        problems=register.problems,
        notes=notes(pairs),
    )


def auc_table(found: list[Cell]) -> Grid:
    """A row an arm."""
    rows: list[list[Entry]] = []
    sections = []
    for task in dict.fromkeys(cell.task for cell in found):
        sections.append((len(rows), task))
        for cell in (cell for cell in found if cell.task == task):
            numbers = [
                figure(cell.text(name), cell.intervals[name].estimate, name == "memory",
                       cell.intervals[name].why_not)
                for name in SHOWN
            ]  # fmt: skip
            dimension = cell.intervals["effective_dimension"].estimate
            size = cell.intervals["state_size"].estimate
            told = f"{words.number(dimension, 1)} of {size:.0f}"
            rows.append(
                [word(cell.architecture), word(bonus_label(cell.bonus)),
                 figure(str(cell.seeds), cell.seeds), *numbers, figure(told, dimension)]
            )  # fmt: skip
    return Grid(
        name="probes",
        caption="What can be told from memory: AUC of linear probes, mean over seeds [95%, t]",
        columns=("Architecture", "Bonus", "n", "memory", "observation", "untrained",
                 "shuffled", "selectivity", "memory, MLP", "dimension"),
        rows=rows,
        sections=sections,
        left=2,
        note=NOTE,
    )  # fmt: skip


def _figures(pairs: Pairs, frame: pd.DataFrame) -> list[tuple[str, str]]:
    """Those that there are data for."""
    drawn: list[tuple[str, Callable[[pd.DataFrame], Figure], pd.DataFrame]] = [
        ("AUC by architecture: every dot is a seed, thick bars are means, thin lines the controls.",
         figures.aucs, frame),
        ("What a bonus adds to success, and to what can be told from memory, with 95% intervals.",
         figures.decodability, gains(frame)),
        ("AUC by steps since the answer was last in view, mean over seeds.",
         figures.ages, ages(pairs)),
    ]  # fmt: skip
    return [(said, address(draw(rows))) for said, draw, rows in drawn if len(rows)]


def address(drawn: Figure) -> str:
    """A figure as an address that needs no file."""
    out = io.BytesIO()
    with styled():
        drawn.savefig(out, format="svg", metadata={"Date": None})
    return "data:image/svg+xml;base64," + base64.b64encode(out.getvalue()).decode()


def _questions(pairs: Pairs) -> list[str]:
    """What was asked, task by task."""
    asked: dict[str, dict[str, None]] = {}
    for config, made in pairs:
        task = task_label(world_name(config), config["reward"])
        asked.setdefault(task, {}).update(dict.fromkeys(q["question"] for q in made["questions"]))
    return [
        f"Asked on {task}, whenever it was seen before and is out of view: "
        + ("; ".join(names) if len(names) <= FEW else f"{next(iter(names))}; … {[*names][-1]}")
        + "."
        for task, names in asked.items()
    ]


def notes(pairs: Pairs) -> list[str]:
    """How it was measured, and which runs have no answer."""
    protocols = {tuple(sorted(made["protocol"].items())) for _, made in pairs}
    told = [
        f"{dict(each)['episodes']} episodes of every run were replayed, from seed "
        f"{dict(each)['seed']}."
        for each in sorted(protocols)
    ]
    told += _questions(pairs)
    told += filter(None, [document.check_sentence([made for _, made in pairs])])
    if len(protocols) > 1:
        told.append("Not all runs were probed alike: run `clew probe` once for all of them.")
    left = [made for _, made in pairs if document.unconverged(made)]
    if left:
        told.append(
            f"{sum(map(document.unconverged, left))} logistic fits of {len(left)} runs did not "
            "converge; their AUCs are what was reached."
        )
    silent = [
        f"{world_name(config)} / {config['reward']} / {config['architecture']} / "
        f"{config['bonus']}, seed {config['seed']} has no answer: {why}."
        for config, made in pairs
        if (why := document.why_nothing(made))
    ]
    more = [f"… and {len(silent) - LISTED} more without an answer."] * (len(silent) > LISTED)
    return [*told, *silent[:LISTED], *more]
