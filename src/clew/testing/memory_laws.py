"""What must hold for every memory, for every pattern of resets."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PyTree

from clew import memory
from clew.memory import Architecture
from clew.testing.asserting import (
    require_alike,
    require_array,
    require_close,
    require_equal,
    require_finite,
)

IN, WIDTH = 5, 16
# (length, batch): within a chunk and beyond it; few, as each pair is compiled once
SHAPES = ((7, 1), (70, 3))
LONG = (70, 3)
RESETS = (0.0, 0.05, 0.5, 1.0)
"""Frequencies."""
State = PyTree[Array]
Xs = Float[Array, "*batch time in"]
Resets = Bool[Array, "*batch time"]
Unrolled = tuple[State, Float[Array, "*batch time width"]]


class Inputs(NamedTuple):
    """A state that is not empty, inputs that may repeat, and resets."""

    state: State
    xs: Xs
    resets: Resets


def check_memory(name: str, in_size: int = IN, width: int = WIDTH, **options: object) -> None:
    """Raise an AssertionError for the first law that the memory of this name breaks."""
    with jax.enable_x64(True):
        made = memory.make(name, in_size, width, key=jax.random.key(0), **options)
        cell = in_float64(stirred(made))
        starts_empty(cell)
        for seed, (shape, frequency) in enumerate(product(SHAPES, RESETS)):
            unroll_is_scan_of_step(cell, draw_inputs(cell, seed, shape, frequency))
        for seed, at in enumerate((0, 6, 63)):
            inputs = draw_inputs(cell, seed, LONG, 0.05)
            a_reset_is_a_fresh_sequence(cell, inputs, at)
            cutting_a_chunk_changes_nothing(cell, inputs, at or 1)
        large_inputs_stay_finite(cell)
        runs_of_a_pack_are_apart([cell, in_float64(stirred(made, seed=5))])


def stirred(cell: Architecture, seed: int = 0) -> Architecture:
    """The memory with every weight random, so that no law holds by a zero."""
    leaves, treedef = jax.tree.flatten(cell)
    keys = jax.random.split(jax.random.key(seed + 1), len(leaves))
    changed = [
        leaf + 0.1 * jax.random.normal(key, leaf.shape, leaf.dtype)
        for leaf, key in zip(leaves, keys, strict=True)
    ]
    return jax.tree.unflatten(treedef, changed)


def in_float64(tree: Architecture) -> Architecture:
    """The same weights with more digits: the laws hold to rounding, so rounding is made small."""
    return jax.tree.map(lambda x: x.astype(jnp.float64) if eqx.is_inexact_array(x) else x, tree)


def draw_inputs(
    cell: Architecture,
    seed: int,
    shape: tuple[int, int] = LONG,
    frequency: float = 0.05,
    distinct: int = 1000,
) -> Inputs:
    """Of some length and batch, with resets of some frequency, and so many distinct inputs."""
    (length, batch), rng = shape, np.random.default_rng(seed)
    palette = rng.normal(size=(distinct, cell.in_size))
    xs = palette[rng.integers(distinct, size=(batch, length))]
    resets = rng.random((batch, length)) < frequency
    history = rng.normal(size=(batch, 7, cell.in_size))
    never = jnp.zeros((batch, 7), bool)
    state, _ = unroll(cell, _empty(cell, batch), jnp.asarray(history), never)
    return Inputs(state, jnp.asarray(xs), jnp.asarray(resets))


def starts_empty(cell: Architecture) -> None:
    """A reset multiplies the state by zero, so the initial one is zeros; the output is a vector."""
    state = cell.initial_state()
    require_equal(
        state,
        jax.tree.map(jnp.zeros_like, state),
        "initial_state must be zeros: a reset makes them",
    )
    after, y = jax.eval_shape(
        lambda x: cell.step(state, cell.read(x), jnp.bool_(False)), jnp.zeros(cell.in_size)
    )
    require_array("what step puts out", y, (cell.width,), y.dtype)
    require_alike("the state", after, state)


def unroll_is_scan_of_step(cell: Architecture, inputs: Inputs) -> None:
    """Outputs, final state, and gradients with respect to weights, state and inputs."""
    one, two = _by_step_and_by_unroll(cell, *inputs)
    require_close(one, two, "unroll must be a loop over step, with its gradients")


def a_reset_is_a_fresh_sequence(cell: Architecture, inputs: Inputs, at: int) -> None:
    """The state is cleared before the input is taken in."""
    state, xs, resets = inputs
    resets = resets.at[:, at].set(True)
    final, ys = unroll(cell, state, xs, resets)
    fresh = jax.tree.map(jnp.zeros_like, state)
    alone = unroll(cell, fresh, xs[:, at:], resets[:, at:].at[:, 0].set(False))
    require_close((final, ys[:, at:]), alone, "after a reset, all must be as from the start")


def cutting_a_chunk_changes_nothing(cell: Architecture, inputs: Inputs, cut: int) -> None:
    """A chunk in two parts, the second from the state that the first left."""
    state, xs, resets = inputs
    middle, head = unroll(cell, state, xs[:, :cut], resets[:, :cut])
    final, tail = unroll(cell, middle, xs[:, cut:], resets[:, cut:])
    whole = unroll(cell, state, xs, resets)
    parts = (final, jnp.concatenate([head, tail], 1))
    require_close(whole, parts, f"a chunk that is cut before step {cut} must give the same")


def large_inputs_stay_finite(cell: Architecture) -> None:
    """In float32, results and gradients."""
    cell, rng = _in_float32(cell), np.random.default_rng(0)
    xs = jnp.asarray(rng.uniform(-1e3, 1e3, (2, 70, cell.in_size)), jnp.float32)
    resets = jnp.asarray(rng.random((2, 70)) < 0.1)
    results = _by_step_and_by_unroll(cell, _empty(cell, 2), xs, resets)
    require_finite(results, "inputs of up to 1,000 must give finite results and gradients")


def ten_thousand_identical_inputs_stay_finite(cell: Architecture) -> None:
    """In float32, as training runs; the gradient goes back through all of them."""
    cell = _in_float32(cell)
    x = jnp.asarray(np.random.default_rng(0).normal(size=cell.in_size), jnp.float32)
    xs, resets = jnp.tile(x, (10_000, 1)), jnp.zeros(10_000, bool)

    @eqx.filter_jit
    @eqx.filter_value_and_grad
    def total(cell: Architecture) -> Array:
        return unrolled(cell, cell.initial_state(), xs, resets)[1].sum()

    require_finite(total(cell), "10,000 identical inputs must give finite results and gradients")


def runs_of_a_pack_are_apart(runs: list[Architecture]) -> None:
    """vmapped over weights, each run is what it would be alone."""
    pack = jax.tree.map(lambda *leaves: jnp.stack(leaves), *runs)
    xs = jnp.asarray(np.random.default_rng(0).normal(size=(len(runs), 11, runs[0].in_size)))
    resets = jnp.zeros(xs.shape[:2], bool).at[0, 4].set(True)

    @eqx.filter_jit
    def train_pack(pack: Architecture) -> Unrolled:
        run = eqx.filter_vmap(lambda c, x, r: unrolled(c, c.initial_state(), x, r))
        return run(pack, xs, resets)

    together = train_pack(pack)
    for i, cell in enumerate(runs):
        alone = eqx.filter_jit(unrolled)(cell, cell.initial_state(), xs[i], resets[i])
        mine = jax.tree.map(lambda leaf, i=i: leaf[i], together)
        require_close(mine, alone, "a run of a pack must be what it is alone")


def unrolled(cell: Architecture, state: State, xs: Xs, resets: Resets) -> Unrolled:
    """Over inputs as they come, which `read` is applied to first."""
    return cell.unroll(state, cell.read(xs), resets)


@eqx.filter_jit
def unroll(cell: Architecture, state: State, xs: Xs, resets: Resets) -> Unrolled:
    """The same for a batch."""
    return cell.unroll_batch(state, cell.read(xs), resets)


@eqx.filter_jit
def _by_step_and_by_unroll(
    cell: Architecture, state: State, xs: Xs, resets: Resets
) -> list[PyTree[Array]]:
    """Results and gradients of a scalar of everything, in both ways."""

    def stepped(cell: Architecture, state: State, xs: Xs, resets: Resets) -> Unrolled:
        pairs = (cell.read(xs), resets)
        return jax.lax.scan(lambda carry, now: cell.step(carry, *now), state, pairs)

    def scalar(
        inputs: tuple[Architecture, State, Xs], run: Callable[..., Unrolled]
    ) -> tuple[Array, Unrolled]:
        cell, state, xs = inputs
        state, ys = jax.vmap(lambda *args: run(cell, *args))(state, xs, resets)
        parts = [jnp.sin(leaf * (1 + i)).sum() for i, leaf in enumerate(jax.tree.leaves(state))]
        weights = jnp.cos(jnp.arange(ys.size, dtype=ys.dtype)).reshape(ys.shape)
        return (ys * weights).sum() + sum(parts), (state, ys)

    grad = eqx.filter_value_and_grad(scalar, has_aux=True)
    return [grad((cell, state, xs), run) for run in (stepped, unrolled)]


def _empty(cell: Architecture, batch: int) -> State:
    return jax.tree.map(lambda s: jnp.zeros((batch, *s.shape), s.dtype), cell.initial_state())


def _in_float32(cell: Architecture) -> Architecture:
    return jax.tree.map(lambda x: x.astype(jnp.float32), cell)
