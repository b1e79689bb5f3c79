"""What a reader must know of a store besides its numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from clew.analysis.recipes import Recipe, differing, several
from clew.analysis.table import Results, records


def coefficients(made: Results) -> list[str]:
    """Where λ was swept, and which one the verdicts are about."""
    by = ["environment", "reward", "bonus"]
    usual = {
        tuple(row[c] for c in by): row["bonus_coef"]
        for row in records(made.usual().runs.drop_duplicates(by))
    }
    notes = []
    for task, coef in usual.items():
        mine = made.only(**dict(zip(by, task, strict=True))).runs["bonus_coef"]
        if mine.nunique() > 1:
            every = several([f"{value:g}" for value in sorted(mine.unique())])
            notes.append(
                f"{task[2]} on {task[0]} / {task[1]} was trained with λ = {every}; everything but "
                f"the table of the sweep is about λ = {coef:g}."
            )
    return notes


def reasons(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Why runs are not finished, each reason once."""
    counted = Counter((row["status"], row["reason"]) for row in rows if row["reason"])
    return [f"{n} {status}: {reason}" for (status, reason), n in sorted(counted.items())]


def common(recipes: Sequence[Recipe]) -> Recipe:
    """The hyperparameters that have one value in all of them."""
    mixed = differing(recipes)
    return {field: value for field, value in recipes[0].items() if field not in mixed}


def configuration(
    recipes: Mapping[str, Sequence[Recipe]], provenances: Sequence[Mapping[str, Any]]
) -> dict[str, str]:
    """Hyperparameters by environment, then versions and devices."""
    found = {}
    for name, members in sorted(recipes.items()):
        fields = dict.fromkeys(field for each in members for field in each)
        values = ((f, several([each.get(f, "unset") for each in members])) for f in fields)
        found[name] = ", ".join(f"{field} {value}" for field, value in values)
    for field in ("device", "clew", "commit", "jax", "python"):
        if values := [about[field] for about in provenances if about.get(field)]:
            found[f"trained with {field}"] = several(values)
    return found
