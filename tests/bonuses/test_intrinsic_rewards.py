"""From scores to intrinsic rewards."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.bonuses import Bonus, BonusState, RunningStd, Transitions
from tests.bonuses.rollouts import observations_of

SHAPES = ((1, 1), (5, 3), (64, 4))
OBSERVATIONS = observations_of("TinyReproduce")
KEY = jax.random.key(0)


@dataclasses.dataclass(frozen=True)
class Told(Bonus[Any]):
    """Scores what it is told to, in `obs`; its state counts what was asked of it, in order."""

    def init(self, observations: Any, envs: int, key: Any) -> Any:
        return jnp.int32(0)

    def score(self, observations: Any, state: Any, transitions: Transitions) -> Any:
        return 10 * state + 1, transitions.obs

    def learn(self, observations: Any, state: Any, transitions: Transitions, key: Any) -> Any:
        return 10 * state + 2


def telling(scores: Any) -> Transitions:
    scores = jnp.asarray(scores, jnp.float32)
    return Transitions(scores, scores > 0, jnp.zeros(scores.shape, jnp.int32), scores)


@partial(jax.jit, static_argnums=1)
def intrinsic_rewards(state: BonusState, bonus: Bonus, transitions: Transitions) -> Any:
    return state.intrinsic_rewards(bonus, OBSERVATIONS, transitions, KEY)


def begin(bonus: Bonus) -> BonusState:
    return BonusState.init(bonus, OBSERVATIONS, 4, KEY)


update = jax.jit(RunningStd.update)


@given(data=st.data())
def test_the_scale_is_that_of_all_scores_so_far(data: st.DataObject) -> None:
    """Whatever the batches, and in whatever order they come."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**31), label="seed"))
    shapes = data.draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=6), label="shapes")
    sizes = data.draw(st.sampled_from([1e-3, 1.0, 100.0]), label="size")
    batches = [np.float32(rng.gamma(rng.uniform(0.2, 3), sizes, shape)) for shape in shapes]
    shuffled = [batches[i] for i in rng.permutation(len(batches))]
    for order in (batches, shuffled):
        scale, so_far = RunningStd.empty(), np.zeros(0)
        for batch in order:
            scale = update(scale, jnp.asarray(batch))
            so_far = np.concatenate([so_far, np.float64(batch).ravel()])
            assert float(scale.number) == len(so_far)
            np.testing.assert_allclose(scale.mean, so_far.mean(), rtol=1e-4)
            np.testing.assert_allclose(scale.std, so_far.std(), rtol=1e-4, atol=1e-6 * sizes)


def test_an_empty_scale_has_no_spread() -> None:
    assert float(RunningStd.empty().std) == 0


@given(data=st.data())
@settings(max_examples=20)
def test_what_is_delivered(data: st.DataObject) -> None:
    """Scores over the standard deviation of all so far, this rollout's included, in [0, clip]."""
    clip = data.draw(st.sampled_from([0.5, 10.0]), label="clip")
    normalise = data.draw(st.booleans(), label="normalise")
    bonus = Told(normalise=normalise, clip=clip)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**31), label="seed"))
    state, so_far = begin(bonus), np.zeros(0)
    for _ in range(3):
        told = rng.normal(size=(16, 4)).astype(np.float32) * 20  # a score below zero pays nothing
        so_far = np.concatenate([so_far, np.float64(told).ravel()])
        state, scores, delivered = intrinsic_rewards(state, bonus, telling(told))
        np.testing.assert_array_equal(scores, told)
        expected = np.clip(told / (so_far.std() if normalise else 1), 0, clip)
        np.testing.assert_allclose(delivered, expected, rtol=1e-4, atol=1e-6)
        assert delivered.min() >= 0
        assert delivered.max() <= clip


def test_scored_before_trained_on() -> None:
    state, _, _ = intrinsic_rewards(begin(Told()), Told(), telling(np.ones((16, 4))))
    assert int(state.state) == 12
    state, _, _ = intrinsic_rewards(state, Told(), telling(np.ones((16, 4))))
    assert int(state.state) == 1212


def test_zeros_are_delivered_as_zeros() -> None:
    _, _, delivered = intrinsic_rewards(begin(Told()), Told(), telling(np.zeros((16, 4))))
    np.testing.assert_array_equal(delivered, 0)


@pytest.mark.parametrize("value", [0.1, 0.3, 1.0, 3.3, 7.7])
@pytest.mark.parametrize("shape", [(16, 4), (37, 5)])
def test_a_constant_score_is_not_blown_up(value: float, shape: tuple[int, int]) -> None:
    """It has no spread of its own, though its mean is rounded."""
    state = begin(Told())
    for _ in range(3):
        state, _, delivered = intrinsic_rewards(state, Told(), telling(np.full(shape, value)))
        np.testing.assert_allclose(delivered, value, rtol=1e-5)


@pytest.mark.parametrize("value", [np.inf, 1e30])
def test_after_a_score_without_bounds_nothing_is_delivered(value: float) -> None:
    """Clipped, it would look like any other: NaN makes the run one that diverged."""
    state, told = begin(Told()), np.arange(64.0).reshape(16, 4)
    state, _, delivered = intrinsic_rewards(state, Told(), telling(told))
    assert np.isfinite(delivered).all()
    for one in (np.where(told == 5, value, told), told):
        state, _, delivered = intrinsic_rewards(state, Told(), telling(one))
        assert np.isnan(delivered).all()


def test_bonuses_see_nothing_of_rewards() -> None:
    assert Transitions._fields == ("obs", "first", "action", "next_obs", "ended", "following")
