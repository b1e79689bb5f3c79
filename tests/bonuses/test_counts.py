"""Episodic counts against counting."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew import bonuses
from clew.bonuses import Transitions
from clew.bonuses.methods.counts import Counts
from clew.validate import BadInput
from tests.bonuses.rollouts import cut, drawn, earlier, fresh, observations_of, score

TIME, ENVS = 20, 3


@pytest.mark.parametrize("world", ["TinyReproduce", "Unlisted"])
@given(data=st.data())
@settings(max_examples=15)
def test_the_score_is_the_equation(world: str, data: st.DataObject) -> None:
    observations, bonus = observations_of(world), Counts()
    seen = drawn(data, observations, TIME, ENVS)
    one, two = cut(seen, TIME)
    state, head = score(bonus, observations, fresh(bonus, observations, ENVS), one)
    _, tail = score(bonus, observations, state, two)
    expected = 1 / np.sqrt(earlier(seen) + 1)
    np.testing.assert_allclose(np.concatenate([head, tail]), expected, rtol=1e-6)


def test_two_episodes_by_hand() -> None:
    """From 0 to 0, 1, 0, 1, 1; then from 1 to 1, 0."""
    observations, bonus = observations_of("TinyReproduce"), Counts()
    obs, next_obs = [0, 0, 1, 0, 1, 1, 1], [0, 1, 0, 1, 1, 1, 0]
    first = [True, False, False, False, False, True, False]
    columns = (np.array(column)[:, None] for column in (obs, first, [0] * 7, next_obs))
    seen = Transitions(*map(jnp.asarray, columns))
    _, scores = score(bonus, observations, fresh(bonus, observations, 1), seen)
    np.testing.assert_allclose(scores[:, 0] ** -2, [2, 1, 3, 2, 3, 2, 1], rtol=1e-5)


@pytest.mark.parametrize(("field", "value"), [("clip", 0), ("normalise", 2)])
def test_options_are_checked(field: str, value: object) -> None:
    with pytest.raises(BadInput, match=f"^{field}={value!r} is not valid"):
        bonuses.make("counts", **{field: value})
