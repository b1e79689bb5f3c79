"""Small learners."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from clew import envs
from clew.bonuses import Bonus
from clew.envs import Environment
from clew.learner import Pack, Program, Settings, TrainState
from clew.learner.run import init

SMALL: dict[str, Any] = {
    "envs": 4,
    "steps": 16,
    "chunk": 8,
    "chunks_per_batch": 4,
    "epochs": 2,
    "encoder_width": 8,
    "encoder_hidden": 16,
    "memory_width": 8,
    "eval_every": 2,
    "eval_episodes": 3,
}


def small(**changes: Any) -> Settings:
    return Settings(**{**SMALL, **changes})


def tiny() -> Environment:
    return envs.make("TinyReproduce", k=3, v=2)


def pack_of(
    architecture: str = "GRU", bonus: str | Bonus = "e3b", seeds: Any = (0,), **rest: Any
) -> Pack:
    settings = rest.pop("settings", small())
    env, reward = rest.pop("env", tiny()), rest.pop("reward", "dense")
    return Pack.of(env, reward, architecture, bonus, seeds=seeds, settings=settings, **rest)


def one(tree: Any, index: int = 0) -> Any:
    return jax.tree.map(lambda leaf: leaf[index], tree)


def begun(program: Program) -> TrainState:
    """One run of a program, before its first step."""
    run = one(pack_of().runs)
    prices = np.zeros(len(program.env.event_names), np.float32)
    return init(program, run._replace(prices=prices))


def close(a: Any, b: Any, tolerance: float) -> None:
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        if jax.numpy.issubdtype(x.dtype, jax.dtypes.prng_key):
            x, y = jax.random.key_data(x), jax.random.key_data(y)
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)
