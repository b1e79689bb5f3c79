"""Stores as tables: nothing pooled that was not trained alike, nothing unfinished lost."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from clew.analysis import Statistics, read_store
from clew.analysis.report import page
from clew.cli.commands.status import status
from clew.store import Store, canonical
from clew.store.arms import name_arms

EVENTS = ["goal", "fall", "progress"]


def config(seed: int = 0, **more: Any) -> dict[str, Any]:
    knobs = {"learning_rate": 1e-4, "bonus_coef": 0.0, **more.pop("knobs", {})}
    settings = {"chunk": 64, "steps": 512, **more.pop("settings", {})}
    return {
        "environment": "MysteryPath-Grid", "environment_options": {}, "reward": "sparse",
        "prices": {"goal": 1.0}, "architecture": "GRU", "architecture_options": {},
        "bonus": "none", "bonus_options": {}, "seed": seed, "steps": 1000,
        "knobs": knobs, "settings": settings, **more,
    }  # fmt: skip


def finish(
    store: Store,
    given: Mapping[str, Any],
    tail_mean: float = 0.5,
    without: tuple[str, str] = ("", ""),
    changed: tuple[str, Mapping[str, Any]] = ("", {}),
) -> None:
    steps = 100 * np.arange(1, 11)
    rollouts = np.arange(1, 1001)
    parts: dict[str, Any] = {
        "result": {
            "tail_mean": tail_mean, "final_success": 0.5, "steps": 1000, "first_success": -1,
            "normalised": 1.0, "delivered": 0.03, "events": EVENTS, "components": ["a", "b"],
        },
        "curve": {
            "steps": steps, "success": np.full(10, tail_mean), "length": np.full(10, 9.0),
            "reward": np.full(10, 0.4), "events": np.stack([steps, steps / 100, steps], 1),
        },
        "diagnostics": {
            "steps": rollouts, "bonus": rollouts / 2, "normalised": rollouts, "delivered": rollouts,
            "explained_variance": rollouts, "report/mean/entropy": rollouts,
            "report/mean/value_loss": rollouts / 4, "report/mean/kl": rollouts,
            "report/gradient_norm": np.tile([3.0, 4.0], (1000, 1)),
        },
        "provenance": {"seconds": 36.0, "device": "cpu: cpu", "clew": "0"},
    }  # fmt: skip
    part, column = without
    parts.get(part, {}).pop(column, None)
    parts.get(changed[0], {}).update(changed[1])
    store.run(given).write_finished(**parts)


def test_columns(tmp_path: Path) -> None:
    store = Store(tmp_path)
    finish(store, config())
    charged = {"reward": "penalty", "prices": {"goal": 1.0, "fall": -0.008}}
    finish(store, config(**charged))
    finish(store, config(environment="Other", environment_options={"view": 7, "a": "b"}))
    made = read_store(store).results
    assert set(made.runs["environment"]) == {"MysteryPath-Grid", "Other[a=b,view=7]"}
    # what the penalty takes is known for the world's other rewards, and for no other world
    paths = made.only(environment="MysteryPath-Grid").runs
    assert paths["penalty"].tolist() == [0.008, 0.008]
    assert made.only(environment="Other[a=b,view=7]").runs["penalty"].isna().all()
    assert (made.runs["falls"] == 9.5).all()
    assert (made.runs["seconds"] == 36).all()
    assert made.evaluations["return"].eq(0.4).all()
    rollouts = made.only(reward="penalty").rollouts
    assert len(rollouts) == 250
    assert rollouts["steps"].iloc[-1] == 1000
    assert rollouts["entropy"].mean() == pytest.approx(500.5)
    assert (rollouts["gradient_norm"] == 5).all()
    assert rollouts["value_loss"].mean() == pytest.approx(500.5 / 4)


@pytest.mark.parametrize(
    ("part", "column"),
    [("result", "first_success"), ("curve", "reward"), ("diagnostics", "report/mean/value_loss")],
)
def test_a_missing_column_is_told_with_the_run(tmp_path: Path, part: str, column: str) -> None:
    """Not as NaN, which a table would average over."""
    store = Store(tmp_path)
    finish(store, config())
    finish(store, config(1), without=(part, column))
    made = read_store(store)
    assert made.results.runs["status"].tolist() == ["finished", "missing"]
    (said,) = [note for note in made.notes if column in note]
    assert store.run(config(1)).name in said
    assert set(made.results.evaluations["seed"]) == {0}


MADE_UP: dict[str, dict[str, Any]] = {
    "knobs": {"knobs": [1]},
    "prices": {"prices": {"goal": "much"}},
    "options": {"environment_options": "view"},
    "seed": {"seed": "one"},
    "reward": {"reward": 3},
}


@pytest.mark.parametrize("what", MADE_UP)
def test_a_configuration_that_is_made_up_is_left_out(tmp_path: Path, what: str) -> None:
    store = Store(tmp_path)
    finish(store, config(0))
    finish(store, {**config(1), **MADE_UP[what]})
    found = read_store(store)
    assert len(found.results.runs) == 1
    assert any("does not name an arm" in note for note in found.notes)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("result", {"tail_mean": "high"}),
        ("result", {"tail_mean": 7}),
        ("result", {"events": 3}),
        ("result", {"steps": [1]}),
        ("curve", {"success": np.zeros(3)}),
        ("curve", {"steps": np.array(3)}),
        ("curve", {"success": np.array(["a"] * 10)}),
        ("curve", {"events": np.zeros(10)}),
        ("diagnostics", {"bonus": np.zeros((1000, 2))}),
        ("diagnostics", {"report/gradient_norm": np.array(1.0)}),
        ("diagnostics", {"bonus": np.array(["a"] * 1000)}),
    ],
    ids=str,
)
def test_numbers_that_are_made_up_cost_that_run_alone(
    tmp_path: Path, part: str, change: dict[str, Any]
) -> None:
    store = Store(tmp_path)
    finish(store, config(0))
    finish(store, config(1), changed=(part, change))
    found = read_store(store)
    assert sorted(found.results.runs["status"]) == ["finished", "missing"]
    assert page(Statistics(found.results))


def test_names_do_not_steer_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, evil = Store(tmp_path), "x\x1b]0;owned\x07\u202e"
    fields = ("environment", "reward", "architecture", "bonus")
    finish(store, {**config(0), **dict.fromkeys(fields, evil)})
    store.run({**config(1), **dict.fromkeys(fields, evil)}).write_failed(evil, provenance={})
    found = read_store(store)
    whole = page(Statistics(found.results), notes=found.notes)
    status(tmp_path)
    for text in (whole, capsys.readouterr().out, found.results.runs.to_csv(), *found.notes):
        assert not {"\x1b", "\x07", "\u202e"} & set(text)
        assert not text.startswith("1 failed") or "\\x1b" in text


def test_what_is_not_finished_is_told(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for seed in range(2):
        finish(store, config(seed))
    store.run(config(2)).begin()
    store.run(config(3)).write_failed("out of memory", provenance={"seconds": 1.0})
    store.run(config(4)).write_failed("a loss", status="diverged", provenance={})
    for seed, name in ((5, "curve.npz"), (6, "result.json"), (7, "config.json")):
        finish(store, config(seed))
        path = store.run(config(seed)).path / name
        path.write_bytes(path.read_bytes()[:-9] + b"something")
    made = read_store(tmp_path)
    statuses = made.results.runs.set_index("seed")["status"].to_dict()
    assert statuses == {
        0: "finished", 1: "finished", 2: "unfinished", 3: "failed", 4: "diverged",
        5: "missing", 6: "missing",
    }  # fmt: skip
    assert "1 failed: out of memory" in made.notes
    assert "1 diverged: a loss" in made.notes
    assert any("curve.npz" in note for note in made.notes)
    assert any("is left out" in note and "config.json" in note for note in made.notes)
    text = page(Statistics(made.results), notes=made.notes, configuration=made.configuration)
    assert "out of memory" in text


def test_a_sweep_keeps_what_most_runs_have_under_the_plain_name(tmp_path: Path) -> None:
    store = Store(tmp_path)
    e3b = {"bonus": "e3b", "knobs": {"bonus_coef": 0.03}}
    for seed in range(3):
        finish(store, config(seed))
        finish(store, config(seed, **e3b))
    finish(store, config(0, **e3b, settings={"chunk": 32}))
    finish(store, config(0, bonus="e3b", knobs={"bonus_coef": 0.1}))
    made = read_store(store)
    counts = made.results.runs.groupby(["environment", "bonus"]).size().to_dict()
    assert counts == {
        ("MysteryPath-Grid", "none"): 3,
        ("MysteryPath-Grid", "e3b"): 4,
        ("MysteryPath-Grid[chunk=32]", "e3b"): 1,
    }
    assert any("several values of chunk" in note for note in made.notes)
    assert any("λ = 0.03 or 0.1" in note and "about λ = 0.03" in note for note in made.notes)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2),
            st.sampled_from(["none", "e3b"]),
            st.sampled_from([32, 64]),
            st.sampled_from([1e-4, 3e-4]),
            st.sampled_from([0.0, 0.1]),
            st.sampled_from([{}, {"heads": 2}]),
            st.sampled_from([{"goal": 1.0}, {"goal": 2.0}]),
        ),
        min_size=1,
        max_size=25,
        unique_by=str,
    )
)
def test_runs_of_one_name_differ_in_nothing_but_the_seed(drawn: list[tuple[Any, ...]]) -> None:
    configs = [
        config(
            seed,
            bonus=bonus,
            settings={"chunk": chunk},
            knobs={"learning_rate": rate, "bonus_coef": coef},
            architecture_options=options,
            prices=prices,
        )
        for seed, bonus, chunk, rate, coef, options, prices in drawn
    ]
    arms, notes = name_arms(configs)
    rest = [canonical({k: v for k, v in each.items() if k != "seed"}) for each in configs]
    # equal names are equal in everything
    assert len(set(zip(arms, rest, strict=True))) == len(set(arms))
    several = any(arm != plain for arm, plain in zip(arms, _plain(configs), strict=True))
    assert not several or any("kept apart" in note for note in notes)


def test_arms_that_were_not_trained_alike_are_named() -> None:
    _, notes = name_arms([config(), config(bonus="e3b", knobs={"learning_rate": 1e-3})])
    assert notes == [
        "The arms of MysteryPath-Grid / sparse were not trained alike: learning_rate is 0.0001 or "
        "0.001."
    ]


def _plain(configs: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    fields = ("environment", "reward", "architecture", "bonus")
    return [(*(c[f] for f in fields), c["knobs"]["bonus_coef"]) for c in configs]
