"""The agent: an actor and a critic, each with an encoder and a memory of its own."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from clew.envs.observations import Observations, look_up
from clew.layers import LayerNorm, Linear, gelu, scaled
from clew.learner.encoders import Encoder, make_encoder
from clew.learner.informed import Informed
from clew.learner.settings import Settings
from clew.memory import Architecture

MemoryState = PyTree[Array]
"""The recurrent state in every environment; its structure is the architecture's."""
Seen = Any
"""Observations as the world hands them out: an array, or `Known` if knowledge is given."""


class Encoding(NamedTuple):
    """Encoded observations."""

    embedding: Float[Array, "*batch width"]
    """The encoder's output."""
    memory_input: PyTree[Array]
    """What the memory computes from it without its state."""


class Backbone(eqx.Module):
    """Encoder and memory; its features are the outputs of both, concatenated."""

    encoder: Encoder | Informed
    memory: Architecture

    def encode_table(self, observations: Observations) -> Encoding | None:
        """Encode every symbol once; None if the world cannot list them."""
        if not observations.listed:
            return None
        embedding = self.encoder.encode_table(observations)
        if isinstance(self.encoder, Informed):
            return Encoding(embedding, ())
        return self._encoding(embedding)

    def encode(self, observations: Observations, table: Encoding | None, obs: Seen) -> Encoding:
        """Encode observations: by looking them up in `table`, if there is one."""
        if isinstance(self.encoder, Informed):
            symbols = None if table is None else table.embedding
            return self._encoding(self.encoder.encode(observations, symbols, obs))
        if table is not None:
            return look_up(table, obs)
        return self._encoding(self.encoder.encode(observations, obs))

    def step(
        self, state: MemoryState, encoding: Encoding, first: Bool[Array, " env"]
    ) -> tuple[MemoryState, Float[Array, "env feature"]]:
        """Features of one step in every environment."""
        state, y = jax.vmap(self.memory.step)(state, encoding.memory_input, first)
        return state, jnp.concatenate((encoding.embedding, y), -1)

    def unroll(
        self, state: MemoryState, encoding: Encoding, first: Bool[Array, "env time"]
    ) -> tuple[MemoryState, Float[Array, "env time feature"]]:
        """Features of a chunk of time in every environment."""
        state, ys = self.memory.unroll_batch(state, encoding.memory_input, first)
        return state, jnp.concatenate((encoding.embedding, ys), -1)

    def initial_state(self, envs: int) -> MemoryState:
        """Empty memories."""
        return jax.tree.map(
            lambda leaf: jnp.zeros((envs, *leaf.shape), leaf.dtype), self.memory.initial_state()
        )

    def _encoding(self, embedding: Float[Array, "*batch width"]) -> Encoding:
        return Encoding(embedding, self.memory.read(embedding))


class CriticHead(eqx.Module):
    """LN → linear → GELU → LN → linear → GELU → linear."""

    norms: tuple[LayerNorm, LayerNorm]
    layers: tuple[Linear, Linear, Linear]

    def __init__(self, in_size: int, width: int, *, key: PRNGKeyArray):
        keys = jax.random.split(key, 3)
        sizes = ((width, in_size), (width // 2, width), (1, width // 2))
        first, second, third = (scaled(k, *s, 1.0) for k, s in zip(keys, sizes, strict=True))
        self.norms = LayerNorm(in_size), LayerNorm(width)
        self.layers = first, second, third

    def __call__(self, x: Float[Array, "*batch feature"]) -> Float[Array, "*batch"]:  # noqa: D102
        for norm, layer in zip(self.norms, self.layers, strict=False):
            x = gelu(layer(norm(x)))
        return self.layers[2](x)[..., 0]


class Agent(eqx.Module):
    """Everything that PPO trains."""

    actor: Backbone
    critic: Backbone | None
    """None if the backbone is shared: the critic's loss then does not train it."""
    policy: Linear
    value: CriticHead

    @property
    def critic_backbone(self) -> Backbone:
        """The backbone whose features the critic's head reads."""
        return self.actor if self.critic is None else self.critic


def make_agent(
    observations: Observations,
    make_memory: Callable[[int, int, PRNGKeyArray], Architecture],
    settings: Settings,
    key: PRNGKeyArray,
    facts: int = 0,
) -> Agent:
    """A new agent; `make_memory(in_size, width, key)` makes its memories.

    With `facts`, its observations are `Known`, and hold so many.
    """
    width, memory_width = settings.encoder_width, settings.memory_width

    def backbone(key: PRNGKeyArray) -> Backbone:
        encoder_key, memory_key = jax.random.split(key)
        encoder = make_encoder(
            settings.encoder, observations, settings.encoder_hidden, width, encoder_key
        )
        if facts:
            encoder = Informed.around(encoder, facts, settings.encoder_hidden, width, encoder_key)
        return Backbone(encoder, make_memory(width, memory_width, memory_key))

    keys = jax.random.split(key, 4)
    n = 1 if settings.shared else 2
    backbones = jax.vmap(backbone)(keys[:n])
    actor, *critic = (jax.tree.map(itemgetter(i), backbones) for i in range(n))
    features = width + memory_width
    return Agent(
        actor=actor,
        critic=critic[0] if critic else None,
        policy=scaled(keys[2], len(observations.env.action_names), features, 0.01),
        value=CriticHead(features, settings.critic_width or memory_width, key=keys[3]),
    )


def components(agent: Agent) -> dict[str, eqx.Module]:
    """The parts whose gradients are clipped separately, in the order of the agent's leaves."""
    parts = {"actor encoder": agent.actor.encoder, "actor memory": agent.actor.memory}
    if agent.critic is not None:
        parts |= {"critic encoder": agent.critic.encoder, "critic memory": agent.critic.memory}
    return parts | {"actor head": agent.policy, "critic head": agent.value}


class ActorStep(NamedTuple):
    """What the actor did with one observation in every environment."""

    memory: MemoryState
    embedding: Float[Array, "env width"]
    logits: Float[Array, "env action"]
    action: Int[Array, " env"]


def act(
    agent: Agent,
    observations: Observations,
    table: Encoding | None,
    memory: MemoryState,
    obs: Seen,
    first: Bool[Array, " env"],
    noise: Float[Array, "env action"] | None = None,
) -> ActorStep:
    """Encode the observation, update the memory, choose an action.

    The likeliest action; with Gumbel `noise` added to the logits, a sample from the policy.
    `table` is `agent.actor.encode_table(observations)`, computed once for many steps.
    """
    encoding = agent.actor.encode(observations, table, obs)
    memory, features = agent.actor.step(memory, encoding, first)
    logits = agent.policy(features)
    action = jnp.argmax(logits if noise is None else logits + noise, -1)
    return ActorStep(memory, encoding.embedding, logits, action)


def policy_and_value(
    agent: Agent,
    observations: Observations,
    memories: tuple[MemoryState, MemoryState],
    obs: Seen,
    first: Bool[Array, "env time"],
) -> tuple[Float[Array, "env time action"], Float[Array, "env time"]]:
    """Action logits and values over a chunk of time, from the actor's and the critic's memory
    at its beginning."""

    def features(backbone: Backbone, memory: MemoryState, obs: Seen) -> Array:
        # a minibatch is not worth encoding all symbols, if these have no table of images
        table = None if observations.table is None else backbone.encode_table(observations)
        encoding = backbone.encode(observations, table, obs)
        return backbone.unroll(memory, encoding, first)[1]

    if agent.critic is None:
        shared = features(agent.actor, memories[0], obs)
        return agent.policy(shared), agent.value(jax.lax.stop_gradient(shared))
    if jax.default_backend() == "cpu":
        of_actor = features(agent.actor, memories[0], obs)
        of_critic = features(agent.critic, memories[1], obs)
    else:
        # vmapped over the two backbones, an accelerator needs half as many kernels
        backbones = jax.tree.map(lambda *both: jnp.stack(both), agent.actor, agent.critic)
        start = jax.tree.map(lambda *both: jnp.stack(both), *memories)
        # with a copy of the observations for each, their gradients need no transpose
        copies = jax.tree.map(lambda x: jnp.broadcast_to(x, (2, *x.shape)), obs)
        of_actor, of_critic = jax.vmap(features)(backbones, start, copies)
    return agent.policy(of_actor), agent.value(of_critic)
