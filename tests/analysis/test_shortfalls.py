"""What the first lines of a report say of tasks without an answer, or without any success."""

from __future__ import annotations

import pandas as pd

from clew.analysis import Results, Statistics, answers
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
    assert second.startswith("GRU: E3B does not matter")
    assert told(nothing, some)[0].startswith(f"No run succeeds on {A}: all {len(nothing)} ")
    assert "No run succeeds" not in " ".join(told(some))
