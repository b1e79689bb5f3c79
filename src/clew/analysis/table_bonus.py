"""What to say of a table without a column for the bonus."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from clew.analysis.formatting import listed
from clew.analysis.table_cells import without_bonus
from clew.analysis.table_columns import Columns

FEW = 5
"""A column with more values is taken for a measurement."""
MOST_NAMED = 3


def switches(table: pd.DataFrame, columns: Columns) -> list[str]:
    """Columns that may say which runs had a bonus, as some cells mean none; not if one is read."""
    if "bonus" in columns.called:
        return []
    coef = [columns.called[c] for c in ("bonus_coef",) if c in columns.called]
    few = [c for c in (*coef, *columns.unread) if 1 < table[c].nunique() <= FEW]
    return [c for c in few if without_bonus(table[c]).nunique() > 1][:MOST_NAMED]


def call_it_bonus(found: Sequence[str]) -> str:
    """What to do about them."""
    return f"if {listed(map(repr, found), 'or')} says which runs had a bonus, call it 'bonus'"


def no_column(table: pd.DataFrame, columns: Columns, agents: Iterable[str]) -> list[str]:
    """That no bonus can be judged, and how the column is written."""
    if "bonus" in columns.called:
        return []
    said = "The table has no column 'bonus', so no bonus can be judged"
    if found := switches(table, columns):
        return [f"{said}: {call_it_bonus(found)}."]
    said += ": add one with the name of each run's bonus, and none where there was none"
    return [f"{said}{_for_example(set(agents))}."]


def _for_example(agents: set[str]) -> str:
    """Where an agent is called as another one and something else, that may be its bonus."""
    for whole in sorted(agents):
        for agent in sorted(agents):
            rest = whole.removeprefix(agent)
            if rest != whole and rest and not rest[0].isalnum():
                bonus = rest.strip(" +-_/()[]")
                return f"; {whole!r} would be the agent {agent!r} with the bonus {bonus!r}"
    return ""
