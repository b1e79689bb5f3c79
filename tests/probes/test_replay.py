"""Replay: the evaluation's episodes, the memory that stepping by hand gives, and no more memory."""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew import envs
from clew.learner import Program, Settings
from clew.learner.agent import Agent
from clew.learner.evaluate import evaluate
from clew.probes import replay
from clew.probes.recording import Recording
from clew.probes.replay import flatten, record, state_size, stride, untrained_backbone

EPISODES, SEED = 12, 7
SMALL = Settings(
    encoder="mlp", encoder_width=8, encoder_hidden=8, memory_width=8, eval_episodes=EPISODES
)
PATH = {"size": 4, "actions": "cardinal", "max_steps": 24}
CASES: dict[str, tuple[Any, str, int]] = {
    "path": (envs.make("MysteryPath-Grid", **PATH), "GRU", 3),
    # this agent happens to look around
    "corridor": (envs.make("MiniGrid-MemoryS7", max_steps=40), "GatedDeltaNet", 1),
}
"""World, architecture, and the seed of an agent."""


@cache
def program_of(case: str) -> Program:
    env, architecture, _ = CASES[case]
    return Program.of(env, architecture, settings=SMALL)


@cache
def maker(case: str) -> Any:
    return jax.jit(program_of(case).agent)


@cache
def agent_of(case: str) -> Agent:
    """Not trained; large weights make it act differently in different states."""
    agent = maker(case)(jax.random.key(CASES[case][2]))
    return jax.tree.map(lambda x: 3 * x if x.ndim > 1 else x, agent)


def recorded(case: str, folder: Path, **options: Any) -> Recording:
    latent = program_of(case).env.latent()
    assert latent is not None
    folder.mkdir(parents=True, exist_ok=True)
    chosen = {"episodes": EPISODES, "seed": SEED, **options}
    return record(program_of(case), agent_of(case), latent, folder, **chosen)


@pytest.fixture(scope="module", params=CASES)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    case = request.param
    return case, recorded(case, tmp_path_factory.mktemp(case))


def test_episodes_are_those_of_an_evaluation(both: tuple[str, Recording]) -> None:
    case, found = both
    program = program_of(case)
    prices = jnp.ones(len(program.env.event_names))
    with jax.default_matmul_precision(program.precision):
        key = jax.random.key(SEED)
        expected = jax.jit(lambda a: evaluate(program, a, prices, key))(agent_of(case))
    assert found.success.mean() == pytest.approx(float(expected.success))
    assert found.length.mean() == pytest.approx(float(expected.length))


@cache
def stepper(case: str) -> Any:
    program, agent = program_of(case), agent_of(case)
    env, observations = program.env, program.observations
    untrained = untrained_backbone(program, agent, SEED, 0)

    @jax.jit
    def step(state: Any, obs: Any, memories: Any, first: Any, key: Any) -> Any:
        after, features, seen = [], [], []
        for backbone, memory in zip((agent.actor, untrained), memories, strict=True):
            sighted = backbone.encode(observations, backbone.encode_table(observations), obs[None])
            memory, feature = backbone.step(memory, sighted, first[None])
            after.append(memory)
            features.append(feature)
            seen.append(sighted.embedding)
        action = jnp.argmax(agent.policy(features[0]), -1)[0]
        return *env.step(state, action, key), after, seen[0][0]

    return jax.jit(env.reset), step


def by_hand(case: str, episode: int) -> list[dict[str, np.ndarray]]:
    """One episode alone, step by step, by the keys of an evaluation."""
    program = program_of(case)
    reset, step = stepper(case)
    reset_key, step_key = jax.random.split(jax.random.key(SEED))
    state, obs = reset(jax.random.split(reset_key, EPISODES)[episode])
    keys = jax.vmap(lambda t: jax.random.split(jax.random.fold_in(step_key, t), EPISODES)[episode])(
        jnp.arange(program.env.horizon)
    )
    memories: Any = [agent_of(case).actor.initial_state(1)] * 2
    first, found = np.arange(program.env.horizon) == 0, []
    for t in range(program.env.horizon):
        with jax.default_matmul_precision(program.precision):
            state, result, memories, encoded = step(state, obs, memories, first[t], keys[t])
        memory, untrained = (np.asarray(flatten(each))[0] for each in memories)
        found.append({"memory": memory, "observation": encoded, "untrained": untrained})
        obs = result.obs
        if result.terminated or result.truncated:
            break
    return found


@given(episode=st.integers(0, EPISODES - 1))
@settings(max_examples=6)
def test_memory_is_what_stepping_by_hand_gives(both: tuple[str, Recording], episode: int) -> None:
    case, found = both
    steps = by_hand(case, episode)
    assert found.length[episode] == len(steps)
    mine = np.flatnonzero(found.episode == episode)
    assert np.array_equal(found.step[mine], np.unique(found.step[mine]))
    for row in mine:
        for name, value in steps[found.step[row]].items():
            stored = found.features[name][row]
            near = 2e-3 if stored.dtype == np.float16 else 1e-4
            np.testing.assert_allclose(stored, value, rtol=near, atol=near / 10)


def test_rows_are_the_steps_at_which_something_is_asked(both: tuple[str, Recording]) -> None:
    case, found = both
    assert len(found.episode) > 20, "the case tests nothing"
    assert found.asked.any(1).all()
    assert (found.step < found.length[found.episode]).all()
    order = found.step.astype(np.int64) * EPISODES + found.episode
    assert (np.diff(order) > 0).all()
    size = state_size(program_of(case))
    assert {name: array.shape[1] for name, array in found.features.items()} == {
        "memory": size, "observation": SMALL.encoder_width, "untrained": size,
    }  # fmt: skip
    assert not np.array_equal(found.features["memory"], found.features["untrained"])


def test_streaming_equals_whole_to_the_last_byte(
    both: tuple[str, Recording], tmp_path: Path
) -> None:
    case, found = both
    # the default is longer than these episodes: they were recorded whole
    other = recorded(case, tmp_path, segment=3)
    for field in dataclasses.fields(Recording):
        one, two = (getattr(each, field.name) for each in (found, other))
        for name in one if isinstance(one, dict) else ():
            assert one[name].tobytes() == two[name].tobytes()
        assert isinstance(one, dict) or np.asarray(one).tobytes() == np.asarray(two).tobytes()


def test_large_states_are_halved_and_thinned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = recorded("path", tmp_path / "whole")
    monkeypatch.setattr(replay, "WIDE", 4)
    monkeypatch.setattr(replay, "MAX_BYTES", EPISODES * 24 * 8 * 2 // 2)
    few = recorded("path", tmp_path / "few")
    assert few.features["memory"].dtype == np.float16
    assert few.features["observation"].dtype == np.float32
    even = whole.step % 2 == 0
    assert np.array_equal(few.step, whole.step[even])
    assert np.array_equal(few.features["memory"], whole.features["memory"][even].astype(np.float16))


def test_the_study_fits() -> None:
    # 200 episodes of MemoryS13 with GatedDeltaNet's 64×64 matrix: every step, in two files
    size = 64 * 64 + 128
    assert stride(size, 200, 845) == 1
    assert 2 * 200 * 845 * size * 2 < 4 * 2**30
    assert replay.segment_steps(size, 200) * 200 * size * 2 * 2 <= replay.SEGMENT_BYTES


def test_levels_are_the_same_for_every_run(tmp_path: Path) -> None:
    program, latent = program_of("corridor"), program_of("corridor").env.latent()
    assert latent is not None
    cues = []
    for number in (1, 4):
        agent = maker("corridor")(jax.random.key(number))
        (folder := tmp_path / str(number)).mkdir()
        found = record(program, agent, latent, folder, episodes=EPISODES, seed=SEED)
        cues.append(dict(zip(found.episode.tolist(), found.answer[:, 0].tolist(), strict=True)))
    shared = cues[0].keys() & cues[1].keys()
    assert len(shared) > 1, "the case tests nothing"
    assert all(cues[0][episode] == cues[1][episode] for episode in shared)
