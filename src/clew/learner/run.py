"""One run: its state, and what one evaluation period of training does to it."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from clew.bonuses import BonusState, OneOf, Transitions
from clew.envs import Known, priced
from clew.learner import ppo
from clew.learner.advantages import advantages, critic_values
from clew.learner.agent import Agent, MemoryState
from clew.learner.evaluate import Evaluation, evaluate
from clew.learner.program import Program, RunParams
from clew.learner.rollout import Rollout, RunnerState, collect_rollout, init_runner

NEVER = -1
T = TypeVar("T")


class TrainState(NamedTuple):
    """Everything that a run carries from one update to the next."""

    key: PRNGKeyArray
    agent: Agent
    optimiser: optax.OptState
    bonus: BonusState
    runner: RunnerState
    steps: Int[Array, ""]
    """Environment steps taken."""
    first_success: Int[Array, ""]
    """Environment steps before the first success in training; −1 while there is none."""
    diverged: Int[Array, ""]
    """Environment steps before a loss was not finite; −1 if none was."""


class RolloutRecord(NamedTuple):
    """One rollout and the update that followed it. Means are over the rollout's steps."""

    episodes: Float[Array, ""]
    """Episodes that ended in the rollout."""
    successes: Float[Array, ""]
    reward: Float[Array, ""]
    """Mean, without the bonus."""
    events: Float[Array, " event"]
    """Mean of each kind."""
    bonus: Float[Array, ""]
    """Mean of the raw score."""
    normalised: Float[Array, ""]
    """Mean score divided by its running deviation and clipped: the paper's 'raw b'."""
    delivered: Float[Array, ""]
    """Mean of that times the coefficient, where it is paid: what is added to the reward."""
    explained_variance: Float[Array, ""]
    """1 − Var[target − value] / Var[target], of the critic."""
    report: ppo.UpdateMetrics


class EvalPeriod(NamedTuple):
    """What is recorded from one evaluation to the next."""

    rollouts: RolloutRecord
    """A leading axis over the period's rollouts."""
    evaluation: Evaluation


def init(program: Program, run: RunParams) -> TrainState:
    """A run before its first step; all its randomness comes from its seed."""
    key, agent_key, bonus_key, level_key = jax.random.split(jax.random.key(run.seed), 4)
    agent = program.agent(agent_key)
    bonus = BonusState.init(program.bonus, program.observations, program.settings.envs, bonus_key)
    if isinstance(program.bonus, OneOf):
        bonus = bonus._replace(state=program.bonus.choose(bonus.state, run.which_bonus))
    return TrainState(
        key=key,
        agent=agent,
        optimiser=ppo.init_optimiser(agent),
        bonus=bonus,
        runner=init_runner(program, agent, level_key),
        steps=jnp.int32(0),
        first_success=jnp.int32(NEVER),
        diverged=jnp.int32(NEVER),
    )


def train_period(
    program: Program, run: RunParams, state: TrainState
) -> tuple[TrainState, EvalPeriod]:
    """`eval_every` rollouts with an update after each, then an evaluation."""

    def step(state: TrainState, _: None) -> tuple[TrainState, RolloutRecord]:
        return rollout_and_update(program, run, state)

    with jax.default_matmul_precision(program.precision):
        state, records = jax.lax.scan(step, state, None, program.settings.eval_every)
        key, eval_key = jax.random.split(state.key)
        evaluation = evaluate(program, state.agent, run.prices, eval_key)
    evaluation = nan_if(state.diverged != NEVER, evaluation)
    return state._replace(key=key), EvalPeriod(records, evaluation)


class RolloutKeys(NamedTuple):
    """Random keys of one rollout and the update that follows it."""

    after: PRNGKeyArray
    """Of the run, for whatever comes next."""
    rollout: PRNGKeyArray
    bonus: PRNGKeyArray
    update: PRNGKeyArray

    @classmethod
    def of(cls, key: PRNGKeyArray) -> RolloutKeys:
        """From the run's key."""
        return cls(*jax.random.split(key, 4))


def rollout_and_update(
    program: Program, run: RunParams, state: TrainState
) -> tuple[TrainState, RolloutRecord]:
    """Collect a rollout and learn from it."""
    keys = RolloutKeys.of(state.key)
    collected = collect_rollout(program, state.agent, state.runner, keys.rollout)
    return learn(program, run, state, keys, *collected)


def learn(
    program: Program,
    run: RunParams,
    state: TrainState,
    keys: RolloutKeys,
    runner: RunnerState,
    rollout: Rollout,
    actor_memory: MemoryState,
) -> tuple[TrainState, RolloutRecord]:
    """Add the bonus to a rollout, estimate advantages, update the agent.

    `runner` is as the rollout left it, `actor_memory` the actor's at the beginning of each chunk.
    """
    settings = program.settings
    # a bonus sees the world as it is, whatever the agent is given
    obs, next_obs, now = (
        seen.obs if isinstance(seen, Known) else seen
        for seen in (rollout.obs, rollout.next_obs, runner.running.obs)
    )
    done = rollout.terminated | rollout.truncated
    following = jnp.concatenate((obs[1:], now[None]))
    transitions = Transitions(obs, rollout.first, rollout.action, next_obs, done, following)
    bonus, raw, normalised = state.bonus.intrinsic_rewards(
        program.bonus, program.observations, transitions, keys.bonus
    )
    reward = priced(run.prices, rollout.events)
    paid = program.bonus.paid(bonus.state, transitions)
    delivered = run.bonus_coef * (normalised if paid is None else normalised * paid)
    runner, values = critic_values(program, state.agent, runner, rollout)
    advantage = advantages(
        reward + delivered,
        values,
        done if settings.truncation == "end" else rollout.terminated,
        done,
        run.gamma,
        settings.gae_lambda,
    )
    batch = ppo.Batch(
        obs=rollout.obs,
        first=rollout.first,
        action=rollout.action,
        log_prob=rollout.log_prob,
        advantage=advantage,
        target=advantage + values.value,
    )
    sound = state.diverged == NEVER
    memories = (actor_memory, actor_memory if state.agent.critic is None else values.memories)
    agent, optimiser, metrics = ppo.update(
        program, state.agent, state.optimiser, batch, memories, run, keys.update, sound
    )
    after = TrainState(
        key=keys.after,
        agent=agent,
        optimiser=optimiser,
        bonus=bonus,
        runner=runner,
        steps=state.steps + settings.rollout,
        first_success=_first_success(state, rollout),
        diverged=jnp.where(sound & ~metrics.finite, state.steps, state.diverged),
    )
    record = RolloutRecord(
        episodes=done.sum().astype(jnp.float32),
        successes=rollout.success.sum().astype(jnp.float32),
        reward=reward.mean(),
        events=rollout.events.mean((0, 1)),
        bonus=raw.mean(),
        normalised=normalised.mean(),
        delivered=delivered.mean(),
        explained_variance=1 - advantage.var() / (batch.target.var() + 1e-8),
        report=metrics,
    )
    return after, nan_if(after.diverged != NEVER, record)


def nan_if(diverged: Bool[Array, ""], record: T) -> T:
    """NaN for a diverged run: its numbers mean nothing."""
    return jax.tree.map(lambda x: jnp.where(diverged, jnp.nan, x.astype(jnp.float32)), record)


def _first_success(state: TrainState, rollout: Rollout) -> Int[Array, ""]:
    """Environments step side by side: step t of all comes before step t+1 of any."""
    envs = rollout.success.shape[1]
    when = jnp.argmax(rollout.success.any(1))
    found = rollout.success.any() & (state.first_success == NEVER)
    return jnp.where(found, state.steps + (when + 1) * envs, state.first_success).astype(jnp.int32)
