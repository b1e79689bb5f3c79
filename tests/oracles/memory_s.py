"""Plays MiniGrid's Memory environments and writes down what they do. Needs the package."""

from __future__ import annotations

import numpy as np
from minigrid.envs import MemoryEnv
from minigrid.wrappers import OneHotPartialObsWrapper

from tests.oracles.traces import Case, Recorder, Trace

NATIVE = {"goal": 1.0, "lateness": -0.9}
CASES = (
    *(
        Case(f"memory-s{size}-view{view}", f"MiniGrid-MemoryS{size}", {"view": view}, NATIVE)
        for size in (7, 9, 11, 13, 15, 17)
        for view in (3, 5, 7)
    ),
    Case("memory-s13random", "MiniGrid-MemoryS13Random", {"view": 3}, NATIVE),
    Case("memory-s17random", "MiniGrid-MemoryS17Random", {"view": 7}, NATIVE),
    Case("memory-short", "MiniGrid-MemoryS13", {"view": 7, "max_steps": 50}, NATIVE),
)


def play(case: Case, episodes: int, seed: int) -> Trace:
    """Record episodes of two policies in turn: uniformly random, and one that mostly walks."""
    size = int("".join(c for c in case.world if c.isdigit()))
    env = OneHotPartialObsWrapper(
        MemoryEnv(
            size=size,
            random_length=case.world.endswith("Random"),
            agent_view_size=case.options["view"],
            max_steps=case.options.get("max_steps"),
        )
    )
    world = env.unwrapped
    rng = np.random.default_rng(seed)
    recorder = Recorder(case)
    for number in range(episodes):
        obs, _ = env.reset(seed=int(rng.integers(2**31)))
        hallway_end = int(world.success_pos[0]) - 1
        level = {
            "hallway_end": hallway_end,
            "x": int(world.agent_pos[0]),
            "cue": world.grid.get(1, size // 2 - 1).type == "ball",
            "upper": world.grid.get(hallway_end + 1, size // 2 - 2).type == "ball",
        }
        recorder.begin(level, obs["image"], _place(world))
        done = False
        while not done:
            walking = number % 2 and rng.random() < 0.6
            action = 2 if walking else int(rng.integers(7))
            obs, reward, terminated, truncated, _ = env.step(action)
            done = terminated or truncated
            recorder.step(
                obs["image"],
                _place(world),
                actions=action,
                reward=reward,
                terminated=terminated,
                truncated=truncated,
                success=tuple(world.agent_pos) == tuple(world.success_pos),
            )
    return recorder.trace()


def _place(world: MemoryEnv) -> int:
    return int(world.agent_pos[0]) * 64 + int(world.agent_pos[1])
