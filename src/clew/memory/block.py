"""The residual block around a layer that remembers, as most memories here have it."""

from __future__ import annotations

import abc
from typing import Generic, TypeVar

from jaxtyping import Array, Float, PRNGKeyArray

from clew.layers import LayerNorm, Linear, linear
from clew.memory.base import Architecture, Output, Outputs, Recurrent, Reset, Resets
from clew.validate import BadInput

S = TypeVar("S")
X = TypeVar("X")


def only_without_block(study_code: bool) -> None:
    """The study's code has no full blocks."""
    if study_code:
        raise BadInput("study_code=True is for the study's own cell; leave out full_block")


class ResidualBlock(Architecture[S, tuple[Float[Array, "*time width"], X]], Generic[S, X]):
    """u = W x,  y = finish(u + layer(LN(u)))."""

    enter: Linear
    norm: LayerNorm
    parallel = True

    def __init__(self, in_size: int, width: int, *, bias: bool = True, key: PRNGKeyArray):
        self.in_size, self.width = in_size, width
        self.enter = linear(key, width, in_size, bias)
        self.norm = LayerNorm(width)

    @property
    @abc.abstractmethod
    def layer(self) -> Recurrent[S, X]:
        """What remembers."""

    def finish(self, u: Float[Array, "*time width"]) -> Float[Array, "*time width"]:
        """What comes after; nothing unless overridden."""
        return u

    def initial_state(self) -> S:
        """The layer's."""
        return self.layer.initial_state()

    def read(self, x: Float[Array, "*time in"]) -> tuple[Float[Array, "*time width"], X]:
        """The residual stream u, and what the layer makes of it without its state."""
        u = self.enter(x)
        return u, self.layer.read(self.norm(u))

    def step(self, state: S, x: tuple[Output, X], reset: Reset) -> tuple[S, Output]:
        """One step."""
        u, projected = x
        state, y = self.layer.step(state, projected, reset)
        return state, self.finish(u + y)

    def unroll(self, state: S, xs: tuple[Outputs, X], resets: Resets) -> tuple[S, Outputs]:
        """All steps of a chunk at once."""
        us, projected = xs
        state, ys = self.layer.unroll(state, projected, resets)
        return state, self.finish(us + ys)
