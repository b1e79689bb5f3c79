"""NovelD against its equation in float64, its gate against a set, its training by hand."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew import bonuses
from clew.bonuses.methods.noveld import NovelD
from clew.envs.observations import Observations
from clew.validate import BadInput
from tests.bonuses.rollouts import (
    Adam,
    cut,
    drawn,
    earlier,
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
    seen = drawn(data, observations, TIME, ENVS)
    state = fresh(bonus, observations, ENVS)
    assert len(state.networks.target.layers) == bonus.layers + 1
    before, after = (errors(state.networks, observations, obs) for obs in (seen.obs, seen.next_obs))
    if bonus.novelty == "norm":
        before, after = np.sqrt(before), np.sqrt(after)
    expected = np.maximum(after - bonus.alpha * before, 0) * (earlier(seen) == 0)
    one, two = cut(seen, TIME)
    state, head = score(bonus, observations, state, one)
    _, tail = score(bonus, observations, state, two)
    np.testing.assert_allclose(np.concatenate([head, tail]), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("boundary", ["stale", "fresh", "zero", "unpaid"])
@worlds
@given(data=st.data())
@settings(max_examples=8)
def test_the_last_step_is_paid_by_the_boundary(
    world: str, boundary: Any, data: st.DataObject
) -> None:
    """For what an environment that resets itself shows then: the next episode's first view."""
    observations, bonus = observations_of(world), NovelD(**SMALL, boundary=boundary)
    seen = drawn(data, observations, TIME, ENVS)
    state = fresh(bonus, observations, ENVS)
    views = (seen.obs, seen.next_obs, seen.following)
    before, after, begun = (errors(state.networks, observations, obs) for obs in views)
    ended = np.asarray(seen.ended)
    beside = ended.reshape(ended.shape + (1,) * (seen.obs.ndim - 2))
    shown = seen._replace(next_obs=np.where(beside, np.asarray(seen.following), seen.next_obs))
    new = earlier(shown if boundary == "stale" else seen) == 0
    if boundary != "stale":
        new = np.where(ended, boundary != "zero", new)
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
