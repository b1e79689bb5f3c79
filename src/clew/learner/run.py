"""One run: a state, and what one period of training does to it. A pack is this, vmapped."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt32

from clew.bonuses import BonusState, Transitions
from clew.envs import priced
from clew.learner import ppo
from clew.learner.advantages import advantages, critic_values
from clew.learner.agent import Agent
from clew.learner.evaluate import Evaluation, evaluate
from clew.learner.program import Program
from clew.learner.rollout import Rollout, RunnerState, collect_rollout, init_runner

NEVER = -1


class RunParams(NamedTuple):
    """What makes a run different from the others in its pack. In a pack, arrays of these."""

    seed: UInt32[Array, ""]
    prices: Float[Array, " event"]
    learning_rate: Float[Array, ""]
    gamma: Float[Array, ""]
    entropy: Float[Array, ""]
    bonus_coef: Float[Array, ""]


class TrainState(NamedTuple):
    """Everything that a run carries from one update to the next."""

    key: PRNGKeyArray
    agent: Agent
    optimiser: Any
    bonus: BonusState
    runner: RunnerState
    steps: Int[Array, ""]
    """Environment steps taken."""
    first_success: Int[Array, ""]
    """Environment steps before the first success in training; −1 while there is none."""
    diverged: Int[Array, ""]
    """Environment steps before a loss was not finite; −1 if none was."""


class RolloutRecord(NamedTuple):
    """One rollout and the update that followed it."""

    episodes: Float[Array, ""]
    """Ended in it."""
    successes: Float[Array, ""]
    reward: Float[Array, ""]
    """A step, without the bonus."""
    events: Float[Array, " event"]
    """Of each kind, a step."""
    bonus: Float[Array, ""]
    """Raw score, a step."""
    normalised: Float[Array, ""]
    """Divided by its running deviation and clipped: the paper's 'raw b', a step."""
    delivered: Float[Array, ""]
    """Times the coefficient: what is added to the reward, a step."""
    explained_variance: Float[Array, ""]
    """Share of the variance of the critic's targets that its values foretold."""
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
    return TrainState(
        key=key,
        agent=agent,
        optimiser=ppo.init_optimiser(agent),
        bonus=BonusState.init(
            program.bonus, program.observations, program.settings.envs, bonus_key
        ),
        runner=init_runner(program, agent, level_key),
        steps=jnp.int32(0),
        first_success=jnp.int32(NEVER),
        diverged=jnp.int32(NEVER),
    )


def period(program: Program, run: RunParams, state: TrainState) -> tuple[TrainState, EvalPeriod]:
    """`eval_every` rollouts with an update after each, then an evaluation."""

    def once(state: TrainState, _: None) -> tuple[TrainState, RolloutRecord]:
        return rollout_and_update(program, run, state)

    with jax.default_matmul_precision(precision_of(program)):
        state, records = jax.lax.scan(once, state, None, program.settings.eval_every)
        key, eval_key = jax.random.split(state.key)
        found = evaluate(program, state.agent, run.prices, eval_key)
    # what a diverged run does no longer means anything
    gone = state.diverged != NEVER
    found = jax.tree.map(lambda x: jnp.where(gone, jnp.nan, x), found)
    return state._replace(key=key), EvalPeriod(records, found)


def rollout_and_update(
    program: Program, run: RunParams, state: TrainState
) -> tuple[TrainState, RolloutRecord]:
    """Play, add the bonus, estimate advantages, improve."""
    settings = program.settings
    key, play_key, bonus_key, update_key = jax.random.split(state.key, 4)
    runner, rollout, actor_memory = collect_rollout(program, state.agent, state.runner, play_key)
    seen = Transitions(rollout.obs, rollout.first, rollout.action, rollout.next_obs)
    bonus, raw, normalised = state.bonus.intrinsic_rewards(
        program.bonus, program.observations, seen, bonus_key
    )
    reward = priced(run.prices, rollout.events)
    delivered = run.bonus_coef * normalised
    runner, valued = critic_values(program, state.agent, runner, rollout)
    ended = rollout.terminated | rollout.truncated
    advantage = advantages(
        reward + delivered,
        valued,
        ended if settings.truncation == "end" else rollout.terminated,
        ended,
        run.gamma,
        settings.gae_lambda,
    )
    batch = ppo.Batch(
        obs=rollout.obs,
        first=rollout.first,
        action=rollout.action,
        log_prob=rollout.log_prob,
        advantage=advantage,
        target=advantage + valued.value,
    )
    sound = state.diverged == NEVER
    memories = (actor_memory, actor_memory if state.agent.critic is None else valued.memories)
    agent, optimiser, report = ppo.update(
        program, state.agent, state.optimiser, batch, memories, run, update_key, sound
    )
    after = TrainState(
        key=key,
        agent=agent,
        optimiser=optimiser,
        bonus=bonus,
        runner=runner,
        steps=state.steps + settings.rollout,
        first_success=_first_success(state, rollout),
        diverged=jnp.where(sound & ~report.finite, state.steps, state.diverged),
    )
    record = RolloutRecord(
        episodes=ended.sum().astype(jnp.float32),
        successes=rollout.success.sum().astype(jnp.float32),
        reward=reward.mean(),
        events=rollout.events.mean((0, 1)),
        bonus=raw.mean(),
        normalised=normalised.mean(),
        delivered=delivered.mean(),
        explained_variance=1 - advantage.var() / (batch.target.var() + 1e-8),
        report=report,
    )
    gone = after.diverged != NEVER
    blank = jax.tree.map(lambda x: jnp.where(gone, jnp.nan, x.astype(jnp.float32)), record)
    return after, blank


def precision_of(program: Program) -> str | None:
    """As `jax.default_matmul_precision` wants it."""
    return None if program.settings.precision == "default" else program.settings.precision


def _first_success(state: TrainState, rollout: Rollout) -> Int[Array, ""]:
    """Environments step side by side: step t of all comes before step t+1 of any."""
    envs = rollout.success.shape[1]
    when = jnp.argmax(rollout.success.any(1))
    found = rollout.success.any() & (state.first_success == NEVER)
    return jnp.where(found, state.steps + (when + 1) * envs, state.first_success).astype(jnp.int32)
