"""What an episode has visited, against counting; and the fingerprints that arrays are known by."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.bonuses import Transitions
from clew.bonuses.visits import MOST, WAYS, Table, Visits, fingerprint
from tests.bonuses.rollouts import Unlisted, cut, drawn, earlier, observations_of

TIME, ENVS = 20, 3

update = jax.jit(Visits.update)


@pytest.mark.parametrize(
    ("world", "count"), [("TinyReproduce", False), ("TinyReproduce", True), ("Unlisted", True)]
)
@given(data=st.data())
@settings(max_examples=25)
def test_visits_are_counted(world: str, count: bool, data: st.DataObject) -> None:
    """Over episodes of any length, and over two rollouts with the state carried between them."""
    observations = observations_of(world)
    seen = drawn(data, observations, TIME, ENVS)
    one, two = cut(seen, TIME)
    visits, head = update(Visits.empty(observations.env, ENVS, count=count), one)
    _, tail = update(visits, two)
    expected = earlier(seen) if count else earlier(seen) > 0
    np.testing.assert_array_equal(np.concatenate([head, tail]), expected)


def walk(arrays: np.ndarray) -> Transitions:
    """One environment, one episode, through these observations."""
    first = (np.arange(len(arrays) - 1) == 0)[:, None]
    arrays = arrays[:, None].astype(np.float32)
    return Transitions(
        *map(jnp.asarray, (arrays[:-1], first, np.zeros_like(first, np.int32), arrays[1:]))
    )


@pytest.mark.parametrize("horizon", [1, 12, 300, MOST - 1])
def test_an_episode_as_long_as_the_horizon_is_remembered_to_its_end(horizon: int) -> None:
    """As many different arrays as there can be, thrice: in the same episode and in another."""
    rng = np.random.default_rng(horizon)
    arrays = np.arange(horizon + 1)[:, None] // np.array([1, 64]) % 64
    visits = Visits.empty(Unlisted(horizon), 1)
    for _ in range(2):
        visits, before = update(visits, walk(arrays[rng.permutation(horizon + 1)]))
        assert not np.asarray(before).any()
    # as if it went on
    again = walk(arrays[rng.permutation(horizon + 1)])
    _, before = update(visits, again._replace(first=again.first & False))
    np.testing.assert_array_equal(before, 1)


def test_no_bucket_is_nearly_full() -> None:
    """Fifty full tables: a bucket too full for one more would lose an observation."""
    rng = np.random.default_rng(0)
    prints = jnp.asarray(rng.integers(2**32, size=(MOST, 50, 2), dtype=np.uint32))
    first = np.broadcast_to(np.arange(MOST)[:, None] == 0, (MOST, 50))

    @jax.jit
    def fill(table: Table) -> Table:
        def step(table: Table, now: tuple[jax.Array, ...]) -> tuple[Table, jax.Array]:
            return jax.vmap(Table.step)(table, *now)

        return jax.lax.scan(step, table, (prints, jnp.asarray(first), prints))[0]

    filled = (np.asarray(fill(Table.empty(MOST, 50)).entries)[..., 2] == 1).sum(-1)
    assert filled.sum() == 50 * MOST
    assert filled.max() <= WAYS - 4


def test_beyond_its_room_it_forgets_some() -> None:
    """Twice as many as are kept: half of the places are free again, and the newest is known."""
    arrays = np.arange(4 * MOST)[:, None] // np.array([1, 128]) % 128
    visits, before = update(Visits.empty(Unlisted(10**9), 1), walk(arrays))
    assert not np.asarray(before).any()
    rest = walk(np.concatenate([arrays[-1:], arrays[-1:], arrays]))
    _, before = update(visits, rest._replace(first=rest.first & False))
    assert int(before[0, 0]) == 1
    assert 0 < (np.asarray(before) > 0).sum() < 2.1 * MOST


def test_fingerprints_tell_near_and_shuffled_arrays_apart() -> None:
    """5,000 arrays: single bits, orders of the same entries, and noise in the last digits."""
    rng = np.random.default_rng(0)
    single = np.eye(2000, dtype=np.float32)[:, :, None]
    entries = rng.normal(size=2000).astype(np.float32)
    shuffled = np.stack([rng.permutation(entries)[:, None] for _ in range(2000)])
    near = np.repeat(entries[None, :, None], 1000, 0)
    for row, entry in zip(near, rng.permutation(2000), strict=False):
        row[entry] = np.nextafter(row[entry], np.float32(9))
    arrays = np.concatenate([single, shuffled, near])
    prints = np.asarray(jax.jit(partial(fingerprint, axes=(1, 2)))(jnp.asarray(arrays)))
    assert prints.shape == (len(arrays), 2)
    assert len(np.unique(prints, axis=0)) == len(np.unique(arrays, axis=0))
    for word in range(2):  # each word does its part: 5,000 in 2^32 collide 3e-3 times
        assert len(np.unique(prints[:, word])) >= len(arrays) - 3


def test_zero_is_zero_whatever_its_sign() -> None:
    """Arrays that are equal are one observation."""
    arrays = np.array([[0.0, 1.0, 2.0, 3.0], [-0.0, 1.0, 2.0, 3.0]])
    _, before = update(Visits.empty(Unlisted(), 1), walk(arrays))
    assert int(before[0, 0]) == 1
