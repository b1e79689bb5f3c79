"""Rollouts to score, made up or played, and slow computations to compare with."""

from __future__ import annotations

import dataclasses
from collections import Counter
from functools import cache, partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from clew import envs
from clew.bonuses import Bonus, Transitions
from clew.envs import Environment
from clew.envs.base import Rewards
from clew.envs.observations import Observations
from clew.layers import Mlp
from clew.testing import bonus_laws

# arrays that differ in one entry, in the order of entries, or in nothing but where a 1 is
PALETTE = np.array(
    [[0, 0, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0], [1, 2, 3, 4], [4, 3, 2, 1], [2, 1, 4, 3]], np.uint8
).reshape(-1, 2, 2)


@dataclasses.dataclass(frozen=True)
class Unlisted(Environment):
    """A world whose observations are arrays; only what bonuses need of it works."""

    horizon_: int = 40

    obs_dtype, obs_high = np.dtype(np.uint8), 4
    event_names = ("step",)
    rewards: ClassVar[Rewards] = {"sparse": lambda world: {}}

    @property
    def action_names(self) -> tuple[str, ...]:
        return ("stay", "go", "jump")

    @property
    def obs_shape(self) -> tuple[int, ...]:
        return (2, 2)

    @property
    def horizon(self) -> int:
        return self.horizon_

    @property
    def typical_length(self) -> int:
        return self.horizon_

    def level(self, key: Any) -> Any:
        raise NotImplementedError

    def start(self, level: Any) -> Any:
        raise NotImplementedError

    def step(self, state: Any, action: Any, key: Any) -> Any:
        raise NotImplementedError

    def info(self, state: Any) -> Any:
        raise NotImplementedError

    def picture(self, state: Any) -> Any:
        raise NotImplementedError


@cache
def observations_of(name: str, **options: Any) -> Observations:
    return Observations(Unlisted() if name == "Unlisted" else envs.make(name, **options))


@cache
def fresh(bonus: Bonus, observations: Observations, n_envs: int, seed: int = 0) -> Any:
    """A bonus's first state; made once, as it takes a while to compile."""
    return jax.jit(lambda key: bonus.init(observations, n_envs, key))(jax.random.key(seed))


@partial(jax.jit, static_argnums=(0, 1))
def score(bonus: Bonus, observations: Observations, state: Any, seen: Transitions) -> Any:
    return bonus.score(observations, state, seen)


@partial(jax.jit, static_argnums=(0, 1))
def learn(bonus: Bonus, observations: Observations, state: Any, seen: Transitions, key: Any) -> Any:
    return bonus.learn(observations, state, seen, key)


wander = partial(bonus_laws.wander, palette=PALETTE)


@partial(jax.jit, static_argnums=(0, 2, 3))
def play(env: Environment, key: Any, time: int, n_envs: int) -> Transitions:
    """Act at random."""

    def one(key: Any) -> Transitions:
        level_key, act_key, key = jax.random.split(key, 3)
        levels = envs.lay_out(env, level_key, time)
        actions = jax.random.randint(act_key, (time,), 0, len(env.action_names))

        def step(carry: Any, now: Any) -> Any:
            running, first = carry
            after, result = envs.advance(env, levels, running, *now)
            ended = result.terminated | result.truncated
            seen = Transitions(running.obs, first, now[0], result.obs, ended, after.obs)
            return (after, ended), seen

        start = (envs.begin(env, levels), jnp.bool_(True))
        return jax.lax.scan(step, start, (actions, jax.random.split(key, time)))[1]

    return jax.vmap(one, out_axes=1)(jax.random.split(key, n_envs))


def cut(seen: Transitions, at: int) -> tuple[Transitions, Transitions]:
    """Two rollouts, one after the other."""
    return jax.tree.map(lambda x: x[:at], seen), jax.tree.map(lambda x: x[at:], seen)


def drawn(data: Any, observations: Observations, time: int, n_envs: int) -> Transitions:
    """Two rollouts' worth; an episode may begin with the second, and often does not."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**31), label="seed"))
    frequency = data.draw(st.sampled_from([0.0, 0.05, 0.3, 1.0]), label="resets")
    seen = wander(rng, observations, 2 * time, n_envs, frequency)
    anew = data.draw(st.booleans(), label="second begins anew")
    assert seen.ended is not None
    first, ended = seen.first.at[time].set(anew), seen.ended.at[time - 1].set(anew)
    return seen._replace(first=first, ended=ended)


def earlier(seen: Transitions) -> np.ndarray:
    """How often each next observation was visited before in its episode, by counting."""
    obs, first, _, next_obs, *_ = map(np.asarray, seen)
    times = np.zeros(first.shape, int)
    for env in range(first.shape[1]):
        known: Counter[Any] = Counter()
        for t in range(len(first)):
            if first[t, env]:
                known = Counter([tuple(obs[t, env].ravel().tolist())])
            name = tuple(next_obs[t, env].ravel().tolist())
            times[t, env] = known[name]
            known[name] += 1
    return times


def flat64(observations: Observations, obs: Any) -> np.ndarray:
    """Observations one by one, as flat arrays of float64 in [0, 1]."""
    batch = obs.shape[
        : obs.ndim - (len(observations.shape) if observations.env.n_symbols is None else 0)
    ]
    alphabet = observations.env.alphabet
    arrays = np.asarray(obs) if alphabet is None else alphabet[np.asarray(obs)]
    return arrays.reshape(*batch, -1).astype(np.float64) / observations.env.obs_high


def mlp64(network: Mlp, x: np.ndarray) -> np.ndarray:
    """The network in float64."""
    for i, layer in enumerate(network.layers):
        assert layer.bias is not None
        x = x @ np.asarray(layer.weight, np.float64).T + np.asarray(layer.bias, np.float64)
        x = np.maximum(x, 0) if i < len(network.layers) - 1 else x
    return x


def widen(tree: Any) -> Any:
    return jax.tree.map(lambda x: np.asarray(x, np.float64), tree)


def grad64(loss: Any, tree: Any) -> Any:
    """Gradient of `loss` in float64."""
    with jax.enable_x64(True):
        return widen(jax.jit(jax.grad(loss))(jax.tree.map(jnp.asarray, widen(tree))))


class Adam:
    """Kingma & Ba's algorithm 1, in numpy."""

    def __init__(self, tree: Any, rate: float):
        self.tree, self.rate, self.t = widen(tree), rate, 0
        self.m = self.v = jax.tree.map(np.zeros_like, self.tree)

    def step(self, grads: Any) -> Any:
        self.t += 1
        self.m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, self.m, grads)
        self.v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, self.v, grads)

        def moved(x: Any, m: Any, v: Any) -> Any:
            m, v = m / (1 - 0.9**self.t), v / (1 - 0.999**self.t)
            return x - self.rate * m / (np.sqrt(v) + 1e-8)

        self.tree = jax.tree.map(moved, self.tree, self.m, self.v)
        return self.tree

    def agrees(self, tree: Any, moments: Any) -> None:
        """The moments, and the weights wherever rounding cannot turn a step around."""

        def near(mine: Any, its: Any) -> None:
            np.testing.assert_allclose(its, mine, rtol=1e-3, atol=1e-5 * np.abs(mine).max() + 1e-30)

        jax.tree.map(near, self.m, moments.mu)
        jax.tree.map(near, self.v, moments.nu)
        sure = jax.tree.map(lambda m: np.abs(m) > 1e-3 * np.abs(m).max(), self.m)
        assert sum(s.sum() for s in jax.tree.leaves(sure)) > 20

        def moved(s: Any, mine: Any, its: Any) -> None:
            off = np.abs(np.asarray(its, np.float64) - mine)[s]
            assert off.max(initial=0) < 0.02 * self.rate

        jax.tree.map(moved, sure, self.tree, tree)
