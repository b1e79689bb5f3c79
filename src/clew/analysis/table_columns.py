"""Which column of someone's table is what."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from clew.analysis.formatting import listed
from clew.analysis.results import EVALUATIONS, RUNS
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
        "score", "tail_mean", "success", "success_rate", "return", "episodic_return",
        "episode_return", "mean_return", "reward_mean", "mean_reward", "ep_rew_mean",
        "episode_reward",
    ),
    "steps": (
        "steps", "step", "timesteps", "timestep", "global_step", "env_steps", "env_step",
        "num_timesteps",
    ),
    "status": ("status",),
    "score_min": ("score_min",),
    "score_max": ("score_max",),
}  # fmt: skip
"""What the analysis calls a column, and what others call it: the first that is there is read."""
REQUIRED = ("environment", "architecture", "seed", "score")
OURS = {"environment", "agent", "architecture", "bonus", "seed", "reward", "score", "tail_mean",
        "success", "step", "steps", "status", "score_min", "score_max"}  # fmt: skip
"""Names that need no explanation."""
ALSO = (set(RUNS) | set(EVALUATIONS)) - {*COLUMNS, "success", "tail_mean"}
"""Columns that are read, too, where they have the very names of `clew export`."""


def named_columns(rows: pd.DataFrame, where: str) -> tuple[pd.DataFrame, list[str]]:
    """The columns that are read, under our names; and a note on those that others call otherwise.

    Upper and lower case, spaces, hyphens and whatever stands before a slash make no difference.
    """
    plain = pd.Series({column: _plain(column) for column in rows.columns}, dtype=object)
    chosen: dict[str, str] = {}
    for name, synonyms in COLUMNS.items():
        found = next((s for s in synonyms if (plain == s).any()), None)
        if found is not None:
            chosen[name] = _only(plain, found, where)
    _check_required(chosen, rows, where)
    if "reward" in chosen and _are_numbers(rows[chosen["reward"]]):
        del chosen["reward"]  # what an episode earned, not a variant's name
    taken = {plain[column] for column in chosen.values()}
    for column in plain.index[plain.isin(ALSO)]:
        if plain[column] not in taken and plain[column] not in chosen:
            chosen[plain[column]] = column
    frame = rows[list(chosen.values())].set_axis(list(chosen), axis=1)
    return frame, _notes(chosen, plain)


def _plain(column: str) -> str:
    return str(column).rpartition("/")[2].strip().lower().replace(" ", "_").replace("-", "_")


def _are_numbers(column: pd.Series) -> bool:
    return bool(pd.to_numeric(column, errors="coerce").notna().all())


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
        word, *others = COLUMNS[name]
        way = f"call one of its columns {word!r} ({listed(map(repr, others), 'or')} will do)"
        if name == "score" and "reward" in chosen:
            way += "; 'reward' names the reward's variant"
        raise BadInput(
            f"{where} has no {word}: its columns are {listed(map(repr, rows.columns))}; {way}"
        )


def _notes(chosen: dict[str, str], plain: pd.Series) -> list[str]:
    read = {COLUMNS[name][0]: c for name, c in chosen.items() if name in COLUMNS}
    foreign = [f"{c!r} as the {name}" for name, c in read.items() if plain[c] not in OURS]
    synonyms = {synonym for names in COLUMNS.values() for synonym in names}
    passed = [c for c in plain.index if plain[c] in synonyms and c not in chosen.values()]
    said = []
    if foreign:
        said.append(f"read {listed(foreign)}")
    if passed:
        said.append(f"left {listed(map(repr, passed))} aside")
    return [f"Of the table's columns, the report {' and '.join(said)}."] if said else []
