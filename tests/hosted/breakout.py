"""Breakout of the Arcade Learning Environment, small and short enough to learn in minutes."""

from __future__ import annotations

from typing import Any

import ale_py  # type: ignore[import-not-found]
import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.wrappers import TransformObservation

FIRE = 1


class OneLife(gymnasium.Wrapper[Any, Any, Any, Any]):
    """The ball is served when an episode begins, which ends when it is lost."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        _, info = self.env.reset(seed=seed, options=options)
        # some frames, by chance: without them all episodes would begin alike
        for _ in range(int(self.np_random.integers(8))):
            self.env.step(0)
        obs, _, _, _, info = self.env.step(FIRE)
        self.lives = info["lives"]
        return obs, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        return obs, reward, terminated or info["lives"] < self.lives, truncated, info


def one_life() -> gymnasium.Env[Any, Any]:
    """Grey pictures of 42 × 40 pixels, every fourth frame."""
    gymnasium.register_envs(ale_py)
    env = gymnasium.make(
        "ALE/Breakout-v5", obs_type="grayscale", frameskip=4, repeat_action_probability=0.0
    )
    picture = spaces.Box(0, 255, (42, 40), np.uint8)
    return OneLife(TransformObservation(env, lambda frame: frame[::5, ::4], picture))
