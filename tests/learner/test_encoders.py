"""Convolutions, by any of three ways, are convolutions."""

from __future__ import annotations

import inspect
import re
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew import envs
from clew.envs.observations import Observations
from clew.envs.worlds.mystery_path.world import MysteryPath
from clew.learner import patches
from clew.learner.encoders import (
    CONVOLUTIONS,
    FlatMlp,
    GridCnn,
    NatureCnn,
    choose_encoder,
    make_encoder,
    windows,
)
from clew.learner.patches import FAN, Gather, distinct_patches
from clew.validate import BadInput
from tests.bonuses.rollouts import Unlisted

WIDTH = 8


@cache
def mystery(size: int) -> Observations:
    return Observations(envs.make("MysteryPath-Grid", size=size))


class Untiled(MysteryPath):
    """The same images, as a world has them that does not lay them out from tiles."""

    tiles = None  # type: ignore[assignment]


@cache
def cnn(size: int) -> NatureCnn:
    """Biases begin at zero; here they must matter."""
    shape = mystery(size).shape
    begun = jax.jit(lambda key: NatureCnn(shape, WIDTH, key=key))(jax.random.key(0))
    rng = np.random.default_rng(0)
    return jax.tree.map(
        lambda x: x + jnp.asarray(rng.normal(size=x.shape), "f4") * (0.1 if x.ndim == 1 else 0),
        begun,
    )


def plain(network: NatureCnn, images: Any) -> Any:
    """By the library's own convolution."""
    x = images
    for layer, (kernel, stride) in zip(network.convolutions, CONVOLUTIONS, strict=True):
        out, fan = layer.weight.shape
        kernels = layer.weight.reshape(out, kernel, kernel, fan // kernel**2)
        x = jax.lax.conv_general_dilated(
            x,
            kernels.transpose(1, 2, 3, 0),
            (stride, stride),
            "VALID",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
            precision=jax.lax.Precision.HIGHEST,
        )
        x = jnp.maximum(x + layer.bias, 0)
    assert network.out.bias is not None
    return x.reshape(len(x), -1) @ network.out.weight.T + network.out.bias


@partial(jax.jit, static_argnums=(0, 1))
def with_grads(size: int, way: str, network: NatureCnn, weights: Any) -> Any:
    observations = mystery(size)
    table = jnp.asarray(observations.table)
    ways = {
        "symbols": lambda network: network.encode_table(observations),
        "patches": lambda network: network.encode_table(Observations(Untiled(size=size))),
        "arrays": lambda network: network.encode_arrays(table),
        "plain": lambda network: plain(network, table),
    }

    def total(network: NatureCnn) -> Any:
        y = ways[way](network)
        return (weights * y).sum(), y

    (_, y), grads = jax.value_and_grad(total, has_aux=True)(network)
    return y, grads


def near(one: Any, two: Any) -> None:
    def compare(a: Any, b: Any) -> None:
        assert np.abs(b).max() > 0
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4 * np.abs(b).max())

    jax.tree.map(compare, one, two)


@pytest.mark.parametrize(
    ("size", "ways"), [(3, ("symbols", "patches", "arrays")), (7, ("symbols", "patches"))]
)
def test_every_way_is_a_convolution(size: int, ways: tuple[str, ...]) -> None:
    """Of every image of the world, and the gradients with respect to all weights."""
    observations = mystery(size)
    assert observations.table is not None
    weights = jnp.asarray(
        np.random.default_rng(1).normal(size=(len(observations.table), WIDTH)), "f4"
    )
    expected = with_grads(size, "plain", cnn(size), weights)
    for way in ways:
        near(with_grads(size, way, cnn(size), weights), expected)


def test_arrays_are_a_batch_of_any_shape() -> None:
    observations = mystery(3)
    assert observations.table is not None
    images = jnp.asarray(observations.table[:6])
    encode = jax.jit(lambda network, arrays: network.encode_arrays(arrays))
    for batch in ((), (2, 3)):
        some = images[0] if batch == () else images.reshape(2, 3, *observations.shape)
        y = encode(cnn(3), some)
        assert y.shape == (*batch, WIDTH)
        near(y.reshape(-1, WIDTH), encode(cnn(3), images)[: int(np.prod(batch))])


def test_runs_side_by_side_are_runs_alone() -> None:
    observations = mystery(3)
    two = jax.tree.map(lambda x: x * jnp.float32(0.9), cnn(3))
    stacked = jax.tree.map(lambda *x: jnp.stack(x), cnn(3), two)
    beside = jax.jit(jax.vmap(lambda network: network.encode_table(observations)))(stacked)
    alone = jax.jit(lambda network: network.encode_table(observations))
    near(beside[0], alone(cnn(3)))
    near(beside[1], alone(two))


@pytest.mark.parametrize("shape", CONVOLUTIONS)
@pytest.mark.parametrize(("height", "width"), [(8, 9), (13, 11)])
def test_windows_are_slices(shape: tuple[int, int], height: int, width: int) -> None:
    kernel, stride = shape
    x = np.random.default_rng(0).normal(size=(2, height, width, 3)).astype(np.float32)
    got = np.asarray(jax.jit(windows, static_argnums=(1, 2))(x, kernel, stride))
    rows, columns = (len(range(0, side - kernel + 1, stride)) for side in (height, width))
    assert got.shape == (2, rows, columns, kernel * kernel * 3)
    for a in range(rows):
        for b in range(columns):
            top, left = a * stride, b * stride
            patch = x[:, top : top + kernel, left : left + kernel]
            np.testing.assert_array_equal(got[:, a, b], patch.reshape(2, -1))


@given(data=st.data())
@settings(max_examples=10)
def test_the_transpose_of_a_gather_adds_up(data: st.DataObject) -> None:
    """Rows named never, once, as often as a node of the tree has terms, and thousands of times."""
    rows = 9
    rng = np.random.default_rng(data.draw(st.integers(0, 2**31), label="seed"))
    times = st.sampled_from([0, 1, 2, FAN - 1, FAN, FAN + 1, FAN**2, FAN**2 + 1, 5000])
    counts = data.draw(st.lists(times, min_size=rows, max_size=rows), label="times named")
    counts[0] += sum(counts) % 2 + (2 if sum(counts) == 0 else 0)
    places = rng.permutation(np.repeat(np.arange(rows), counts)).astype(np.int32).reshape(2, -1)
    gather = Gather(places, rows)
    assert all(level.shape[1] <= FAN for level in gather.plan)
    table = jnp.asarray(rng.normal(size=(rows, 3)), "f4")

    @jax.jit
    def both(table: Any, given: Any) -> Any:
        y, back = jax.vjp(gather, table)
        return y, *back(given)

    given_ = rng.normal(size=(*places.shape, 3)).astype(np.float32)
    y, grads = both(table, given_)
    np.testing.assert_array_equal(y, np.asarray(table)[places])
    expected = np.zeros((rows, 3))
    np.add.at(expected, places, np.asarray(given_, np.float64))
    np.testing.assert_allclose(grads, expected, rtol=1e-4, atol=1e-3)
    assert not np.asarray(grads)[np.array(counts) == 0].any()


def test_every_distinct_receptive_field_is_computed_once() -> None:
    """Counted by a set of pixels: a layer's field in the image is 8, 20, then 36 pixels wide."""
    observations = mystery(7)
    images = envs.make("MysteryPath-Grid").alphabet
    assert images is not None
    assert observations.table is not None
    planned = distinct_patches(observations.table, CONVOLUTIONS).layers
    counts = []
    for wide, stride in ((8, 4), (20, 8), (36, 8)):
        starts = range(0, 84 - wide + 1, stride)
        fields = [
            hash(image[i : i + wide, j : j + wide].tobytes())
            for image in images
            for i in starts
            for j in starts
        ]
        counts.append((len(fields), len(set(fields))))
    assert planned[0].pixels is not None
    assert len(planned[0].pixels) == counts[0][1]
    for layer, (_, distinct) in zip(planned[1:], counts[1:], strict=True):
        assert layer.gather is not None
        assert len(layer.gather.places) == distinct

    told = re.search(r"MysteryPath's (\S+) have (\S+) patches .*which (\S+)", _told(), re.DOTALL)
    assert told is not None
    assert [int(n.replace(",", "")) for n in told.groups()] == [len(images), *counts[0]]


def _told() -> str:
    return " ".join((inspect.getdoc(patches) or "").split())


def test_auto_chooses_by_the_observation() -> None:
    assert choose_encoder("auto", mystery(7)) == "cnn"
    assert choose_encoder("auto", mystery(3)) == "cnn"
    assert choose_encoder("mlp", mystery(3)) == "mlp"
    for env in (envs.make("TinyReproduce"), envs.make("MiniGrid-MemoryS7"), Unlisted()):
        assert choose_encoder("auto", Observations(env)) == "mlp"


def test_no_convolution_over_what_is_no_image() -> None:
    with pytest.raises(BadInput, match=r"encoder='cnn'.*TinyReproduce.*\(6,\).*36×36.*'mlp'"):
        choose_encoder("cnn", Observations(envs.make("TinyReproduce")))
    with pytest.raises(BadInput, match=r"encoder='cnn'.*\(3, 3, 20\)"):
        choose_encoder("cnn", Observations(envs.make("MiniGrid-MemoryS7")))
    with pytest.raises(BadInput, match=r"encoder='CNN'.*'auto', 'mlp', 'cnn' or 'small-cnn'"):
        choose_encoder("CNN", mystery(3))


def test_the_perceptron_sees_the_flat_observation() -> None:
    observations = Observations(envs.make("TinyReproduce"))
    assert observations.table is not None
    make = jax.jit(lambda key: make_encoder("auto", observations, 7, WIDTH, key))
    encoder = make(jax.random.key(0))
    assert isinstance(encoder, FlatMlp)
    assert [x.weight.shape for x in encoder.network.layers] == [(7, 6), (7, 7), (WIDTH, 7)]
    x = np.asarray(observations.table, np.float64)
    for i, layer in enumerate(encoder.network.layers):
        x = x @ np.asarray(layer.weight, np.float64).T
        x = np.maximum(x, 0) if i < 2 else x
    near(encoder.encode_table(observations), x)
    near(
        encoder.encode(observations, jnp.arange(4).reshape(2, 2)),
        x[:4].reshape(2, 2, -1),
    )


@pytest.mark.parametrize(
    ("world", "options"), [("MiniGrid-MemoryS13", {"view": 7}), ("MysteryPath-Grid", {"size": 3})]
)
def test_a_grid_is_convolved(world: str, options: dict[str, int]) -> None:
    """As by the library's convolution and its pooling; symbols as their arrays."""
    observations = Observations(envs.make(world, **options))
    begun = make_encoder("small-cnn", observations, 0, WIDTH, jax.random.key(1))
    rng = np.random.default_rng(0)
    network = jax.tree.map(lambda x: x + jnp.asarray(rng.normal(size=x.shape), "f4") * 0.1, begun)
    assert isinstance(network, GridCnn)
    assert observations.table is not None
    x = jnp.asarray(observations.table).reshape(-1, *observations.shape)
    for n, layer in enumerate(network.convolutions):
        out, fan = layer.weight.shape
        x = jax.lax.conv_general_dilated(
            x,
            layer.weight.reshape(out, 2, 2, fan // 4).transpose(1, 2, 3, 0),
            (1, 1),
            "VALID",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
            precision=jax.lax.Precision.HIGHEST,
        )
        x = jnp.maximum(x + layer.bias, 0)
        if n == 0:
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    assert network.out.bias is not None
    expected = x.reshape(len(x), -1) @ network.out.weight.T + network.out.bias
    found = network.encode_table(observations)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    symbols = jnp.array([[0, 3], [5, 2]])
    np.testing.assert_allclose(
        network.encode(observations, symbols), found[symbols], rtol=1e-5, atol=1e-5
    )


def test_a_grid_too_small_for_convolutions_is_refused() -> None:
    observations = Observations(envs.make("MiniGrid-MemoryS13", view=5))
    with pytest.raises(BadInput, match=r"encoder='small-cnn' is not valid.*at least 7×7"):
        choose_encoder("small-cnn", observations)
