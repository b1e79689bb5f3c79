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
from jaxtyping import Array, Float, Int, PRNGKeyArray

from clew.probes.fitting.auc import auc

HIDDEN = 32
STEPS = 50
STAGES = 8
"""Training is `STAGES` times `STEPS` steps of Adam; a probe is chosen from the ends of stages."""
BATCH = 256
RATE = 5e-3


class Mlp(NamedTuple):
    """logit = x w + relu(x first + shift) last, where x ends in a 1."""

    w: Float[Array | np.ndarray, "*n feature"]
    first: Float[Array | np.ndarray, "*n feature hidden"]
    last: Float[Array | np.ndarray, "*n hidden"]


def train(
    x: Float[Array | np.ndarray, "problem row feature"],
    rows: Int[Array | np.ndarray, " problem"],
    y: Float[Array | np.ndarray, "problem row label"],
    w: Float[Array | np.ndarray, "problem feature label"],
    seed: int,
) -> Mlp:
    """Train one probe for each problem and each of its labels, from logistic probes `w`.

    The first `rows` rows of a problem count. Returned [problem, label, stage, …], on the host.
    """
    return jax.tree.map(np.asarray, _train(x, rows, y, w, jax.random.key(seed)))


def logits(probe: Mlp, x: np.ndarray) -> np.ndarray:
    """What one probe makes of rows of features that end in a 1."""
    return x @ probe.w + np.maximum(x @ probe.first, 0) @ probe.last


def choose(linear: np.ndarray, probes: Mlp, x: np.ndarray, labels: np.ndarray) -> Mlp:
    """The best of a logistic probe and the stages after it; the earliest of equals."""
    nothing = np.zeros_like(probes.first[0]), np.zeros_like(probes.last[0])
    stages = [Mlp(linear, *nothing), *(Mlp(*each) for each in zip(*probes, strict=True))]
    return max(stages, key=lambda probe: auc(labels, logits(probe, x)))


@jax.jit
def _train(x: Array, rows: Array, y: Array, w: Array, key: PRNGKeyArray) -> Mlp:
    over_labels = jax.vmap(_train_one, in_axes=(None, None, 1, 1, None))
    return jax.vmap(over_labels, in_axes=(0, 0, 0, 0, None))(x, rows, y, w, key)


def _train_one(x: Array, rows: Array, y: Array, w: Array, key: PRNGKeyArray) -> Mlp:
    begin, go = jax.random.split(key)
    spread = jax.random.normal(begin, (x.shape[1], HIDDEN))
    variance = jnp.square(x).sum() / rows
    probe = Mlp(w, spread / jnp.sqrt(variance), jnp.zeros(HIDDEN))
    adam = optax.adam(RATE)

    def loss(probe: Mlp, chosen: Array) -> Array:
        some = x[chosen]
        z = some @ probe.w + jax.nn.relu(some @ probe.first) @ probe.last
        return optax.sigmoid_binary_cross_entropy(z, y[chosen]).mean()

    def step(carry: tuple[Mlp, optax.OptState], key: Array) -> tuple:
        probe, state = carry
        slope = jax.grad(loss)(probe, jax.random.randint(key, (BATCH,), 0, rows))
        change, state = adam.update(slope, state)
        return (optax.apply_updates(probe, change), state), None

    def stage(carry: tuple[Mlp, optax.OptState], key: Array) -> tuple:
        carry, _ = jax.lax.scan(step, carry, jax.random.split(key, STEPS))
        return carry, carry[0]

    return jax.lax.scan(stage, (probe, adam.init(probe)), jax.random.split(go, STAGES))[1]
