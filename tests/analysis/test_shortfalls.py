"""What the first lines of a report say of tasks without an answer, or without any success."""

from __future__ import annotations

import pandas as pd

from clew.analysis import Results, Statistics, answers, reason
from clew.analysis.advice import in_brief
from clew.analysis.summary import effects, lines
from tests.analysis.test_answer import table

A, B = "A / sparse", "B / sparse"


def on(environment: str, **arms: tuple[float, float]) -> pd.DataFrame:
    return table(**arms).runs.assign(environment=environment)


def told(*frames: pd.DataFrame) -> list[str]:
    statistics = Statistics(Results.from_frames(pd.concat(frames)))
    return lines(statistics, answers(statistics))


def test_of_two_tasks_one_is_answered() -> None:
    whole = on("A", GRU_none=(0.2, 0.02), GRU_e3b=(0.8, 0.02))
    half = on("B", GRU_none=(0.2, 0.02), Memoryless_none=(0.1, 0.02), Memoryless_e3b=(0.1, 0.02))
    first, second, *_ = said = told(whole, half)
    assert first.startswith(f"On {A}: GRU: use E3B, +.60 [")
    assert second == f"No answer on {B}: GRU has no finished run with a bonus."
    n = len(whole[whole["bonus"] == "none"])
    left = (
        f"{len(whole) + len(half)} of {len(whole) + len(half) + n} runs are finished; {n} missing."
    )
    assert said[-1] == f"{left} Left out: {B} / GRU / E3B ({n})."
    assert told(whole)[0].startswith("GRU: use E3B, +.60 [")
    two = told(whole, on("A", LSTM_none=(0.2, 0.02), LSTM_e3b=(0.8, 0.02)), on("B", GRU_e3b=(1, 0)))
    assert two[:2] == [
        f"On {A}: E3B helps every agent.",
        f"No answer on {B}: GRU has no finished run without a bonus.",
    ]


def test_nothing_matters_to_anybody() -> None:
    arms = {f"{a}_{b}": (0.3, 0.01) for a in ("GRU", "LSTM") for b in ("none", "e3b")}
    statistics = Statistics(table(**arms))
    assert effects("e3b", answers(statistics)) == "E3B does not matter to any agent."
    both = Statistics(Results.from_frames(pd.concat([on("A", **arms), on("B", **arms)])))
    assert effects("e3b", answers(both)) == "E3B does not matter to any agent on any task."


def test_without_any_success_that_is_said_first() -> None:
    nothing = on("A", GRU_none=(0, 0), GRU_e3b=(0, 0))
    some = on("B", GRU_none=(0, 0), GRU_e3b=(0.8, 0.02))
    first, second, *_ = told(nothing)
    assert first.startswith(f"No run succeeds: all {len(nothing)} finished runs have success 0, so")
    assert "success_return" in first
    assert second == (
        "GRU: make the task easier or train longer, since no run succeeds, with E3B or not. "
        "Whether memory holds it back was not tested."
    )
    assert effects("e3b", answers(Statistics(Results.from_frames(nothing)))) == (
        "Whether E3B helps cannot be told."
    )
    assert told(nothing, some)[0].startswith(f"No run succeeds on {A}: all {len(nothing)} ")
    assert "No run succeeds" not in " ".join(told(some))


def test_without_any_success_given_memory_tells_nothing_either() -> None:
    """Arms that all fail are no evidence that neither memory nor exploration is missing."""
    arms = {f"{a}_{b}": (0, 0) for a in ("GRU", "Given") for b in ("none", "e3b")}
    (found,) = answers(Statistics(Results.from_frames(on("A", **arms))))
    assert found.effect.said == found.held_back_by == "cannot be told"
    assert reason(found).startswith("What holds it back cannot be told: no run of this task")
    assert in_brief(found) == "no success"
    some = answers(Statistics(Results.from_frames(on("A", **arms | {"Given_e3b": (0.9, 0.02)}))))
    assert some[0].held_back_by == "both"
    assert some[0].effect.said == "does not matter"
