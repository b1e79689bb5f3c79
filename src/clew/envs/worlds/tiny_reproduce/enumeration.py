"""TinyReproduce as a finite POMDP."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction
from itertools import product

import numpy as np

from clew.envs.enumeration import Enumeration, refuse_many
from clew.envs.worlds.tiny_reproduce.world import SequenceState, TinyReproduce


@dataclasses.dataclass(frozen=True)
class Sequences(Enumeration[SequenceState]):
    """Every sequence of tokens, each as likely."""

    env: TinyReproduce

    def levels(self) -> Iterable[tuple[np.ndarray, Fraction]]:
        """v^k of them."""
        k, v = self.env.k, self.env.v
        refuse_many(v**k, f"there are {v}^{k} = {v**k:,} sequences")
        for tokens in product(range(v), repeat=k):
            yield np.array(tokens, np.int32), Fraction(1, v**k)

    def variables(self, state: SequenceState) -> Mapping[str, Hashable]:
        """The sequence, and how far the episode has come in it."""
        return {
            "sequence": tuple(int(token) for token in state.sequence),
            "time": int(state.t),
            "right": int(state.n_correct),
        }

    def seen(self, symbol: int) -> str:
        """The token that is dictated, or that it is to be repeated."""
        return "play" if symbol == self.env.v else f"token {symbol}"

    def smaller(self) -> Mapping[str, object]:
        """64 sequences at most."""
        return {"k": min(self.env.k, 3), "v": min(self.env.v, 4)}
