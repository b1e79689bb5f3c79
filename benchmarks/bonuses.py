"""What each bonus costs: CPU seconds to score a rollout of the study's size and to learn from it.

    python benchmarks/bonuses.py
    python benchmarks/bonuses.py --kernels 1 20 60  # E3B's scores on a GPU: a loop and a kernel

CPU time of the process, all threads together: other work on the machine changes it little. Beside
it stands the size of what a run keeps, which is also what a checkpoint holds.
"""

from __future__ import annotations

import argparse
import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from clew import bonuses, envs
from clew.bonuses import Bonus, Transitions, ellipsoid
from clew.envs.observations import Observations
from clew.learner.execution import gpu_options


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


def ellipsoids(runs: int) -> str:
    """E3B's scores of a rollout of so many runs, both ways: milliseconds, and how they differ.

    Observations are drawn from sixty, as in a small world; an episode has some fifty.
    """
    rng = np.random.default_rng(0)
    every = rng.normal(size=(runs, 60, 64))
    walk = rng.integers(60, size=(runs, 513, 16))
    seen = jnp.asarray(np.take_along_axis(every[:, :, None], walk[..., None], 1), "f4")
    first = jnp.asarray(rng.random((runs, 512, 16)) < 0.02)
    roots = jnp.broadcast_to(ellipsoid.empty_root(64, 1.0), (runs, 16, 64, 64))
    scores, times = [], []
    for way in (ellipsoid.by_loop, ellipsoid.by_kernel):
        call = jax.jit(
            jax.vmap(partial(way, ridge=1.0, count_first=True)), compiler_options=gpu_options()
        )
        each = []
        for _ in range(6):
            began = time.perf_counter()
            _, found = jax.block_until_ready(call(roots, seen[:, :-1], first, seen[:, 1:]))
            each.append(1e3 * (time.perf_counter() - began))
        scores.append(np.asarray(found, float))
        times.append(min(each))
    loop, kernel = scores
    error = np.abs(kernel - loop).max() / np.abs(loop).max()
    return f"| {runs} | {times[0]:.2f} | {times[1]:.2f} | {error:.1e} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--environment", default="MiniGrid-MemoryS13")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--kernels", nargs="+", type=int, metavar="RUNS")
    given = parser.parse_args()
    if given.kernels:
        print("| runs | loop, ms | kernel, ms | difference / largest score |\n|---|---|---|---|")
        print(*map(ellipsoids, given.kernels), sep="\n")
        return
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
