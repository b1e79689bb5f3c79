"""A world without an alphabet: observations are arrays all the way."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np

from clew.envs.worlds.tiny_reproduce.world import TinyReproduce
from tests.learner.conftest import pack_of


@dataclasses.dataclass(frozen=True)
class Spelled(TinyReproduce):
    """TinyReproduce that hands out vectors, and is always cut short."""

    @property
    def alphabet(self) -> Any:
        return None

    def decode(self, obs: Any) -> Any:
        return obs

    def start(self, level: Any) -> Any:
        state, obs = super().start(level)
        return state, self._spelled(obs)

    def step(self, state: Any, action: Any, key: Any) -> Any:
        state, result = super().step(state, action, key)
        ended = result.terminated | result.truncated
        return state, result._replace(
            obs=self._spelled(result.obs), terminated=jnp.bool_(False), truncated=ended
        )

    def _spelled(self, symbol: Any) -> Any:
        return jnp.asarray(TinyReproduce(self.k, self.v).alphabet)[symbol]


def test_training_on_arrays() -> None:
    pack = pack_of("GRU", "noveld", env=Spelled(k=3, v=2))
    assert pack.program.observations.table is None
    assert pack.program.env.n_symbols is None
    state, _ = pack.advance(pack.begin())
    state, period = pack.advance(state)
    assert state.diverged.tolist() == [-1]
    assert np.max(period.rollouts.report.first_ratio_error) < 1e-4
    assert np.min(period.rollouts.bonus) > 0
