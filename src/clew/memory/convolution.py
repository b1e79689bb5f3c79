"""A short causal convolution over time whose window never reaches across a reset."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from clew.layers import uniform

Window = Float[Array, "past channel"]
"""The last inputs, oldest first: one fewer than the kernel has taps."""


class ShortConvolution(eqx.Module):
    """Each channel by itself: y_t = Σ_j w_j x_{t−K+1+j}, plus a bias if there is one; then SiLU."""

    weight: Float[Array, "channel tap"]
    bias: Float[Array, " channel"] | None

    def __init__(self, channels: int, taps: int = 4, *, bias: bool, key: PRNGKeyArray):
        self.weight = uniform(key, (channels, taps), taps**-0.5)
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
        seen = jnp.concatenate([window, xs])
        # the window before the chunk belongs to episode 0, which the first reset ends
        episode = jnp.concatenate([jnp.zeros(past, int), jnp.cumsum(resets)])
        y = jnp.zeros_like(xs)
        for tap in range(past + 1):
            same = episode[tap : tap + time] == episode[past:]
            y += jnp.where(same[:, None], seen[tap : tap + time], 0) * self.weight[:, tap]
        if self.bias is not None:
            y += self.bias
        kept = (episode[-past:] == episode[-1])[:, None]
        return jnp.where(kept, seen[-past:], 0), jax.nn.silu(y)
