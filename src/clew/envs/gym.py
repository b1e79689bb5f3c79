"""The worlds as Gymnasium environments: `gymnasium.make("clew/MysteryPath-Grid-v0", reward=…)`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property, partial
from typing import TypeVar

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from jaxtyping import Array, PRNGKeyArray, PyTree, Shaped

from clew.envs.base import Environment, Step
from clew.envs.knowing import Knowing
from clew.envs.knowledge import Known
from clew.envs.one_copy import Observed, OneCopy, Running, one_copy
from clew.envs.registry import make
from clew.validate import BadInput, one_of, whole_number

L = TypeVar("L")
S = TypeVar("S")

METADATA = {"render_modes": ["rgb_array"], "render_fps": 4}
STOCK = 8
"""Levels drawn ahead for each copy in a vector environment."""


class ClewEnv(gymnasium.Env[Observed, np.int64]):
    """One world, one episode at a time."""

    metadata = METADATA

    def __init__(
        self,
        world: str,
        /,
        reward: str | Mapping[str, float] = "sparse",
        render_mode: str | None = None,
        **options: object,
    ):
        """Make `world` with `options`, its events priced by `reward`."""
        one_of("render_mode", render_mode, (None, "rgb_array"))
        self.world = make(world, **options)
        self.prices = self.world.prices(reward).astype(np.float64)
        self.render_mode = render_mode
        self.observation_space, self.action_space = _spaces(self.world)  # type: ignore[assignment]
        self._running: Running | None = None

    @property
    def state(self) -> PyTree[np.ndarray]:
        """The world's own state, as `world.info` and `world.picture` take it."""
        return _begun(self._running, "state").world

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[Observed, dict[str, object]]:
        """Begin an episode; the level is decided by Gymnasium's seed."""
        _reject_options(options)
        super().reset(seed=seed)
        _refuse_fork()
        now = self._copy.begin(_new_seed(self))
        self._running = now.running
        return now.obs, now.info

    def step(
        self, action: int | np.integer
    ) -> tuple[Observed, float, bool, bool, dict[str, object]]:
        """Take one step; `info` has the world's instruments and the named events."""
        running = _begun(self._running, "step()")
        _check_action(self.world, action)
        now = self._copy.step(running, int(action))
        self._running, events = now.running, now.events
        now.info["events"] = dict(zip(self.world.event_names, events.tolist(), strict=True))
        return now.obs, float(events @ self.prices), now.terminated, now.truncated, now.info

    def render(self) -> np.ndarray | None:  # type: ignore[override]
        """An RGB frame that a person can read, if made with `render_mode="rgb_array"`."""
        if self.render_mode is None:
            return None
        return self.world.picture(_begun(self._running, "render()").world)

    @cached_property
    def _copy(self) -> OneCopy:
        return one_copy(self.world)


class ClewVectorEnv(VectorEnv):
    """Many copies of a world, stepped by one compiled call.

    `gymnasium.make_vec("clew/…", num_envs=1024, vectorization_mode="vector_entry_point")`.

    After an episode has ended, the next step begins a new one and ignores the action
    (Gymnasium's NEXT_STEP), so that final observations are seen. `info` has the world's
    instruments as arrays, one row a copy, and `info["events"]`, one column a name in
    `world.event_names`.
    """

    metadata = METADATA | {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        world: str,
        /,
        num_envs: int = 1,
        reward: str | Mapping[str, float] = "sparse",
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
        **options: object,
    ):
        """Make `num_envs` copies of `world` with `options`, events priced by `reward`."""
        one_of("render_mode", render_mode, (None, "rgb_array"))
        one_of("autoreset_mode", autoreset_mode, (AutoresetMode.NEXT_STEP,))
        self.num_envs = whole_number("num_envs", num_envs, 1)
        self.world = make(world, **options)
        self.prices = self.world.prices(reward).astype(np.float64)
        self.render_mode = render_mode
        self.single_observation_space, self.single_action_space = _spaces(self.world)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._states: PyTree = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[Observed, dict[str, object]]:
        """Begin an episode in every copy, all decided by one seed."""
        _reject_options(options)
        if seed is not None:
            whole_number("seed", seed, 0)
        super().reset(seed=seed)
        _refuse_fork()
        self._key = jax.random.key(_new_seed(self))
        self._restock()
        self._states, obs = _begin(self.world, self._stock, self._used)
        self._used = self._used + 1
        self._ended = np.zeros(self.num_envs, bool)
        return _to_array(self.world, obs), self._info({})

    def step(
        self, actions: np.ndarray
    ) -> tuple[Observed, np.ndarray, np.ndarray, np.ndarray, dict[str, object]]:
        """Step every copy, or begin anew where the last step ended an episode."""
        _begun(self._states, "step()")
        actions = np.asarray(actions)
        _check_actions(self.world, actions, (self.num_envs,))
        if self._used.max() == STOCK:
            self._restock()
        began = self._ended
        self._key, key = _split(self._key)
        self._states, step = _step_copies(
            self.world, self._states, actions, began, self._stock, self._used, key
        )
        # never in place: the computation may still be reading the array
        self._used = self._used + began
        events = np.asarray(step.events, np.float64)
        terminated, truncated = np.array(step.terminated), np.array(step.truncated)
        self._ended = terminated | truncated
        info = self._info({"events": events})
        return _to_array(self.world, step.obs), events @ self.prices, terminated, truncated, info

    def render(self) -> tuple[np.ndarray, ...] | None:
        """One RGB frame a copy."""
        if self.render_mode is None:
            return None
        host = jax.device_get(_begun(self._states, "render()"))
        each = (jax.tree.map(lambda leaf, i=i: leaf[i], host) for i in range(self.num_envs))
        return tuple(self.world.picture(state) for state in each)

    def _info(self, more: dict[str, np.ndarray]) -> dict[str, object]:
        """All instruments, as arrays, with Gymnasium's masks: every copy has every instrument."""
        named = {name: np.array(v) for name, v in _info(self.world, self._states).items()} | more
        return {**named, **{f"_{name}": np.ones(self.num_envs, bool) for name in named}}

    def _restock(self) -> None:
        """Draw fresh levels for every copy: drawing them one by one would be slow."""
        self._key, key = _split(self._key)
        self._stock = _draw_levels(self.world, key, self.num_envs)
        self._used = np.zeros(self.num_envs, np.int32)


def _spaces(env: Environment) -> tuple[spaces.Box | spaces.Dict, spaces.Discrete]:
    seen = spaces.Box(0, env.obs_high, env.obs_shape, env.obs_dtype.type)
    if isinstance(env, Knowing):
        facts = spaces.MultiBinary(env.knowledge().size)
        seen = spaces.Dict({"observation": seen, "knowledge": facts})
    return seen, spaces.Discrete(len(env.action_names))


def _to_array(env: Environment, obs: Known | Shaped[Array, "*obs"]) -> Observed:
    """Decode observations on the host, where a table lookup needs no transfer of the table."""
    if isinstance(obs, Known):
        knowledge = np.asarray(obs.knowledge).astype(np.int8)
        return {"observation": _decoded(env, obs.obs), "knowledge": knowledge}
    return _decoded(env, obs)


def _decoded(env: Environment, obs: Shaped[Array, "*obs"]) -> np.ndarray:
    if env.alphabet is not None:
        return env.alphabet[np.asarray(obs)]
    return np.array(_decode(env, obs))


def _check_action(env: Environment, action: int | np.integer) -> None:
    """The same for one; a valid one must not take long."""
    if type(action) not in (int, np.int64) or not 0 <= action < len(env.action_names):
        _check_actions(env, np.asarray(action), ())


def _check_actions(env: Environment, actions: np.ndarray, shape: tuple[int, ...]) -> None:
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


def _reject_options(options: dict[str, object] | None) -> None:
    """Gymnasium lets `reset` take options; ours are given once, when the environment is made."""
    if options:
        raise BadInput(f"options={options!r} is not valid at reset; give options to gymnasium.make")


def _begun(state: S | None, wanted: str) -> S:
    if state is None:
        raise gymnasium.error.ResetNeeded(f"call reset() before {wanted}")
    return state


def _refuse_fork() -> None:
    """A fork has none of jax's threads, for which it would wait."""
    if _used_by and os.getpid() not in _used_by:
        raise BadInput(
            "this process was forked from one in which jax had started, and would wait for ever; "
            'start processes anew: AsyncVectorEnv(…, context="spawn")'
        )
    _used_by.add(os.getpid())


_used_by: set[int] = set()
"""The process that drew levels first; a fork inherits this, and a new process does not."""


def _new_seed(env: gymnasium.Env | VectorEnv) -> int:
    return int(env.np_random.integers(2**31))


def _split(key: PRNGKeyArray) -> tuple[PRNGKeyArray, PRNGKeyArray]:
    after, now = jax.random.split(key)
    return after, now


_decode = jax.jit(lambda env, obs: env.decode(obs), static_argnums=0)
_info = jax.jit(lambda env, states: jax.vmap(env.info)(states), static_argnums=0)


@partial(jax.jit, static_argnames=("env", "n"))
def _draw_levels(env: Environment[L, S], key: PRNGKeyArray, n: int) -> L:
    return jax.vmap(jax.vmap(env.level))(jax.random.split(key, (n, STOCK)))


@partial(jax.jit, static_argnames="env")
def _begin(env: Environment[L, S], stock: L, used: Array) -> tuple[S, Array]:
    return jax.vmap(lambda levels, i: env.start(jax.tree.map(lambda x: x[i], levels)))(stock, used)


@partial(jax.jit, static_argnames="env")
def _step_copies(
    env: Environment[L, S],
    states: S,
    actions: Array,
    began: Array,
    stock: L,
    used: Array,
    key: PRNGKeyArray,
) -> tuple[S, Step]:
    """Where `began`, the state and observation of a new episode, and otherwise nothing."""
    keys = jax.random.split(key, len(actions))
    states, step = jax.vmap(env.step)(states, actions, keys)
    fresh, obs = _begin(env, stock, used)
    quiet = jax.tree.map(jnp.zeros_like, step)._replace(obs=obs)

    def choose(new: Array, old: Array) -> Array:
        return jnp.where(began.reshape(-1, *(1,) * (new.ndim - 1)), new, old)

    return jax.tree.map(choose, (fresh, quiet), (states, step))
