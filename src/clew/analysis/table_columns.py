"""Which column of someone's table is what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pandas as pd

from clew.analysis.formatting import listed
from clew.analysis.results import EVALUATIONS, RUNS
from clew.analysis.table_cells import NO_NUMBER, STATUS_WORDS
from clew.validate import BadInput

COLUMNS = {
    "environment": ("environment", "env", "env_id", "env_name", "task", "world", "game"),
    "architecture": (
        "agent", "architecture", "arch", "algo", "algorithm", "model", "memory", "policy", "method",
    ),
    "bonus": (
        "bonus", "exploration", "exploration_bonus", "intrinsic", "intrinsic_bonus",
    ),
    "seed": ("seed", "random_seed", "run_seed"),
    "reward": ("reward", "variant", "reward_variant"),
    "score": (
        "score", "tail_mean", "success_rate", "success", "return", "episodic_return",
        "episode_return", "mean_return", "reward_mean", "mean_reward", "ep_rew_mean",
        "episode_reward",
    ),
    "steps": (
        "global_step", "env_steps", "env_step", "num_timesteps", "total_timesteps", "steps", "step",
        "timesteps", "timestep", "_step",
    ),
    "status": ("status", "state"),
    "score_min": ("score_min",),
    "score_max": ("score_max",),
}  # fmt: skip
"""What the analysis calls a column, and what others call it: the first that is there is read."""
SHARES = {"tail_mean", "success_rate", "success"}
"""Scores that lie between 0 and 1, whatever the task."""
RETURNS = set(COLUMNS["score"]) - SHARES - {"score"}
REQUIRED = ("environment", "architecture", "seed", "score")
OURS = {"environment", "agent", "architecture", "bonus", "seed", "reward", "score", "tail_mean",
        "success", "step", "steps", "status", "score_min", "score_max"}  # fmt: skip
"""Names that need no explanation."""
ALSO = (set(RUNS) | set(EVALUATIONS)) - {*COLUMNS, "success", "tail_mean"}
"""Columns that are read, too, where they have the very names of `clew export`."""
MOST_NAMED = 3
"""Columns of no known name that a note names before it counts the rest."""


class Columns(NamedTuple):
    """What was found in a table."""

    frame: pd.DataFrame
    """The columns that are read, under our names."""
    called: dict[str, str]
    """What the table calls each of them."""
    unread: list[str]
    """The others: first those that mean the same as one that is read, then by how few values they
    have, as a setting has fewer than a measurement; what has one value only is last."""
    notes: list[str]
    """Which columns with other people's names were read as what, and which were not read."""


def named_columns(rows: pd.DataFrame, where: str) -> Columns:
    """Find the columns.

    Upper and lower case, spaces, hyphens, whatever stands before a slash, and a percent sign at the
    end make no difference.
    """
    plain = pd.Series({column: plain_name(column) for column in rows.columns}, dtype=object)
    _check_long(plain, where)
    chosen: dict[str, str] = {}
    for name, synonyms in COLUMNS.items():
        found = next((s for s in synonyms if (plain == s).any()), None)
        if found is not None:
            chosen[name] = _only(plain, found, where)
    _check_wide(chosen, rows, where)
    _check_required(chosen, rows, where)
    if "reward" in chosen and _are_numbers(rows[chosen["reward"]]):
        del chosen["reward"]  # what an episode earned, not a variant's name
    status = chosen.get("status")
    if status is not None and plain[status] == "state" and not _are_statuses(rows[status]):
        del chosen["status"]  # something else's state
    taken = {plain[column] for column in chosen.values()}
    for column in plain.index[plain.isin(ALSO)]:
        if plain[column] not in taken and plain[column] not in chosen:
            chosen[plain[column]] = column
    frame = rows[list(chosen.values())].set_axis(list(chosen), axis=1)
    passed, others = _unread(rows, chosen, plain)
    return Columns(frame, chosen, [*passed, *others], _notes(chosen, plain, passed, others))


def plain_name(column: str) -> str:
    """Without what makes no difference."""
    last = str(column).rpartition("/")[2].strip().lower().replace(" ", "_").replace("-", "_")
    return last.rstrip("_()[]%") if "%" in last else last


def _are_numbers(column: pd.Series) -> bool:
    written = column[~column.str.lower().isin(NO_NUMBER)]
    return len(written) > 0 and bool(pd.to_numeric(written, errors="coerce").notna().all())


def _are_statuses(column: pd.Series) -> bool:
    return bool(column[column != ""].str.lower().isin(STATUS_WORDS).any())


def _check_long(plain: pd.Series, where: str) -> None:
    """Raise an error for a chart's export from wandb, which has one column a run."""
    wide = [str(column) for column in plain.index if " - " in str(column)]
    if wide and not plain.isin(COLUMNS["seed"]).any():
        raise BadInput(
            f"{where} has one column a run ({listed(map(repr, wide[:2]))}{', …' * (len(wide) > 2)})"
            ", like a chart exported from wandb; it must become one row a run and step, with "
            "columns environment, agent, bonus, seed, step and score: pandas.melt does it, and "
            "docs/howto/results.md has the lines under 'From wandb'"
        )


def _check_wide(chosen: Iterable[str], rows: pd.DataFrame, where: str) -> None:
    """Raise an error where columns such as seed0, seed1, … hold the scores."""
    names = pd.Series([str(column) for column in rows.columns])
    bare = names.str.replace(r"\d+$", "", regex=True)
    wide = names[(bare != names) & bare.duplicated(keep=False)].tolist()
    if wide and not {"seed", "score"} & set(chosen):
        raise BadInput(
            f"{where} seems to have one column a seed ({listed(map(repr, wide[:2]))}"
            f"{', …' * (len(wide) > 2)}); it must become one row a run, with columns environment, "
            "agent, bonus, seed and score: pandas.melt does it, and docs/howto/results.md has the "
            "lines under 'From one column a seed'"
        )


def _only(plain: pd.Series, name: str, where: str) -> str:
    columns = plain.index[plain == name]
    if len(columns) > 1:
        raise BadInput(
            f"{where} has several columns for one thing, {listed(map(repr, columns))}; "
            "keep one, or rename the others"
        )
    return str(columns[0])


def _check_required(chosen: Iterable[str], rows: pd.DataFrame, where: str) -> None:
    for name in REQUIRED:
        if name in chosen:
            continue
        word, others = _word(name), COLUMNS[name][1:]
        way = f"call one of its columns {word!r} ({listed(map(repr, others), 'or')} will do)"
        if name == "score" and "reward" in chosen:
            way += "; 'reward' names the reward's variant"
        raise BadInput(
            f"{where} has no {word}: its columns are {listed(map(repr, rows.columns))}; {way}"
        )


def _word(name: str) -> str:
    """What we call a column in sentences."""
    return "step" if name == "steps" else COLUMNS[name][0]


def _unread(
    rows: pd.DataFrame, chosen: dict[str, str], plain: pd.Series
) -> tuple[list[str], list[str]]:
    """Columns that mean what another one does, and those of no known name."""
    synonyms = {synonym for names in COLUMNS.values() for synonym in names}
    left = [c for c in plain.index if c not in chosen.values() and str(c).strip()]
    passed = [c for c in left if plain[c] in synonyms]
    different = {c: rows[c].nunique() for c in left if c not in passed}
    return passed, sorted(different, key=lambda c: (different[c] < 2, different[c]))


def _notes(
    chosen: dict[str, str], plain: pd.Series, passed: Sequence[str], others: Sequence[str]
) -> list[str]:
    read = {_word(name): c for name, c in chosen.items() if name in COLUMNS}
    foreign = [f"{c!r} as the {name}" for name, c in read.items() if plain[c] not in OURS]
    aside = [repr(c) for c in (*passed, *others[:MOST_NAMED])]
    if len(others) > MOST_NAMED:
        aside.append(f"{len(others) - MOST_NAMED} more")
    said = []
    if foreign:
        said.append(f"read {listed(foreign)}")
    if aside:
        said.append(f"left {listed(aside)} aside")
    return [f"Of the table's columns, the report {' and '.join(said)}."] if said else []
