"""How an agent's weights are held between the minibatches of an update.

On a CPU as one vector: clipping and Adam are then a few operations, not a few for every leaf, which
is what a compiler spends its time on. On an accelerator leaf by leaf: to copy all runs' weights
into a vector and out of it again is a good part of what an update moves. What lies between updates
is a vector on both, so that checkpoints do not depend on the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from clew.learner.agent import Agent

Weights = Float[Array, " weight"]


class Holding(Protocol):
    """Something that stands for an agent's weights, or for numbers that belong to them."""

    def hold(self, vector: Weights) -> Any:
        """From the vector."""
        ...

    def vector(self, held: Any) -> Weights:
        """And back."""
        ...

    def show(self, held: Any) -> Agent:
        """As an agent."""
        ...

    def pieces(self, part: Any) -> list[Array]:
        """What a part of an agent is made of."""
        ...

    def join(self, pieces: Sequence[Array]) -> Any:
        """The pieces of all parts, in the order of an agent's leaves, as what is held."""
        ...


def holding(agent: Agent) -> Holding:
    """What suits the device."""
    return AsVector(agent) if jax.default_backend() == "cpu" else AsLeaves(agent)


class AsVector:
    """One vector."""

    def __init__(self, agent: Agent):
        self.show = ravel_pytree(agent)[1]

    def hold(self, vector: Weights) -> Weights:
        """Itself."""
        return vector

    def vector(self, held: Weights) -> Weights:
        """Itself."""
        return held

    def pieces(self, part: Any) -> list[Array]:
        """One."""
        return [ravel_pytree(part)[0]]

    def join(self, pieces: Sequence[Array]) -> Weights:
        """End to end."""
        return jnp.concatenate(pieces)


class AsLeaves:
    """An agent."""

    def __init__(self, agent: Agent):
        self.hold = ravel_pytree(agent)[1]
        self.structure = jax.tree.structure(agent)

    def vector(self, held: Agent) -> Weights:
        """All leaves, end to end."""
        return ravel_pytree(held)[0]

    def show(self, held: Agent) -> Agent:
        """Itself."""
        return held

    def pieces(self, part: Any) -> list[Array]:
        """The leaves."""
        return jax.tree.leaves(part)

    def join(self, pieces: Sequence[Array]) -> Agent:
        """With the leaves in their places."""
        return jax.tree.unflatten(self.structure, pieces)
