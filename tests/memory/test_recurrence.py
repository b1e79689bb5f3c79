"""The three ways of a recurrence are one function, gradients included."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clew.memory import state_gradients
from clew.memory.architectures import gated_delta_net, gru, lstm
from clew.memory.product_gradients import scan_with_product_gradients
from clew.memory.state_gradients import plain_scan, scan_with_state_gradients
from clew.testing.memory_laws import IN, in_float64
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


def assert_all_close(first: Any, *others: Any) -> None:
    for other in others:
        np.testing.assert_allclose(first, other, rtol=1e-9, atol=1e-11)
