"""The three ways of a recurrence are one function, gradients included."""

from __future__ import annotations

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clew.memory import state_gradients
from clew.memory.architectures import gated_delta_net, gru, lstm
from clew.memory.product_gradients import scan_with_product_gradients
from clew.memory.recurrence import advance
from clew.memory.state_gradients import plain_scan, scan_with_state_gradients
from clew.testing.memory_laws import IN, in_float64
from clew.validate import BadInput
from tests.memory.conftest import build

PLAIN = [pytest.param(name, marks=pytest.mark.slow) for name in ("GRU, plain", "LSTM, plain")]


@pytest.mark.parametrize("variant", ["GRU", "LSTM", "GatedDeltaNet", *PLAIN])
def test_all_ways_are_one(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """vmapped over environments and over runs, as an accelerator would run it."""
    monkeypatch.setattr(state_gradients, "UNROLL", 2)  # 7 steps are three rounds, and one left over
    runs, envs, steps = 2, 3, 7
    cells = [in_float64(build(variant, seed=seed)) for seed in range(runs)]
    pack = jax.tree.map(lambda *leaves: jnp.stack(leaves), *cells)
    rng = np.random.default_rng(0)
    xs = jnp.asarray(rng.normal(size=(runs, envs, steps, IN)))
    history = jnp.asarray(rng.normal(size=(runs, envs, 2, IN)))
    resets = jnp.asarray(rng.random((runs, envs, steps)) < 0.3)
    assert resets.any()

    def loss(cell: Any, history: Any, xs: Any, resets: Any) -> Any:
        def one(history: Any, xs: Any, resets: Any) -> Any:
            # the first chunk makes a state that the gradient must flow through
            state, _ = cell.unroll(cell.initial_state(), cell.read(history), jnp.zeros(2, bool))
            return cell.unroll(state, cell.read(xs), resets)

        state, ys = jax.vmap(one)(history, xs, resets)
        weights = jnp.cos(jnp.arange(ys.size, dtype=ys.dtype)).reshape(ys.shape)
        return (ys * weights).sum() + sum(jnp.sin(leaf).sum() for leaf in jax.tree.leaves(state))

    results = []
    ways = plain_scan, scan_with_state_gradients, scan_with_product_gradients
    for way in ways:
        for module in (gru, lstm, gated_delta_net):
            monkeypatch.setattr(module, "recur", way)
        run = eqx.filter_vmap(
            lambda c, *rest: eqx.filter_value_and_grad(lambda both: loss(both[0], both[1], *rest))(
                (c, history[0])
            )
        )
        results.append(eqx.filter_jit(run)(pack, xs, resets))
    jax.tree.map(assert_all_close, *results)


def test_a_hidden_layer_wider_than_the_memory() -> None:
    """Acting, and learning in all three ways, cut products by the memory's width."""

    def step(weights: Any, h: Any, x: Any, product: Any) -> Any:
        up, down, bias = weights
        wide = jnp.tanh(jnp.concatenate(product(up, h), -1))
        (narrow,) = product(down, wide)
        return jnp.tanh(x[0] * bias[0] + narrow + bias[1])

    rng = np.random.default_rng(0)
    width, steps = 4, 6
    shapes = ((2 * width, width), (width, 2 * width), (2 * width,))
    weights = tuple(jnp.asarray(rng.normal(size=shape)) for shape in shapes)
    state, xs = jnp.asarray(rng.normal(size=width)), jnp.asarray(rng.normal(size=(steps, width)))
    resets = jnp.arange(steps) == 2
    slow, h = [], state
    for x, reset in zip(xs, resets, strict=True):
        h = advance(step, weights, h, x, reset)
        slow.append(h)
    ways = plain_scan, scan_with_state_gradients, scan_with_product_gradients
    for way in ways:
        np.testing.assert_allclose(way(step, weights, state, xs, resets), slow, rtol=1e-6)

    def total(way: Any, *given: Any) -> Any:
        return jnp.sin(way(step, *given, resets)).sum()

    gradients = [jax.grad(total, (1, 2, 3))(way, weights, state, xs) for way in ways]
    jax.tree.map(assert_all_close, *gradients)


@pytest.mark.parametrize("way", [scan_with_state_gradients, scan_with_product_gradients])
def test_what_it_cannot_do_is_said(way: Any) -> None:
    """Second derivatives, and arrays that have no parts of the memory's width."""

    def step(weights: Any, h: Any, x: Any, product: Any) -> Any:
        return jnp.tanh(x[0] + product(weights, h)[0])

    def total(matrix: Any) -> Any:
        return way(step, matrix, jnp.ones(3), jnp.ones((2, 3)), jnp.zeros(2, bool)).sum()

    with pytest.raises(NotImplementedError, match="first derivatives only"):
        jax.grad(lambda matrix: (jax.grad(total)(matrix) ** 2).sum())(jnp.ones((3, 3)))
    with pytest.raises(BadInput, match="width 3 was given an array of shape"):
        total(jnp.ones((4, 3)))


@pytest.mark.parametrize(("variant", "once"), [("GRU", True), ("GRU, plain", False)])
def test_what_has_no_norms_is_jaxs_to_differentiate(variant: str, once: bool) -> None:
    """On a CPU, where that is faster."""
    cell = build(variant)
    xs, resets = jnp.ones((3, IN)), jnp.zeros(3, bool)
    unroll = partial(cell.unroll, resets=resets)
    text = str(jax.make_jaxpr(unroll)(cell.initial_state(), cell.read(xs)))
    assert ("custom_vjp" in text) is once


def assert_all_close(first: Any, *others: Any) -> None:
    for other in others:
        np.testing.assert_allclose(first, other, rtol=1e-9, atol=1e-11)
