"""The layers, and that the orthogonal ones can be drawn for many runs at once."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.layers import LayerNorm, Mlp, linear, mlp, orthogonal, rms, unit

SHAPES = ((4, 4), (64, 64), (5, 40), (40, 5), (1, 7), (7, 1), (1, 1), (64, 256), (128, 54))

drawn = jax.jit(orthogonal, static_argnums=(1, 2, 3))


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_or_columns_are_orthonormal(shape: tuple[int, int]) -> None:
    matrix = np.asarray(drawn(jax.random.key(3), *shape), np.float64)
    assert matrix.shape == shape
    gram = matrix @ matrix.T if shape[0] <= shape[1] else matrix.T @ matrix
    np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_the_normal_draw_orthogonalised(shape: tuple[int, int]) -> None:
    """By numpy's QR with a positive diagonal, which makes it uniform (Mezzadri 2007)."""
    for seed in range(3):
        key = jax.random.key(seed)
        normal = np.asarray(jax.random.normal(key, (min(shape), max(shape))), np.float64)
        q, r = np.linalg.qr(normal.T)
        expected = (q * np.sign(np.diag(r))).T
        expected = expected if shape[0] <= shape[1] else expected.T
        # a square draw's last direction is what little the others leave over
        np.testing.assert_allclose(drawn(key, *shape), expected, atol=1e-3)


def test_gain_multiplies() -> None:
    key = jax.random.key(0)
    np.testing.assert_allclose(drawn(key, 4, 6, 2.5), 2.5 * drawn(key, 4, 6), rtol=1e-6)


def test_no_direction_is_preferred() -> None:
    """As jax's own initialiser: entries of 3×3 have mean 0, variance 1/3 and kurtosis 9/5."""
    keys = jax.random.split(jax.random.key(0), 4000)
    ours = np.asarray(jax.jit(jax.vmap(lambda k: orthogonal(k, 3, 3)))(keys))
    np.testing.assert_allclose(ours.mean(0), 0, atol=0.04)
    np.testing.assert_allclose((ours**2).mean(0), 1 / 3, atol=0.03)
    np.testing.assert_allclose((ours**4).mean(0) / (1 / 9), 9 / 5, atol=0.2)
    assert 0.45 < (np.linalg.det(ours) > 0).mean() < 0.55
    # one at a time, as jax's initialiser decomposes by LAPACK
    theirs = jax.jit(lambda k: jax.nn.initializers.orthogonal()(k, (3, 3)))
    sample = np.array([theirs(key) for key in keys[:1000]])
    quantiles = np.linspace(0.05, 0.95, 10)
    apart = np.quantile(sample, quantiles) - np.quantile(ours, quantiles)
    assert np.abs(apart).max() < 0.04


def test_eight_runs_at_once_do_not_hang() -> None:
    """In a process of its own, because a deadlock would take pytest along."""
    code = """
import jax, numpy as np
from clew.layers import mlp, orthogonal
keys = jax.random.split(jax.random.key(0), 8)
drawn = jax.jit(jax.vmap(lambda key: orthogonal(key, 128, 64)))
for _ in range(20):
    drawn(keys).block_until_ready()
together = jax.jit(jax.vmap(lambda key: mlp(key, 54, 128, 64)))(keys)
alone = jax.jit(lambda key: mlp(key, 54, 128, 64))(keys[7])
jax.tree.map(lambda a, b: np.testing.assert_allclose(a[7], b, atol=1e-5), together, alone)
print("done")
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.stdout == "done\n", ran.stderr


@cache
def begun(sizes: tuple[int, ...]) -> Mlp:
    return jax.jit(lambda key: mlp(key, *sizes))(jax.random.key(0))


@given(sizes=st.sampled_from([(3, 2), (3, 5, 2), (4, 6, 6, 1)]), seed=st.integers(0, 2**31))
@settings(max_examples=8)
def test_a_perceptron_is_linear_layers_with_relu_between(sizes: tuple[int, ...], seed: int) -> None:
    network = begun(sizes)
    assert [layer.weight.shape for layer in network.layers] == [
        (out, n) for n, out in pairwise(sizes)
    ]
    rng = np.random.default_rng(seed)
    # biases begin at zero; here they must matter
    network = jax.tree.map(lambda x: x + jnp.asarray(rng.normal(size=x.shape), x.dtype), network)
    x = rng.normal(size=(5, 2, sizes[0]))
    y = x
    for i, layer in enumerate(network.layers):
        assert layer.bias is not None
        y = y @ np.asarray(layer.weight, np.float64).T + np.asarray(layer.bias, np.float64)
        if i < len(network.layers) - 1:
            y = np.where(y > 0, y, 0)
    np.testing.assert_allclose(network(jnp.asarray(x, "f4")), y, rtol=1e-4, atol=1e-4)


def test_how_layers_begin() -> None:
    network = begun((6, 9, 4))
    for layer in network.layers:
        assert layer.bias is not None
        assert not np.asarray(layer.bias).any()
        values = np.linalg.svd(np.asarray(layer.weight, np.float64), compute_uv=False)
        np.testing.assert_allclose(values, 2**0.5, rtol=1e-5)
    assert not np.allclose(network.layers[0].weight[:4, :4], network.layers[1].weight[:4, :4])

    layer = linear(jax.random.key(0), 30, 50, bias=True)
    assert layer.bias is not None
    assert not np.asarray(layer.bias).any()
    bound = (6 / 80) ** 0.5  # Xavier
    assert 0.95 * bound < np.abs(layer.weight).max() <= bound
    assert linear(jax.random.key(0), 3, 5).bias is None


@given(st.floats(-10, 10), st.floats(0.01, 100), st.integers(0, 2**32 - 1))
def test_a_layer_norm_keeps_its_digits(offset: float, spread: float, seed: int) -> None:
    """Both moments come from one pass; ten deviations from zero that is still exact enough."""
    x = spread * (np.random.default_rng(seed).normal(size=(3, 128)) + offset)
    x = x.astype(np.float32)
    wide = np.float64(x)
    expected = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(LayerNorm(128)(jnp.asarray(x)), expected, atol=2e-4)


@pytest.mark.parametrize("value", [0.0, 0.1, 1000.1])
def test_a_row_without_differences_is_normalised_to_nothing(value: float) -> None:
    norm, x = LayerNorm(128), jnp.full(128, value)
    assert np.abs(norm(x)).max() < 1e-3 * max(1, value)
    assert np.isfinite(jax.grad(lambda x: norm(x).sum())(x)).all()


def test_normalisations() -> None:
    x = np.random.default_rng(0).normal(2, 3, size=(4, 7))
    norm = LayerNorm(7)
    expected = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(norm(jnp.asarray(x, "f4")), expected, rtol=1e-4, atol=1e-5)
    root = np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(rms(jnp.asarray(x, "f4"), 1e-6), x / root, rtol=1e-5)
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    np.testing.assert_allclose(unit(jnp.asarray(x, "f4")), x / length, rtol=1e-5)
    assert not np.asarray(unit(jnp.zeros((2, 3)))).any()
