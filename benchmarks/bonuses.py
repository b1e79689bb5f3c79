"""What each bonus costs: CPU seconds to score a rollout of the study's size and to learn from it.

    python benchmarks/bonuses.py

CPU time of the process, all threads together: other work on the machine changes it little. Beside
it stands the size of what a run keeps, which is also what a checkpoint holds.
"""

from __future__ import annotations

import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np

from clew import bonuses, envs
from clew.bonuses import Bonus, Transitions
from clew.envs.observations import Observations


def rollout(observations: Observations, steps: int, n_envs: int) -> Transitions:
    """Observations at random; an episode ends at one step in fifty."""
    rng, env = np.random.default_rng(0), observations.env
    walk = rng.integers(env.n_symbols, size=(steps + 1, n_envs))
    action = rng.integers(len(env.action_names), size=(steps, n_envs))
    first = rng.random((steps, n_envs)) < 0.02
    first[0] = True
    ended = np.roll(first, -1, 0)
    columns = (walk[:-1], first, action, walk[1:], ended, walk[1:])
    return Transitions(*map(jnp.asarray, columns))


def measure(bonus: Bonus, observations: Observations, seen: Transitions, times: int) -> list[float]:
    """Seconds of scoring and of learning, and bytes of state."""
    envs, key = seen.first.shape[1], jax.random.key(0)
    state = jax.jit(lambda key: bonus.init(observations, envs, key))(key)
    score = jax.jit(lambda state: bonus.score(observations, state, seen))
    learn = jax.jit(lambda state: bonus.learn(observations, state, seen, key))
    seconds = []
    for function in (score, learn):
        jax.block_until_ready(function(state))
        began = time.process_time()
        for _ in range(times):
            jax.block_until_ready(function(state))
        seconds.append((time.process_time() - began) / times)
    return [*seconds, sum(leaf.nbytes for leaf in jax.tree.leaves(state))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--environment", default="MiniGrid-MemoryS13")
    parser.add_argument("--times", type=int, default=5)
    given = parser.parse_args()
    observations = Observations(envs.make(given.environment))
    seen = rollout(observations, 512, 16)
    print("| bonus | score, ms | learn, ms | kept, kB |\n|---|---|---|---|")
    for name in bonuses.names():
        score, learn, size = measure(bonuses.make(name), observations, seen, given.times)
        print(
            f"| `{name}` | {1e3 * score:.0f} | {1e3 * learn:.0f} | {size / 1e3:,.0f} |", flush=True
        )


if __name__ == "__main__":
    main()
