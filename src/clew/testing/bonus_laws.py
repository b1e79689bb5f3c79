"""What must hold for every bonus."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from clew import bonuses
from clew.bonuses import Bonus, Transitions
from clew.envs import Step
from clew.envs.observations import Observations
from clew.envs.worlds.tiny_reproduce.world import SequenceState, TinyReproduce
from clew.testing.asserting import (
    require,
    require_array,
    require_close,
    require_equal,
    require_finite,
)

TIME, ENVS, RESETS = 12, 3, 0.2
SIGNATURES = {
    "init": ("observations", "envs", "key"),
    "score": ("observations", "state", "transitions"),
    "learn": ("observations", "state", "transitions", "key"),
}


def check_bonus(bonus: str | Bonus) -> None:
    """Raise an AssertionError for the first law that the bonus, or that of this name, breaks.

    Give it small networks, if it has some: it is compiled for two worlds, one with numbered
    observations and one with arrays.
    """
    made = bonuses.make(bonus) if isinstance(bonus, str) else bonus
    for law in BONUS_LAWS:
        law(made)


def it_sees_observations_and_actions_alone(bonus: Bonus) -> None:
    """Nothing of rewards or of the agent's memory can reach it."""
    for method, wanted in SIGNATURES.items():
        found = tuple(inspect.signature(getattr(bonus, method)).parameters)
        require(found == wanted, f"{method} takes {wanted}, and not {found}")


def it_is_a_value(bonus: Bonus) -> None:
    """It is a static argument of compiled programs: options in fields, the rest in its state."""
    again = dataclasses.replace(bonus)
    require(again == bonus and hash(again) == hash(bonus), "equal options must make equal bonuses")


def scores_are_numbers_and_never_negative(bonus: Bonus) -> None:
    """One a step, before it has learned and after."""
    for observations in WORLDS:
        for scores in _alone(bonus, observations)[0][1:]:
            require_array("scores", scores, (TIME, ENVS), jnp.float32)
            require_finite(scores, "scores must be finite")
            require((np.asarray(scores) >= 0).all(), "scores must not be negative")


def the_same_key_gives_the_same_scores(bonus: Bonus) -> None:
    """All chance is in the keys."""
    for observations in WORLDS:
        again = _alone.__wrapped__(bonus, observations)
        law = "the same key and rollout gave other scores"
        require_equal(again, _alone(bonus, observations), law)


def runs_side_by_side_are_runs_alone(bonus: Bonus) -> None:
    """Score, train, score again: vmapped over two runs with keys of their own."""
    for observations in WORLDS:
        keys, runs = _two_runs(observations)
        stacked = [jax.tree.map(lambda *x: jnp.stack(x), *each) for each in zip(*runs, strict=True)]
        beside = jax.jit(jax.vmap(_run(bonus, observations)))(keys, *stacked)
        for i, alone in enumerate(_alone(bonus, observations)):
            mine = jax.tree.map(lambda leaf, i=i: leaf[i], beside)
            require_close(mine, alone, "a run of a pack must be scored as if alone", 1e-4)


BONUS_LAWS: tuple[Callable[[Bonus], None], ...] = (
    it_sees_observations_and_actions_alone,
    it_is_a_value,
    scores_are_numbers_and_never_negative,
    the_same_key_gives_the_same_scores,
    runs_side_by_side_are_runs_alone,
)


def wander(
    rng: np.random.Generator,
    observations: Observations,
    time: int,
    n_envs: int,
    resets: float,
    palette: np.ndarray,
) -> Transitions:
    """Observations at random, episodes of any length; the first step begins one.

    In a world without numbered observations, those of the palette.
    """
    symbols = len(palette) if observations.table is None else len(observations.table)
    first = rng.random((time, n_envs)) < resets
    first[0] = True
    obs = rng.integers(symbols, size=(time, n_envs)).astype(np.int32)
    next_obs = rng.integers(symbols, size=(time, n_envs)).astype(np.int32)
    next_obs[:-1] = np.where(first[1:], next_obs[:-1], obs[1:])
    action = rng.integers(len(observations.env.action_names), size=(time, n_envs)).astype(np.int32)
    # after the rollout another episode may begin, or this one go on
    ended = np.concatenate((first[1:], rng.random((1, n_envs)) < resets))
    begun = rng.integers(symbols, size=(1, n_envs)).astype(np.int32)
    following = np.concatenate((obs[1:], np.where(ended[-1:], begun, next_obs[-1:])))
    if observations.table is None:
        obs, next_obs, following = palette[obs], palette[next_obs], palette[following]
    return Transitions(*map(jnp.asarray, (obs, first, action, next_obs, ended, following)))


@dataclasses.dataclass(frozen=True)
class _AsArrays(TinyReproduce):
    """The same observations, handed out as arrays, as where they are too many to be numbered."""

    @property
    def alphabet(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        return None

    def start(self, level: jax.Array) -> tuple[SequenceState, jax.Array]:
        state, obs = super().start(level)
        return state, jnp.asarray(PALETTE)[obs]

    def step(
        self, state: SequenceState, action: jax.Array, key: jax.Array
    ) -> tuple[SequenceState, Step]:
        state, step = super().step(state, action, key)
        return state, step._replace(obs=jnp.asarray(PALETTE)[step.obs])


PALETTE = TinyReproduce().alphabet
WORLDS = (Observations(TinyReproduce()), Observations(_AsArrays()))


def _two_runs(observations: Observations) -> tuple[jax.Array, list[list[Transitions]]]:
    """A key for each, and two rollouts, one after the other."""
    rng = np.random.default_rng(0)
    runs = [
        [wander(rng, observations, TIME, ENVS, RESETS, PALETTE) for _ in range(2)] for _ in range(2)
    ]
    return jax.random.split(jax.random.key(0)), runs


Scored = tuple[PyTree[Array], Float[Array, "time env"], Float[Array, "time env"]]
"""The state after two rollouts, and the scores of each."""


def _run(
    bonus: Bonus, observations: Observations
) -> Callable[[jax.Array, Transitions, Transitions], Scored]:
    def run(key: jax.Array, one: Transitions, two: Transitions) -> Scored:
        state = bonus.init(observations, ENVS, key)
        state, head = bonus.score(observations, state, one)
        state = bonus.learn(observations, state, one, key)
        state, tail = bonus.score(observations, state, two)
        return state, head, tail

    return run


@cache
def _compiled(bonus: Bonus, observations: Observations) -> Callable[..., Scored]:
    return jax.jit(_run(bonus, observations))


@cache
def _alone(bonus: Bonus, observations: Observations) -> list[Scored]:
    keys, runs = _two_runs(observations)
    run = _compiled(bonus, observations)
    return [run(key, *seen) for key, seen in zip(keys, runs, strict=True)]
