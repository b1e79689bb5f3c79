"""What a bonus is told of the ends of episodes, and how wide the critic's head is."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np

from clew.bonuses import Bonus, Transitions
from clew.bonuses.boundary import last_steps
from clew.learner.run import rollout_and_update
from tests.learner.conftest import begun, one, pack_of, small


@dataclasses.dataclass(frozen=True)
class Witness(Bonus[Any]):
    """Keeps the rollout that it was shown, and scores nothing."""

    def init(self, observations: Any, envs: int, key: Any) -> Any:
        nothing = jax.numpy.zeros((small().steps, envs), np.int32)
        return Transitions(nothing, nothing > 0, nothing, nothing, nothing > 0, nothing)

    def score(self, observations: Any, state: Any, transitions: Transitions) -> Any:
        return transitions, jax.numpy.zeros(transitions.action.shape)


def test_what_follows_a_step_is_what_the_next_one_acts_on() -> None:
    """Within rollouts, and from one to the next."""
    pack = pack_of("Memoryless", Witness())
    step = jax.jit(lambda state: rollout_and_update(pack.program, one(pack.runs), state)[0])
    states = [begun(pack.program)]
    for _ in range(3):
        states.append(step(states[-1]))
    rollouts = [state.bonus.state for state in states[1:]]
    obs, first, _, next_obs, ended, following = (
        np.concatenate(each) for each in zip(*rollouts, strict=True)
    )
    np.testing.assert_array_equal(following[:-1], obs[1:])
    np.testing.assert_array_equal(ended[:-1], first[1:])
    np.testing.assert_array_equal(following[-1], states[-1].runner.running.obs)
    np.testing.assert_array_equal(ended[-1], states[-1].runner.first)
    assert ended[small().steps - 1 :: small().steps].any()
    np.testing.assert_array_equal(following[~ended], next_obs[~ended])
    assert (following[ended] != next_obs[ended]).any()


@dataclasses.dataclass(frozen=True)
class Ends(Witness):
    """Scores every step 1, and pays all but those that end an episode."""

    def score(self, observations: Any, state: Any, transitions: Transitions) -> Any:
        return transitions, jax.numpy.ones(transitions.action.shape)

    def paid(self, state: Any, transitions: Transitions) -> Any:
        return ~last_steps(transitions)


def test_what_is_not_paid_counts_in_the_score_and_not_in_the_reward() -> None:
    pack = pack_of("Memoryless", Ends())
    run = one(pack.runs)._replace(bonus_coef=jax.numpy.float32(0.25))
    state, record = rollout_and_update(pack.program, run, begun(pack.program))
    ended = np.asarray(state.bonus.state.ended)
    assert 0 < ended.mean() < 1
    assert record.normalised == 1
    np.testing.assert_allclose(record.delivered, 0.25 * (1 - ended.mean()), rtol=1e-6)


def test_the_width_of_the_critics_head() -> None:
    for width, sizes in ((None, (8, 4, 1)), (16, (16, 8, 1))):
        program = pack_of("GRU", "none", settings=small(critic_width=width)).program
        head = jax.eval_shape(program.agent, jax.random.key(0)).value
        assert tuple(len(layer.weight) for layer in head.layers) == sizes
