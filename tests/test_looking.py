"""The two worlds of `benchmarks/looking.py` are MemoryS13 but for what their docstrings say."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from clew import envs, plugins
from clew.envs.registry import environments
from clew.suite import find_suite, read_suite
from clew.testing import check_world

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def looking() -> Iterator[ModuleType]:
    """Registered while this file is tested."""
    with pytest.MonkeyPatch.context() as patch:
        envs.names()
        patch.setattr(plugins, "_in_use", {each.name: each for each in plugins.modules_in_use()})
        patch.setattr(environments, "_entries", dict(environments._entries))
        yield importlib.import_module("looking")


@pytest.mark.parametrize("beside_cue", [False, True])
def test_it_obeys_the_laws(looking: ModuleType, beside_cue: bool) -> None:
    check_world(looking.Look(beside_cue=beside_cue))


def test_it_is_the_world_of_the_study_but_for_the_look(looking: ModuleType) -> None:
    """The look comes once an episode, when the cue comes into view, and never at the start."""
    world, study = looking.Look(), envs.make("MiniGrid-MemoryS13", revisit="standing")
    actions = jax.random.randint(jax.random.key(1), (64, 300), 0, 3)

    def play(key: jax.Array, actions: jax.Array) -> tuple[jax.Array, ...]:
        (state, obs), (other, same) = world.reset(key), study.reset(key)
        began = study.info(other)["cue_visible"]

        def act(states: tuple, action: jax.Array) -> tuple[tuple, tuple]:
            (state, step), (other, like) = (
                one.step(each, action, key)
                for one, each in zip((world, study), states, strict=True)
            )
            alike = jnp.all(step.events[:-1] == like.events) & (step.obs == like.obs)
            in_view = study.info(other)["cue_visible"]
            return (state, other), (step.events[-1], in_view, alike, like.terminated)

        _, found = jax.lax.scan(act, (state, other), actions)
        return obs == same, began, *found

    keys = jax.random.split(jax.random.key(0), 64)
    equal, began, look, in_view, alike, over = map(
        np.asarray, jax.jit(jax.vmap(play))(keys, actions)
    )
    assert equal.all()
    looks = 0
    for i in range(64):
        last = int(np.argmax(over[i])) + 1 if over[i].any() else 300
        assert alike[i, :last].all()
        wanted = np.zeros(last)
        if not began[i] and in_view[i, :last].any():
            wanted[np.argmax(in_view[i, :last])] = 1
        np.testing.assert_array_equal(look[i, :last], wanted)
        looks += int(wanted.sum())
    assert 0 < looks < 64 - began.sum()
    assert began.any()


def test_beside_the_cue_every_episode_begins_with_it_in_view(looking: ModuleType) -> None:
    world = looking.Look(beside_cue=True)
    states, _ = jax.vmap(world.reset)(jax.random.split(jax.random.key(0), 64))
    info = jax.vmap(world.info)(states)
    assert info["cue_visible"].all()
    assert info["looked"].all()
    assert len(np.unique(np.asarray(states.corridor.row))) == 4  # two objects at either end


def test_it_is_trained_as_the_suite_is(looking: ModuleType) -> None:
    """Only the world and its rewards are not as the suite `paper` has them."""
    study = next(b for b in find_suite("paper").blocks if b.environment == "MiniGrid-MemoryS13")
    suite = read_suite(ROOT / "benchmarks" / "looking.toml")
    for block in suite.blocks:
        assert block.settings == study.settings
        assert {n: v for n, v in block.knobs.items() if n != "entropy"} == study.knobs
        assert all(study.bonus_options[b] == o for b, o in block.bonus_options.items())
        assert looking.Look().corridor == envs.make(
            "MiniGrid-MemoryS13", **study.environment_options
        )


def test_the_table(looking: ModuleType) -> None:
    """Success and looks over the last fifth of as many evaluations as all have."""
    curve = " ".join(["0"] * 8 + ["20"] * 12)
    runs = pd.DataFrame(
        {
            "beside_cue": [False, False, True, True],
            "reward": ["look-0.2", "look-0.2", "sparse", "sparse"],
            "architecture": "RetNet",
            "bonus": "none",
            "entropy": 0.008,
            "seed": [0, 1, 0, 1],
            "evaluation_steps": 81_920,
            "evaluation_episodes": 20,
            "successes": [curve, " ".join(["10"] * 20), curve, curve],
            "looks": [curve, " ".join(["0"] * 20), curve, curve],
        }
    )
    rows = looking.table(runs, ROOT / "results").splitlines()
    assert any(row.startswith("| as it is | RetNet | 10 | 0.") for row in rows)
    assert any(row.startswith("| with NovelD | RetNet | 10 | ") for row in rows)
    paid = next(row for row in rows if "the look pays 0.2" in row)
    assert "| 2 | 0.75 [0.00, 1.00] | 0.50 [0.00, 1.00] | 1.0 M (1/2) |" in paid
    beside = next(row for row in rows if "begins beside the cue" in row)
    assert beside.endswith("| 2 | 1.00 [1.00, 1.00] |  | 1.0 M (2/2) |")


def test_the_documented_table_is_that_of_the_results(looking: ModuleType) -> None:
    made = looking.table(pd.read_csv(ROOT / "results" / "looking.csv"), ROOT / "results")
    assert made in (ROOT / "docs" / "reproduction.md").read_text()
