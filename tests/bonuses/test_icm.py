"""ICM and RIDE, which share their features: scores and training against equations in float64."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew import bonuses
from clew.bonuses import Bonus, Transitions
from clew.bonuses.methods.icm import ICM
from clew.bonuses.methods.ride import RIDE
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

cases = pytest.mark.parametrize(
    ("world", "options"),
    [("TinyReproduce", {}), ("TinyReproduce", {"layers": 2}), ("Unlisted", {})],
)
both = pytest.mark.parametrize("kind", [ICM, RIDE])


def in_two(bonus: Bonus, observations: Observations, state: Any, seen: Transitions) -> np.ndarray:
    """Scores of two rollouts, with the state carried between them."""
    one, two = cut(seen, TIME)
    state, head = score(bonus, observations, state, one)
    _, tail = score(bonus, observations, state, two)
    return np.concatenate([head, tail])


def features(observations: Observations, state: Any, seen: Transitions) -> list[np.ndarray]:
    phi = state.model.inverse.features
    return [mlp64(phi, flat64(observations, obs)) for obs in (seen.obs, seen.next_obs)]


@cases
@given(data=st.data())
@settings(max_examples=8)
def test_icm_scores_by_its_equation(world: str, options: Any, data: st.DataObject) -> None:
    observations, bonus = observations_of(world), ICM(**SMALL, **options)
    seen = drawn(data, observations, TIME, ENVS)
    state = fresh(bonus, observations, ENVS)
    assert len(state.model.inverse.features.layers) == bonus.layers + 1
    before, after = features(observations, state, seen)
    hot = np.eye(len(observations.env.action_names))[np.asarray(seen.action)]
    foreseen = mlp64(state.model.forward, np.concatenate([before, hot], -1))
    expected = 0.5 * np.linalg.norm(foreseen - after, axis=-1) ** 2
    actual = in_two(bonus, observations, state, seen)
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


@cases
@given(data=st.data())
@settings(max_examples=8)
def test_ride_scores_by_its_equation(world: str, options: Any, data: st.DataObject) -> None:
    observations, bonus = observations_of(world), RIDE(**SMALL, **options)
    seen = drawn(data, observations, TIME, ENVS)
    state = fresh(bonus, observations, ENVS)
    before, after = features(observations, state, seen)
    expected = np.linalg.norm(after - before, axis=-1) / np.sqrt(earlier(seen) + 1)
    actual = in_two(bonus, observations, state, seen)
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


def joint_loss(observations: Observations, seen: Transitions, beta: float) -> Any:
    """(1 − β) L_I + β L_F, step by step, without any table."""
    n = seen.first.size
    before, after = (
        jnp.asarray(flat64(observations, obs).reshape(n, -1)) for obs in (seen.obs, seen.next_obs)
    )
    action = np.asarray(seen.action).reshape(-1)
    hot = jnp.asarray(np.eye(len(observations.env.action_names))[action])

    def loss(model: Any) -> Any:
        def of_step(before: Any, hot: Any, after: Any) -> Any:
            a, b = (model.inverse.features(x) for x in (before, after))
            logits = model.inverse.action(jnp.concatenate([a, b]))
            inverse = jnp.log(jnp.exp(logits).sum()) - logits @ hot
            wrong = model.forward(jnp.concatenate([a, hot])) - b
            return (1 - beta) * inverse + beta * wrong @ wrong / 2

        return jax.vmap(of_step)(before, hot, after).mean()

    return loss


@both
@pytest.mark.parametrize(("world", "beta"), [("TinyReproduce", 0.2), ("Unlisted", 0.9)])
def test_training_is_adam_on_both_losses(kind: Any, world: str, beta: float) -> None:
    """Two rollouts with one batch each are two steps of Adam."""
    observations, bonus = observations_of(world), kind(**SMALL, beta=beta)
    seen = wander(np.random.default_rng(0), observations, TIME, ENVS, 0.2)
    state = fresh(bonus, observations, ENVS)
    loss = joint_loss(observations, seen, beta)
    by_hand, rest = Adam(state.model, bonus.learning_rate), state[2:]
    for i in range(2):
        by_hand.step(grad64(loss, by_hand.tree))
        state = learn(bonus, observations, state, seen, jax.random.key(i))
        by_hand.agrees(state.model, state.optimiser[0])
    jax.tree.map(np.testing.assert_array_equal, state[2:], rest)


def test_what_is_foreseen_pays_less() -> None:
    """After training on MemoryS7, on rollouts not seen before: both predictions are better."""
    observations = observations_of("MiniGrid-MemoryS7")
    bonus = ICM(features=16, hidden=32, batch=64, learning_rate=3e-3)
    state = fresh(bonus, observations, 4)
    seen = [play(observations.env, jax.random.key(i), 128, 4) for i in range(9)]
    loss = jax.jit(
        lambda state: state.model.inverse.loss(
            observations, *(x.reshape(-1) for x in (seen[8].obs, seen[8].action, seen[8].next_obs))
        )
    )
    figures = []
    for i in range(17):
        _, scores = score(bonus, observations, state, seen[8])
        figures.append((float(loss(state)), float(scores.mean())))
        state = learn(bonus, observations, state, seen[i % 8], jax.random.key(i))
    assert figures[-1][0] < 0.9 * np.log(len(observations.env.action_names))
    assert figures[-1][1] < 0.5 * figures[0][1]


@pytest.mark.parametrize("name", ["icm", "ride"])
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("beta", 1.0),
        ("beta", 0.0),
        ("beta", "most"),
        ("learning_rate", -1.0),
        ("hidden", 0),
        ("features", True),
        ("batch", 0),
        ("layers", 0.5),
        ("clip", 0),
    ],
)
def test_options_are_checked(name: str, field: str, value: object) -> None:
    with pytest.raises(BadInput, match=f"^{field}={value!r} is not valid"):
        bonuses.make(name, **{field: value})
