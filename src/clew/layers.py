"""The few layers that all networks here are made of. All work on the last axis of their input."""

from __future__ import annotations

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

xavier = jax.nn.initializers.glorot_uniform(in_axis=-1, out_axis=-2)
xavier_normal = jax.nn.initializers.variance_scaling(
    1.0, "fan_avg", "normal", in_axis=-1, out_axis=-2
)


def orthogonal(key: PRNGKeyArray, rows: int, columns: int, gain: float = 1.0) -> Array:
    """A matrix with orthonormal rows or columns, times `gain`, uniform over all such matrices.

    By Gram and Schmidt, each column twice, not by LAPACK: batched over a pack's runs, LAPACK's
    decompositions can deadlock jaxlib 0.10 on a CPU.
    """
    long, short = max(rows, columns), min(rows, columns)
    drawn = jax.random.normal(key, (short, long))
    exactly = partial(jnp.matmul, precision=jax.lax.Precision.HIGHEST)

    def straighten(i: Array, done: Float[Array, "short long"]) -> Float[Array, "short long"]:
        row = done[i]
        before = jnp.where(jnp.arange(short)[:, None] < i, done, 0)
        for _ in range(2):
            row = row - exactly(exactly(before, row), before)
        return done.at[i].set(row / jnp.linalg.norm(row))

    basis = jax.lax.fori_loop(0, short, straighten, drawn)
    return gain * (basis if rows <= columns else basis.T)


def uniform(key: PRNGKeyArray, shape: tuple[int, ...], bound: float) -> Array:
    """Uniform in [−bound, bound]."""
    return jax.random.uniform(key, shape, minval=-bound, maxval=bound)


def decay_rates(key: PRNGKeyArray, heads: int) -> tuple[Array, Array]:
    """log A for A uniform in [1, 16], and a bias whose softplus is log-uniform in [.001, .1]."""
    rate_key, dt_key = jax.random.split(key)
    rate = jax.random.uniform(rate_key, (heads,), minval=1, maxval=16)
    low, high = jnp.log(1e-3), jnp.log(0.1)
    dt = jnp.exp(jax.random.uniform(dt_key, (heads,), minval=low, maxval=high))
    return jnp.log(rate), dt + jnp.log(-jnp.expm1(-dt))


class Linear(eqx.Module):
    """W x, plus a bias if there is one."""

    weight: Float[Array, "out in"]
    bias: Float[Array, " out"] | None = None

    def __call__(self, x: Float[Array, "*batch in"]) -> Float[Array, "*batch out"]:  # noqa: D102
        y = x @ self.weight.T
        return y if self.bias is None else y + self.bias


def linear(key: PRNGKeyArray, out: int, in_size: int, bias: bool = False) -> Linear:
    """A Xavier-uniform layer; a bias starts at zero."""
    return Linear(xavier(key, (out, in_size)), jnp.zeros(out) if bias else None)


class Mlp(eqx.Module):
    """Linear layers with ReLU between them."""

    layers: tuple[Linear, ...]

    def __call__(self, x: Float[Array, "*batch in"]) -> Float[Array, "*batch out"]:  # noqa: D102
        for layer in self.layers[:-1]:
            x = jax.nn.relu(layer(x))
        return self.layers[-1](x)


def mlp(key: PRNGKeyArray, *sizes: int, gain: float = 2**0.5) -> Mlp:
    """Orthogonal layers of these sizes, with biases at zero."""
    pairs = list(zip(sizes[1:], sizes[:-1], strict=True))
    keys = jax.random.split(key, len(pairs))
    return Mlp(tuple(scaled(k, *pair, gain) for k, pair in zip(keys, pairs, strict=True)))


def scaled(key: PRNGKeyArray, out: int, in_size: int, gain: float) -> Linear:
    """An orthogonal layer times `gain`, with a bias at zero."""
    return Linear(orthogonal(key, out, in_size, gain), jnp.zeros(out))


class LayerNorm(eqx.Module):
    """(x − mean) / std, times a gain, plus a bias."""

    gain: Float[Array, " size"]
    bias: Float[Array, " size"]

    def __init__(self, size: int):
        self.gain, self.bias = jnp.ones(size), jnp.zeros(size)

    def __call__(self, x: Float[Array, "*batch size"]) -> Float[Array, "*batch size"]:  # noqa: D102
        # Both moments in one pass over the row, as a recurrence's steps spend much of their time in
        # here. It costs digits where the mean is many deviations from zero, which no row here is.
        mean = x.mean(-1, keepdims=True)
        variance = jnp.maximum((x**2).mean(-1, keepdims=True) - mean**2, 0)
        return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * self.gain + self.bias


def gelu(x: Float[Array, "*any"]) -> Float[Array, "*any"]:
    """x Φ(x) by erf: jax's own uses erfc, which compiles to about a hundred operations."""
    return x * (1 + jax.lax.erf(x * 0.5**0.5)) / 2


def rms(x: Float[Array, "*batch size"], eps: float) -> Float[Array, "*batch size"]:
    """x / root mean square."""
    return x * jax.lax.rsqrt((x**2).mean(-1, keepdims=True) + eps)


def unit(x: Float[Array, "*batch size"]) -> Float[Array, "*batch size"]:
    """x / length; a vector near zero stays near zero."""
    return x * jax.lax.rsqrt((x**2).sum(-1, keepdims=True) + 1e-6)
