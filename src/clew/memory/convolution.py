"""A short causal convolution over time whose window never reaches across a reset."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from clew.layers import uniform

Window = Float[Array, "past channel"]
"""The last inputs, oldest first: one fewer than the kernel has taps."""


class ShortConvolution(eqx.Module):
    """Each channel by itself: y_t = Σ_j w_j x_{t−K+1+j}, plus a bias if there is one; then SiLU."""

    weight: Float[Array, "channel tap"]
    bias: Float[Array, " channel"] | None

    def __init__(
        self,
        channels: int,
        taps: int = 4,
        *,
        bias: bool,
        normal: bool = False,
        key: PRNGKeyArray,
    ):
        shape, size = (channels, taps), taps**-0.5
        self.weight = size * jax.random.normal(key, shape) if normal else uniform(key, shape, size)
        self.bias = jnp.zeros(channels) if bias else None

    def initial_window(self) -> Window:
        """Nothing seen yet."""
        channels, taps = self.weight.shape
        return jnp.zeros((taps - 1, channels), self.weight.dtype)

    def unroll(
        self, window: Window, xs: Float[Array, "time channel"], resets: Bool[Array, " time"]
    ) -> tuple[Window, Float[Array, "time channel"]]:
        """Convolve a chunk; a step is a chunk of one."""
        past, time = len(window), len(xs)
        episode = jnp.cumsum(resets)
        y = self._of_window(window, episode)
        for ago in range(min(past + 1, time)):
            same = _shifted(episode, ago, -1) == episode
            y += jnp.where(same[:, None], _shifted(xs, ago), 0) * self.weight[:, past - ago]
        if self.bias is not None:
            y += self.bias
        recent = jnp.concatenate((window[time:], xs[-past:]))
        # the window before the chunk belongs to episode 0, which the first reset ends
        owner = jnp.concatenate((jnp.zeros(past, episode.dtype), episode))[-past:]
        return jnp.where((owner == episode[-1])[:, None], recent, 0), jax.nn.silu(y)

    def _of_window(
        self, window: Window, episode: Int[Array, " time"]
    ) -> Float[Array, "time channel"]:
        """The part of the sum that the window contributes to the first steps.

        It is computed apart: to concatenate window and inputs would copy all inputs.
        """
        past, time = len(window), len(episode)
        y = jnp.zeros_like(window)
        for tap in range(past):
            y += _shifted(window, -tap) * self.weight[:, tap]
        y = jnp.where((episode[:past] == 0)[:, None], y[:time], 0)
        return jnp.pad(y, ((0, max(0, time - past)), (0, 0)))


def _shifted(x: Array, steps: int, filling: int = 0) -> Array:
    """Shifted along the first axis by so many steps, the gap filled."""
    edges = [(steps, -steps, 0)] + [(0, 0, 0)] * (x.ndim - 1)
    return jax.lax.pad(x, jnp.asarray(filling, x.dtype), edges)
