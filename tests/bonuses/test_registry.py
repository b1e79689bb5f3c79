"""What must hold for every registered bonus."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clew import bonuses
from clew.bonuses import Bonus
from clew.validate import BadInput
from tests.bonuses.rollouts import observations_of, wander

TIME, ENVS = 12, 3
SMALL: dict[str, Any] = {"hidden": 8, "features": 4}

every = pytest.mark.parametrize("name", bonuses.names())


def test_names() -> None:
    assert bonuses.names() == ("counts", "e3b", "icm", "none", "noveld", "ride", "rnd")


def test_an_unknown_name_lists_the_names() -> None:
    with pytest.raises(BadInput, match="unknown bonus 'novelty'") as error:
        bonuses.make("novelty")
    assert all(repr(name) in str(error.value) for name in bonuses.names())


@every
def test_an_unknown_option_lists_the_options(name: str) -> None:
    with pytest.raises(BadInput, match=f"unknown option of {name} 'klip'") as error:
        bonuses.make(name, klip=1.0)
    options = [field.name for field in dataclasses.fields(bonuses.make(name))]
    assert all(repr(option) in str(error.value) for option in options)
    assert "did you mean 'clip'?" in str(error.value)


def small(name: str) -> Bonus:
    options = {field.name for field in dataclasses.fields(bonuses.make(name))}
    return bonuses.make(name, **{name: SMALL[name] for name in options & SMALL.keys()})


@every
@pytest.mark.parametrize("world", ["TinyReproduce", "Unlisted"])
def test_runs_side_by_side_are_runs_alone(name: str, world: str) -> None:
    """Score, train, score again: jitted, and vmapped over two runs with keys of their own."""
    observations, bonus = observations_of(world), small(name)
    rng = np.random.default_rng(0)
    runs = [[wander(rng, observations, TIME, ENVS, 0.2) for _ in range(2)] for _ in range(2)]
    keys = jax.random.split(jax.random.key(0))

    def run(key: Any, one: Any, two: Any) -> Any:
        state = bonus.init(observations, ENVS, key)
        state, head = bonus.score(observations, state, one)
        state = bonus.learn(observations, state, one, key)
        state, tail = bonus.score(observations, state, two)
        return state, head, tail

    alone = jax.jit(run)
    results = [alone(key, *seen) for key, seen in zip(keys, runs, strict=True)]
    for _, *scores in results:
        for each in scores:
            assert each.shape == (TIME, ENVS)
            assert each.dtype == jnp.float32
            assert np.isfinite(each).all()
            assert (np.asarray(each) >= 0).all()
            assert np.asarray(each).any() == (name != "none")

    stacked = [jax.tree.map(lambda *x: jnp.stack(x), *each) for each in zip(*runs, strict=True)]
    beside = jax.jit(jax.vmap(run))(keys, *stacked)
    for i, result in enumerate(results):

        def near(a: Any, b: Any, i: int = i) -> None:
            np.testing.assert_allclose(a[i], b, rtol=1e-4, atol=1e-5)

        jax.tree.map(near, beside, result)
