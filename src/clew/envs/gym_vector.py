"""Many copies of a world stepped by one compiled call, as a Gymnasium vector environment."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from clew.envs.base import Environment
from clew.envs.gym import check_actions, reject_options, spaces_of, to_array
from clew.envs.registry import make
from clew.validate import one_of, whole_number

STOCK = 8
"""Levels drawn ahead for each copy."""


class ClewVectorEnv(VectorEnv):
    """`gymnasium.make_vec("clew/…", num_envs=1024, vectorization_mode="vector_entry_point")`.

    After an episode has ended, the next step begins a new one and ignores the action
    (Gymnasium's NEXT_STEP), so that final observations are seen. `info` has the world's
    instruments as arrays, one row a copy, and `info["events"]`, one column a name in
    `world.event_names`.
    """

    metadata = {  # noqa: RUF012 (Gymnasium's)
        "render_modes": ["rgb_array"],
        "render_fps": 4,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        world: str,
        /,
        num_envs: int = 1,
        reward: str | Mapping[str, float] = "sparse",
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
        **options: Any,
    ):
        """Make `num_envs` copies of `world` with `options`, events priced by `reward`."""
        one_of("render_mode", render_mode, (None, "rgb_array"))
        one_of("autoreset_mode", autoreset_mode, (AutoresetMode.NEXT_STEP,))
        self.num_envs = whole_number("num_envs", num_envs, 1)
        self.world = make(world, **options)
        self.prices = self.world.prices(reward).astype(np.float64)
        self.render_mode = render_mode
        self.single_observation_space, self.single_action_space = spaces_of(self.world)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._state: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode in every copy, all decided by one seed."""
        reject_options(options)
        if seed is not None:
            whole_number("seed", seed, 0)
        super().reset(seed=seed)
        self._key = jax.random.key(int(self.np_random.integers(2**31)))
        self._restock()
        self._state, obs = _begin(self.world, self._stock, self._used)
        self._used = self._used + 1
        self._ended = np.zeros(self.num_envs, bool)
        return to_array(self.world, obs), self._info({})

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Step every copy, or begin anew where the last step ended an episode."""
        if self._state is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        actions = np.asarray(actions)
        check_actions(self.world, actions, (self.num_envs,))
        if self._used.max() == STOCK:
            self._restock()
        began = self._ended
        self._state, step = _step(
            self.world, self._state, actions, began, self._stock, self._used, self._next_key()
        )
        # never in place: the computation may still be reading the array
        self._used = self._used + began
        events = np.asarray(step.events, np.float64)
        terminated, truncated = np.array(step.terminated), np.array(step.truncated)
        self._ended = terminated | truncated
        info = self._info({"events": events})
        return to_array(self.world, step.obs), events @ self.prices, terminated, truncated, info

    def render(self) -> tuple[np.ndarray, ...] | None:
        """One RGB frame a copy."""
        if self.render_mode is None:
            return None
        if self._state is None:
            raise gymnasium.error.ResetNeeded("call reset() before render()")
        host = jax.device_get(self._state)
        each = (jax.tree.map(lambda leaf, i=i: leaf[i], host) for i in range(self.num_envs))
        return tuple(self.world.picture(state) for state in each)

    def _info(self, more: dict[str, np.ndarray]) -> dict[str, Any]:
        """All instruments, as arrays, with Gymnasium's masks that say who has which: everyone."""
        named = {name: np.array(v) for name, v in _info(self.world, self._state).items()} | more
        return named | {f"_{name}": np.ones(self.num_envs, bool) for name in named}

    def _restock(self) -> None:
        """Lay out fresh levels for every copy: drawing them one by one would be slow."""
        self._stock = _lay_out(self.world, self._next_key(), self.num_envs)
        self._used = np.zeros(self.num_envs, np.int32)

    def _next_key(self) -> jax.Array:
        self._key, key = jax.random.split(self._key)
        return key


@partial(jax.jit, static_argnames="env")
def _info(env: Environment, states: Any) -> dict[str, jax.Array]:
    return jax.vmap(env.info)(states)


@partial(jax.jit, static_argnames=("env", "n"))
def _lay_out(env: Environment, key: jax.Array, n: int) -> Any:
    return jax.vmap(jax.vmap(env.level))(jax.random.split(key, (n, STOCK)))


@partial(jax.jit, static_argnames="env")
def _begin(env: Environment, stock: Any, used: Any) -> Any:
    return jax.vmap(lambda levels, i: env.start(jax.tree.map(lambda x: x[i], levels)))(stock, used)


@partial(jax.jit, static_argnames="env")
def _step(
    env: Environment, states: Any, actions: Any, began: Any, stock: Any, used: Any, key: jax.Array
) -> Any:
    """Where `began`, the state and observation of a new episode, and otherwise nothing."""
    keys = jax.random.split(key, len(actions))
    states, step = jax.vmap(env.step)(states, actions, keys)
    fresh, obs = _begin(env, stock, used)
    quiet = jax.tree.map(jnp.zeros_like, step)._replace(obs=obs)

    def choose(new: Any, old: Any) -> Any:
        return jnp.where(began.reshape(-1, *(1,) * (new.ndim - 1)), new, old)

    return jax.tree.map(choose, (fresh, quiet), (states, step))
