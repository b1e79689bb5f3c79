"""Where λ was swept, and which one the answers are about."""

from __future__ import annotations

from clew.analysis.formatting import listed
from clew.analysis.names import bonus_label, task_label
from clew.analysis.results import TASK, Results


def swept(results: Results) -> list[str]:
    """A sentence for every task and bonus that was trained with several λ."""
    by = [*TASK, "bonus"]
    if results.runs.groupby(by)["bonus_coef"].nunique().max() < 2:
        return []
    usual = results.usual().runs
    notes = []
    for task, runs in results.runs.groupby(by, sort=False):
        every = sorted(runs["bonus_coef"].unique())
        if len(every) < 2:
            continue
        environment, reward, bonus = map(str, task)
        mine = usual[(usual[by] == list(task)).all(axis=1)]
        agents = {
            coef: listed(sorted(group["architecture"].unique()))
            for coef, group in mine.groupby("bonus_coef")
        }
        chosen = [
            f"λ = {coef:g}" + f" for {who}" * (len(agents) > 1) for coef, who in agents.items()
        ]
        notes.append(
            f"{bonus_label(bonus)} on {task_label(environment, reward)} was trained with λ = "
            f"{listed([f'{coef:g}' for coef in every], 'or')}; everything but the table of the "
            f"sweep is about {listed(chosen)}."
        )
    return notes
