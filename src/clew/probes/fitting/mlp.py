"""A small MLP probe: the logistic probe, and a hidden layer that may correct it.

It starts as the solved logistic probe, and of the states that training passes through, the one
with the best AUC in the validation episodes is kept; so it differs from the linear probe only where
something that is not linear is found.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from clew.probes.fitting.auc import auc
from clew.probes.fitting.each import Each
from clew.probes.fitting.logistic import Problem

HIDDEN = 32
STEPS = 50
STAGES = 8
"""Training is `STAGES` times `STEPS` steps of Adam; a probe is chosen from the ends of stages."""
BATCH = 256
RATE = 5e-3


class Mlp(NamedTuple):
    """logit = x w + relu(x first) last, where x ends in a 1."""

    w: Float[Array | np.ndarray, "*n feature"]
    first: Float[Array | np.ndarray, "*n feature hidden"]
    last: Float[Array | np.ndarray, "*n hidden"]


def logits(probe: Mlp, x: np.ndarray) -> np.ndarray:
    """What one probe makes of rows of features that end in a 1."""
    return x @ probe.w + np.maximum(x @ probe.first, 0) @ probe.last


def choose(linear: np.ndarray, probes: Mlp, x: np.ndarray, labels: np.ndarray) -> Mlp:
    """The best of a logistic probe and the stages after it; the earliest of equals."""
    nothing = np.zeros_like(probes.first[0]), np.zeros_like(probes.last[0])
    stages = [Mlp(linear, *nothing), *(Mlp(*each) for each in zip(*probes, strict=True))]
    return max(stages, key=lambda probe: auc(labels, logits(probe, x)))


def _train(problem: Problem, w: Float[Array, " feature"], seed: Int[Array, ""]) -> Mlp:
    """From a logistic probe `w`: the ends of all stages, [stage, …]."""
    x, y, rows = problem
    begin, go = jax.random.split(jax.random.key(seed))
    spread = jax.random.normal(begin, (x.shape[1], HIDDEN))
    # rows that do not count are 0
    variance = jnp.square(x).sum() / rows
    probe = Mlp(w, spread / jnp.sqrt(variance), jnp.zeros(HIDDEN))
    adam = optax.adam(RATE)

    def loss(probe: Mlp, chosen: Int[Array, " row"]) -> Float[Array, ""]:
        some = x[chosen]
        z = some @ probe.w + jax.nn.relu(some @ probe.first) @ probe.last
        return optax.sigmoid_binary_cross_entropy(z, y[chosen]).mean()

    def step(carry: tuple[Mlp, optax.OptState], chosen: Int[Array, " row"]) -> tuple:
        probe, state = carry
        change, state = adam.update(jax.grad(loss)(probe, chosen), state)
        return (optax.apply_updates(probe, change), state), None

    def stage(carry: tuple[Mlp, optax.OptState], chosen: Int[Array, "step row"]) -> tuple:
        carry, _ = jax.lax.scan(step, carry, chosen)
        return carry, carry[0]

    chosen = jax.random.randint(go, (STAGES, STEPS, BATCH), 0, rows)
    with jax.default_matmul_precision("highest"):
        return jax.lax.scan(stage, (probe, adam.init(probe)), chosen)[1]


train = Each(_train)
"""Train one probe for each problem, from its logistic probe."""
