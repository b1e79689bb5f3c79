"""The interface of every memory."""

from __future__ import annotations

import abc
from typing import ClassVar, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

S = TypeVar("S")
X = TypeVar("X")

Reset = Bool[Array, ""]
Resets = Bool[Array, " time"]
Output = Float[Array, " width"]
Outputs = Float[Array, "time width"]


class Recurrent(eqx.Module, Generic[S, X]):
    """A layer with a state S, for one environment; `vmap` it over environments, and over runs.

    `read` does what depends on the input alone, so that it can be done once for every distinct
    input. `step` is the recurrence as its paper writes it, on what `read` returned (X). `unroll`
    is the same function over a whole chunk of time, in parallel form where there is one; that
    `unroll == scan(step)` for every pattern of resets is what correct means here. Learning calls
    `unroll_batch`, which is `unroll` in every environment. A reset clears the state *before* the
    input is taken in, as the first observation of an episode must not meet the last episode's
    memory.
    """

    def __init_subclass__(cls, **options: object) -> None:
        """Whoever redefines `step` or `unroll` does not inherit another's way for batches."""
        super().__init_subclass__(**options)
        if {"step", "unroll"} & vars(cls).keys() and "unroll_batch" not in vars(cls):
            cls.unroll_batch = Recurrent.unroll_batch

    @abc.abstractmethod
    def initial_state(self) -> S:
        """The empty memory: all zeros, since a reset multiplies by zero."""

    def read(self, x: Float[Array, "*time in"]) -> X:
        """What can be computed from inputs without the state; unless overridden, the inputs."""
        return x  # type: ignore[return-value]

    @abc.abstractmethod
    def step(self, state: S, x: X, reset: Reset) -> tuple[S, Output]:
        """Take in one input, as `read` returned it."""

    def unroll(self, state: S, xs: X, resets: Resets) -> tuple[S, Outputs]:
        """Take in a chunk of inputs, as `read` returned them; one by one unless overridden."""
        return jax.lax.scan(lambda carry, now: self.step(carry, *now), state, (xs, resets))

    def unroll_batch(
        self, state: S, xs: X, resets: Bool[Array, "env time"]
    ) -> tuple[S, Float[Array, "env time width"]]:
        """`unroll` in every environment; a memory may know a faster way than one by one."""
        return jax.vmap(self.unroll)(state, xs, resets)


class Architecture(Recurrent[S, X]):
    """A whole memory, as an agent has one."""

    in_size: int = eqx.field(static=True)
    width: int = eqx.field(static=True)
    parallel: ClassVar[bool] = False
    """Whether `unroll` does without a loop over single steps."""
    knowledge: ClassVar[bool] = False
    """Whether its agent is given what a perfect memory would know (`clew.envs.Knowledge`)."""


def cleared(state: S, reset: Bool[Array, ""]) -> S:
    """The state, or zeros if it is reset."""
    return jax.tree.map(lambda leaf: jnp.where(reset, jnp.zeros_like(leaf), leaf), state)
