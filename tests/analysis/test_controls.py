"""Two controls, the lower and the upper: neither counts as a memory."""

from __future__ import annotations

import pandas as pd
import pytest

from clew.analysis import Results, Statistics, published, tasks, verdicts
from clew.analysis.cautions import cautions
from clew.analysis.names import GIVEN, MEMORYLESS, NONE
from clew.analysis.tables import every

S13 = "MiniGrid-MemoryS13"


def with_given(runs: pd.DataFrame) -> pd.DataFrame:
    """As if a memoryless agent that is told everything had nearly solved every task."""
    given = runs[runs["architecture"] == MEMORYLESS].assign(architecture=GIVEN, tail_mean=0.97)
    return pd.concat([runs, given])


@pytest.fixture(scope="module")
def runs() -> pd.DataFrame:
    return published().only(environment=S13).runs


def test_the_given_control_is_no_memory(runs: pd.DataFrame) -> None:
    (with_it,) = Statistics(Results.from_frames(with_given(runs)), 200, 200).tasks
    (without,) = Statistics(Results.from_frames(runs), 200, 200).tasks
    assert with_it.task.architectures == (*without.task.architectures, GIVEN)
    assert with_it.task.memories == without.task.memories
    assert GIVEN not in with_it.task.with_lower
    assert MEMORYLESS in with_it.task.with_lower
    assert with_it.interactions == without.interactions
    assert with_it.average_gains == without.average_gains
    for view in ("memories", "with the control", "in log odds"):
        one, other = (found.spread("e3b", view) for found in (with_it, without))
        assert one.architectures == other.architectures
        assert one.delta.estimate == other.delta.estimate
    assert {b: i.estimate for b, i in with_it.iqm.items()} == {
        b: i.estimate for b, i in without.iqm.items()
    }
    # what a bonus does to it is asked, too
    assert (GIVEN, "e3b") in with_it.welch
    assert GIVEN in {gain.architecture for gain in with_it.gains}


def test_verdicts_leave_the_given_control_out(runs: pd.DataFrame) -> None:
    statistics = Statistics(Results.from_frames(with_given(runs)), 500, 500)
    for verdict in verdicts(statistics):
        assert verdict.pattern == "equalise"
        assert {g.architecture for g in verdict.gains}.isdisjoint((GIVEN, MEMORYLESS))
        assert GIVEN not in verdict.spread.architectures
    assert every(statistics)["separation"].rows


def test_the_controls_may_have_any_name(runs: pd.DataFrame) -> None:
    named = {MEMORYLESS: "Memoryless MLP", GIVEN: "Given all"}
    whole = with_given(runs)
    usual = Results.from_frames(whole)
    other = Results.from_frames(
        whole.assign(architecture=whole["architecture"].replace(named)),
        lower=named[MEMORYLESS],
        upper=named[GIVEN],
    )
    ours, theirs = (Statistics(results, 200, 200) for results in (usual, other))
    assert ours.tasks[0].spread("e3b") == theirs.tasks[0].spread("e3b")
    assert cautions(ours.tasks[0], "e3b") == cautions(theirs.tasks[0], "e3b") != []
    assert [c.gain for c in ours.controls] == [c.gain for c in theirs.controls] != []
    assert every(theirs)["memoryless"].rows == every(ours)["memoryless"].rows
    for kept in (other.usual(), other.only(bonus=NONE)):
        assert (kept.lower, kept.upper) == (other.lower, other.upper)
    (task,) = tasks(other)
    assert set(named.values()).isdisjoint(task.memories)
