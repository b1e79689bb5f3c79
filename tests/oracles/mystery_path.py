"""Plays memory-gym's MysteryPath-Grid and writes down what it does. Needs the package."""

from __future__ import annotations

import os
from typing import Any

os.environ["SDL_VIDEODRIVER"] = "dummy"
os.environ["SDL_AUDIODRIVER"] = "dummy"

import numpy as np
from memory_gym.mystery_path_grid import GridMysteryPathEnv
from memory_gym.pygame_assets import MysteryPath

from tests.oracles.traces import Case, Recorder, Trace

WORLD = "MysteryPath-Grid"
CASES = (
    Case("mystery-sparse", WORLD, {}, {"goal": 1.0}),
    Case("mystery-penalty", WORLD, {}, {"goal": 1.0, "fall": -0.008}),
    Case("mystery-aligned", WORLD, {}, {"goal": 1.0, "progress": 0.1}),
    Case(
        "mystery-shown",
        WORLD,
        {"show_goal": True, "show_origin": True},
        {"goal": 0.7, "fall": -0.3, "progress": 0.11, "step": -0.013},
    ),
    Case("mystery-goal", WORLD, {"show_goal": True}, {"goal": 1.0}),
    Case(
        "mystery-origin",
        WORLD,
        {"show_origin": True, "visual_feedback": False, "origin_sides": [1, 2]},
        {"goal": 1.0, "step": -0.01},
    ),
    Case("mystery-short", WORLD, {"max_steps": 40, "origin_sides": [3]}, {"goal": 1.0}),
)
_HEADINGS = {(0, -1): 0, (-1, 0): 1, (0, 1): 2, (1, 0): 3}


def play(case: Case, episodes: int, seed: int) -> Trace:
    """Record episodes of three policies in turn: random, random with many steps, path walker."""
    env = GridMysteryPathEnv()
    rng = np.random.default_rng(seed)
    recorder = Recorder(case)
    for number in range(episodes):
        obs, _ = env.reset(seed=int(rng.integers(2**31)), options=_reset_options(case))
        path = [(node.x, node.y) for node in env.mystery_path.path]
        mask = np.zeros(49, bool)
        mask[[_tile(xy) for xy in path]] = True
        level = {"path": mask, "origin": _tile(env.start), "goal": _tile(env.end)}
        recorder.begin(level, obs, _tile(env.normalized_agent_position))
        done = False
        while not done:
            action = _choose(env, path, rng, number % 3)
            obs, reward, done, truncated, info = env.step(action)
            recorder.step(
                obs,
                _tile(env.normalized_agent_position),
                actions=action,
                reward=reward,
                terminated=done,
                truncated=truncated,
                success=bool(info.get("success", False)),
            )
        recorder.falls.append(info["num_fails"])
    return recorder.trace()


def searches(size: int, count: int, seed: int) -> dict[str, np.ndarray]:
    """Record inputs and outcomes of the original path search, the costs it drew included."""
    rng = np.random.default_rng(seed)
    rows: dict[str, list[Any]] = {name: [] for name in ("walls", "costs", "path", "origin", "goal")}
    for _ in range(count):
        side, near, far = rng.integers(4), rng.integers(size), rng.integers(size)
        last = size - 1
        start, end = (
            ((0, near), (last, far)),
            ((last, near), (0, far)),
            ((near, 0), (far, last)),
            ((near, last), (far, 0)),
        )[side]
        logged = _Logged(rng)
        found = MysteryPath(size, size, start, end, logged)
        path = np.zeros(size * size, bool)
        path[[node.x * size + node.y for node in found.path]] = True
        rows["walls"].append([node.is_wall for column in found.grid for node in column])
        rows["costs"].append(logged.costs + [0] * (4 * size * size - len(logged.costs)))
        rows["path"].append(path)
        rows["origin"].append(start[0] * size + start[1])
        rows["goal"].append(end[0] * size + end[1])
    narrow = {"costs": np.int8, "origin": np.int16, "goal": np.int16}
    return {name: np.array(row, narrow.get(name, np.bool_)) for name, row in rows.items()}


class _Logged:
    """A generator that remembers the step costs drawn from it."""

    def __init__(self, rng: np.random.Generator):
        self._rng = rng
        self.costs: list[int] = []

    def choice(self, options: Any) -> Any:
        return self._rng.choice(options)

    def integers(self, low: int, high: int) -> Any:
        drawn = self._rng.integers(low, high)
        if (low, high) == (1, 9):
            self.costs.append(int(drawn))
        return drawn


def _reset_options(case: Case) -> dict[str, Any]:
    renamed = {"origin_sides": "cardinal_origin_choice"}
    paid = {"goal": "goal", "fall": "fall_off", "progress": "path_progress", "step": "step"}
    options = {renamed.get(name, name): value for name, value in case.options.items()}
    rewards = {f"reward_{word}": case.prices.get(event, 0.0) for event, word in paid.items()}
    return options | rewards


def _choose(
    env: GridMysteryPathEnv, path: list[tuple[int, int]], rng: np.random.Generator, policy: int
) -> int:
    here = tuple(int(v) for v in env.normalized_agent_position)
    if policy == 0 or here not in path or rng.random() < 0.1:
        return int(rng.integers(4))
    if policy == 1:
        return int(rng.choice([1, 2, 3, 3, 3, 3]))
    x, y = path[path.index(here) - 1]  # the original lists its path from the end
    wanted = _HEADINGS[x - here[0], y - here[1]]
    turn = (wanted - env.agent.face_direction.value) % 4
    return {0: 3, 1: 1, 2: 1, 3: 2}[turn]


def _tile(xy: Any) -> int:
    return int(xy[0]) * 7 + int(xy[1])
