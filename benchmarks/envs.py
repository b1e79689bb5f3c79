"""Environment steps per second with a random policy, ours and the originals', in one run.

Everything runs on one core of one process, so that the ratio is per core. Levels are drawn anew
for every episode on both sides. `symbols` is what our learner consumes; `arrays` also looks up
or draws the full observation of every step and reads it back (a sum over it), as a learner
without an alphabet would.
"""

from __future__ import annotations

import os

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.environ["SDL_VIDEODRIVER"] = os.environ["SDL_AUDIODRIVER"] = "dummy"

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from memory_gym.mystery_path_grid import GridMysteryPathEnv
from minigrid.envs import MemoryEnv
from minigrid.wrappers import OneHotPartialObsWrapper
from rich.console import Console
from rich.table import Table

from clew import envs

ENVS, STEPS = 1024, 512
SECONDS = 3.0


def original_rate(env: Any, n_actions: int) -> float:
    """Steps per second of a Gymnasium environment, resets included."""
    rng = np.random.default_rng(0)
    actions = rng.integers(n_actions, size=100_000)
    env.reset(seed=0)
    done, began = 0, time.perf_counter()
    while time.perf_counter() - began < SECONDS:
        for action in actions[done : done + 500].tolist():
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        done += 500
    return done / (time.perf_counter() - began)


def our_rate(env: envs.Environment, arrays: bool, n_envs: int = ENVS, steps: int = STEPS) -> float:
    """Steps per second of `n_envs` environments in one compiled stretch, resets included."""
    stretch = jax.jit(partial(play, env, arrays, n_envs, steps))
    jax.block_until_ready(stretch(jax.random.key(0)))
    rounds, began = 0, time.perf_counter()
    while time.perf_counter() - began < SECONDS:
        jax.block_until_ready(stretch(jax.random.key(rounds)))
        rounds += 1
    return rounds * n_envs * steps / (time.perf_counter() - began)


def play(env: envs.Environment, arrays: bool, n_envs: int, steps: int, key: jax.Array) -> Any:
    """Random play; returns sums over all that a step gives, so that nothing is optimised away."""
    level_key, action_key = jax.random.split(key)
    each = partial(jax.vmap, in_axes=0)
    levels = each(lambda k: envs.lay_out(env, k, steps))(jax.random.split(level_key, n_envs))
    actions = jax.random.randint(action_key, (steps, n_envs), 0, len(env.action_names))
    keys = jax.random.split(key, (steps, n_envs))

    def body(running: envs.Running, now: Any) -> Any:
        running, step = each(partial(envs.advance, env))(levels, running, *now)
        obs = env.decode(step.obs) if arrays else step.obs
        flags = step.terminated.sum() + step.truncated.sum() + step.success.sum()
        return running, (jnp.sum(obs, dtype=jnp.float32), step.events.sum(0), flags)

    return jax.lax.scan(body, each(lambda some: envs.begin(env, some))(levels), (actions, keys))[1]


def level_cost(env: envs.Environment, n: int = 4096) -> float:
    """Microseconds to draw a level, drawn in bulk."""
    draw = jax.jit(jax.vmap(env.level))
    keys = jax.random.split(jax.random.key(0), n)
    jax.block_until_ready(draw(keys))
    began = time.perf_counter()
    jax.block_until_ready(draw(keys))
    return 1e6 * (time.perf_counter() - began) / n


def gym_rate(name: str, copies: int) -> float:
    """Steps per second of the Gymnasium form, arrays and instruments included."""
    if copies == 1:
        single = gymnasium.make(f"clew/{name}-v0").unwrapped
        return original_rate(single, int(single.action_space.n))
    env = gymnasium.make_vec(
        f"clew/{name}-v0", num_envs=copies, vectorization_mode="vector_entry_point"
    )
    env.reset(seed=0)
    actions = np.random.default_rng(0).integers(env.single_action_space.n, size=(64, copies))
    env.step(actions[0])
    rounds, began = 0, time.perf_counter()
    while time.perf_counter() - began < SECONDS:
        env.step(actions[rounds % 64])
        rounds += 1
    return rounds * copies / (time.perf_counter() - began)


def main() -> None:
    originals: dict[str, Callable[[], Any] | None] = {
        "MysteryPath-Grid": GridMysteryPathEnv,
        "MiniGrid-MemoryS13": lambda: OneHotPartialObsWrapper(
            MemoryEnv(size=13, agent_view_size=3)
        ),
        "TinyReproduce": None,
    }
    table = Table(title=f"steps per second on one core, {ENVS} environments of ours")
    for column in ("world", "original", "ours, symbols", "ratio", "ours, arrays", "ratio"):
        table.add_column(column, justify="left" if column == "world" else "right")
    other = Table(title="the Gymnasium form, and the cost of a level")
    for column in ("world", "one copy", "64 copies", "1,024 copies", "µs a level"):
        other.add_column(column, justify="left" if column == "world" else "right")
    for name, make_original in originals.items():
        env = envs.make(name)
        theirs = original_rate(make_original(), len(env.action_names)) if make_original else None
        symbols = our_rate(env, arrays=False)
        arrays = our_rate(env, arrays=True, steps=64)
        ratios = [f"{ours / theirs:,.0f}×" if theirs else "—" for ours in (symbols, arrays)]
        shown = f"{theirs:,.0f}" if theirs else "—"
        table.add_row(name, shown, f"{symbols:,.0f}", ratios[0], f"{arrays:,.0f}", ratios[1])
        rates = [f"{gym_rate(name, copies):,.0f}" for copies in (1, 64, 1024)]
        other.add_row(name, *rates, f"{level_cost(env):.1f}")
    Console(width=100).print(table, other)
    print(f"jax {jax.__version__}, numpy {np.__version__}")


if __name__ == "__main__":
    main()
