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
from clew.memory.architectures.gtrxl import Gate, GatedLayer
from clew.memory.architectures.lru import LinearRecurrentUnit
from clew.memory.architectures.lstm import LSTMState, LSTMStateWeights
from clew.memory.architectures.mamba2 import MambaState, Mixer
from clew.memory.architectures.min_gru import MinimalGRU
from clew.memory.architectures.mlstm import MatrixLSTM, MatrixState
from clew.memory.architectures.retnet_block import Retention, RetentionState
from clew.memory.chunkwise import gated_delta_rule, in_chunks
from clew.memory.diagonal import Complex
from tests.oracles.memory.recurrences import load

TOLERANCE = 1e-12
GATE = ("Wr", "Ur", "Wz", "Uz", "Wg", "Ug")


def golden(name: str) -> tuple[dict[str, Any], dict[str, jax.Array]]:
    config, arrays = load(name)
    return config, {key: jnp.asarray(value) for key, value in arrays.items()}


def near(ours: Any, theirs: Any, tolerance: float = TOLERANCE) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * (1 + np.abs(theirs).max()))


def batched(state: Any, batch: int) -> Any:
    """So many empty states; what weights were in float32 makes no difference."""
    return jax.tree.map(lambda leaf: jnp.zeros((batch, *leaf.shape)), state)


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


def test_a_gated_transformer_layer_is_di_engines() -> None:
    """Past inputs are seen as keys and values that were cached when they came."""
    config, a = golden("gtrxl")
    layer = GatedLayer(
        config["width"], heads=config["heads"], window=config["window"], key=jax.random.key(0)
    )

    def gate(name: str) -> Gate:
        wr, ur, wz, uz, wg, ug = (a[f"{name}.{part}.weight"] for part in GATE)
        made = Gate(config["width"], key=jax.random.key(0))
        of_layer, of_input = (
            Linear(jnp.concatenate([wr, wz, wg])),
            Linear(jnp.concatenate([ur, uz])),
        )
        parts = (of_layer, of_input, Linear(ug), a[f"{name}.bg"])
        return eqx.tree_at(lambda g: (g.of_layer, g.of_input, g.candidate, g.bias), made, parts)

    qkv = [a[f"attention.attention_{part}.0.weight"] for part in ("q", "kv")]
    layer = eqx.tree_at(
        lambda m: (
            m.norm.gain, m.norm.bias, m.qkv, m.position, m.content_bias, m.position_bias, m.out,
            m.gate, m.feed_norm.gain, m.feed_norm.bias, m.up, m.down, m.feed_gate,
        ),
        layer,
        (
            a["layernorm1.weight"],
            a["layernorm1.bias"],
            Linear(jnp.concatenate(qkv)),
            Linear(a["attention.project_pos.0.weight"]),
            a["u"],
            a["v"],
            Linear(a["attention.project.0.weight"]),
            gate("gate1"),
            a["layernorm2.weight"],
            a["layernorm2.bias"],
            Linear(a["mlp.0.0.weight"], a["mlp.0.0.bias"]),
            Linear(a["mlp.2.0.weight"], a["mlp.2.0.bias"]),
            gate("gate2"),
        ),
    )  # fmt: skip
    empty = batched(layer.initial_state(), len(a["xs"]))
    near(both_ways(layer, empty, a["xs"])[1], a["ys_fresh"])
    begun, _ = both_ways(layer, empty, a["initial_inputs"])
    _, ys = both_ways(layer, begun, a["xs"])
    near(ys, a["ys"])
    near(ys, a["ys_steps"])


def test_the_linear_recurrent_unit_is_lru_pytorchs() -> None:
    config, a = golden("lru")
    ring = {"r_min": 0.5, "r_max": 0.9, "max_phase": 1.0}
    unit_ = LinearRecurrentUnit(
        config["width"], states=config["states"], **ring, key=jax.random.key(0)
    )
    unit_ = eqx.tree_at(
        lambda m: (m.log_rate, m.log_phase, m.log_gain, m.write, m.show, m.skip, m.mix),
        unit_,
        (
            a["nu_log"],
            a["theta_log"],
            a["gamma_log"],
            Linear(jnp.concatenate([a["B_re"], a["B_im"]])),
            Linear(jnp.concatenate([a["C_re"], -a["C_im"]], 1)),
            a["D"],
            Linear(a["glu/weight"], a["glu/bias"]),
        ),
    )
    state = Complex(a["initial_re"], a["initial_im"])
    final, ys = both_ways(unit_, state, a["xs"])
    near(ys, a["ys"])
    near(final.re, a["final_re"])
    near(final.im, a["final_im"])
    near(both_ways(unit_, jax.tree.map(jnp.zeros_like, state), a["xs"])[1], a["ys_fresh"])


def test_the_minimal_gru_is_min_gru_pytorchs() -> None:
    """In parallel form theirs is in logarithms; both say the same."""
    config, a = golden("mingru")
    cell = MinimalGRU(config["width"], expand=config["expand"], key=jax.random.key(0))
    weights = Linear(a["to_hidden_and_gate/weight"]), Linear(a["to_out/weight"])
    cell = eqx.tree_at(lambda m: (m.of_input, m.out), cell, weights)
    final, ys = both_ways(cell, a["initial_h"], a["xs"])
    near(ys, a["ys"])
    near(ys, a["ys_steps"])
    near(final, a["final_h"])
    near(both_ways(cell, jnp.zeros_like(a["initial_h"]), a["xs"])[1], a["ys_fresh"])


def test_fast_and_forgetful_memory_is_its_authors() -> None:
    """Theirs multiplies a sum by inverse decays, which costs it digits."""
    config, a = golden("ffm")
    sizes = {key: config[key] for key in ("memory_size", "context_size")}
    cell = memory.make("FFM", config["width"], config["out"], **sizes, key=jax.random.key(0))
    cell = eqx.tree_at(
        lambda m: (m.of_input, m.rates, m.frequencies, m.mix),
        cell,
        (
            Linear(a["pre/weight"], a["pre/bias"]),
            -a["ffa/a"][0, 0],
            a["ffa/b"][0, 0],
            Linear(a["mix/weight"], a["mix/bias"]),
        ),
    )
    state = Complex(a["initial_re"], a["initial_im"])
    final, ys = both_ways(cell, state, a["xs"])
    near(ys, a["ys_steps"])
    near(ys, a["ys"])
    near(final.re, a["final_re"])
    near(final.im, a["final_im"])
    near(both_ways(cell, jax.tree.map(jnp.zeros_like, state), a["xs"])[1], a["ys_fresh"])


def test_mlstm_is_transformers() -> None:
    """Theirs divides memory and divisor by the exponential of a maximum, which cancels."""
    config, a = golden("mlstm")
    cell = MatrixLSTM(config["hidden_size"], heads=config["num_heads"], key=jax.random.key(0))
    i, f = ([a[f"{gate}gate_preact/{part}"] for part in ("weight", "bias")] for gate in "if")
    cell = eqx.tree_at(
        lambda m: (m.qkv, m.gates, m.o, m.gain, m.out),
        cell,
        (
            Linear(jnp.concatenate([a[f"{part}/weight"] for part in "qkv"])),
            Linear(*(jnp.concatenate(both) for both in zip(i, f, strict=True))),
            Linear(a["ogate_preact/weight"]),
            a["multihead_norm/weight"],
            Linear(a["out_proj/weight"]),
        ),
    )

    def unscaled(when: str) -> MatrixState:
        scale = jnp.exp(a[f"{when}_m"])
        return MatrixState(a[f"{when}_c"] * scale[..., None], a[f"{when}_n"] * scale)

    final, ys = both_ways(cell, unscaled("initial"), a["xs"])
    near(ys, a["ys"])
    near(ys, a["ys_steps"])
    near(ys, a["ys_shipped"], 1e-9)  # with an epsilon in the divisor
    jax.tree.map(near, final, unscaled("final"))
    empty = batched(cell.initial_state(), len(a["xs"]))
    near(both_ways(cell, empty, a["xs"])[1], a["ys_fresh"])
