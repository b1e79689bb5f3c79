"""The agent: an actor and a critic, each with an encoder and a memory of its own."""

from __future__ import annotations

from operator import itemgetter
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray, Shaped

from clew.envs.observations import Observations, look_up
from clew.layers import LayerNorm, Linear, gelu, scaled
from clew.learner.encoders import Encoder, make_encoder
from clew.memory import Architecture


class Encoded(NamedTuple):
    """An observation, encoded, and what the memory reads in it."""

    encoded: Float[Array, "*batch width"]
    read: Any


class Backbone(eqx.Module):
    """Encoder and memory; its features are the encoder's output beside the memory's."""

    encoder: Encoder
    memory: Architecture

    def symbols(self, observations: Observations) -> Encoded | None:
        """Every symbol, seen once; None if the world has no table of them."""
        return (
            self._encode(self.encoder.of_symbols(observations))
            if observations.table is not None
            else None
        )

    def see(
        self, observations: Observations, symbols: Encoded | None, obs: Shaped[Array, "*any"]
    ) -> Encoded:
        """See observations, by looking them up if there is a table."""
        if symbols is not None:
            return look_up(symbols, obs)
        return self._encode(self.encoder.of_arrays(observations, observations.arrays(obs)))

    def step(
        self, state: Any, seen: Encoded, first: Bool[Array, " env"]
    ) -> tuple[Any, Float[Array, "env feature"]]:
        """Features of one step in every environment."""
        state, y = jax.vmap(self.memory.step)(state, seen.read, first)
        return state, jnp.concatenate((seen.encoded, y), -1)

    def unroll(
        self, state: Any, seen: Encoded, first: Bool[Array, "env time"]
    ) -> tuple[Any, Float[Array, "env time feature"]]:
        """Features of a chunk of time in every environment."""
        state, ys = jax.vmap(self.memory.unroll)(state, seen.read, first)
        return state, jnp.concatenate((seen.encoded, ys), -1)

    def initial_state(self, envs: int) -> Any:
        """Empty memories."""
        return jax.tree.map(
            lambda leaf: jnp.zeros((envs, *leaf.shape), leaf.dtype), self.memory.initial_state()
        )

    def _encode(self, encoded: Float[Array, "*batch width"]) -> Encoded:
        return Encoded(encoded, self.memory.read(encoded))


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
    """Everything that PPO trains; each field is a component whose gradient is clipped alone."""

    actor: Backbone
    critic: Backbone | None
    """None if the critic reads the actor's features, without teaching them."""
    policy: Linear
    value: CriticHead

    @property
    def critic_backbone(self) -> Backbone:
        """The backbone that the critic reads."""
        return self.actor if self.critic is None else self.critic


def make_agent(
    observations: Observations,
    architecture: Any,
    *,
    encoder: str,
    hidden: int,
    encoder_width: int,
    memory_width: int,
    shared: bool,
    key: PRNGKeyArray,
) -> Agent:
    """A new agent; `architecture(in_size, width, key)` makes a memory."""

    def backbone(key: PRNGKeyArray) -> Backbone:
        encoder_key, memory_key = jax.random.split(key)
        eyes = make_encoder(encoder, observations, hidden, encoder_width, encoder_key)
        return Backbone(eyes, architecture(encoder_width, memory_width, memory_key))

    keys = jax.random.split(key, 4)
    features = encoder_width + memory_width
    both = jax.vmap(backbone)(keys[: 1 if shared else 2])
    actor, *critic = (jax.tree.map(itemgetter(i), both) for i in range(1 if shared else 2))
    return Agent(
        actor=actor,
        critic=critic[0] if critic else None,
        policy=scaled(keys[2], len(observations.env.action_names), features, 0.01),
        value=CriticHead(features, memory_width, key=keys[3]),
    )


def components(agent: Agent) -> dict[str, Any]:
    """The parts whose gradients are clipped apart from each other, in the order of the leaves."""
    parts = {"actor encoder": agent.actor.encoder, "actor memory": agent.actor.memory}
    if agent.critic is not None:
        parts |= {"critic encoder": agent.critic.encoder, "critic memory": agent.critic.memory}
    return parts | {"actor head": agent.policy, "critic head": agent.value}


def policy_and_value(
    agent: Agent,
    observations: Observations,
    states: tuple[Any, Any],
    obs: Array,
    first: Bool[Array, "env time"],
) -> tuple[Float[Array, "env time action"], Float[Array, "env time"]]:
    """Action logits and values over a chunk of time, from the states at its beginning."""
    if agent.critic is None:
        _, features = _unrolled(agent.actor, observations, states[0], obs, first)
        return agent.policy(features), agent.value(jax.lax.stop_gradient(features))
    if jax.default_backend() == "cpu":
        _, actor_features = _unrolled(agent.actor, observations, states[0], obs, first)
        _, critic_features = _unrolled(agent.critic, observations, states[1], obs, first)
    else:
        # side by side, the two backbones need half as many kernels
        pair = jax.tree.map(lambda *both: jnp.stack(both), agent.actor, agent.critic)
        start = jax.tree.map(lambda *both: jnp.stack(both), *states)
        # and each with a copy of the observations, what they owe needs no transposing
        copies = jnp.broadcast_to(obs, (2, *obs.shape))
        _, (actor_features, critic_features) = jax.vmap(
            lambda backbone, state, obs: _unrolled(backbone, observations, state, obs, first)
        )(pair, start, copies)
    return agent.policy(actor_features), agent.value(critic_features)


def _unrolled(
    backbone: Backbone, observations: Observations, state: Any, obs: Array, first: Array
) -> Any:
    return backbone.unroll(
        state, backbone.see(observations, backbone.symbols(observations), obs), first
    )
