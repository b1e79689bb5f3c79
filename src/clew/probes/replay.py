"""Replay: episodes of a fixed seed, and the state of the agent's memory at every step of them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from clew.envs import Asked, Latent
from clew.learner.agent import Agent, Backbone, MemoryState
from clew.learner.evaluate import EpisodesState, reset_episodes, step_episodes
from clew.learner.program import Program
from clew.memory import Architecture
from clew.probes.recording import Recording, RowWriter

SEGMENT_BYTES = 32 * 2**20
"""Features that one segment of time may bring from the device."""
SEGMENT_STEPS = 64
"""Steps of a segment at most."""
WIDE = 1024
"""Larger states are stored in half precision."""
MAX_BYTES = 2 * 2**30
"""Of one kind of features on disk; if a memory is too large for that, only every second step is
recorded, or every third, and so on."""

Questions = Latent[PyTree, PyTree]


class _Replay(NamedTuple):
    """The state of all episodes at one time."""

    episodes: EpisodesState
    untrained: MemoryState
    known: PyTree
    """What the latent carries."""


class _Segment(NamedTuple):
    """What is recorded of some steps, [time, episode, …]."""

    t: Int[Array, " time"]
    alive: Bool[Array, "time episode"]
    questions: Asked
    memory: Float[Array, "time episode number"]
    observation: Float[Array, "time episode number"]
    untrained: Float[Array, "time episode number"]


def record(
    program: Program,
    agent: Agent,
    latent: Questions,
    folder: Path,
    *,
    episodes: int,
    seed: int,
    untrained_seed: int = 0,
    segment: int | None = None,
) -> Recording:
    """Play `episodes` episodes from reset to end, taking the likeliest action, and record them.

    They are those of `clew.learner.evaluate` for the key of `seed`: in one world, the same levels
    for every run. `segment` is how many steps are recorded at once; it changes no result.
    """
    if program.env.hosted:
        from clew.probes.hosted_replay import record_hosted  # which needs gymnasium

        return record_hosted(program, agent, folder, episodes, seed, untrained_seed)
    reset_key, step_key = jax.random.split(jax.random.key(seed))
    untrained = untrained_backbone(program, agent, seed, untrained_seed)
    width = state_size(program)
    steps = segment or segment_steps(width, episodes)
    every = stride(width, episodes, program.env.horizon)
    rows = RowWriter(folder, half=width > WIDE)
    with jax.default_matmul_precision(program.precision):
        now = _reset(program, latent, agent, episodes, reset_key)
        while bool(now.episodes.alive.any()):
            now, seen = _play(program, latent, steps, width > WIDE, agent, untrained, step_key, now)
            _write(rows, jax.device_get(seen), every)
    success, length = np.asarray(now.episodes.success), np.asarray(now.episodes.length)
    return rows.finish(latent.questions, success, length)


def untrained_backbone(program: Program, agent: Agent, seed: int, untrained_seed: int) -> Backbone:
    """The trained encoder with a randomly initialised memory."""
    key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), 1), untrained_seed)
    return eqx.tree_at(lambda backbone: backbone.memory, agent.actor, _new_memory(program, key))


def state_size(program: Program) -> int:
    """Numbers in the state of the actor's memory; 0 if it has no state."""
    agent = jax.eval_shape(program.agent, jax.random.key(0))
    state = jax.eval_shape(lambda: agent.actor.memory.initial_state())
    return sum(int(np.prod(leaf.shape)) for leaf in jax.tree.leaves(state))


def segment_steps(width: int, episodes: int) -> int:
    """As many as fit into `SEGMENT_BYTES`, a power of two."""
    fit = SEGMENT_BYTES // (episodes * 2 * (2 if width > WIDE else 4) * max(width, 1))
    return min(SEGMENT_STEPS, 1 << max(fit.bit_length() - 1, 0))


def stride(width: int, episodes: int, horizon: int) -> int:
    """Every how many steps a row fits into `MAX_BYTES`, if no episode ends early."""
    whole = episodes * horizon * width * (2 if width > WIDE else 4)
    return max(1, -(-whole // MAX_BYTES))


def flatten(state: MemoryState, half: bool = False) -> Float[Array, "episode number"]:
    """A memory's state as one vector an episode: its leaves in order."""
    leaves = [leaf.reshape(leaf.shape[0], -1) for leaf in jax.tree.leaves(state)]
    whole = jnp.concatenate(leaves, -1)
    if not half:
        return whole
    largest = float(jnp.finfo(jnp.float16).max)
    return jnp.clip(whole, -largest, largest).astype(jnp.float16)


@partial(jax.jit, static_argnums=0)
def _new_memory(program: Program, key: PRNGKeyArray) -> Architecture:
    return program.agent(key).actor.memory


@partial(jax.jit, static_argnums=(0, 1, 3))
def _reset(program: Program, latent: Questions, agent: Agent, n: int, key: PRNGKeyArray) -> _Replay:
    known = jax.tree.map(lambda x: jnp.broadcast_to(x, (n, *x.shape)), latent.start())
    episodes = reset_episodes(program, agent, n, key)
    return _Replay(episodes, episodes.memory, known)


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _play(
    program: Program,
    latent: Questions,
    steps: int,
    half: bool,
    agent: Agent,
    untrained: Backbone,
    step_key: PRNGKeyArray,
    start: _Replay,
) -> tuple[_Replay, _Segment]:
    observations = program.observations
    tables = [backbone.encode_table(observations) for backbone in (agent.actor, untrained)]

    def step(now: _Replay, _: None) -> tuple[_Replay, _Segment]:
        t, alive, obs = now.episodes.t, now.episodes.alive, now.episodes.obs
        known, questions = jax.vmap(latent.look)(now.known, now.episodes.env_state)
        encoding = untrained.encode(observations, tables[1], obs)
        other, _unused = untrained.step(now.untrained, encoding, jnp.full(len(alive), t == 0))
        episodes, acted = step_episodes(program, agent, tables[0], step_key, now.episodes)
        vectors = (flatten(acted.memory, half), acted.embedding, flatten(other, half))
        return _Replay(episodes, other, known), _Segment(t, alive, questions, *vectors)

    return jax.lax.scan(step, start, None, steps)


def _write(rows: RowWriter, segment: _Segment, every: int) -> None:
    """Append the steps at which a question has an answer."""
    asked, t = segment.questions.asked, np.asarray(segment.t)
    wanted = np.asarray(segment.alive & asked.any(-1) & (t % every == 0)[:, None])
    time, episode = np.nonzero(wanted)
    columns = {
        name: np.asarray(column)[wanted] for name, column in segment.questions._asdict().items()
    }
    features = ("memory", "observation", "untrained")
    rows.add(
        {"episode": episode, "step": t[time], **columns},
        {name: np.asarray(getattr(segment, name))[wanted] for name in features},
    )
