"""Where the time of training goes on a CPU: the parts of a rollout and its update, apart.

For example `python benchmarks/parts.py MiniGrid-MemoryS13 GRU e3b`. Each part is a program of its
own, run on one core; CPU-milliseconds, the least of a few. (On a GPU: `benchmarks/kernels.py`.)
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from clew import envs
from clew.bonuses import Transitions
from clew.envs import priced
from clew.learner import Pack, Settings, ppo
from clew.learner.advantages import advantages, critic_values
from clew.learner.evaluate import evaluate
from clew.learner.rollout import collect_rollout
from clew.learner.run import init


def timed(name: str, times: float, function: Callable[..., Any], *args: Any) -> Any:
    """Run it, and say what it costs a rollout when it happens `times` times in one."""
    program = jax.jit(function).lower(*args).compile()
    result = jax.block_until_ready(program(*args))
    spent = []
    for _ in range(4):
        began = time.process_time()
        jax.block_until_ready(program(*args))
        spent.append(time.process_time() - began)
    once = 1000 * min(spent)
    print(f"{name:34s} {once:9.1f} ms  × {times:<4g} = {once * times:9.1f} ms", flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("environment")
    parser.add_argument("architecture")
    parser.add_argument("bonus", nargs="?", default="none")
    parser.add_argument("--chunk", type=int, default=64)
    args = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    reward = next(iter(envs.make(args.environment).reward_variants()))
    settings = Settings(chunk=args.chunk)
    pack = Pack.of(args.environment, reward, args.architecture, args.bonus, settings=settings)
    run = jax.tree.map(lambda leaf: leaf[0], pack.runs)
    measure(pack, run, jax.jit(partial(init, pack.program))(run))


def measure(pack: Pack, run: Any, state: Any) -> None:
    program, s, key = pack.program, pack.program.settings, jax.random.key(0)
    agent, runner = state.agent, state.runner
    after, rollout, actor_memory = timed(
        "rollout", 1, partial(collect_rollout, program), agent, runner, key
    )
    _, valued = timed("values", 1, partial(critic_values, program), agent, after, rollout)
    ended = rollout.terminated | rollout.truncated
    following = jnp.concatenate((rollout.obs[1:], after.running.obs[None]))
    seen = Transitions(
        rollout.obs, rollout.first, rollout.action, rollout.next_obs, ended, following
    )
    timed(
        "bonus, and its training",
        1,
        lambda bonus, seen: bonus.intrinsic_rewards(program.bonus, program.observations, seen, key),
        state.bonus,
        seen,
    )
    reward = priced(run.prices, rollout.events)
    advantage = advantages(reward, valued, rollout.terminated, ended, run.gamma, s.gae_lambda)
    batch = ppo.Batch(
        rollout.obs,
        rollout.first,
        rollout.action,
        rollout.log_prob,
        advantage,
        advantage + valued.value,
    )
    _, _, report = timed(
        "update",
        1,
        partial(ppo.update, program),
        agent,
        state.optimiser,
        batch,
        (actor_memory, valued.memories),
        run,
        key,
        state.diverged < 0,
    )
    print(f"{int(report.minibatches)} minibatches")
    timed("evaluation", 1 / s.eval_every, partial(evaluate, program), agent, run.prices, key)


if __name__ == "__main__":
    main()
