"""The worlds as Gymnasium environments: `gymnasium.make("clew/MysteryPath-Grid-v0", reward=…)`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import gymnasium
import jax
import numpy as np
from gymnasium import spaces

from clew.envs.base import Environment
from clew.envs.registry import make
from clew.validate import BadInput, one_of


def spaces_of(env: Environment) -> tuple[spaces.Box, spaces.Discrete]:
    """Observation and action space of a world."""
    box = spaces.Box(0, env.obs_high, env.obs_shape, env.obs_dtype.type)
    return box, spaces.Discrete(len(env.action_names))


def to_array(env: Environment, obs: Any) -> np.ndarray:
    """Decode observations on the host, where a table lookup needs no transfer of the table."""
    if env.alphabet is not None:
        return env.alphabet[np.asarray(obs)]
    return np.array(_decode(env, obs))


class ClewEnv(gymnasium.Env[np.ndarray, np.int64]):
    """One world, one episode at a time."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012 (Gymnasium's)

    def __init__(
        self,
        world: str,
        /,
        reward: str | Mapping[str, float] = "sparse",
        render_mode: str | None = None,
        **options: Any,
    ):
        """Make `world` with `options`, its events priced by `reward`."""
        one_of("render_mode", render_mode, (None, "rgb_array"))
        self.world = make(world, **options)
        self.prices = self.world.prices(reward).astype(np.float64)
        self.render_mode = render_mode
        self.observation_space, self.action_space = spaces_of(self.world)
        self._state: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode; the level is decided by Gymnasium's seed."""
        reject_options(options)
        super().reset(seed=seed)
        self._key = jax.random.key(int(self.np_random.integers(2**31)))
        self._state, obs = _reset(self.world, self._next_key())
        return to_array(self.world, obs), self.world.explain(self._state)

    def step(
        self, action: int | np.integer
    ) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Take one step; `info` has the world's instruments and the named events."""
        if self._state is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        check_actions(self.world, np.asarray(action), ())
        self._state, step = _step(self.world, self._state, int(action), self._next_key())
        events = np.asarray(step.events, np.float64)
        info = self.world.explain(self._state)
        info["events"] = dict(zip(self.world.event_names, events.tolist(), strict=True))
        reward = float(events @ self.prices)
        obs = to_array(self.world, step.obs)
        return obs, reward, bool(step.terminated), bool(step.truncated), info

    def render(self) -> np.ndarray | None:  # type: ignore[override]
        """An RGB frame that a person can read, if made with `render_mode="rgb_array"`."""
        if self.render_mode is None:
            return None
        if self._state is None:
            raise gymnasium.error.ResetNeeded("call reset() before render()")
        return self.world.picture(self._state)

    def _next_key(self) -> jax.Array:
        self._key, key = jax.random.split(self._key)
        return key


def check_actions(env: Environment, actions: np.ndarray, shape: tuple[int, ...]) -> None:
    """Raise an error that names the first action that is not one."""
    n = len(env.action_names)
    if not np.issubdtype(actions.dtype, np.integer):
        raise BadInput(f"action={actions.tolist()!r} is not valid; it must be a whole number")
    if actions.shape != shape:
        raise BadInput(f"action={actions.tolist()!r} has shape {actions.shape}; it must be {shape}")
    bad = actions[(actions < 0) | (actions >= n)]
    if bad.size:
        named = ", ".join(f"{i} ({name})" for i, name in enumerate(env.action_names))
        raise BadInput(f"action={bad.flat[0]} is not valid; choose {named}")


def reject_options(options: dict[str, Any] | None) -> None:
    """Gymnasium lets `reset` take options; ours are given once, when the environment is made."""
    if options:
        raise BadInput(f"options={options!r} is not valid at reset; give options to gymnasium.make")


@partial(jax.jit, static_argnames="env")
def _reset(env: Environment, key: jax.Array) -> Any:
    return env.reset(key)


@partial(jax.jit, static_argnames="env")
def _step(env: Environment, state: Any, action: Any, key: jax.Array) -> Any:
    return env.step(state, action, key)


@partial(jax.jit, static_argnames="env")
def _decode(env: Environment, obs: Any) -> Any:
    return env.decode(obs)
