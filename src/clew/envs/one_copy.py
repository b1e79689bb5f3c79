"""One copy of a world for a caller in Python, stepped in numpy where the world has a numpy form.

A compiled call costs tens of microseconds with all that it hands over, more than our worlds compute
in it. So only levels are drawn by one; a world without a numpy form takes its steps by one too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Generic, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree, Shaped, UInt32

from clew.envs.base import Environment, PlainInfo
from clew.envs.in_numpy import in_numpy
from clew.envs.knowing import Knowing
from clew.envs.knowledge import Known

L = TypeVar("L")
S = TypeVar("S")
Leaf = Array | np.ndarray
"""Traced, and numpy's afterwards."""
Observed = np.ndarray | dict[str, np.ndarray]
"""With `knowledge=True`, both by name: `observation` and `knowledge`."""


class Running(NamedTuple, Generic[S]):
    """An episode under way, of numpy's arrays."""

    world: S
    """The world's own state."""
    key: UInt32[Leaf, " word"]
    t: Int[Leaf, ""]


class Moment(NamedTuple, Generic[S]):
    """What a reset or a step gives: the episode as it is now, and what is told of it."""

    running: Running[S]
    obs: Observed
    events: Float[np.ndarray, " event"]
    terminated: bool
    truncated: bool
    info: PlainInfo


class OneCopy(Generic[S]):
    """Reset and step of a world. It holds no episode: copies of equal worlds share it."""

    def __init__(self, env: Environment[L, S]):
        """Trace the world's functions; levels are compiled when the first is drawn."""
        self.env = env
        world = env.world if isinstance(env, Knowing) else env
        self._table, self._tiles = env.alphabet, world.tiles
        self._level = _compiled(self._draw)
        drawn = jax.eval_shape(self._draw, jax.ShapeDtypeStruct((), np.uint32))
        running, _ = jax.eval_shape(self._first, *drawn)
        action = jax.ShapeDtypeStruct((), np.int32)
        self._start = in_numpy(self._first, *drawn) or _compiled(self._first)
        self._step = in_numpy(self._next, running, action) or _compiled(self._next)

    def __reduce__(self) -> tuple[object, ...]:
        return one_copy, (self.env,)

    def begin(self, seed: int) -> Moment[S]:
        """Begin an episode; `seed` decides its level."""
        return self._moment(*self._start(*self._level(np.uint32(seed))))

    def step(self, running: Running[S], action: int) -> Moment[S]:
        """Take one step."""
        return self._moment(*self._step(running, np.int32(action)))

    def _moment(self, running: Running[S], told: _Told) -> Moment[S]:
        if told.array is not None:
            obs = np.array(told.array)
        elif self._table is not None:
            obs = self._table[told.symbol].copy()
        else:
            assert self._tiles is not None
            obs = self._tiles.draw(self._tiles.shown[told.symbol][None])[0]
        if told.knowledge is not None:
            obs = {"observation": obs, "knowledge": told.knowledge.astype(np.int8)}
        events = np.asarray(told.events, np.float64)
        info = self.env.plain({name: value.tolist() for name, value in told.info.items()})
        return Moment(running, obs, events, bool(told.terminated), bool(told.truncated), info)

    # What is traced ------------------------------------------------------------------------

    def _draw(self, seed: Int[Array, ""]) -> tuple[PyTree[Array], Array]:
        after, now = jax.random.split(jax.random.key(seed))
        return self.env.level(now), jax.random.key_data(after)

    def _first(self, level: PyTree[Array], key: Array) -> tuple[Running, _Told]:
        state, obs = self.env.start(level)
        events, no = jnp.zeros(len(self.env.event_names), jnp.float32), jnp.bool_(False)
        return self._tell(Running(state, key, jnp.int32(0)), obs, events, no, no)

    def _next(self, running: Running, action: Array) -> tuple[Running, _Told]:
        # the key of a step is a function of its number: if it is not used, none is computed
        key = jax.random.fold_in(jax.random.wrap_key_data(jnp.asarray(running.key)), running.t)
        state, step = self.env.step(running.world, action, key)
        after = Running(state, running.key, running.t + 1)
        return self._tell(after, step.obs, step.events, step.terminated, step.truncated)

    def _tell(
        self,
        running: Running,
        obs: Known | Array,
        events: Array,
        terminated: Array,
        truncated: Array,
    ) -> tuple[Running, _Told]:
        obs, knowledge = obs if isinstance(obs, Known) else (obs, None)
        numbered = self._table is not None or self._tiles is not None
        symbol, array = (obs, None) if numbered else (None, self.env.decode(obs))
        info = self.env.info(running.world)
        return running, _Told(symbol, array, knowledge, events, terminated, truncated, info)


@cache
def one_copy(env: Environment[L, S]) -> OneCopy[S]:
    """Of this world: one for all that are equal."""
    return OneCopy(env)


class _Told(NamedTuple):
    symbol: Int[Leaf, ""] | None
    array: Shaped[Leaf, "*obs"] | None
    """The observation if it is not looked up by its symbol."""
    knowledge: Bool[Leaf, " fact"] | None
    events: Float[Leaf, " event"]
    terminated: Bool[Leaf, ""]
    truncated: Bool[Leaf, ""]
    info: dict[str, Array]


def _compiled(function: Callable[..., PyTree[Array]]) -> Callable[..., PyTree[np.ndarray]]:
    """Arrays are numpy's on both sides. It runs on the CPU, also where there is a GPU."""
    call = jax.jit(function)

    def run(*given: PyTree[np.ndarray]) -> PyTree[np.ndarray]:
        with jax.default_device(_cpu()):
            return jax.tree.map(_on_host, call(*given))

    return run


def _on_host(leaf: Array) -> Leaf:
    keys = jnp.issubdtype(leaf.dtype, jax.dtypes.extended)
    return leaf if keys else np.asarray(leaf)[()]


@cache
def _cpu() -> object:
    try:
        return jax.devices("cpu")[0]
    except RuntimeError:  # jax was told to do without
        return jax.devices()[0]
