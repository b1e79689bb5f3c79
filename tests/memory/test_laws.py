"""What must hold for every registered memory, for every pattern of resets."""

from __future__ import annotations

from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.memory import Architecture
from tests.memory.conftest import IN, VARIANTS, build, in_float64

# (length, batch): within a chunk and beyond it; few, as each pair is compiled once
SHAPES = ((7, 1), (70, 3))
LONG = (70, 3)

every = pytest.mark.parametrize("variant", VARIANTS)


@cache
def cell_of(variant: str) -> Architecture:
    with jax.enable_x64(True):
        return in_float64(build(variant))


def stepped(cell: Architecture, state: Any, xs: Any, resets: Any) -> Any:
    return jax.lax.scan(lambda carry, now: cell.step(carry, *now), state, (cell.read(xs), resets))


def unrolled(cell: Architecture, state: Any, xs: Any, resets: Any) -> Any:
    return cell.unroll(state, cell.read(xs), resets)


@eqx.filter_jit
def unroll(cell: Architecture, state: Any, xs: Any, resets: Any) -> Any:
    return jax.vmap(cell.unroll)(state, cell.read(xs), resets)


@eqx.filter_jit
def both(cell: Architecture, state: Any, xs: Any, resets: Any) -> Any:
    """Results and gradients of a scalar of everything, by `step` and by `unroll`."""

    def scalar(inputs: Any, run: Any) -> Any:
        cell, state, xs = inputs
        state, ys = jax.vmap(lambda *args: run(cell, *args))(state, xs, resets)
        parts = [jnp.sin(leaf * (1 + i)).sum() for i, leaf in enumerate(jax.tree.leaves(state))]
        weights = jnp.cos(jnp.arange(ys.size, dtype=ys.dtype)).reshape(ys.shape)
        return (ys * weights).sum() + sum(parts), (state, ys)

    runs = (stepped, unrolled)
    grad = eqx.filter_value_and_grad(scalar, has_aux=True)
    return [grad((cell, state, xs), run) for run in runs]


def close(one: Any, two: Any, tolerance: float = 1e-9) -> None:
    def compare(a: Any, b: Any) -> None:
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * (1 + np.abs(b).max()))

    jax.tree.map(compare, one, two)


def draw_inputs(data: st.DataObject, cell: Architecture, shapes: Any = SHAPES) -> Any:
    """Inputs that may repeat, resets of any pattern, and a state that is not empty."""
    length, batch = data.draw(st.sampled_from(shapes), label="length and batch")
    rng = np.random.default_rng(data.draw(st.integers(0, 2**31), label="seed"))
    distinct = data.draw(st.sampled_from([1, 2, 1000]), label="distinct inputs")
    palette = rng.normal(size=(distinct, IN))
    xs = palette[rng.integers(distinct, size=(batch, length))]
    frequency = data.draw(st.sampled_from([0.0, 0.05, 0.5, 1.0]), label="resets")
    resets = rng.random((batch, length)) < frequency
    history = rng.normal(size=(batch, 7, IN))
    empty = jax.tree.map(lambda s: jnp.zeros((batch, *s.shape), s.dtype), cell.initial_state())
    state, _ = unroll(cell, empty, jnp.asarray(history), jnp.zeros((batch, 7), bool))
    return state, jnp.asarray(xs), jnp.asarray(resets)


@every
@given(data=st.data())
@settings(max_examples=8)
def test_unroll_is_scan_of_step(variant: str, data: st.DataObject) -> None:
    """Outputs, final state, and gradients with respect to weights, state and inputs."""
    cell = cell_of(variant)
    state, xs, resets = draw_inputs(data, cell)
    one, two = both(cell, state, xs, resets)
    close(one, two)


@every
@given(data=st.data())
@settings(max_examples=6)
def test_a_reset_is_a_fresh_sequence(variant: str, data: st.DataObject) -> None:
    cell = cell_of(variant)
    state, xs, resets = draw_inputs(data, cell, shapes=(LONG,))
    at = data.draw(st.sampled_from([0, 6, 63]), label="reset at")
    resets = resets.at[:, at].set(True)
    final, ys = unroll(cell, state, xs, resets)
    fresh = jax.tree.map(jnp.zeros_like, state)
    close((final, ys[:, at:]), unroll(cell, fresh, xs[:, at:], resets[:, at:].at[:, 0].set(False)))


@every
@given(data=st.data())
@settings(max_examples=6)
def test_cutting_a_chunk_anywhere_changes_nothing(variant: str, data: st.DataObject) -> None:
    cell = cell_of(variant)
    state, xs, resets = draw_inputs(data, cell, shapes=(LONG,))
    cut = data.draw(st.sampled_from([1, 7, 63]), label="cut before")
    middle, head = unroll(cell, state, xs[:, :cut], resets[:, :cut])
    final, tail = unroll(cell, middle, xs[:, cut:], resets[:, cut:])
    whole = unroll(cell, state, xs, resets)
    close(whole, (final, jnp.concatenate([head, tail], 1)))


@every
def test_large_inputs_stay_finite(variant: str) -> None:
    cell = jax.tree.map(lambda x: x.astype(jnp.float32), build(variant))
    rng = np.random.default_rng(0)
    xs = jnp.asarray(rng.uniform(-1e3, 1e3, (2, 70, IN)), jnp.float32)
    resets = jnp.asarray(rng.random((2, 70)) < 0.1)
    state = jax.tree.map(lambda s: jnp.zeros((2, *s.shape), s.dtype), cell.initial_state())
    for result in both(cell, state, xs, resets):
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(result))


@every
def test_ten_thousand_identical_inputs(variant: str) -> None:
    """In float32, as training runs; the gradient goes back through all of them."""
    cell = jax.tree.map(lambda x: x.astype(jnp.float32), build(variant))
    x = jnp.asarray(np.random.default_rng(0).normal(size=IN), jnp.float32)
    xs, resets = jnp.tile(x, (10_000, 1)), jnp.zeros(10_000, bool)

    @eqx.filter_jit
    @eqx.filter_value_and_grad
    def total(cell: Architecture) -> Any:
        _, ys = cell.unroll(cell.initial_state(), cell.read(xs), resets)
        return ys.sum()

    value, gradient = total(cell)
    assert np.isfinite(value)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))


def test_the_memoryless_one_ignores_history() -> None:
    cell = cell_of("Memoryless")
    rng = np.random.default_rng(0)
    xs, others = (jnp.asarray(rng.normal(size=(12, IN))) for _ in range(2))
    never = jnp.zeros(12, bool)
    _, ys = cell.unroll((), cell.read(xs), never)
    _, mixed = cell.unroll((), cell.read(others.at[-1].set(xs[-1])), never)
    np.testing.assert_array_equal(ys[-1], mixed[-1])


@pytest.mark.parametrize("variant", [v for v in VARIANTS if v not in ("Memoryless", "Given")])
def test_every_other_one_remembers(variant: str) -> None:
    """An input 20 steps back still shows in the output, and in the gradient."""
    cell = cell_of(variant)
    xs = jnp.asarray(np.random.default_rng(0).normal(size=(21, IN)))

    @jax.jit
    @jax.grad
    def last(first: Any) -> Any:
        _, ys = unrolled(cell, cell.initial_state(), xs.at[0].set(first), jnp.zeros(21, bool))
        return ys[-1].sum()

    assert np.abs(last(xs[0])).max() > 1e-12


@every
def test_packs_have_their_own_weights(variant: str) -> None:
    """vmapped over weights, each run is what it would be alone."""
    runs = [in_float64(build(variant, seed=seed)) for seed in (0, 5)]
    pack = jax.tree.map(lambda *leaves: jnp.stack(leaves), *runs)
    xs = jnp.asarray(np.random.default_rng(0).normal(size=(2, 11, IN)))
    resets = jnp.zeros((2, 11), bool).at[0, 4].set(True)

    @eqx.filter_jit
    def train_pack(pack: Any) -> Any:
        run = eqx.filter_vmap(lambda c, x, r: unrolled(c, c.initial_state(), x, r))
        return run(pack, xs, resets)

    together = train_pack(pack)
    for i, cell in enumerate(runs):
        alone = eqx.filter_jit(unrolled)(cell, cell.initial_state(), xs[i], resets[i])
        close(jax.tree.map(lambda leaf, i=i: leaf[i], together), alone)


@pytest.mark.slow
@every
def test_bfloat16(variant: str) -> None:
    """Types are kept throughout, and the result is float32's to bfloat16's few digits."""
    exact = jax.tree.map(lambda x: x.astype(jnp.float32), build(variant))
    cell = jax.tree.map(lambda x: x.astype(jnp.bfloat16), exact)
    xs = jnp.asarray(np.random.default_rng(0).normal(size=(16, IN)), jnp.float32)
    resets = jnp.zeros(16, bool).at[5].set(True)
    run = eqx.filter_jit(lambda cell, xs: unrolled(cell, cell.initial_state(), xs, resets))
    state, ys = run(cell, xs.astype(jnp.bfloat16))
    stepped_state, stepped_y = eqx.filter_jit(cell.step)(
        state, cell.read(xs[0].astype(jnp.bfloat16)), resets[0]
    )
    leaves = jax.tree.leaves((state, ys, stepped_state, stepped_y))
    assert {leaf.dtype for leaf in leaves} == {jnp.dtype(jnp.bfloat16)}
    _, reference = run(exact, xs)
    scale = np.abs(reference).max()
    assert np.abs(ys.astype(jnp.float32) - reference).max() < 0.1 * scale
