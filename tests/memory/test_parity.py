"""Our memories against public reference implementations, through recorded golden files.

What each file computes, and how it was recorded, is told in tests/oracles/memory/README.md.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clew import memory
from clew.layers import Linear, unit
from clew.memory.architectures.gated_delta_block import DeltaState, GatedDelta
from clew.memory.architectures.gru import GRUStateWeights
from clew.memory.architectures.lstm import LSTMState, LSTMStateWeights
from clew.memory.architectures.mamba2 import MambaState, Mixer
from clew.memory.architectures.retnet_block import Retention, RetentionState
from clew.memory.chunkwise import gated_delta_rule, in_chunks
from tests.oracles.memory.recurrences import load

TOLERANCE = 1e-12


def golden(name: str) -> tuple[dict[str, Any], dict[str, jax.Array]]:
    config, arrays = load(name)
    return config, {key: jnp.asarray(value) for key, value in arrays.items()}


def near(ours: Any, theirs: Any, tolerance: float = TOLERANCE) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * (1 + np.abs(theirs).max()))


def both_ways(cell: Any, state: Any, xs: jax.Array) -> Any:
    """`unroll`, after checking that the loop over `step` says the same."""
    never = jnp.zeros(xs.shape[:2], bool)

    def stepped(state: Any, xs: Any, resets: Any) -> Any:
        return jax.lax.scan(
            lambda carry, now: cell.step(carry, *now), state, (cell.read(xs), resets)
        )

    looped = jax.jit(jax.vmap(stepped))(state, xs, never)
    whole = jax.jit(jax.vmap(cell.unroll))(state, cell.read(xs), never)
    jax.tree.map(near, whole, looped)
    return whole


@pytest.mark.parametrize("name", ["GRU", "LSTM"])
def test_plain_cells_are_torchs(name: str) -> None:
    _, a = golden(name.lower())
    width = a["weight_hh"].shape[1]
    cell = memory.make(name, a["xs"].shape[-1], width, norm=False, key=jax.random.key(0))
    weight, bias = a["weight_hh"], a["bias_hh"]
    if name == "GRU":
        gates, candidate = slice(2 * width), slice(2 * width, None)
        of_state = GRUStateWeights(
            Linear(weight[gates], bias[gates]), Linear(weight[candidate], bias[candidate])
        )
    else:
        of_state = LSTMStateWeights(Linear(weight, bias))
    cell = eqx.tree_at(
        lambda c: (c.of_input, c.of_state),
        cell,
        (Linear(a["weight_ih"], a["bias_ih"]), of_state),
    )
    state = a["initial_h"] if name == "GRU" else LSTMState(a["initial_h"], a["initial_c"])
    final, ys = both_ways(cell, state, a["xs"])
    near(ys, a["ys"])
    near(final if name == "GRU" else final.h, a["final_h"])
    if name == "LSTM":
        near(final.c, a["final_c"])


def test_mamba2_is_transformers() -> None:
    config, a = golden("mamba2")
    heads, states = config["num_heads"], config["state_size"]
    width = a["xs"].shape[-1]
    key = jax.random.key(0)
    mixer = Mixer(width, heads=heads, states=states, expand=config["expand"], key=key)
    weights = (
        Linear(a["in_proj/weight"]),
        a["conv1d/weight"][:, 0],
        a["conv1d/bias"],
        a["dt_bias"],
        a["A_log"],
        a["D"],
        a["norm/weight"],
        Linear(a["out_proj/weight"]),
    )
    mixer = eqx.tree_at(
        lambda m: (
            m.enter, m.convolution.weight, m.convolution.bias,
            m.dt_bias, m.log_rate, m.skip, m.gain, m.out,
        ),
        mixer,
        weights,
    )  # fmt: skip
    # theirs keeps one input more, which is never read, and has the value axis first
    state = MambaState(a["initial_conv"][..., 1:].swapaxes(1, 2), a["initial_ssm"].swapaxes(-1, -2))
    final, ys = both_ways(mixer, state, a["xs"])
    near(ys, a["ys"])
    near(ys, a["ys_steps"])
    near(final.sum.swapaxes(-1, -2), a["final_ssm"])
    near(final.window.swapaxes(1, 2), a["final_conv"][..., 1:])
    fresh = jax.tree.map(jnp.zeros_like, state)
    near(both_ways(mixer, fresh, a["xs"])[1], a["ys_fresh"])


@pytest.mark.parametrize("name", ["gated-delta-rule", "gated-delta-rule-repeated"])
def test_delta_rule_is_transformers(name: str) -> None:
    """The second repeats one key for a whole chunk, where a sum of powers is wrong by 8."""
    _, a = golden(name)
    q, k = unit(a["query"]) * a["query"].shape[-1] ** -0.5, unit(a["key"])
    resets = jnp.zeros(q.shape[1], bool)
    per_head = jax.vmap(gated_delta_rule, in_axes=(0, 1, 1, 1, 1, 1, None), out_axes=(0, 1))

    def run(state: Any, *inputs: Any) -> Any:
        return in_chunks(per_head, state, *inputs, resets)

    final, ys = jax.jit(jax.vmap(run))(a["initial_state"], q, k, a["value"], a["g"], a["beta"])
    near(ys, a["ys_recurrent"])
    near(ys, a["ys_chunk"], 1e-11)
    near(final, a["final_recurrent"])


def test_gated_delta_net_is_transformers() -> None:
    """Theirs shares a key head between value heads; ours then has the same key twice."""
    config, a = golden("gated-delta-net")
    keys, values = config["linear_num_key_heads"], config["linear_num_value_heads"]
    dk, dv = config["linear_key_head_dim"], config["linear_value_head_dim"]
    share, width = values // keys, a["xs"].shape[-1]
    rows = a["in_proj_qkvz/weight"].reshape(keys, 2 * dk + 2 * share * dv, width)
    q, k, v, z = jnp.split(rows, (dk, 2 * dk, 2 * dk + share * dv), 1)
    b, al = jnp.split(a["in_proj_ba/weight"].reshape(keys, 2 * share, width), 2, 1)

    def spread(part: jax.Array) -> jax.Array:
        """[key head × dk, …] to [value head × dk, …]."""
        return jnp.repeat(part.reshape(keys, dk, *part.shape[1:]), share, 0).reshape(
            values * dk, *part.shape[1:]
        )

    def channels(part: jax.Array) -> jax.Array:
        """Their convolution's channels, in our number of them."""
        cq, ck, cv = jnp.split(part, (keys * dk, 2 * keys * dk))
        return jnp.concatenate([spread(cq), spread(ck), cv])

    flat = [part.reshape(-1, width) for part in (q, k, v, z, b, al)]
    layer = GatedDelta(width, heads=values, head_size=dk, key=jax.random.key(0))
    layer = eqx.tree_at(
        lambda m: (
            m.qkv, m.convolution.weight, m.gates, m.dt_bias, m.log_rate, m.z, m.gain, m.out,
        ),
        layer,
        (
            Linear(jnp.concatenate([spread(flat[0]), spread(flat[1]), flat[2]])),
            channels(a["conv1d/weight"][:, 0]),
            Linear(jnp.concatenate([flat[4], flat[5]])),
            a["dt_bias"],
            a["A_log"],
            Linear(flat[3]),
            a["norm/weight"],
            Linear(a["out_proj/weight"]),
        ),
    )  # fmt: skip
    window = jax.vmap(channels)(a["initial_conv"][..., 1:]).swapaxes(1, 2)
    final, ys = both_ways(layer, DeltaState(window, a["initial_state"]), a["xs"])
    near(ys, a["ys"])
    near(ys, a["ys_steps"])
    near(final.memory, a["final_state"])


@pytest.mark.parametrize("name", ["retention", "retention-default"])
def test_retention_is_torchscales_recurrent_form(name: str) -> None:
    config, a = golden(name)
    heads, width = config["num_heads"], a["xs"].shape[-1]
    layer = Retention(width, heads=heads, key=jax.random.key(0))
    parts = ("q_proj", "k_proj", "v_proj", "g_proj", "out_proj")
    layer = eqx.tree_at(
        lambda m: (m.queries, m.keys, m.values, m.gate, m.out),
        layer,
        tuple(Linear(a[f"{part}/weight"]) for part in parts),
    )
    batch, dk = a["xs"].shape[0], width // heads
    dv = a["v_proj/weight"].shape[0] // heads
    empty = RetentionState(jnp.zeros((batch, heads, dk, dv)), jnp.zeros((batch, heads)))
    final, ys = both_ways(layer, empty, a["xs"])
    near(ys, a["ys_recurrent"])
    # the parallel form differs in a divisor that the norm takes out again, but for its ε
    near(ys, a["ys"], 2e-5)
    near(final.weight, jnp.broadcast_to(a["final_scale"], (batch, heads)))
