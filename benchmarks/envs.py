"""Environment steps per second with a random policy, ours and the originals', in one run.

Everything runs on one core of one process, so that the ratio is per core. Levels are drawn anew
for every episode on both sides. `symbols` is what our learner consumes; `arrays` also looks up
or draws the full observation of every step and reads it back (a sum over it), as a learner
without an alphabet would. Single Gymnasium copies, ours and the original, take turns, and their
CPU time counts: what else the machine does matters little.
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


class Copy:
    """One Gymnasium environment under a random policy: how much time it took for how much."""

    def __init__(self, env: Any, **reset_options: object):
        self.env, self.reset = env, partial(env.reset, options=reset_options or None)
        self.actions = np.random.default_rng(0).integers(env.action_space.n, size=500).tolist()
        self.steps = self.step_seconds = self.resets = self.reset_seconds = 0.0
        self.reset(seed=0)
        self._step()  # and whatever is done once

    def play(self) -> None:
        """500 steps, with the resets that they need; then 20 resets."""
        began = time.process_time()
        self._step()
        between = time.process_time()
        for _ in range(20):
            self.reset()
        self.steps, self.resets = self.steps + len(self.actions), self.resets + 20
        self.step_seconds += between - began
        self.reset_seconds += time.process_time() - between

    def _step(self) -> None:
        for action in self.actions:
            _, _, terminated, truncated, _ = self.env.step(action)
            if terminated or truncated:
                self.reset()

    @property
    def rate(self) -> float:
        """Steps per CPU-second, resets included."""
        return self.steps / self.step_seconds

    @property
    def reset_cost(self) -> float:
        """Microseconds a reset."""
        return 1e6 * self.reset_seconds / self.resets


def side_by_side(*copies: Copy) -> None:
    """Let them take turns, in slices of some ten milliseconds."""
    began = time.process_time()
    while time.process_time() - began < SECONDS * len(copies):
        for copy in copies:
            copy.play()


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


def vector_rate(name: str, copies: int) -> float:
    """Steps per second of the vector form, arrays and instruments included."""
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


def path(**options: object) -> Copy:
    return Copy(GridMysteryPathEnv(), **options)


def corridor(view: int) -> Copy:
    return Copy(OneHotPartialObsWrapper(MemoryEnv(size=13, agent_view_size=view)))


SINGLES: list[tuple[str, dict[str, Any], Callable[[], Copy] | None]] = [
    ("MysteryPath-Grid", {}, path),
    ("MysteryPath-Grid", {"show_goal": True}, partial(path, show_goal=True)),
    ("MysteryPath-Grid", {"knowledge": True}, path),
    ("MiniGrid-MemoryS13", {}, partial(corridor, 3)),
    ("MiniGrid-MemoryS13", {"view": 7}, partial(corridor, 7)),
    ("MiniGrid-MemoryS13", {"knowledge": True}, partial(corridor, 3)),
    ("TinyReproduce", {}, None),
]
"""Ours with its options, and the original; with `knowledge` ours gives more than it."""


def singles() -> tuple[Table, dict[str, float]]:
    """Single Gymnasium copies beside the originals, and the originals' rates."""
    table = Table(title="a single Gymnasium copy: steps per CPU-second, and µs a reset")
    for column in ("world", "original", "ours", "ratio", "original's reset", "ours", "ratio"):
        table.add_column(column, justify="left" if column == "world" else "right")
    originals: dict[str, float] = {}
    for name, options, make_original in SINGLES:
        ours = Copy(gymnasium.make(f"clew/{name}-v0", **options).unwrapped)
        label = " ".join([name, *(f"{key}={value}" for key, value in options.items())])
        if make_original is None:
            side_by_side(ours)
            table.add_row(label, "—", f"{ours.rate:,.0f}", "—", "—", f"{ours.reset_cost:.0f}", "—")
            continue
        theirs = make_original()
        side_by_side(theirs, ours)
        originals.setdefault(name, theirs.rate)
        steps = [f"{theirs.rate:,.0f}", f"{ours.rate:,.0f}", f"{ours.rate / theirs.rate:.1f}×"]
        costs = [f"{theirs.reset_cost:.0f}", f"{ours.reset_cost:.0f}"]
        table.add_row(label, *steps, *costs, f"{theirs.reset_cost / ours.reset_cost:.1f}×")
    return table, originals


def main() -> None:
    first, originals = singles()
    table = Table(title=f"steps per second on one core, {ENVS} environments of ours")
    for column in ("world", "original", "ours, symbols", "ratio", "ours, arrays", "ratio"):
        table.add_column(column, justify="left" if column == "world" else "right")
    other = Table(title="the vector form, and the cost of a level")
    for column in ("world", "64 copies", "1,024 copies", "µs a level"):
        other.add_column(column, justify="left" if column == "world" else "right")
    for name in ("MysteryPath-Grid", "MiniGrid-MemoryS13", "TinyReproduce"):
        env, theirs = envs.make(name), originals.get(name)
        symbols = our_rate(env, arrays=False)
        arrays = our_rate(env, arrays=True, steps=64)
        ratios = [f"{ours / theirs:,.0f}×" if theirs else "—" for ours in (symbols, arrays)]
        shown = f"{theirs:,.0f}" if theirs else "—"
        table.add_row(name, shown, f"{symbols:,.0f}", ratios[0], f"{arrays:,.0f}", ratios[1])
        rates = [f"{vector_rate(name, copies):,.0f}" for copies in (64, 1024)]
        other.add_row(name, *rates, f"{level_cost(env):.1f}")
    Console(width=110).print(first, table, other)
    print(f"jax {jax.__version__}, numpy {np.__version__}")


if __name__ == "__main__":
    main()
