"""Readings of E3B in one program are E3B with those options."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from clew.bonuses.methods.e3b import E3B, E3BState
from clew.layers import Mlp
from readings import Reading, Readings
from tests.bonuses.rollouts import cut, fresh, learn, observations_of, score, wander


def past_the_second_layer(tree: Any) -> Any:
    """The same networks, or moments, with one hidden layer."""
    first, _, last = tree.features.layers
    return type(tree)(Mlp((first, last)), tree.action)


def as_e3b(state: E3BState, layers: int) -> E3BState:
    if layers == 2:
        return state
    optimiser: Any = state.optimiser
    moments, rest = optimiser[0], optimiser[1:]
    model, mu, nu = map(past_the_second_layer, (state.model, moments.mu, moments.nu))
    return E3BState(model, (moments._replace(mu=mu, nu=nu), *rest), state.root)


@pytest.mark.parametrize(
    "options",
    [
        {"layers": 2, "boundary": "fresh", "last_pairs": False, "max_score": 2.0},
        pytest.param({}, marks=pytest.mark.slow),
        pytest.param(
            {"boundary": "stale", "count_first": False, "ridge": 0.1}, marks=pytest.mark.slow
        ),
        pytest.param({"boundary": "zero", "last_pairs": False}, marks=pytest.mark.slow),
        pytest.param({"boundary": "unpaid", "layers": 2}, marks=pytest.mark.slow),
    ],
)
def test_a_reading_is_e3b_with_its_options(options: Any) -> None:
    """Score, train, score again."""
    observations, many, bonus = observations_of("TinyReproduce"), Readings(), E3B(**options)
    seen = wander(np.random.default_rng(0), observations, 48, 4, 0.2)
    state = fresh(many, observations, 4)._replace(reading=Reading.of(bonus))
    theirs = as_e3b(state.e3b, bonus.layers)
    for i, part in enumerate(cut(seen, 24)):
        state, found = score(many, observations, state, part)
        theirs, expected = score(bonus, observations, theirs, part)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)
        paid = bonus.paid(theirs, part)
        np.testing.assert_array_equal(many.paid(state, part), True if paid is None else paid)
        state = learn(many, observations, state, part, jax.random.key(i))
        theirs = learn(bonus, observations, theirs, part, jax.random.key(i))
