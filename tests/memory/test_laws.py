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
from clew.testing import memory_laws as laws
from clew.testing.memory_laws import IN, LONG, RESETS, SHAPES, in_float64, unrolled
from tests.memory.conftest import OPTIONS, VARIANTS, build

every = pytest.mark.parametrize("variant", VARIANTS)
# as the architecture is by default; with other options it is in the slow tests
every_name = pytest.mark.parametrize(
    "variant", [pytest.param(v, marks=pytest.mark.slow) if v in OPTIONS else v for v in VARIANTS]
)
# Each length is compiled once for each memory: these laws make do with 1, 7, 63 and all 70 steps.
RESET_AT, CUT_BEFORE = (0, 63, 69), (7, 63)


@cache
def cell_of(variant: str) -> Architecture:
    with jax.enable_x64(True):
        return in_float64(build(variant))


def drawn(data: st.DataObject, cell: Architecture, shapes: Any = (LONG,)) -> laws.Inputs:
    """Inputs that may repeat, resets of any pattern, and a state that is not empty."""
    return laws.draw_inputs(
        cell,
        seed=data.draw(st.integers(0, 2**31), label="seed"),
        shape=data.draw(st.sampled_from(shapes), label="length and batch"),
        frequency=data.draw(st.sampled_from(RESETS), label="resets"),
        distinct=data.draw(st.sampled_from([1, 2, 1000]), label="distinct inputs"),
    )


@every
def test_starts_empty(variant: str) -> None:
    laws.starts_empty(cell_of(variant))


@every
@given(data=st.data())
@settings(max_examples=8)
def test_unroll_is_scan_of_step(variant: str, data: st.DataObject) -> None:
    cell = cell_of(variant)
    laws.unroll_is_scan_of_step(cell, drawn(data, cell))


@pytest.mark.slow
@every
@given(data=st.data())
@settings(max_examples=20)
def test_unroll_is_scan_of_step_for_any_length(variant: str, data: st.DataObject) -> None:
    cell = cell_of(variant)
    laws.unroll_is_scan_of_step(cell, drawn(data, cell, SHAPES))


@every
@given(data=st.data())
@settings(max_examples=6)
def test_a_reset_is_a_fresh_sequence(variant: str, data: st.DataObject) -> None:
    cell = cell_of(variant)
    at = data.draw(st.sampled_from(RESET_AT), label="reset at")
    laws.a_reset_is_a_fresh_sequence(cell, drawn(data, cell), at)


@every
@given(data=st.data())
@settings(max_examples=6)
def test_cutting_a_chunk_anywhere_changes_nothing(variant: str, data: st.DataObject) -> None:
    cell = cell_of(variant)
    cut = data.draw(st.sampled_from(CUT_BEFORE), label="cut before")
    laws.cutting_a_chunk_changes_nothing(cell, drawn(data, cell), cut)


@every_name
def test_large_inputs_stay_finite(variant: str) -> None:
    laws.large_inputs_stay_finite(build(variant))


@every_name
def test_ten_thousand_identical_inputs(variant: str) -> None:
    laws.ten_thousand_identical_inputs_stay_finite(build(variant))


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


@every_name
def test_packs_have_their_own_weights(variant: str) -> None:
    laws.runs_of_a_pack_are_apart([in_float64(build(variant, seed=seed)) for seed in (0, 5)])


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
