"""Training in environments that step on the host.

Acting and learning are compiled, as everywhere; between them is a loop in Python, which steps a
vector of copies of the environment. The copies live beside the state that is stored: a run that is
resumed begins new episodes, with seeds of their own, and loses those that were under way.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from clew.envs import priced
from clew.envs.hosted.copies import Copies, require_keys
from clew.learner.agent import MemoryState
from clew.learner.evaluate import Evaluation
from clew.learner.execution import Executor, cpu_options, gpu_options, run_by_run, run_shapes
from clew.learner.host_actor import (
    HostActor,
    compiled_choose,
    compiled_sample,
    compiled_table,
    hosted_env,
    parts_of,
    play,
    require_finite,
    seeds_of,
    seen,
)
from clew.learner.program import Program, RunParams
from clew.learner.program_cache import compile_program
from clew.learner.rollout import Rollout
from clew.learner.run import (
    NEVER,
    EvalPeriod,
    RolloutKeys,
    RolloutRecord,
    TrainState,
    init,
    learn,
    nan_if,
)

TRAINING, EVALUATION = 0, 1
"""Streams of seeds."""


class Hosted(Executor):
    """One run after another on every core, each with environments of its own on the host.

    The environments of all runs share Python's one lock; while a run learns, the others step.
    """

    def __init__(self) -> None:
        self._live: dict[int, LiveRun] = {}

    def advance(
        self, program: Program, runs: RunParams, state: TrainState
    ) -> tuple[TrainState, EvalPeriod]:
        """One evaluation period of every run. Do not use `state` afterwards."""
        numbers = np.arange(len(runs.seed))
        return run_by_run(partial(self._advance, program), numbers, runs, state)

    def compile(self, program: Program, runs: RunParams, state: TrainState) -> None:
        """Compile `advance` without running it."""
        compiled_table(program)
        compiled_sample(program, program.settings.envs)
        compiled_choose(program, program.settings.eval_episodes)
        _begin_rollout(program)
        _learn(program)

    def close(self) -> None:
        """End all environments."""
        for live in self._live.values():
            live.close()
        self._live.clear()

    def _advance(
        self, program: Program, number: np.ndarray, run: RunParams, state: TrainState
    ) -> tuple[TrainState, EvalPeriod]:
        live, steps = self._live.get(int(number)), int(state.steps)
        if live is None or live.steps != steps:
            if live is not None:
                live.close()
            live = self._live[int(number)] = LiveRun(program, int(run.seed), steps)
        return live.train_period(run, state)


class LiveRun:
    """The environments of one run, between two of its steps."""

    def __init__(self, program: Program, seed: int, steps: int) -> None:
        """`steps` are those that the run has taken: what it plays next depends on them."""
        s = program.settings
        self.program, self.seed, self.steps = program, seed, steps
        require_keys(hosted_env(program.env))
        self._copies = Copies(hosted_env(program.env), s.envs)
        self._evaluated: Copies | None = None
        self._batch, _ = self._copies.reset(seeds_of(seed, steps, TRAINING, n=s.envs))
        self._first = np.ones(s.envs, bool)

    def close(self) -> None:
        """End them."""
        self._copies.close()
        if self._evaluated is not None:
            self._evaluated.close()

    def train_period(self, run: RunParams, state: TrainState) -> tuple[TrainState, EvalPeriod]:
        """`eval_every` rollouts with an update after each, then an evaluation."""
        records: list[RolloutRecord] = []
        for _ in range(self.program.settings.eval_every):
            state, record = self._rollout_and_update(run, state)
            records.append(record)
        rollouts = jax.tree.map(lambda *each: np.stack(each), *jax.device_get(records))
        evaluation = self._evaluate(state, np.asarray(run.prices))
        return state, EvalPeriod(rollouts, evaluation)

    def _rollout_and_update(
        self, run: RunParams, state: TrainState
    ) -> tuple[TrainState, RolloutRecord]:
        keys, noise = _begin_rollout(self.program)(state.key)
        rollout, memories, memory = self._collect(state, np.asarray(noise))
        self.steps += self.program.settings.rollout
        now = tuple(np.array(part) for part in parts_of(self.program.env, self._batch))
        return _learn(self.program)(run, state, keys, rollout, memories, memory, now, self._first)

    def _collect(
        self, state: TrainState, noise: Float[np.ndarray, "time env action"]
    ) -> tuple[Rollout, list[list[Array]], list[Array]]:
        """The rollout, the actor's memory at the beginning of each chunk, and after the last."""
        env, s = self.program.env, self.program.settings
        actor = HostActor(self.program, state.agent, s.envs, state.runner.actor_memory)
        leaves, tree = jax.tree.flatten(_rollout_shapes(self.program))
        # new arrays for every rollout: the update may still be reading the last one's
        rows = [np.empty(leaf.shape, leaf.dtype) for leaf in leaves]
        memories: list[list[Array]] = []
        now = parts_of(env, self._batch)
        for t in range(s.steps):
            if t % s.chunk == 0:
                memories.append(actor.memory)
            for row, part in zip(rows, now, strict=False):
                row[t] = part
            seen_now = tuple(row[t] for row in rows[: len(now)])
            action, log_prob = actor.sample(seen_now, self._first, noise[t])
            step = self._copies.step(action)
            require_finite(hosted_env(env), step.reward)
            now = parts_of(env, step.obs)
            final = now if step.final is step.obs else parts_of(env, step.final)
            others = (  # in the order of `Rollout`
                self._first, action, log_prob, *final, np.stack((step.reward, step.success), -1),
                step.terminated, step.truncated, step.success,
            )  # fmt: skip
            for row, value in zip(rows[len(now) :], others, strict=True):
                row[t] = value
            self._first, self._batch = step.terminated | step.truncated, step.obs
        return jax.tree.unflatten(tree, rows), memories, actor.memory

    def _evaluate(self, state: TrainState, prices: Float[np.ndarray, " event"]) -> Evaluation:
        """Whole episodes of the deterministic policy, as `evaluate` does in other worlds."""
        n = self.program.settings.eval_episodes
        if self._evaluated is None:
            self._evaluated = Copies(hosted_env(self.program.env), n, once=True)
        seeds = seeds_of(self.seed, self.steps, EVALUATION, n=n)
        choose = HostActor(self.program, state.agent, n).choose
        success, length, reward = np.zeros((3, n), np.float32)
        for now in play(self.program, self._evaluated, seeds, choose):
            success += now.alive * now.step.success
            length += now.alive
            reward += now.alive * now.step.reward
        events = jnp.array((reward.mean(), success.mean()))
        found = Evaluation(events[1], jnp.array(length.mean()), priced(prices, events), events)
        return nan_if(state.diverged != NEVER, found)


@cache
def _begin_rollout(program: Program) -> Callable[..., Any]:
    """Compiled: from a run's key, the keys and the noise of a rollout."""
    s, actions = program.settings, len(program.env.action_names)

    def begin(key: Array) -> tuple[RolloutKeys, Array]:
        keys = RolloutKeys.of(key)
        return keys, jax.random.gumbel(keys.rollout, (s.steps, s.envs, actions))

    key = jax.eval_shape(lambda: jax.random.key(0))
    return compile_program(jax.jit(begin).lower(key), None)


@cache
def _learn(program: Program) -> Callable[..., tuple[TrainState, RolloutRecord]]:
    """Compiled: what follows a rollout."""
    s, run = program.settings, run_shapes(program)
    state = jax.eval_shape(partial(init, program), run)
    memory_tree = jax.tree.structure(state.runner.actor_memory)

    def update(
        run: RunParams,
        state: TrainState,
        keys: RolloutKeys,
        rollout: Rollout,
        memories: list[list[Array]],
        memory: list[Array],
        now: tuple[Array, ...],
        first: Array,
    ) -> tuple[TrainState, RolloutRecord]:
        def whole(leaves: list[Array]) -> MemoryState:
            return jax.tree.unflatten(memory_tree, leaves)

        at_chunks = jax.tree.map(lambda *each: jnp.stack(each), *map(whole, memories))
        running = state.runner.running._replace(obs=seen(now))
        runner = state.runner._replace(running=running, first=first, actor_memory=whole(memory))
        with jax.default_matmul_precision(program.precision):
            return learn(program, run, state, keys, runner, rollout, at_chunks)

    key = jax.eval_shape(lambda: RolloutKeys.of(jax.random.key(0)))
    memory = jax.tree.leaves(state.runner.actor_memory)
    memories = [memory] * (s.steps // s.chunk)
    lowered = jax.jit(update, donate_argnums=1).lower(
        run,
        state,
        key,
        _rollout_shapes(program),
        memories,
        memory,
        tuple(jax.tree.leaves(state.runner.running.obs)),
        state.runner.first,
    )
    options = cpu_options(1) if jax.default_backend() == "cpu" else gpu_options()
    return compile_program(lowered, options)


@cache
def _rollout_shapes(program: Program) -> Rollout:
    s = program.settings

    def zeros() -> Rollout:
        def array(dtype: Any, *shape: int) -> Array:
            return jnp.zeros((s.steps, s.envs, *shape), dtype)

        _, one = program.env.start(jnp.uint32(0))
        obs, flag = jax.tree.map(lambda x: array(x.dtype, *x.shape), one), array(bool)
        numbers, events = array(jnp.float32), array(jnp.float32, len(program.env.event_names))
        return Rollout(obs, flag, array(jnp.int32), numbers, obs, events, flag, flag, flag)

    return jax.eval_shape(zeros)
