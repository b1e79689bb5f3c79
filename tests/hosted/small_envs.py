"""Small Gymnasium environments with every kind of space, end and information."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv


class Recall(gymnasium.Env[Any, Any]):
    """A cue is shown once; at the end, the action must be the cue. Lengths differ by chance."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None, length: int = 4, words: bool = False):
        self.render_mode, self.length, self.cues, self.words = render_mode, length, 2, words
        self.observation_space = spaces.Dict(
            {
                "seen": spaces.Discrete(4),
                "clock": spaces.Box(0, 1, (1,), np.float32),
                "cue": spaces.Discrete(2),
            }
        )
        self.action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.cue = int(self.np_random.integers(self.cues))
        self.end = self.length + int(self.np_random.integers(3))
        self.t = 0
        return self._observed(), self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.t < self.end, "stepped after its end"
        self.t += 1
        ended = self.t == self.end
        right = ended and int(action) == self.cue
        info = {**self._info(), **({"is_success": right} if ended else {})}
        return self._observed(), float(right) - 0.01, ended, False, info

    def render(self) -> Any:
        frame = np.zeros((8, 8, 3), np.uint8)
        frame[:, : self.t] = 50 + 200 * self.cue
        return frame

    def _observed(self) -> dict[str, Any]:
        shown = self.cue if self.t == 0 else self.cues + int(self.t == self.end - 1)
        clock = np.array([self.t / 10], np.float32)
        return {"seen": np.int64(shown), "clock": clock, "cue": np.int64(self.cue)}

    def _info(self) -> dict[str, Any]:
        return {"cue": self.cue, "t": self.t, **({"words": "two"} if self.words else {})}


class Walk(gymnasium.Env[Any, Any]):
    """A random walk whose action pushes it: it ends at ±2, and nothing else says so."""

    def __init__(self, space: spaces.Space[Any] | None = None, actions: Any = None):
        self.observation_space = space or spaces.Box(-5, 5, (2,), np.float32)
        self.action_space = actions or spaces.MultiDiscrete([3, 2])

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.x, self.t = 0.0, 0
        return self._observed(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert abs(self.x) < 2, "stepped after its end"
        push = 0.3 * (int(action[0]) - 1) * (1 + int(action[1]))
        self.x += push + 0.3 * self.np_random.normal()
        self.t += 1
        return self._observed(), push, abs(self.x) >= 2, False, {}

    def _observed(self) -> Any:
        return np.array([self.x, self.t / 100], np.float32)


class Crashes(Recall):
    """Raises an error in its fiftieth step."""

    steps = 0

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        if self.steps == 50:
            raise OSError("the simulator is gone")
        return super().step(action)


class Odd(Recall):
    """Recall that does one odd thing, most of them in its third step."""

    def __init__(self, what: str = "", value: Any = None, render_mode: str | None = None) -> None:
        super().__init__(render_mode)
        self.what, self.value = what, value
        if what == "prints":
            print("I am made")

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        if self.what == "prints":
            print("I am reset")
        return super().reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = super().step(action)
        if self.what == "prints":
            print("I step")
            os.write(1, b"{so does a library}\n")
        if self.what == "slow":
            time.sleep(0.002)
        if self.what == "raises" and self.t == 3:
            raise {"stuck": ValueError("door is stuck"), "ends": KeyboardInterrupt()}[self.value]
        if self.what == "exits" and self.t == 3:
            sys.exit(self.value)
        if self.what == "sees" and self.t == 3:
            obs["clock"] = np.array([self.value], np.float32)
        if self.what == "pays" and self.t == 3:
            reward = float(self.value)
        return obs, reward, terminated, truncated, info

    def close(self) -> None:
        if self.what == "stays":
            raise RuntimeError("I stay")


class Lies(gymnasium.Env[Any, Any]):
    """Returns what its space does not have, or in another way than Gymnasium's do; after a step."""

    action_space = spaces.Discrete(2)

    def __init__(self, what: str, after: int = 1) -> None:
        self.what, self.after = what, after
        self.observation_space, self.good, self.bad = {
            "number": (spaces.Discrete(4, start=1), 4, 7),
            "numbers": (spaces.MultiDiscrete([2, 3]), [1, 2], [0, 3]),
            "bits": (spaces.MultiBinary(2), [0, 1], [2, 0]),
            "pixels": (spaces.Box(0, 9, (2, 2), np.int64), [[0, 9]] * 2, [[0, 0], [0, -1]]),
            "part": (PARTS, {"a": 1, "b": [0.5]}, {"a": 3, "b": [0.5]}),
            "missing": (PARTS, {"a": 1, "b": [0.5]}, {"a": 1}),
            "none": (PARTS, {"a": 1, "b": [0.5]}, 1),
            "shape": (PARTS, {"a": 1, "b": [0.5]}, {"a": 1, "b": [0.5, 0.5]}),
            "far": (PARTS, {"a": 1, "b": [0.5]}, {"a": 1, "b": [5e4]}),
            "near": (PARTS, {"a": 1, "b": [0.5]}, {"a": 1, "b": [1.000001]}),
            "old": (spaces.Discrete(2), 1, 1),
        }[what]

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.t = 0
        old = self.what == "old" and self.after == 0
        return self._observed() if old else (self._observed(), {})

    def step(self, action: Any) -> Any:
        self.t += 1
        ended = self.t >= 5
        if self.what == "old":
            return self._observed(), 0.0, ended, {}
        return self._observed(), 0.0, ended, False, {"success": True}

    def _observed(self) -> Any:
        shown = self.bad if self.t >= self.after else self.good
        if not isinstance(shown, dict):
            return np.array(shown, self.observation_space.dtype)
        return {key: np.array(part, PARTS[key].dtype) for key, part in shown.items()}


PARTS = spaces.Dict({"a": spaces.Discrete(3), "b": spaces.Box(0, 1, (1,), np.float32)})


class Symbols(gymnasium.Env[Any, Any]):
    """A number from 0 to 4, which the action adds to."""

    def __init__(self) -> None:
        self.observation_space = spaces.Discrete(5, start=3)
        self.action_space = spaces.Discrete(2, start=1)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.x = 3
        return np.int64(self.x), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert action in (1, 2)
        self.x = 3 + (self.x - 3 + int(action)) % 5
        return np.int64(self.x), 0.0, self.x == 7, False, {"success": True}


def recall(**options: Any) -> gymnasium.Env[Any, Any]:
    return Recall(**options)


def walk() -> gymnasium.Env[Any, Any]:
    return Walk()


def crashes() -> gymnasium.Env[Any, Any]:
    return Crashes()


def odd(**options: Any) -> gymnasium.Env[Any, Any]:
    return Odd(**options)


def lies(what: str, after: int = 1) -> gymnasium.Env[Any, Any]:
    return Lies(what, after)


def symbols() -> gymnasium.Env[Any, Any]:
    return Symbols()


def nothing() -> int:
    return 3


def recalls(num_envs: int, mode: str) -> VectorEnv:
    return SyncVectorEnv([Recall] * num_envs, autoreset_mode=AutoresetMode(mode))


def walks(num_envs: int, mode: str) -> VectorEnv:
    copies = [lambda: gymnasium.wrappers.TimeLimit(Walk(), 20)] * num_envs
    return SyncVectorEnv(copies, autoreset_mode=AutoresetMode(mode))


def cartpoles(num_envs: int) -> VectorEnv:
    """Gymnasium's own, written for vectors: it resets in the next step, and only there."""
    return gymnasium.make_vec("CartPole-v1", num_envs, vectorization_mode="vector_entry_point")
