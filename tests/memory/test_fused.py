"""Kernels of an NVIDIA GPU: the same function as the loop, made of what a GPU's compiler knows."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clew import kernels
from clew.memory import fused, state_gradients
from clew.memory.architectures import gated_delta_net, gru, lstm
from clew.testing.memory_laws import IN, in_float64
from tests.memory.conftest import build

VARIANTS = ["GRU", "LSTM", "GatedDeltaNet", "GRU, plain", "LSTM, plain"]
RUNS, ENVS, STEPS = 2, 2 * fused.ROWS, 5


def in_float32(cell: Any) -> Any:
    """As an accelerator has it."""
    return jax.tree.map(lambda x: x.astype(jnp.float32) if eqx.is_inexact_array(x) else x, cell)


def gradients(variant: str) -> Any:
    """The loss and all its gradients, vmapped over runs, as the learner asks for them."""
    cells = [in_float64(build(variant, seed=seed)) for seed in range(RUNS)]
    pack = jax.tree.map(lambda *leaves: jnp.stack(leaves), *cells)
    rng = np.random.default_rng(0)
    xs = jnp.asarray(rng.normal(size=(RUNS, ENVS, STEPS, IN)))
    resets = jnp.asarray(rng.random((RUNS, ENVS, STEPS)) < 0.3)
    assert resets.any()

    def loss(cell: Any, history: Any, xs: Any, resets: Any) -> Any:
        empty = jax.tree.map(lambda x: jnp.zeros((ENVS, *x.shape), x.dtype), cell.initial_state())
        # the first chunk makes a state that the gradient must flow through
        never = jnp.zeros(history.shape[:2], bool)
        state, _ = cell.unroll_batch(empty, cell.read(history), never)
        state, ys = cell.unroll_batch(state, cell.read(xs), resets)
        weights = jnp.cos(jnp.arange(ys.size, dtype=ys.dtype)).reshape(ys.shape)
        return (ys * weights).sum() + sum(jnp.sin(leaf).sum() for leaf in jax.tree.leaves(state))

    def one(cell: Any, xs: Any, resets: Any) -> Any:
        return eqx.filter_value_and_grad(lambda given: loss(given[0], given[1], given[2], resets))(
            (cell, xs[:, :2], xs[:, 2:])
        )

    return eqx.filter_jit(eqx.filter_vmap(one))(pack, xs, resets[:, :, 2:])


@pytest.mark.parametrize("variant", VARIANTS)
def test_kernels_are_the_loop(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """States and gradients, by the interpreter of kernels, in float64."""
    looped = gradients(variant)

    def kernels(*arguments: Any) -> Any:
        used.append(variant)
        return state_gradients.kernels_with_state_gradients(*arguments, interpret=True)

    used: list[str] = []
    for module in (gru, lstm, gated_delta_net):
        monkeypatch.setattr(module, "recur_batch", kernels)
    fused_ones = gradients(variant)
    assert used
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11), looped, fused_ones
    )


@pytest.mark.skipif(jax.__version_info__ >= (0, 11), reason="jax 0.11 lowers kernels on GPUs only")
@pytest.mark.parametrize("precision", ["highest", None])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_gpu_can_compile_them(variant: str, precision: str | None) -> None:
    """They use no operation that Triton does not have; at the study's width, gradients too."""
    cell = in_float32(build(variant, width=128))
    module = {"G": gru, "L": lstm}[variant[0]] if "Delta" not in variant else gated_delta_net
    weights = cell.of_state.weight if module is gated_delta_net else cell.of_state
    columns = {gru: 3, lstm: 4, gated_delta_net: 1}[module] * 128
    leaf = jnp.zeros((ENVS, 128), jnp.float32)
    state = lstm.LSTMState(leaf, leaf) if module is lstm else leaf

    def total(weights: Any, state: Any, inputs: Any, resets: Any) -> Any:
        states = state_gradients.kernels_with_state_gradients(
            module._step, weights, state, inputs, resets
        )
        return sum(leaf.sum() for leaf in jax.tree.leaves(states))

    inputs = jnp.zeros((ENVS, 3, columns), jnp.float32)
    arguments = (weights, state, inputs, jnp.zeros((ENVS, 3), bool))
    with jax.default_matmul_precision(precision):
        traced = jax.jit(jax.grad(total, argnums=(0, 1, 2))).trace(*arguments)
        text = traced.lower(lowering_platforms=("cuda",)).as_text()
    assert text.count("triton") >= 2  # forwards and backwards


def test_halves_are_the_number() -> None:
    """The first has eleven bits at most, and nothing is lost."""
    rng = np.random.default_rng(0)
    x = np.float32(rng.normal(size=1000) * 10.0 ** rng.integers(-20, 20, 1000))
    high, low = map(np.asarray, fused._halves(jnp.asarray(x)))
    np.testing.assert_array_equal(high.astype(np.float64) + low, x)
    mantissa = np.frexp(high)[0] * 2.0**11
    np.testing.assert_array_equal(mantissa, np.round(mantissa))
    assert (np.abs(low) <= np.abs(x) * 2.0**-10).all()


def test_a_device_that_cannot_is_left_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said once, inside whatever is being compiled."""
    monkeypatch.setattr(kernels, "on_nvidia", lambda: True)
    state_gradients._compiles.cache_clear()
    cell = in_float32(build("GRU", width=16))
    xs = jnp.ones((fused.ROWS, 3, IN), jnp.float32)
    resets = jnp.zeros((fused.ROWS, 3), bool)
    start = jnp.zeros((fused.ROWS, 16), jnp.float32)
    unroll = jax.jit(jax.vmap(lambda xs: cell.unroll_batch(start, cell.read(xs), resets)[1]))
    with pytest.warns(UserWarning, match="training is slower"):
        found = unroll(xs[None])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        unroll(jnp.stack([xs, xs]))
    state_gradients._compiles.cache_clear()
    alone = jax.vmap(partial(cell.unroll, start[0]))(cell.read(xs), resets)[1]
    np.testing.assert_allclose(found[0], alone, rtol=1e-6)


@pytest.mark.parametrize(
    ("width", "rows", "dtype", "fit"),
    [
        (128, 32, jnp.float32, True),
        (16, 16, jnp.float32, True),
        (96, 32, jnp.float32, False),
        (256, 32, jnp.float32, False),
        (128, 20, jnp.float32, False),
        (128, 32, jnp.float64, False),
    ],
)
def test_which_sizes_fit(
    width: int, rows: int, dtype: Any, fit: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Powers of two, and whole blocks of rows."""
    monkeypatch.setattr(kernels, "on_nvidia", lambda: True)
    assert fused.fits(width, rows, jnp.dtype(dtype)) is fit


def test_a_subclass_is_not_passed_over() -> None:
    """Its own `unroll` counts, not the kernel of the memory that it is made from."""

    class Doubled(gru.GRU):
        def unroll(self, state: Any, xs: Any, resets: Any) -> Any:
            state, ys = super().unroll(state, xs, resets)
            return state, 2 * ys

    class Renamed(gru.GRU):
        pass

    assert Renamed.unroll_batch is gru.GRU.unroll_batch
    cell = Doubled(IN, 16, key=jax.random.key(0))  # pyright: ignore[reportCallIssue]
    xs, resets = jnp.ones((3, 2, IN)), jnp.zeros((3, 2), bool)
    states = jnp.zeros((3, 16))
    ys = cell.unroll_batch(states, cell.read(xs), resets)[1]
    halves = gru.GRU.unroll_batch(cell, states, cell.read(xs), resets)[1]
    np.testing.assert_allclose(ys, 2 * halves)
