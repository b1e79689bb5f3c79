"""What is not there: read before anything else."""

from __future__ import annotations

import dataclasses

import pandas as pd

from clew.analysis.results import ARM, TASK, Results, describe


@dataclasses.dataclass(frozen=True)
class Gaps:
    """Runs that the averages leave out."""

    runs: pd.DataFrame
    """Arm, seed and status of each: diverged, failed, unfinished, running or missing."""
    finished: int
    expected: int

    @property
    def complete(self) -> bool:
        """Whether nothing is left out."""
        return self.runs.empty

    def sentence(self) -> str:
        """'1,797 of 1,800 runs are finished; 2 diverged, 1 missing.'"""
        if self.complete:
            return f"All {self.expected:,} runs are finished."
        kinds = self.runs["status"].value_counts().sort_index()
        rest = ", ".join(f"{count:,} {status}" for status, count in kinds.items())
        return f"{self.finished:,} of {self.expected:,} runs are finished; {rest}."

    def lines(self) -> list[str]:
        """One a run."""
        return [f"{row['status']}: {describe(row)}" for _, row in self.runs.iterrows()]


def gaps(results: Results) -> Gaps:
    """Runs that are not finished, and seeds that a sibling arm of the task has and this one not.

    The whole matrix is every architecture × bonus × seed that a task has anywhere.
    """
    runs = results.runs
    unfinished = runs[runs["status"] != "finished"]
    absent = []
    for task, group in runs.groupby(list(TASK), sort=True):
        levels = [sorted(group[c].unique()) for c in ("architecture", "bonus", "seed")]
        whole = pd.MultiIndex.from_product(levels)
        there = pd.MultiIndex.from_frame(group[["architecture", "bonus", "seed"]])
        for architecture, bonus, seed in whole.difference(there):
            absent.append((*task, architecture, bonus, seed, "missing"))
    columns = [*ARM, "seed", "status"]
    left_out = pd.concat([unfinished[columns], pd.DataFrame(absent, columns=columns)])
    left_out = left_out.sort_values(columns[:-1]).reset_index(drop=True)
    finished = int((runs["status"] == "finished").sum())
    return Gaps(left_out, finished, finished + len(left_out))
