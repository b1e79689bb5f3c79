"""NovelD against its equation in float64, its gate against a set, its training by hand."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew import bonuses
from clew.bonuses import Transitions
from clew.bonuses.boundary import last_steps
from clew.bonuses.methods.noveld import NovelD
from clew.bonuses.visits import Visits, fingerprint
from clew.envs.observations import Observations
from clew.validate import BadInput
from tests.bonuses.rollouts import (
    Adam,
    Unlisted,
    cut,
    flat64,
    fresh,
    grad64,
    learn,
    mlp64,
    observations_of,
    play,
    score,
    wander,
)

TIME, ENVS = 20, 3
SMALL: dict[str, Any] = {"features": 5, "hidden": 12}

worlds = pytest.mark.parametrize("world", ["TinyReproduce", "Unlisted"])
update = jax.jit(Visits.update)


def news(seen: Transitions) -> np.ndarray:
    """Whether each next observation is new to its episode, by a set."""
    obs, first, _, next_obs, *_ = map(np.asarray, seen)
    new = np.zeros(first.shape, bool)
    for env in range(first.shape[1]):
        known: set[Any] = set()
        for t in range(len(first)):
            if first[t, env]:
                known = {tuple(obs[t, env].ravel().tolist())}
            name = tuple(next_obs[t, env].ravel().tolist())
            new[t, env] = name not in known
            known.add(name)
    return new


def drawn(data: st.DataObject, observations: Observations) -> Transitions:
    """Two rollouts' worth; an episode may begin with the second, and often does not."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**31), label="seed"))
    frequency = data.draw(st.sampled_from([0.0, 0.05, 0.3, 1.0]), label="resets")
    seen = wander(rng, observations, 2 * TIME, ENVS, frequency)
    anew = data.draw(st.booleans(), label="second begins anew")
    first, ended = seen.first.at[TIME].set(anew), last_steps(seen).at[TIME - 1].set(anew)
    return seen._replace(first=first, ended=ended)


@worlds
@given(data=st.data())
@settings(max_examples=25)
def test_the_gate_is_a_set(world: str, data: st.DataObject) -> None:
    observations = observations_of(world)
    seen = drawn(data, observations)
    one, two = cut(seen, TIME)
    visits, head = update(Visits.empty(observations.env, ENVS), one)
    _, tail = update(visits, two)
    np.testing.assert_array_equal(np.concatenate([head, tail]), news(seen))


def test_an_episode_as_long_as_the_horizon_is_remembered_to_its_end() -> None:
    """As many different arrays as there can be, then each of them again in the next episode."""
    horizon, rng = 12, np.random.default_rng(0)
    distinct = np.stack([np.array([[i // 5, i % 5], [0, 0]]) for i in range(horizon + 1)])
    walk = np.concatenate([distinct, distinct[rng.permutation(horizon + 1)]])
    obs = np.concatenate([walk[:horizon], walk[horizon + 1 : -1]])[:, None].astype(np.uint8)
    next_obs = np.concatenate([walk[1 : horizon + 1], walk[horizon + 2 :]])[:, None].astype(
        np.uint8
    )
    first = (np.arange(2 * horizon) % horizon == 0)[:, None]
    seen = Transitions(*map(jnp.asarray, (obs, first, np.zeros_like(first, np.int32), next_obs)))
    visits, new = update(Visits.empty(Unlisted(horizon), 1), seen)
    assert np.asarray(new).all()
    # the last steps of the second episode again, as if it went on: nothing there is new
    _, new = update(visits, jax.tree.map(lambda x: x[-5:], seen))
    assert not np.asarray(new).any()


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
    assert prints.shape == (len(arrays), 4)
    assert len(np.unique(prints, axis=0)) == len(np.unique(arrays, axis=0))
    for word in range(4):  # each word does its part: 5,000 in 2^31 collide 6e-3 times
        assert len(np.unique(prints[:, word])) >= len(arrays) - 3


def test_zero_is_zero_whatever_its_sign() -> None:
    """Arrays that are equal are one observation."""
    arrays = jnp.array([[0.0, 1.0, 2.0, 3.0], [-0.0, 1.0, 2.0, 3.0]]).reshape(2, 1, 2, 2)
    seen = Transitions(arrays[:1], jnp.ones((1, 1), bool), jnp.zeros((1, 1), jnp.int32), arrays[1:])
    _, new = update(Visits.empty(Unlisted(), 1), seen)
    assert not bool(new[0, 0])


def errors(networks: Any, observations: Observations, obs: Any) -> np.ndarray:
    flat = flat64(observations, obs)
    return ((mlp64(networks.predictor, flat) - mlp64(networks.target, flat)) ** 2).mean(-1)


@pytest.mark.parametrize(
    ("world", "options"),
    [
        ("TinyReproduce", {}),
        ("TinyReproduce", {"alpha": 0.9, "novelty": "norm"}),
        ("Unlisted", {"alpha": 0.1}),
        ("TinyReproduce", {"layers": 2}),
    ],
)
@given(data=st.data())
@settings(max_examples=8)
def test_the_score_is_the_equation(world: str, options: Any, data: st.DataObject) -> None:
    observations, bonus = observations_of(world), NovelD(**SMALL, **options)
    seen = drawn(data, observations)
    state = fresh(bonus, observations, ENVS)
    assert len(state.networks.target.layers) == bonus.layers + 1
    before, after = (errors(state.networks, observations, obs) for obs in (seen.obs, seen.next_obs))
    if bonus.novelty == "norm":
        before, after = np.sqrt(before), np.sqrt(after)
    expected = np.maximum(after - bonus.alpha * before, 0) * news(seen)
    one, two = cut(seen, TIME)
    state, head = score(bonus, observations, state, one)
    _, tail = score(bonus, observations, state, two)
    np.testing.assert_allclose(np.concatenate([head, tail]), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("boundary", ["stale", "fresh", "zero"])
@worlds
@given(data=st.data())
@settings(max_examples=8)
def test_the_last_step_is_paid_by_the_boundary(
    world: str, boundary: Any, data: st.DataObject
) -> None:
    """For what an environment that resets itself shows then: the next episode's first view."""
    observations, bonus = observations_of(world), NovelD(**SMALL, boundary=boundary)
    seen = drawn(data, observations)
    state = fresh(bonus, observations, ENVS)
    views = (seen.obs, seen.next_obs, seen.following)
    before, after, begun = (errors(state.networks, observations, obs) for obs in views)
    ended = np.asarray(seen.ended)
    beside = ended.reshape(ended.shape + (1,) * (seen.obs.ndim - 2))
    shown = seen._replace(next_obs=np.where(beside, np.asarray(seen.following), seen.next_obs))
    new = {"stale": news(shown), "fresh": news(seen) | ended, "zero": news(seen) & ~ended}[boundary]
    gain = np.where(ended, begun, after) - bonus.alpha * before
    one, two = cut(seen, TIME)
    state, head = score(bonus, observations, state, one)
    _, tail = score(bonus, observations, state, two)
    expected = np.maximum(gain, 0) * new
    np.testing.assert_allclose(np.concatenate([head, tail]), expected, rtol=1e-4, atol=1e-5)


def test_it_pays_once_for_each_observation_of_an_episode() -> None:
    """In played episodes; and never for the observation that an episode begins with."""
    observations, bonus = observations_of("TinyReproduce"), NovelD(**SMALL, alpha=1e-6)
    seen = play(observations.env, jax.random.key(0), 2 * TIME, 16)
    state = fresh(bonus, observations, 16)
    scores = []
    for part in cut(seen, TIME):
        state, some = score(bonus, observations, state, part)
        scores.append(np.asarray(some))
    paid = np.concatenate(scores) > 0
    obs, first, _, next_obs, *_ = map(np.asarray, seen)
    assert first[1:].any()
    episode = first.cumsum(0)
    env = np.broadcast_to(np.arange(16), first.shape)
    times = np.zeros((16, episode.max() + 1, 5), int)
    np.add.at(times, (env[paid], episode[paid], next_obs[paid]), 1)
    begun = np.zeros_like(times)
    begun[env[first], episode[first], obs[first]] = 1
    reached = np.zeros_like(times)
    reached[env, episode, next_obs] = 1
    # with α near zero, all novelty is gain: exactly once for whatever was reached
    np.testing.assert_array_equal(times, reached * (1 - begun))


def test_training_is_adam_on_the_mean_error_over_next_observations() -> None:
    observations, bonus = observations_of("TinyReproduce"), NovelD(**SMALL)
    seen = wander(np.random.default_rng(0), observations, TIME, ENVS, 0.2)
    state = fresh(bonus, observations, ENVS)
    target, arrays = state.networks.target, flat64(observations, seen.next_obs)
    wanted = mlp64(target, arrays)

    def loss(predictor: Any) -> Any:
        return ((predictor(jnp.asarray(arrays)) - wanted) ** 2).mean()

    by_hand = Adam(state.networks.predictor, bonus.learning_rate)
    visits = state.visits
    for i in range(2):
        by_hand.step(grad64(loss, by_hand.tree))
        state = learn(bonus, observations, state, seen, jax.random.key(i))
        by_hand.agrees(state.networks.predictor, state.optimiser[0])
    jax.tree.map(
        np.testing.assert_array_equal, (state.networks.target, state.visits), (target, visits)
    )


@worlds
def test_the_error_falls_where_it_went_and_the_target_stays(world: str) -> None:
    observations, bonus = observations_of(world), NovelD(**SMALL, learning_rate=3e-3)
    seen = wander(np.random.default_rng(0), observations, TIME, ENVS, 0.2)
    state = begun = fresh(bonus, observations, ENVS)
    for i in range(100):
        state = learn(bonus, observations, state, seen, jax.random.key(i))
    before, after = (errors(s.networks, observations, seen.next_obs).mean() for s in (begun, state))
    assert after < 0.3 * before
    jax.tree.map(np.testing.assert_array_equal, state.networks.target, begun.networks.target)
    assert not np.array_equal(
        begun.networks.target.layers[0].weight, begun.networks.predictor.layers[0].weight
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("alpha", 0.0),
        ("alpha", "half"),
        ("learning_rate", float("inf")),
        ("hidden", 0),
        ("features", -1),
        ("novelty", "cubed"),
        ("boundary", "soft"),
        ("clip", -1.0),
    ],
)
def test_options_are_checked(field: str, value: object) -> None:
    with pytest.raises(BadInput, match=f"^{field}={value!r} is not valid"):
        bonuses.make("noveld", **{field: value})
