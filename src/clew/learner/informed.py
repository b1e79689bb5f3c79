"""An encoder for observations that come with what a perfect memory would know."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from clew.envs import Known
from clew.envs.observations import Observations, look_up
from clew.layers import Mlp, mlp
from clew.learner.encoders import Encoder

STREAM = 1
"""Of the encoder's key: the encoder of the observation is that of a plain agent."""


class Informed(eqx.Module):
    """Two hidden layers over the encoded observation and the facts, side by side."""

    plain: Encoder
    """Of the observation alone: where there is an alphabet, it is still looked up."""
    network: Mlp

    @classmethod
    def around(
        cls, plain: Encoder, facts: int, hidden: int, width: int, key: PRNGKeyArray
    ) -> Informed:
        """With `plain`, whose outputs have the same width as its own."""
        key = jax.random.fold_in(key, STREAM)
        return cls(plain, mlp(key, width + facts, hidden, hidden, width))

    def encode_table(self, observations: Observations) -> Float[Array, "symbol width"]:
        """Every symbol, without any facts."""
        return self.plain.encode_table(observations)

    def encode(
        self,
        observations: Observations,
        table: Float[Array, "symbol width"] | None,
        known: Known,
    ) -> Float[Array, "*batch width"]:
        """Observations with their facts."""
        if table is not None:
            plain = look_up(table, known.obs)
        else:
            plain = self.plain.encode(observations, known.obs)
        facts = known.knowledge.astype(plain.dtype)
        return self.network(jnp.concatenate((plain, facts), -1))
