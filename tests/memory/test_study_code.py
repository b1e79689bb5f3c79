"""Three memories as public code of the study's authors has them: by hand, and as they start."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clew import memory
from clew.layers import linear, orthogonal
from clew.testing.memory_laws import IN, in_float64, unrolled
from clew.validate import BadInput
from tests.memory.conftest import build

KEY = jax.random.key(0)
SIZE = 128
TIME, RESETS = 70, (5, 6, 30, 64)
Vectors = np.ndarray


def layer_norm(norm: Any, x: Vectors) -> Vectors:
    centred = x - x.mean()
    return norm.gain * centred / np.sqrt((centred**2).mean() + 1e-5) + norm.bias


def sigmoid(x: Vectors) -> Vectors:
    return 1 / (1 + np.exp(-x))


def silu(x: Vectors) -> Vectors:
    return x * sigmoid(x)


def unit(x: Vectors) -> Vectors:
    """Of length 1, but for what keeps a zero finite."""
    return x / np.sqrt((x**2).sum() + 1e-6)


def retnet(cell: Any, xs: Vectors) -> list[Vectors]:
    heads, size = cell.heads, cell.width // cell.heads
    sums, ys = np.zeros((heads, size, size)), []
    for t, x in enumerate(xs):
        if t in RESETS:
            sums = np.zeros_like(sums)
        q, k, v = (cell.qkv.weight @ layer_norm(cell.norm, x)).reshape(3, heads, size)
        for h in range(heads):
            sums[h] = (1 - 2.0 ** (-5 - h)) * sums[h] + np.outer(k[h], v[h])
        read = np.concatenate([sums[h].T @ q[h] for h in range(heads)])
        ys.append(layer_norm(cell.out_norm, cell.out.weight @ read))
    return ys


def gated_delta_net(cell: Any, xs: Vectors) -> list[Vectors]:
    size = cell.assoc_size
    stored, h, ys = np.zeros((size, size)), np.zeros(cell.width), []
    for t, x in enumerate(xs):
        if t in RESETS:
            stored, h = np.zeros_like(stored), np.zeros_like(h)
        q, k, v = (cell.qkv.weight @ x).reshape(3, size)
        q, k = unit(q), unit(k)
        alpha, beta = sigmoid(cell.gates.weight @ x + cell.gates.bias)
        stored = alpha * (np.eye(size) - beta * np.outer(k, k)) @ stored + beta * np.outer(k, v)
        drive = cell.of_input.weight @ x + cell.of_input.bias
        read = cell.of_read.weight @ layer_norm(cell.read_norm, stored.T @ q)
        h = np.tanh(drive + cell.of_state.weight @ h + read)
        ys.append(h)
    return ys


def mamba2(cell: Any, xs: Vectors) -> list[Vectors]:
    mixer, heads, states = cell.mixer, cell.mixer.heads, cell.mixer.states
    inner, taps = len(mixer.gain), mixer.convolution.weight.shape[1]
    assert taps == 4
    sums, ys = np.zeros((heads, states, inner // heads)), []
    seen: list[Vectors] = []
    for t, x in enumerate(xs):
        if t in RESETS:
            sums, seen = np.zeros_like(sums), []
        u = cell.enter.weight @ x
        projected = mixer.enter.weight @ layer_norm(cell.norm, u)
        z, vbc, delta = np.split(projected, (inner, len(projected) - heads))
        seen.append(vbc)
        recent = np.array([np.zeros_like(vbc)] * taps + seen)[-taps:]
        vbc = silu((mixer.convolution.weight.T * recent).sum(0))
        v, b, c = np.split(vbc, (inner, inner + states))
        v = v.reshape(heads, -1)
        dt = np.log1p(np.exp(delta + mixer.dt_bias))
        a = np.exp(-dt * np.exp(mixer.log_rate))
        for h in range(heads):
            sums[h] = a[h] * sums[h] + dt[h] * np.outer(b, v[h])
        read = np.concatenate([sums[h].T @ c + mixer.skip[h] * v[h] for h in range(heads)])
        gated = read * silu(z)
        normed = gated / np.sqrt((gated**2).mean() + 1e-5)
        ys.append(u + mixer.out.weight @ (mixer.gain * normed))
    return ys


@pytest.mark.parametrize(
    ("name", "by_hand"),
    [("RetNet", retnet), ("GatedDeltaNet", gated_delta_net), ("Mamba-2", mamba2)],
)
def test_each_is_its_formulas(name: str, by_hand: Any) -> None:
    cell: Any = in_float64(build(f"{name}, study code"))
    xs = np.random.default_rng(0).normal(size=(TIME, IN))
    resets = jnp.isin(jnp.arange(TIME), jnp.array(RESETS))
    _, ys = jax.jit(unrolled)(cell, cell.initial_state(), jnp.asarray(xs), resets)
    expected = np.array(by_hand(jax.tree.map(np.asarray, cell), xs))
    np.testing.assert_allclose(ys, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def started(name: str, seeds: int = 32, **options: object) -> Any:
    """So many, as they start."""
    return eqx.filter_vmap(lambda key: memory.make(name, SIZE, SIZE, **options, key=key))(
        jax.random.split(KEY, seeds)
    )


def is_normal(weights: Any, deviation: float) -> None:
    weights = np.asarray(weights) / deviation
    assert abs(weights.mean()) < 0.1
    assert weights.std() == pytest.approx(1, rel=0.05)
    assert (weights**4).mean() == pytest.approx(3, rel=0.15)  # of a uniform one, 1.8


def test_retnet_starts_uniform_and_has_no_bias() -> None:
    cell = started("RetNet", study_code=True)
    bound = (6 / (SIZE + 3 * SIZE)) ** 0.5
    assert 0.999 * bound < np.abs(cell.qkv.weight).max() <= bound
    assert cell.qkv.weight.std() == pytest.approx(bound / 3**0.5, rel=0.01)
    assert cell.qkv.bias is None
    assert cell.out.bias is None


def test_gated_delta_net_starts_normal() -> None:
    cell = started("GatedDeltaNet", study_code=True)
    for part in np.split(np.asarray(cell.qkv.weight), 3, axis=1):
        is_normal(part, (2 / (64 + SIZE)) ** 0.5)
    is_normal(cell.of_input.weight, (2 / (SIZE + SIZE)) ** 0.5)
    is_normal(cell.of_state.weight, (2 / (SIZE + SIZE)) ** 0.5)
    is_normal(cell.of_read.weight, (2 / (64 + SIZE)) ** 0.5)
    of_state = cell.of_state.weight[0]
    assert np.abs(of_state @ of_state.T - np.eye(SIZE)).max() > 0.1
    alpha, beta = cell.gates.weight[:, 0], cell.gates.weight[:, 1]
    np.testing.assert_array_equal(alpha, 0)
    is_normal(beta, 0.1 * (2 / (1 + SIZE)) ** 0.5)
    np.testing.assert_array_equal(cell.gates.bias, [[4, 0]] * 32)
    np.testing.assert_array_equal(cell.of_input.bias, 0)


def test_mamba2_starts_with_normal_taps_and_has_no_bias() -> None:
    cell = started("Mamba-2", study_code=True)
    taps = cell.mixer.convolution.weight
    is_normal(taps, 0.5)
    assert (np.abs(taps) > 0.5).mean() == pytest.approx(0.317, abs=0.02)
    assert cell.mixer.convolution.bias is None
    assert cell.enter.bias is None


@pytest.mark.parametrize("name", ["RetNet", "GatedDeltaNet"])
def test_the_full_block_is_not_in_that_code(name: str) -> None:
    with pytest.raises(BadInput) as refused:
        memory.make(name, 8, 16, study_code=True, full_block=True, key=KEY)
    sentence = "study_code=True is for the study's own cell; leave out full_block"
    assert str(refused.value) == sentence


def test_without_it_retnet_is_as_before() -> None:
    cell, told = (memory.make("RetNet", SIZE, SIZE, study_code=on, key=KEY) for on in (False, True))
    before: Any = memory.make("RetNet", SIZE, SIZE, key=KEY)
    jax.tree.map(np.testing.assert_array_equal, cell, before)
    np.testing.assert_array_equal(before.out.bias, np.zeros(SIZE))
    x = jax.random.normal(KEY, (SIZE,))
    (q, k, v), (all_q, all_k, all_v) = cell.read(x), told.read(x)
    np.testing.assert_array_equal((q, v), (all_q, all_v))
    np.testing.assert_allclose(k * (SIZE // 4) ** 0.5, all_k)


def test_without_it_gated_delta_net_is_as_before() -> None:
    cell: Any = memory.make("GatedDeltaNet", SIZE, SIZE, key=KEY)
    keys = jax.random.split(KEY, 5)
    same = np.testing.assert_array_equal
    same(cell.qkv.weight, linear(keys[0], 3 * 64, SIZE).weight)
    same(cell.gates.weight, linear(keys[1], 2, SIZE).weight)
    same(cell.of_input.weight, linear(keys[2], SIZE, SIZE).weight)
    same(cell.of_state.weight, orthogonal(keys[3], SIZE, SIZE))
    same(cell.of_read.weight, linear(keys[4], SIZE, 64).weight)
    same(cell.gates.bias, [4, 0])
    same(cell.of_input.bias, np.zeros(SIZE))


def test_without_it_mamba2_is_as_before() -> None:
    cell = started("Mamba-2")
    taps, bias = cell.mixer.convolution.weight, cell.mixer.convolution.bias
    assert 0.499 < np.abs(taps).max() <= 0.5
    np.testing.assert_array_equal(bias, np.zeros((32, 2 * SIZE + 2 * 64)))
    np.testing.assert_array_equal(cell.enter.bias, np.zeros((32, SIZE)))
