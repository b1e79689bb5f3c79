"""Random network distillation (Burda et al. 2018), which RND and NovelD measure novelty by."""

from __future__ import annotations

from operator import itemgetter

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from clew.layers import Mlp, mlp


class Distillation(eqx.Module):
    """Random network distillation: the predictor learns the target on visited observations."""

    target: Mlp
    predictor: Mlp

    @classmethod
    def init(cls, key: PRNGKeyArray, *sizes: int) -> Distillation:
        """Two different random networks."""
        both = jax.vmap(lambda key: mlp(key, *sizes))(jax.random.split(key))
        return cls(*(jax.tree.map(itemgetter(i), both) for i in range(2)))

    def error(self, x: Float[Array, "*batch in"]) -> Float[Array, "*batch"]:
        """Mean squared error over the features."""
        wanted = jax.lax.stop_gradient(self.target)(x)
        return ((self.predictor(x) - wanted) ** 2).mean(-1)
