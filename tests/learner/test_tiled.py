"""Images encoded part by part are encoded as whole images are."""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew import envs
from clew.envs.observations import Observations
from clew.envs.tiles import Tiles
from clew.learner import tiled
from clew.learner.encoders import CONVOLUTIONS, FlatMlp, NatureCnn, make_encoder
from clew.learner.program import Program
from clew.learner.rows import FAN, Rows
from clew.learner.settings import Settings
from clew.learner.tiled import tiled_patches

WIDTH = 8
WORLDS = {
    "neither": {},
    "goal": {"show_goal": True},
    "goal and origin": {"size": 4, "show_goal": True, "show_origin": True},
    "neither, but large": {"size": 12},
}


@cache
def world(name: str) -> Observations:
    observations = Observations(envs.make("MysteryPath-Grid", **WORLDS[name]))
    assert (observations.table is None) == (name != "neither")
    assert observations.listed
    return observations


def encoder(kind: str, observations: Observations) -> Any:
    """Biases begin at zero; here they must matter."""
    make = jax.jit(lambda key: make_encoder(kind, observations, 7, WIDTH, key))
    keys = iter(jax.random.split(jax.random.key(1), 100))
    return jax.tree.map(
        lambda x: x + 0.1 * (x.ndim == 1) * jax.random.normal(next(keys), x.shape),
        make(jax.random.key(0)),
    )


def some_symbols(observations: Observations, n: int) -> Any:
    """At random, and some twice; half of them with an agent on or next to a goal."""
    rng = np.random.default_rng(0)
    shown = observations.env.tiles.shown  # type: ignore[union-attr]
    near = np.flatnonzero((shown == 0).any(1))
    chosen = rng.choice(len(shown), n // 2), rng.choice(near if len(near) else len(shown), n // 2)
    return jnp.asarray(np.append(*chosen).reshape(2, -1), "i4")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((name, "cnn") for name in WORLDS),
        ("goal and origin", "mlp"),
        ("neither", "mlp"),
        pytest.param("goal", "mlp", marks=pytest.mark.slow),
        pytest.param("neither, but large", "mlp", marks=pytest.mark.slow),
    ],
)
def test_part_by_part_is_image_by_image(name: str, kind: str) -> None:
    """The encodings, and the gradients with respect to all weights."""
    observations = world(name)
    network, obs = encoder(kind, observations), some_symbols(observations, 32)
    weights = jax.random.normal(jax.random.key(2), (*obs.shape, WIDTH))

    def drawn(network: FlatMlp | NatureCnn, obs: Any) -> Any:
        arrays = observations.arrays(obs)
        if isinstance(network, NatureCnn):
            return network.encode_arrays(arrays)
        return network.network(arrays.reshape(*obs.shape, -1))

    def with_grads(encode: Any) -> Any:
        def total(network: Any, obs: Any) -> Any:
            y = encode(network, obs)
            return (weights * y).sum(), y

        return jax.jit(jax.value_and_grad(total, has_aux=True))(network, obs)

    (_, y), grads = with_grads(lambda network, obs: network.encode(observations, obs))
    (_, expected), expected_grads = with_grads(drawn)
    np.testing.assert_allclose(y, expected, atol=1e-5)
    for a, b in zip(*map(jax.tree.leaves, (grads, expected_grads)), strict=True):
        assert np.abs(b).max() > 0
        np.testing.assert_allclose(a, b, atol=1e-5 * np.abs(b).max())


def test_the_table_has_every_symbol() -> None:
    """What rollouts look up is what minibatches compute."""
    small = Settings(encoder_width=WIDTH, memory_width=8)
    program = Program.of(envs.make("MysteryPath-Grid", **WORLDS["goal"]), "RetNet", "none", small)
    backbone = jax.jit(program.agent)(jax.random.key(0)).actor
    observations, obs = program.observations, some_symbols(program.observations, 16)

    @jax.jit
    def both(backbone: Any) -> Any:
        table = backbone.encode_table(observations)
        return [backbone.encode(observations, each, obs) for each in (table, None)]

    for a, b in zip(*map(jax.tree.leaves, both(backbone)), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_a_table_too_long_to_plan_for_is_encoded_by_patches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As it is where the images are not laid out from tiles."""
    monkeypatch.setattr("clew.envs.observations.MOST_LISTED", 59)
    asked = "clew.learner.encoders.tiled_patches"
    monkeypatch.setattr(asked, lambda *_: pytest.fail("a plan was asked for"))
    observations = Observations(envs.make("MysteryPath-Grid", size=3))  # which has 60
    assert observations.listed
    network, table = encoder("cnn", observations), jnp.asarray(observations.table)
    np.testing.assert_allclose(
        network.encode_table(observations), network.encode_arrays(table), atol=1e-5
    )


def test_images_without_a_part_have_a_plan() -> None:
    """Nothing is summed."""
    tiles = world("goal").env.tiles
    assert tiles is not None
    blank = Tiles(tiles.pictures, tiles.across, np.zeros((3, 2), np.int32))
    assert tiled_patches(blank, 255, CONVOLUTIONS).summed.shape == (3, 3)


def test_images_too_many_to_plan_for_are_drawn() -> None:
    options = {"show_goal": True, "show_origin": True}
    observations = Observations(envs.make("MysteryPath-Grid", **options))
    assert not observations.listed
    network, obs = encoder("cnn", observations), jnp.arange(3)
    np.testing.assert_array_equal(
        network.encode(observations, obs), network.encode_arrays(observations.arrays(obs))
    )


def test_how_many_places_hold_two_parts() -> None:
    """By pixels: a last receptive field is 36 pixels wide, and there is one every 8."""
    tiles = world("goal").env.tiles
    assert tiles is not None
    place = tiles.shown // len(tiles.pictures)
    fields = np.array([(8 * i, 8 * j) for i in range(7) for j in range(7)])
    corner = 12 * np.stack(np.divmod(place, 7), -1)[:, :, None]
    holds = ((corner < fields + 36) & (fields < corner + 12)).all(-1)
    both = np.all(holds & (tiles.shown > 0)[..., None], axis=1)
    told = re.search(r"has (\S+) images.*holds both: (\S+) of all images' (\S+)\. ", _told())
    assert told is not None
    assert [int(n.replace(",", "")) for n in told.groups()] == [len(place), both.sum(), both.size]
    planned = tiled_patches(tiles, 255, CONVOLUTIONS)
    named = planned.parts.places < len(planned.single.places)
    assert named.any(-1).sum() == both.sum()


def _told() -> str:
    return " ".join((inspect.getdoc(tiled) or "").split())


@given(data=st.data())
@settings(max_examples=15)
def test_rows_are_taken_summed_and_added_up(data: st.DataObject) -> None:
    """By numpy; some places are past the table's end, and some rows are never named, or often."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**31), label="seed"))
    times = st.sampled_from([0, 1, 2, FAN, FAN + 1, FAN**2 + 1, 600])
    counts = np.array(data.draw(st.lists(times, min_size=6, max_size=6), label="times named"))
    counts[-1] += 1 + (counts.sum() + 1) % 2  # the last is past the end
    places = rng.permutation(np.repeat(np.arange(6), counts)).reshape(-1, 2).astype(np.int32)
    rows, hot = Rows(places, 5), np.eye(6)[places][..., :5]
    assert all(level.shape[1] <= FAN for level in rows.plan.levels)
    table = rng.normal(size=(5, 3)).astype(np.float32)
    terms = rng.normal(size=(*places.shape, 3)).astype(np.float32)
    taken, given_back = hot @ table, np.einsum("opr,opf->rf", hot, terms)
    summed = np.einsum("opr,of->rf", hot, terms[:, 0])

    @jax.jit
    def every_way(table: Any, terms: Any) -> Any:
        y, back = jax.vjp(rows, table)
        sums, back_sums = jax.vjp(rows.sums, table)
        up, back_up = jax.vjp(rows.transposed, terms)
        return y, back(terms)[0], sums, back_sums(terms[:, 0])[0], up, back_up(table)[0]

    expected = taken, given_back, taken.sum(1), summed, given_back, taken
    for a, b in zip(every_way(table, terms), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
