"""TinyReproduce: which token was shown so many steps ago, and is still to be played?"""

from __future__ import annotations

import dataclasses
from functools import cached_property

import jax.numpy as jnp
import numpy as np

from clew.envs.latent import Asked, Latent
from clew.envs.worlds.tiny_reproduce.world import SequenceState, TinyReproduce

LAGS, TOKENS = 32, 8
"""Questions are asked about so many lags and tokens at most; further lags are spread out evenly on
a logarithmic scale."""


@dataclasses.dataclass(frozen=True)
class Remaining(Latent[SequenceState, tuple[()]]):
    """Each token that was shown and not yet played, by lag: the steps since it was shown.

    One question for each lag and token, "it was this one"; of two tokens one question is enough.
    The token in view, of lag 0, is not asked about.
    """

    env: TinyReproduce

    @property
    def questions(self) -> tuple[str, ...]:
        """Lags outermost."""
        return tuple(f"token {token} was shown {lag} steps ago" for lag, token in self._pairs)

    def start(self) -> tuple[()]:
        """The state says everything."""
        return ()

    def look(self, known: tuple[()], state: SequenceState) -> tuple[tuple[()], Asked]:
        """Ask about every place of the sequence that is as far back as a question's lag."""
        pairs = np.array(self._pairs, np.int32).reshape(-1, 2)
        lag, token = jnp.asarray(pairs[:, 0]), jnp.asarray(pairs[:, 1])
        k, place = self.env.k, state.t - lag
        if self.env.order == "reverse":
            remaining = place < k - state.n_correct
        else:
            remaining = place >= state.n_correct
        shown = (place >= 0) & (place < k)
        answer = state.sequence[jnp.clip(place, 0, k - 1)] == token
        return (), Asked(shown & remaining, answer, lag)

    @cached_property
    def _pairs(self) -> tuple[tuple[int, int], ...]:
        furthest = 2 * self.env.k - 2
        lags = range(1, furthest + 1)
        if furthest > LAGS:
            lags = np.unique(np.geomspace(1, furthest, LAGS).round().astype(int)).tolist()
        tokens = (1,) if self.env.v == 2 else range(min(self.env.v, TOKENS))
        return tuple((lag, token) for lag in lags for token in tokens)
