"""GTrXL: a transformer that attends to a sliding window of cached keys, with gates."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from clew.layers import LayerNorm, Linear, linear
from clew.memory.base import Architecture, Output, Outputs, Recurrent, Reset, Resets, cleared
from clew.memory.chunkwise import in_chunks
from clew.memory.registry import register
from clew.validate import BadInput, divides, whole_number


class Cache(NamedTuple):
    """Keys and values of the last inputs, oldest first."""

    keys: Float[Array, "window head size"]
    values: Float[Array, "window head size"]
    filled: Float[Array, " window"]
    """1 where there is an input, 0 where there was none yet."""


class Projected(NamedTuple):
    """What depends on a layer's input alone."""

    u: Float[Array, "*time width"]
    """The input itself."""
    q: Float[Array, "*time head size"]
    k: Float[Array, "*time head size"]
    v: Float[Array, "*time head size"]


class Gate(eqx.Module):
    """A GRU's gate in the place of a residual connection, from x and what a layer made of it:

        r, z = σ(W_r y + U_r x), σ(W_z y + U_z x − b)
        g = (1 − z) ⊙ x + z ⊙ tanh(W_g y + U_g (r ⊙ x))

    b starts at 2, so that x passes at first.
    """  # fmt: skip

    of_layer: Linear
    """Rows W_r, W_z, W_g."""
    of_input: Linear
    """Rows U_r, U_z."""
    candidate: Linear
    """U_g."""
    bias: Float[Array, " width"]

    def __init__(self, width: int, *, key: PRNGKeyArray):
        keys = jax.random.split(key, 3)
        self.of_layer = linear(keys[0], 3 * width, width)
        self.of_input = linear(keys[1], 2 * width, width)
        self.candidate = linear(keys[2], width, width)
        self.bias = jnp.full(width, 2.0)

    def __call__(  # noqa: D102
        self, x: Float[Array, "*time width"], y: Float[Array, "*time width"]
    ) -> Float[Array, "*time width"]:
        wr, wz, wg = jnp.split(self.of_layer(y), 3, -1)
        ur, uz = jnp.split(self.of_input(x), 2, -1)
        r, z = jax.nn.sigmoid(wr + ur), jax.nn.sigmoid(wz + uz - self.bias)
        return (1 - z) * x + z * jnp.tanh(wg + self.candidate(r * x))


class GatedLayer(Recurrent[Cache, Projected]):
    """Parisotto et al. (2020): norms before the layers, gates after them.

        q, k, v = W_q û, W_k û, W_v û,   û = LN(u)
        a_j = softmax_j(((q_t + c) · k_j + (q_t + d) · W_p p_{t−j}) / √size)   j = t − window … t
        e = gate(u, relu(W_o Σ_j a_j v_j))
        y = gate(e, relu(W_2 relu(W_1 LN(e))))

    p are Transformer-XL's sinusoids of how long ago an input was; c and d are learned. Where the
    paper keeps inputs and projects them again, keys and values are kept.
    """  # fmt: skip

    norm: LayerNorm
    qkv: Linear
    """Rows: queries, keys, values, each head after head."""
    position: Linear
    """W_p."""
    content_bias: Float[Array, "head size"]
    """c."""
    position_bias: Float[Array, "head size"]
    """d."""
    out: Linear
    gate: Gate
    feed_norm: LayerNorm
    up: Linear
    down: Linear
    feed_gate: Gate
    window: int = eqx.field(static=True)

    def __init__(self, width: int, *, heads: int, window: int, key: PRNGKeyArray):
        self.window = window
        keys = jax.random.split(key, 7)
        self.norm, self.feed_norm = LayerNorm(width), LayerNorm(width)
        self.qkv = linear(keys[0], 3 * width, width)
        self.position = linear(keys[1], width, width)
        shape = (heads, width // heads)
        self.content_bias, self.position_bias = jnp.zeros(shape), jnp.zeros(shape)
        self.out = linear(keys[2], width, width)
        self.gate, self.feed_gate = Gate(width, key=keys[3]), Gate(width, key=keys[4])
        self.up = linear(keys[5], width, width, bias=True)
        self.down = linear(keys[6], width, width, bias=True)

    def initial_state(self) -> Cache:
        """Nothing cached."""
        dtype = self.content_bias.dtype
        kept = jnp.zeros((self.window, *self.content_bias.shape), dtype)
        return Cache(kept, kept, jnp.zeros(self.window, dtype))

    def read(self, x: Float[Array, "*time width"]) -> Projected:
        """Query, key and value of every head."""
        parts = jnp.split(self.qkv(self.norm(x)), 3, -1)
        q, k, v = (part.reshape(*part.shape[:-1], *self.content_bias.shape) for part in parts)
        return Projected(x, q, k, v)

    def step(self, state: Cache, x: Projected, reset: Reset) -> tuple[Cache, Output]:
        """One step."""
        now = Cache(x.k[None], x.v[None], jnp.ones(1, x.k.dtype))
        keys, values, filled = _joined(cleared(state, reset), now)
        scores = jnp.einsum("hd,jhd->hj", x.q + self.content_bias, keys)
        scores += jnp.einsum("hd,jhd->hj", x.q + self.position_bias, self._positions)
        weights = self._weights(scores, filled > 0)
        state = Cache(keys[1:], values[1:], filled[1:])
        return state, self._show(x.u, jnp.einsum("hj,jhd->hd", weights, values))

    def unroll(self, state: Cache, xs: Projected, resets: Resets) -> tuple[Cache, Outputs]:
        """All steps of a chunk at once."""
        state, read = in_chunks(self._chunk, state, xs.q, xs.k, xs.v, resets)
        return state, self._show(xs.u, read)

    def _chunk(
        self,
        cache: Cache,
        q: Float[Array, "time head size"],
        k: Float[Array, "time head size"],
        v: Float[Array, "time head size"],
        resets: Bool[Array, " time"],
    ) -> tuple[Cache, Float[Array, "time head size"]]:
        steps = len(q)
        joined = _joined(cache, Cache(k, v, jnp.ones(steps, k.dtype)))
        # the cache belongs to episode 0, which the first reset ends, and what is empty to none
        episode = jnp.cumsum(resets)
        owner = jnp.concatenate((jnp.where(cache.filled > 0, 0, -1), episode))
        place = jnp.arange(self.window + steps) - jnp.arange(steps)[:, None]
        seen = (place >= 0) & (place <= self.window) & (owner == episode[:, None])
        scores = jnp.einsum("thd,jhd->htj", q + self.content_bias, joined.keys)
        of_place = jnp.einsum("thd,jhd->htj", q + self.position_bias, self._positions)
        weights = self._weights(scores + _slid(of_place), seen)
        read = jnp.einsum("htj,jhd->thd", weights, joined.values)
        kept = owner[steps:] == episode[-1]
        return jax.vmap(cleared)(jax.tree.map(lambda leaf: leaf[steps:], joined), ~kept), read

    @property
    def _positions(self) -> Float[Array, "place head size"]:
        """W_p p of every place in the window, the oldest first and the present last."""
        width = self.position.weight.shape[1]
        rate = 10000.0 ** (-np.arange(0, width, 2) / width)
        angle = np.arange(self.window, -1, -1)[:, None] * rate
        sinusoids = np.concatenate((np.sin(angle), np.cos(angle)), -1)
        p = self.position(jnp.asarray(sinusoids, self.position.weight.dtype))
        return p.reshape(-1, *self.content_bias.shape)

    def _weights(
        self, scores: Float[Array, "head *time place"], seen: Bool[Array, "*time place"]
    ) -> Float[Array, "head *time place"]:
        scaled = scores * self.content_bias.shape[-1] ** -0.5
        return jax.nn.softmax(jnp.where(seen, scaled, -jnp.inf))

    def _show(
        self, u: Float[Array, "*time width"], read: Float[Array, "*time head size"]
    ) -> Float[Array, "*time width"]:
        e = self.gate(u, jax.nn.relu(self.out(read.reshape(u.shape))))
        fed = self.down(jax.nn.relu(self.up(self.feed_norm(e))))
        return self.feed_gate(e, jax.nn.relu(fed))


@register("GTrXL")
class GTrXL(Architecture[tuple[Cache, ...], Projected]):
    """Gated transformer with a sliding window of cached keys.

    u = W x,  y = GatedLayer(… GatedLayer(u)).

    Args:
        window: Past steps that a layer attends to, besides the present one.
        heads: Heads; a divisor of the memory's width.
        layers: Layers; each looks back a window further.
    """

    enter: Linear
    layers: tuple[GatedLayer, ...]
    parallel = True

    def __init__(
        self,
        in_size: int,
        width: int,
        *,
        window: int = 64,
        heads: int = 4,
        layers: int = 1,
        key: PRNGKeyArray,
    ):
        whole_number("window", window, 1)
        whole_number("layers", layers, 1)
        divides("heads", heads, "width", width)
        if width % 2:
            raise BadInput(f"width={width} is not valid; GTrXL needs an even one")
        self.in_size, self.width = in_size, width
        enter_key, *keys = jax.random.split(key, layers + 1)
        self.enter = linear(enter_key, width, in_size, bias=True)
        self.layers = tuple(GatedLayer(width, heads=heads, window=window, key=k) for k in keys)

    def initial_state(self) -> tuple[Cache, ...]:
        """Every layer's."""
        return tuple(layer.initial_state() for layer in self.layers)

    def read(self, x: Float[Array, "*time in"]) -> Projected:
        """What the first layer makes of its input; the others' inputs depend on the state."""
        return self.layers[0].read(self.enter(x))

    def step(
        self, state: tuple[Cache, ...], x: Projected, reset: Reset
    ) -> tuple[tuple[Cache, ...], Output]:
        """One step."""
        return self._through(GatedLayer.step, state, x, reset)

    def unroll(
        self, state: tuple[Cache, ...], xs: Projected, resets: Resets
    ) -> tuple[tuple[Cache, ...], Outputs]:
        """All steps of a chunk at once."""
        return self._through(GatedLayer.unroll, state, xs, resets)

    def _through(
        self,
        run: Callable[[GatedLayer, Cache, Projected, Array], tuple[Cache, Array]],
        state: tuple[Cache, ...],
        x: Projected,
        resets: Array,
    ) -> tuple[tuple[Cache, ...], Array]:
        first, y = run(self.layers[0], state[0], x, resets)
        states = [first]
        for layer, cache in zip(self.layers[1:], state[1:], strict=True):
            cache, y = run(layer, cache, layer.read(y), resets)
            states.append(cache)
        return tuple(states), y


def _joined(past: Cache, present: Cache) -> Cache:
    return jax.tree.map(lambda *parts: jnp.concatenate(parts), past, present)


def _slid(of_place: Float[Array, "head time place"]) -> Float[Array, "head time joined"]:
    """Row t moved t places to the right: from places in a step's window to those in the chunk.

    By a row of zeros too long, so that each row begins one place later than the one before it.
    """
    heads, steps, places = of_place.shape
    longer = jnp.pad(of_place, ((0, 0), (0, 0), (0, steps)))
    flat = longer.reshape(heads, -1)[:, : steps * (places + steps - 1)]
    return flat.reshape(heads, steps, -1)
