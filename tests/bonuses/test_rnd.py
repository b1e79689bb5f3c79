"""RND against its equation in float64, its observations against numpy, its training by hand."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew import bonuses
from clew.bonuses.methods.rnd import RND
from clew.envs.observations import Observations
from clew.validate import BadInput
from tests.bonuses.rollouts import (
    Adam,
    cut,
    drawn,
    flat64,
    fresh,
    grad64,
    learn,
    mlp64,
    observations_of,
    score,
    wander,
)

TIME, ENVS = 12, 3
SMALL: dict[str, Any] = {"features": 5, "hidden": 12}

worlds = pytest.mark.parametrize("world", ["TinyReproduce", "Unlisted"])


def normalised(bonus: RND, flat: np.ndarray, so_far: np.ndarray) -> np.ndarray:
    """By the mean and deviation of every number of all observations so far."""
    mean, std = so_far.mean(0), so_far.std(0)
    return np.clip((flat - mean) / np.where(std > 1e-9, std, 1), -bonus.obs_clip, bonus.obs_clip)


def errors(bonus: RND, networks: Any, flat: np.ndarray, so_far: np.ndarray) -> np.ndarray:
    x = normalised(bonus, flat, so_far)
    return ((mlp64(networks.predictor, x) - mlp64(networks.target, x)) ** 2).mean(-1)


def rows(observations: Observations, obs: Any) -> np.ndarray:
    flat = flat64(observations, obs)
    return flat.reshape(-1, flat.shape[-1])


@pytest.mark.parametrize(
    ("world", "options"),
    [
        ("TinyReproduce", {}),
        ("TinyReproduce", {"obs_clip": 0.7, "layers": 2}),
        ("Unlisted", {"obs_clip": 1.2}),
        ("Unlisted", {}),
    ],
)
@given(data=st.data())
@settings(max_examples=8)
def test_the_score_is_the_equation(world: str, options: Any, data: st.DataObject) -> None:
    """A second rollout is seen through the mean and deviation of both; episodes do not matter."""
    observations, bonus = observations_of(world), RND(**SMALL, **options)
    seen = drawn(data, observations, TIME, ENVS)
    state = fresh(bonus, observations, ENVS)
    assert len(state.networks.target.layers) == bonus.layers + 1
    so_far = np.zeros((0, observations.size))
    for part in cut(seen, TIME):
        flat = flat64(observations, part.next_obs)
        so_far = np.concatenate([so_far, rows(observations, part.next_obs)])
        state, scores = score(bonus, observations, state, part)
        expected = errors(bonus, state.networks, flat, so_far)
        np.testing.assert_allclose(scores, expected, rtol=2e-4, atol=1e-5)
        np.testing.assert_allclose(state.seen.mean, so_far.mean(0), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(state.seen.std, so_far.std(0), rtol=1e-4, atol=1e-6)


def test_observations_are_clipped() -> None:
    """One in 400 has a 1 where the others have a 0: twenty deviations away, seen as five."""
    observations, bonus = observations_of("TinyReproduce"), RND(**SMALL)
    seen = wander(np.random.default_rng(0), observations, 200, 2, 0.1)
    rare = jnp.zeros_like(seen.next_obs).at[0, 0].set(1)
    state, _ = score(
        bonus, observations, fresh(bonus, observations, 2), seen._replace(next_obs=rare)
    )
    flat = rows(observations, rare)
    deviations = np.abs((flat - flat.mean(0)) / np.where(flat.std(0) > 0, flat.std(0), 1))
    assert deviations.max() > 15
    _, scores = score(
        bonus, observations, fresh(bonus, observations, 2), seen._replace(next_obs=rare)
    )
    expected = errors(bonus, state.networks, flat64(observations, rare), flat)
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5)
    unclipped = errors(RND(**SMALL, obs_clip=1e3), state.networks, flat64(observations, rare), flat)
    assert unclipped[0, 0] > 2 * expected[0, 0]


@worlds
def test_training_is_adam_on_the_mean_error_over_next_observations(world: str) -> None:
    """With one batch a rollout, in the numbers that the rollout was scored by."""
    observations, bonus = observations_of(world), RND(**SMALL)
    seen = wander(np.random.default_rng(0), observations, TIME, ENVS, 0.2)
    state, _ = score(bonus, observations, fresh(bonus, observations, ENVS), seen)
    target, flat = state.networks.target, rows(observations, seen.next_obs)
    x = normalised(bonus, flat, flat)
    wanted = mlp64(target, x)

    def loss(predictor: Any) -> Any:
        return ((predictor(jnp.asarray(x)) - wanted) ** 2).mean()

    by_hand = Adam(state.networks.predictor, bonus.learning_rate)
    moments = state.seen
    for i in range(2):
        by_hand.step(grad64(loss, by_hand.tree))
        state = learn(bonus, observations, state, seen, jax.random.key(i))
        by_hand.agrees(state.networks.predictor, state.optimiser[0])
    jax.tree.map(
        np.testing.assert_array_equal, (state.networks.target, state.seen), (target, moments)
    )


def test_what_was_trained_on_is_not_new_any_more() -> None:
    """Two symbols are visited and the others are not: their errors part."""
    observations, bonus = (
        observations_of("TinyReproduce"),
        RND(**SMALL, learning_rate=3e-3, batch=8),
    )
    rng = np.random.default_rng(0)
    everything = wander(rng, observations, TIME, ENVS, 0.2)
    home = everything._replace(next_obs=everything.next_obs % 2)
    state, before = score(bonus, observations, fresh(bonus, observations, ENVS), everything)
    for i in range(60):
        state = learn(bonus, observations, state, home, jax.random.key(i))
    _, after = score(bonus, observations, state, everything)
    ratio, known = np.asarray(after) / np.asarray(before), np.asarray(everything.next_obs) < 2
    assert ratio[known].max() < 0.2
    assert ratio[~known].mean() > 0.5


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("obs_clip", 0.0),
        ("learning_rate", float("nan")),
        ("hidden", 0),
        ("features", 1.5),
        ("batch", 0),
        ("layers", 0),
        ("clip", -1.0),
    ],
)
def test_options_are_checked(field: str, value: object) -> None:
    with pytest.raises(BadInput, match=f"^{field}={value!r} is not valid"):
        bonuses.make("rnd", **{field: value})
