"""Looking once per symbol is looking at every observation by itself."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew import envs
from clew.envs.observations import Observations, look_up, look_up_sum, product_in_thirds
from clew.layers import mlp
from tests.bonuses.rollouts import Unlisted

BATCHES = ((), (1,), (7, 3), (500,))
ROWS = 6


def tables(rng: Any) -> Any:
    """Rows of several shapes, as a network may return them."""
    shapes = {"number": (), "vector": (3,), "matrix": (2, 2)}
    return {name: jnp.asarray(rng.normal(size=(ROWS, *s)), "f4") for name, s in shapes.items()}


@jax.jit
def looked_up(table: Any, symbols: Any, weights: Any) -> Any:
    def total(table: Any) -> Any:
        rows = look_up(table, symbols)
        return sum(jax.tree.leaves(jax.tree.map(lambda w, x: (w * x).sum(), weights, rows))), rows

    (_, rows), slope = jax.value_and_grad(total, has_aux=True)(table)
    return rows, slope


@given(data=st.data())
@settings(max_examples=25)
def test_looking_up_is_indexing(data: st.DataObject) -> None:
    """And its gradient adds up, for symbols that are named often, once, or never."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**31), label="seed"))
    batch = data.draw(st.sampled_from(BATCHES), label="batch")
    used = data.draw(st.integers(1, ROWS), label="symbols in use")
    table, symbols = tables(rng), rng.integers(used, size=batch).astype(np.int32)
    weights = jax.tree.map(lambda t: np.float32(rng.normal(size=(*batch, *t.shape[1:]))), table)
    rows, slope = looked_up(table, symbols, weights)
    for name, leaf in table.items():
        np.testing.assert_array_equal(rows[name], np.asarray(leaf)[symbols])
        expected = np.zeros(leaf.shape)
        np.add.at(expected, symbols, np.asarray(weights[name], np.float64))
        np.testing.assert_allclose(slope[name], expected, rtol=1e-5, atol=1e-4)
        assert not np.asarray(slope[name])[used:].any()


def test_looking_up_can_be_vmapped_over_tables() -> None:
    """Every run of a pack has weights of its own, and so a table."""
    rng = np.random.default_rng(0)
    pair = [tables(rng), tables(rng)]
    symbols = rng.integers(ROWS, size=(2, 7, 3)).astype(np.int32)
    weights = [jax.tree.map(lambda t: np.float32(rng.normal(size=(7, 3, *t.shape[1:]))), pair[0])]
    weights.append(jax.tree.map(lambda w: w + 1, weights[0]))
    alone = [looked_up(*each) for each in zip(pair, symbols, weights, strict=True)]
    stacked = [jax.tree.map(lambda *x: jnp.stack(x), *each) for each in (pair, weights)]
    beside = jax.vmap(looked_up)(stacked[0], symbols, stacked[1])
    for i, one in enumerate(alone):
        jax.tree.map(lambda a, b, i=i: np.testing.assert_allclose(a[i], b, rtol=1e-5), beside, one)


@dataclasses.dataclass(frozen=True)
class Untabled(Unlisted):
    """Symbols are numbers, too many to list: their digits are the observation."""

    @property
    def n_symbols(self) -> int:
        return 5**4

    def decode(self, obs: Any) -> Any:
        digits = [jnp.asarray(obs) // 5**i % 5 for i in range(4)]
        return jnp.stack(digits, -1).reshape(*jnp.shape(obs), 2, 2)


@pytest.mark.parametrize(
    "world",
    ["TinyReproduce", "MiniGrid-MemoryS7", "MysteryPath-Grid", "Untabled", "Unlisted", "Tiled"],
)
def test_through_is_one_by_one(world: str) -> None:
    """Values, and gradients with respect to the weights, of a network with two outputs."""
    rng = np.random.default_rng(0)
    tiled = envs.make("MysteryPath-Grid", show_goal=True)
    made_up = {"Untabled": Untabled(), "Unlisted": Unlisted(), "Tiled": tiled}
    env = made_up[world] if world in made_up else envs.make(world)
    observations = Observations(env)
    assert observations.size == int(np.prod(env.obs_shape))
    assert (observations.table is None) == (world in made_up)
    if env.n_symbols is None:
        obs = rng.integers(5, size=(6, 3, *env.obs_shape)).astype(np.uint8)
    else:
        obs = rng.integers(env.n_symbols, size=(6, 3)).astype(np.int32)
    network = jax.jit(lambda key: mlp(key, observations.size, 8, 5))(jax.random.key(0))
    weights = jnp.asarray(rng.normal(size=(6, 3, 5)), "f4")

    def two(network: Any, x: Any) -> Any:
        y = network(x)
        return {"y": y, "size": (y**2).sum(-1)}

    def total(results: Any) -> Any:
        return (results["y"] * weights).sum() + jnp.sin(results["size"]).sum(), results

    def by_sight(network: Any) -> Any:
        return total(
            observations.through(lambda x: two(network, x), jnp.asarray(obs), linear_first=True)
        )

    each = [np.float32(env.decode(jnp.asarray(o))) for o in obs.reshape(18, *obs.shape[2:])]
    flat = np.array(each).reshape(18, -1) / env.obs_high

    def one_by_one(network: Any) -> Any:
        results = jax.vmap(lambda x: two(network, x))(jnp.asarray(flat))
        return total(jax.tree.map(lambda x: x.reshape(6, 3, *x.shape[1:]), results))

    runs = [jax.jit(jax.value_and_grad(f, has_aux=True))(network) for f in (by_sight, one_by_one)]
    for a, b in zip(*map(jax.tree.leaves, runs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5 * (1 + np.abs(b).max()))


def test_numbers_lie_between_zero_and_one(env: envs.Environment) -> None:
    observations = Observations(env)
    assert observations.table is not None
    assert observations.table.shape == (env.n_symbols, *env.obs_shape)
    assert observations.table.dtype == np.float32
    assert observations.table.min() == 0
    assert observations.table.max() == 1
    some = jnp.arange(4, dtype=jnp.int32).reshape(2, 2)
    assert observations.arrays(some).shape == (2, 2, *env.obs_shape)
    np.testing.assert_allclose(
        observations.arrays(some), observations.table[np.asarray(some)], rtol=1e-6
    )


def test_blank_tiles_are_not_multiplied() -> None:
    """Of 364 images only the agent's tile is: 8 pictures of it, and a blank, on 49 tiles."""
    env = envs.make("MysteryPath-Grid")
    observations, network = Observations(env), mlp(jax.random.key(0), 84 * 84 * 3, 8, 5)

    def products(linear_first: bool) -> float:
        def look(network: Any, obs: Any) -> Any:
            return observations.through(network, obs, linear_first=linear_first)

        cost = jax.jit(look).lower(network, jnp.arange(4)).cost_analysis()
        assert cost is not None
        return cost["flops"]

    assert products(linear_first=True) < products(linear_first=False) / 30
    assert env.tiles is not None
    assert len(env.tiles.pictures) == 9


def test_a_network_that_is_not_linear_first_has_its_images_drawn() -> None:
    env = envs.make("MysteryPath-Grid", show_goal=True)
    observations, obs = Observations(env), jnp.arange(6).reshape(2, 3)
    largest = observations.through(lambda x: (x**2).max(-1), obs)
    np.testing.assert_allclose(largest, (observations.arrays(obs) ** 2).max((-3, -2, -1)))


@pytest.mark.parametrize("device", ["cpu", "gpu", "gpu, long", "tpu"])
@pytest.mark.parametrize("shape", [(2,), (500, 3), (7, 3, 2)])
def test_looking_up_sums_is_indexing_and_adding(
    shape: tuple[int, ...], device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so is its gradient, as each device computes it; a row may be named twice in a sum."""
    monkeypatch.setattr(jax, "default_backend", lambda: device[:3])
    monkeypatch.setattr("clew.envs.observations.LONG", ROWS if "long" in device else ROWS + 1)
    rng = np.random.default_rng(0)
    table = jnp.asarray(rng.normal(size=(ROWS, 4)), "f4")
    rows = rng.integers(ROWS - 1, size=shape).astype(np.int32)
    weights = rng.normal(size=(*shape[:-1], 4)).astype(np.float32)
    y, back = jax.vjp(lambda table: look_up_sum(table, jnp.asarray(rows)), table)
    np.testing.assert_allclose(y, np.asarray(table)[rows].sum(-2), rtol=1e-5, atol=1e-6)
    expected = np.zeros(table.shape)
    np.add.at(expected, rows, np.broadcast_to(weights[..., None, :], (*shape, 4)))
    np.testing.assert_allclose(back(jnp.asarray(weights))[0], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("precision", ["highest", "bfloat16"])
def test_a_product_in_thirds_is_as_exact_as_one_in_float32(precision: str) -> None:
    """Relative to the sum of magnitudes; in bfloat16 alone the error would be 2⁻⁹."""
    rng = np.random.default_rng(0)
    counts = rng.integers(4, size=(5, 300)).astype(np.float32)
    x = (rng.normal(size=(300, 40)) * 10.0 ** rng.integers(-20, 4, size=40)).astype(np.float32)
    with jax.default_matmul_precision(precision):
        got = jax.jit(product_in_thirds)(counts, x)
    exact = counts.astype(np.float64) @ x.astype(np.float64)
    assert (np.abs(got - exact) <= 1e-6 * (counts @ np.abs(x))).all()
