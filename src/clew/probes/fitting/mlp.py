"""The MLP probe: the linear probe plus a hidden layer that may correct it.

It starts as the solved logistic probe, and of the states that training passes through, the one
with the best AUC in the validation episodes is kept; so it differs from the linear probe only where
something nonlinear is found.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from clew.probes.fitting.auc import auc
from clew.probes.fitting.logistic import Problem
from clew.probes.fitting.parallel import Batched

HIDDEN = 32
STEPS = 50
STAGES = 8
"""Training is `STAGES` times `STEPS` steps of Adam; the probe is chosen from the ends of stages."""
BATCH = 256
LEARNING_RATE = 5e-3


class MlpProbe(NamedTuple):
    """logit = x linear + relu(x hidden) out, where x ends in a 1."""

    linear: Float[Array | np.ndarray, "*n feature"]
    hidden: Float[Array | np.ndarray, "*n feature hidden"]
    out: Float[Array | np.ndarray, "*n hidden"]


Carry = tuple[MlpProbe, optax.OptState]


def logits(probe: MlpProbe, x: np.ndarray) -> np.ndarray:
    """The logits of rows of features that end in a 1."""
    return x @ probe.linear + np.maximum(x @ probe.hidden, 0) @ probe.out


def choose(linear: np.ndarray, stages: MlpProbe, x: np.ndarray, labels: np.ndarray) -> MlpProbe:
    """The best of a linear probe and the training stages after it; the earliest of equals."""
    zero = np.zeros_like(stages.hidden[0]), np.zeros_like(stages.out[0])
    probes = [MlpProbe(linear, *zero), *(MlpProbe(*one) for one in zip(*stages, strict=True))]
    return max(probes, key=lambda probe: auc(labels, logits(probe, x)))


def _train(
    problem: Problem, w: Float[Array | np.ndarray, " feature"], seed: Int[Array, ""] | np.uint32
) -> MlpProbe:
    """From a logistic probe `w`: the ends of all stages, [stage, …]."""
    x, y, rows = problem
    init_key, batch_key = jax.random.split(jax.random.key(seed))
    noise = jax.random.normal(init_key, (x.shape[1], HIDDEN))
    # the padding rows are 0
    variance = jnp.square(x).sum() / rows
    probe = MlpProbe(w, noise / jnp.sqrt(variance), jnp.zeros(HIDDEN))
    adam = optax.adam(LEARNING_RATE)

    def loss(probe: MlpProbe, batch: Int[Array, " row"]) -> Float[Array, ""]:
        some = x[batch]
        z = some @ probe.linear + jax.nn.relu(some @ probe.hidden) @ probe.out
        return optax.sigmoid_binary_cross_entropy(z, y[batch]).mean()

    def step(carry: Carry, batch: Int[Array, " row"]) -> tuple[Carry, None]:
        probe, state = carry
        updates, state = adam.update(jax.grad(loss)(probe, batch), state)
        return (eqx.apply_updates(probe, updates), state), None

    def stage(carry: Carry, batches: Int[Array, "step row"]) -> tuple[Carry, MlpProbe]:
        carry, _ = jax.lax.scan(step, carry, batches)
        return carry, carry[0]

    batches = jax.random.randint(batch_key, (STAGES, STEPS, BATCH), 0, rows)
    with jax.default_matmul_precision("highest"):
        return jax.lax.scan(stage, (probe, adam.init(probe)), batches)[1]


train = Batched(_train)
"""Train one probe for each problem, from its logistic probe."""
