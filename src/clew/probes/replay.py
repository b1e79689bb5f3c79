"""Replay: the episodes of a fixed seed, and what the agent's memory held at every step of them."""

from __future__ import annotations

import dataclasses
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from clew.envs import Asked, Latent
from clew.learner.agent import Agent, Backbone, act
from clew.learner.program import Program
from clew.probes.rows import Rows

SEGMENT_BYTES = 32 * 2**20
"""What one segment of time may bring from the device."""
LONGEST = 64
"""Steps of a segment at most."""
WIDE = 1024
"""Larger states are kept in half precision."""
KEPT_BYTES = 2 * 2**30
"""Of one kind of feature on the disk, at most; of a memory too large for that, every second step
is kept, or every third, and so on."""


@dataclasses.dataclass(frozen=True)
class Recording:
    """One run's episodes: whether they succeeded, and a row for each step that was asked about.

    Rows are in the order of time, then of episodes. Features lie on the disk, in the folder that
    was given, for as long as that exists.
    """

    success: Bool[np.ndarray, " episode"]
    length: Int[np.ndarray, " episode"]
    episode: Int[np.ndarray, " row"]
    step: Int[np.ndarray, " row"]
    asked: Bool[np.ndarray, "row question"]
    answer: Bool[np.ndarray, "row question"]
    since: Int[np.ndarray, "row question"]
    features: dict[str, np.ndarray]
    """memory: the actor's state after it has seen the step's observation, all of it, flat.
    observation: what its encoder makes of that observation, which is what the memory is fed.
    untrained: the state of a new memory of the same shape that is fed the same."""

    @property
    def bytes(self) -> int:
        """On the disk."""
        return sum(array.nbytes for array in self.features.values())


class _Now(NamedTuple):
    """Where all episodes stand."""

    t: Int[Array, ""]
    states: Any
    obs: Array
    memory: Any
    untrained: Any
    known: Any
    alive: Bool[Array, " episode"]
    success: Bool[Array, " episode"]
    length: Int[Array, " episode"]


class _Seen(NamedTuple):
    """What a segment brings, [time, episode, …]."""

    t: Int[Array, " time"]
    alive: Bool[Array, "time episode"]
    questions: Asked
    memory: Float[Array, "time episode number"]
    observation: Float[Array, "time episode number"]
    untrained: Float[Array, "time episode number"]


def record(
    program: Program,
    agent: Agent,
    latent: Latent[Any, Any],
    folder: Path,
    *,
    episodes: int,
    seed: int,
    untrained_seed: int = 0,
    segment: int | None = None,
) -> Recording:
    """Play `episodes` episodes from reset to end, taking the likeliest action, and record them.

    They are those of `clew.learner.evaluate` for the key of `seed`: of one world, the same levels
    for every run. `segment` is how many steps are recorded at once; it changes no result.
    """
    reset_key, step_key = jax.random.split(jax.random.key(seed))
    untrained = new_memory(program, agent, seed, untrained_seed)
    with jax.default_matmul_precision(program.precision):
        now = _begin(program, latent, agent, episodes, reset_key)
        width = state_size(program)
        steps = segment or segment_steps(width, episodes)
        every = stride(width, episodes, program.env.horizon)
        rows = Rows(folder, wide=width > WIDE)
        while bool(now.alive.any()):
            now, seen = _segment(
                program, latent, steps, width > WIDE, agent, untrained, step_key, now
            )
            _keep(rows, jax.device_get(seen), every)
    columns, features = rows.finish(len(latent.questions))
    return Recording(
        success=np.asarray(now.success), length=np.asarray(now.length), **columns, features=features
    )


def new_memory(program: Program, agent: Agent, seed: int, untrained_seed: int) -> Backbone:
    """The trained eyes before a memory that has learnt nothing."""
    key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), 1), untrained_seed)
    return eqx.tree_at(lambda backbone: backbone.memory, agent.actor, _new(program, key))


def state_size(program: Program) -> int:
    """Numbers in the state of the actor's memory; 0 for one that keeps nothing."""
    agent = jax.eval_shape(program.agent, jax.random.key(0))
    state = jax.eval_shape(lambda: agent.actor.memory.initial_state())
    return sum(int(np.prod(leaf.shape)) for leaf in jax.tree.leaves(state))


def segment_steps(width: int, episodes: int) -> int:
    """As many as fit, a power of two."""
    fit = SEGMENT_BYTES // (episodes * 2 * (2 if width > WIDE else 4) * max(width, 1))
    return min(LONGEST, 1 << max(fit.bit_length() - 1, 0))


def stride(width: int, episodes: int, horizon: int) -> int:
    """Every how many steps there is room for a row, if no episode ended early."""
    whole = episodes * horizon * width * (2 if width > WIDE else 4)
    return max(1, -(-whole // KEPT_BYTES))


@partial(jax.jit, static_argnums=0)
def _new(program: Program, key: PRNGKeyArray) -> Any:
    return program.agent(key).actor.memory


@partial(jax.jit, static_argnums=(0, 1, 3))
def _begin(
    program: Program, latent: Latent[Any, Any], agent: Agent, n: int, key: PRNGKeyArray
) -> _Now:
    states, obs = jax.vmap(program.env.reset)(jax.random.split(key, n))
    empty = agent.actor.initial_state(n)
    return _Now(
        t=jnp.int32(0),
        states=states,
        obs=obs,
        memory=empty,
        untrained=empty,
        known=jax.tree.map(lambda x: jnp.broadcast_to(x, (n, *x.shape)), latent.start()),
        alive=jnp.ones(n, bool),
        success=jnp.zeros(n, bool),
        length=jnp.zeros(n, jnp.int32),
    )


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _segment(
    program: Program,
    latent: Latent[Any, Any],
    steps: int,
    half: bool,
    agent: Agent,
    untrained: Backbone,
    step_key: PRNGKeyArray,
    start: _Now,
) -> tuple[_Now, _Seen]:
    env, observations = program.env, program.observations
    tables = [backbone.encode_table(observations) for backbone in (agent.actor, untrained)]

    def step(now: _Now, _: None) -> tuple[_Now, _Seen]:
        n = len(now.alive)
        first = jnp.full(n, now.t == 0)
        acted = act(agent, observations, tables[0], now.memory, now.obs, first)
        other, _unused = untrained.step(
            now.untrained, untrained.encode(observations, tables[1], now.obs), first
        )
        known, questions = jax.vmap(latent.look)(now.known, now.states)
        keys = jax.random.split(jax.random.fold_in(step_key, now.t), n)
        states, result = jax.vmap(env.step)(now.states, acted.action, keys)
        after = _Now(
            t=now.t + 1,
            states=states,
            obs=result.obs,
            memory=acted.memory,
            untrained=other,
            known=known,
            alive=now.alive & ~(result.terminated | result.truncated),
            success=now.success | (now.alive & result.success),
            length=now.length + now.alive,
        )
        kept = _Seen(
            now.t,
            now.alive,
            questions,
            flat(acted.memory, half),
            acted.embedding,
            flat(other, half),
        )
        return after, kept

    return jax.lax.scan(step, start, None, steps)


def flat(state: Any, half: bool = False) -> Float[Array, "episode number"]:
    """A memory's state as one vector an episode: its leaves in order."""
    leaves = [leaf.reshape(leaf.shape[0], -1) for leaf in jax.tree.leaves(state)]
    whole = jnp.concatenate(leaves, -1)
    if not half:
        return whole
    most = float(jnp.finfo(jnp.float16).max)
    return jnp.clip(whole, -most, most).astype(jnp.float16)


def _keep(rows: Rows, seen: Any, every: int) -> None:
    """Write down the steps of a `_Seen`, off the device, at which something is asked."""
    asked = seen.questions.asked
    wanted = seen.alive & asked.any(-1) & (seen.t % every == 0)[:, None]
    step, episode = np.nonzero(wanted)
    rows.add(
        {
            "episode": episode,
            "step": seen.t[step],
            "asked": asked[wanted],
            "answer": seen.questions.answer[wanted],
            "since": seen.questions.since[wanted],
        },
        {name: getattr(seen, name)[wanted] for name in ("memory", "observation", "untrained")},
    )
