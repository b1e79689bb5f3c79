"""Worlds of `clew.envs` and Gymnasium, enumerated."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, PRNGKeyArray

from clew import envs
from clew.envs.base import Step
from clew.envs.worlds.mystery_path.enumeration import Paths
from clew.envs.worlds.mystery_path.law import level_law
from clew.envs.worlds.mystery_path.levels import Level
from clew.envs.worlds.tiny_reproduce.world import SequenceState, TinyReproduce
from clew.machines import from_env
from clew.machines.certificates.claims import Sparse
from clew.machines.certificates.verify import verify
from clew.machines.deciding.density import density, size_bound
from clew.machines.deciding.diagnosis import redundancy
from clew.machines.deciding.optimal import optimal, ranking
from clew.machines.deciding.pairs import decide_pairs
from clew.machines.deciding.profile import Profile, profile
from clew.machines.model.belief import close
from clew.validate import BadInput


def supervised(counted: Profile) -> dict[str, tuple[int, int]]:
    return {name: (tally.unpoolable, tally.pairs) for name, tally in counted.variables.items()}


@pytest.mark.parametrize(
    ("size", "states", "posteriors", "pairs", "cue", "pose", "arrangement"),
    [(7, 169, 289, 1075, 54, 33, 48), (13, 265, 496, 11841, 134, 1201, 80)],
)
def test_memory_s_supervises_the_cue_and_nothing_else(
    size: int, states: int, posteriors: int, pairs: int, cue: int, pose: int, arrangement: int
) -> None:
    pomdp = from_env(envs.make(f"MiniGrid-MemoryS{size}", view=3))
    beliefs = close(pomdp)
    assert (len(pomdp.states), len(beliefs.cells)) == (states, posteriors)
    decided = decide_pairs(beliefs)
    counted = profile(decided, optimal(beliefs))
    assert counted.total.pairs == pairs
    assert supervised(counted) == {
        "cue": (cue, cue),
        "pose": (0, pose),
        "arrangement": (0, arrangement),
        "side": (0, 0),
    }
    assert counted.fixed == {"cue", "side", "arrangement"}
    verdict = density(decided)
    assert isinstance(verdict, Sparse)
    verify(verdict)
    # the paper's cue machine, found; and there is none smaller
    assert len(verdict.product.machine.states) == 3 == size_bound(decided).states


@pytest.mark.parametrize("reward", ["sparse", "dense"])
def test_tiny_reproduce(reward: str) -> None:
    env = envs.make("TinyReproduce", k=3, v=2)
    beliefs = close(from_env(env, reward=reward))
    best = optimal(beliefs)
    assert redundancy(best).holds
    assert ranking(best).misranked == (reward == "sparse")
    gamma = beliefs.pomdp.discount
    # graded at steps 2, 3 and 4, counted from 0
    shares = {"dense": gamma**2 + gamma**3 + gamma**4, "sparse": 3 * gamma**4}
    assert best.value == shares[reward] / 3


def test_enumeration_follows_the_world() -> None:
    """Random episodes of the world, retraced in the POMDP."""
    env = envs.make("MiniGrid-MemoryS7", view=3)
    pomdp = from_env(env)
    known = env.enumeration({"success"})
    assert known is not None
    words = known.seen
    step = jax.jit(env.step)
    rng = np.random.default_rng(0)
    for episode in range(5):
        state, symbol = env.reset(jax.random.key(episode))
        possible = {
            b.state for b in pomdp.start if pomdp.observations[b.observation] == words(int(symbol))
        }
        for _ in range(60):
            action = int(rng.integers(7))
            state, result = step(state, action, jax.random.key(0))
            branches = [pomdp.steps[s][action][0] for s in possible]
            shown = words(int(result.obs))
            branches = [b for b in branches if pomdp.observations[b.observation] == shown]
            assert branches
            rewards = {b.reward for b in branches}
            assert Fraction(int(result.success)) in rewards
            possible = {b.state for b in branches}
            if result.terminated:
                assert possible & pomdp.terminal
                break


def test_a_reward_that_depends_on_more_is_noticed() -> None:
    env = envs.make("MiniGrid-MemoryS7", view=3)
    for reward in ("distractor", "native"):
        with pytest.raises(BadInput, match=r"too few.*the time or the past"):
            from_env(env, reward=reward)
    with pytest.raises(BadInput, match=r"4\^10 = 1,048,576 sequences; at most 200,000"):
        from_env("TinyReproduce")


def test_a_reward_that_reads_the_past_has_it_among_its_variables() -> None:
    env = envs.make("MysteryPath-Grid", size=3, actions="cardinal")
    paths = ((1, 4, 7), (1, 0, 3, 6, 7))
    pomdp = from_env(env, levels=straight(paths), reward="aligned")
    assert set(pomdp.variables) == {"path", "pose", "tested"}
    assert {b.reward for row in pomdp.steps for way in row for b in way} == {0, 1, Fraction(1, 10)}


def straight(paths: Sequence[Sequence[int]]) -> list[tuple[Level, Fraction]]:
    """Levels of 3×3 tiles, equally likely."""
    return [
        (Level(*map(jnp.asarray, (np.isin(np.arange(9), path), path[0], path[-1]))), each)
        for path in paths
        for each in [Fraction(1, len(paths))]
    ]


def test_mystery_path_supervises_nothing() -> None:
    """From the left to the right of 3×3 tiles by the middle row, or around above or below."""
    env = envs.make("MysteryPath-Grid", size=3, actions="cardinal")
    paths = ((1, 4, 7), (1, 0, 3, 6, 7), (1, 2, 5, 8, 7))
    beliefs = close(from_env(env, levels=straight(paths)))
    decided = decide_pairs(beliefs)
    assert not decided.route
    counted = profile(decided, optimal(beliefs))
    assert counted.variables["path"].required > 0
    verdict = density(decided)
    assert isinstance(verdict, Sparse)
    assert len(verdict.product.machine.states) == 1


def test_a_small_limit_is_kept() -> None:
    with pytest.raises(BadInput, match="more than limit=10 states"):
        from_env(envs.make("MiniGrid-MemoryS7", view=3), limit=10)


class Corridor(gymnasium.Env):
    """Left or right of the middle, unseen; a bell rings at the right end and ends the episode."""

    action_space = gymnasium.spaces.Discrete(2)
    observation_space = gymnasium.spaces.Discrete(2)

    def __init__(self, counts: bool = False):
        self.counts = counts

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> Any:
        self.x, self.steps = (seed or 0) % 3, 0
        return 0, {}

    def step(self, action: int) -> Any:
        self.x = max(self.x + (1 if action else -1), 0)
        self.steps += 1
        done = self.x == 3
        paid = 0.1 * (self.steps % 2) if self.counts else 0.5 * done
        return int(done), paid, done, False, {}


def test_a_gymnasium_environment() -> None:
    pomdp = from_env(Corridor(), latent=lambda env: {"x": env.x}, seeds=range(3))
    assert pomdp.variables["x"] == (0, 1, 2, 3, "end")
    assert [b.probability for b in pomdp.start] == [Fraction(1, 3)] * 3
    beliefs = close(pomdp)
    assert beliefs.finite
    gamma = pomdp.discount
    assert optimal(beliefs).value == (1 + gamma + gamma**2) / 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"env": Corridor(), "latent": lambda env: {"x": env.x}, "seeds": ()}, "number of seeds=0"),
        ({"env": Corridor(True), "latent": lambda env: {"x": env.x}}, "too few"),
        ({"env": "TinyReproduc"}, "did you mean 'TinyReproduce'"),
    ],
)
def test_mistakes(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        from_env(**arguments)


@pytest.mark.parametrize("actions", ["egocentric", "cardinal"])
def test_a_world_is_refused_by_states_that_it_has(actions: str) -> None:
    """The count before anything is walked is no more than what walking finds."""
    env = envs.make("MysteryPath-Grid", size=3, actions=actions, origin_sides=(0, 1))
    law = level_law(3, (0, 1))
    paths = Paths(env, visits=False)  # type: ignore[arg-type]
    least = sum(paths._least_states(path - {goal}, path) for path, _, goal in law)
    found = len(from_env(env, None, reward="sparse").states)
    assert 0.4 * found < least <= found


def test_so_many_levels_are_drawn_as_are_asked_for() -> None:
    options = {"size": 5, "actions": "cardinal"}
    pomdp = from_env(envs.make("MysteryPath-Grid", **options), draws=6)
    assert pomdp.draws == 6
    assert any("drawn 6 times" in note for note in pomdp.notes)
    assert sum((begin.probability for begin in pomdp.start), Fraction(0)) == 1
    with pytest.raises(BadInput, match="draws=300"):
        from_env(envs.make("MysteryPath-Grid", size=6))
    with pytest.raises(BadInput, match="levels of this world are not drawn"):
        from_env(envs.make("TinyReproduce", k=2, v=2), draws=5)
    with pytest.raises(BadInput, match="draws"):
        from_env(envs.make("MysteryPath-Grid", **options), draws=0)


class Luck(TinyReproduce):
    """Pays by chance."""

    def step(
        self, state: SequenceState, action: Array, key: PRNGKeyArray
    ) -> tuple[SequenceState, Step]:
        after, result = super().step(state, action, key)
        return after, result._replace(events=result.events * jax.random.bernoulli(key))


def test_a_random_step_is_refused() -> None:
    with pytest.raises(BadInput, match="a step of Luck is random"):
        from_env(Luck(k=2, v=2))
