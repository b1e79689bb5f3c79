"""Proximal policy optimisation with truncated backpropagation through time."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from clew.envs.observations import Observations
from clew.learner.agent import Agent, MemoryState, Seen, components, policy_and_value
from clew.learner.program import Program, RunParams
from clew.learner.rollout import in_chunks, log_prob_of
from clew.learner.settings import Settings

ADAM = optax.scale_by_adam(eps=1e-5)
T = TypeVar("T")


def init_optimiser(agent: Agent) -> optax.OptState:
    """The optimiser's state before its first step."""
    return ADAM.init(ravel_pytree(agent)[0])


class Batch(NamedTuple):
    """A rollout as PPO learns from it; or chunks of it, each a row."""

    obs: Seen
    """[time, env, …]."""
    first: Bool[Array, "time env"]
    action: Int[Array, "time env"]
    log_prob: Float[Array, "time env"]
    advantage: Float[Array, "time env"]
    target: Float[Array, "time env"]
    """Of the critic."""


class Losses(NamedTuple):
    """One minibatch in numbers, or the mean over an update's minibatches."""

    policy_loss: Float[Array, ""]
    value_loss: Float[Array, ""]
    entropy: Float[Array, ""]
    kl: Float[Array, ""]
    """Of the new policy from the old one, by the estimate E[r − 1 − log r]."""
    clipped: Float[Array, ""]
    """Share of steps whose ratio lies outside the clip range."""
    ratio_error: Float[Array, ""]
    """Largest |ratio − 1|. At the first minibatch of an update it must be 0, but for rounding."""


class UpdateMetrics(NamedTuple):
    """An update in numbers."""

    mean: Losses
    first_ratio_error: Float[Array, ""]
    gradient_norm: Float[Array, " component"]
    """Before clipping, averaged over the minibatches."""
    minibatches: Int[Array, ""]
    """Minibatches that were applied before the update ended."""
    finite: Bool[Array, ""]


class _UpdateState(NamedTuple):
    weights: Float[Array, " weight"]
    optimiser: optax.OptState
    stop: Bool[Array, ""]
    sums: UpdateMetrics
    """Sums over the minibatches so far, where the metrics are means."""


@jax.named_scope("update")
def update(
    program: Program,
    agent: Agent,
    optimiser: optax.OptState,
    rollout: Batch,
    memories: tuple[MemoryState, MemoryState],
    params: RunParams,
    key: PRNGKeyArray,
    allowed: Bool[Array, ""],
) -> tuple[Agent, optax.OptState, UpdateMetrics]:
    """Several epochs over a rollout; none if it is not `allowed`.

    It stops before the first minibatch whose KL estimate is over 1.5 times the target, or whose
    loss or gradient is not finite. `memories` are the actor's and the critic's at the beginning of
    each chunk. Between minibatches all weights are one vector: clipping and Adam are then a few
    operations, not a few for every leaf, which compiles much faster.
    """
    s = program.settings
    weights, as_agent = ravel_pytree(agent)
    chunks, starts = jax.tree.map(  # [piece, env, …] → [piece · env, …]
        lambda x: x.reshape(-1, *x.shape[2:]), (in_chunks(rollout, s.chunk), memories)
    )
    batches = minibatches(key, s)

    def minibatch(state: _UpdateState) -> _UpdateState:
        chosen = batches[state.sums.minibatches]
        batch, start = jax.tree.map(lambda x: x[chosen], (chunks, starts))

        def objective(agent: Agent) -> tuple[Array, Losses]:
            return loss(agent, program.observations, s, batch, start, params.entropy)

        value_and_grad = jax.value_and_grad(objective, has_aux=True)
        (total, losses), grads = value_and_grad(as_agent(state.weights))
        grads, norms = clip_components(grads, s.max_grad_norm)
        finite = jnp.isfinite(total) & jnp.isfinite(norms).all()
        apply = finite & (losses.kl <= 1.5 * s.target_kl)
        updates, optimiser = ADAM.update(grads, state.optimiser)
        updates = jax.tree.map(lambda update: params.learning_rate * update, updates)

        def if_applied(new: T, old: T) -> T:
            return jax.tree.map(lambda a, b: jnp.where(apply, a, b), new, old)

        sums = state.sums
        sums = UpdateMetrics(
            mean=if_applied(jax.tree.map(jnp.add, sums.mean, losses), sums.mean),
            first_ratio_error=jnp.where(
                sums.minibatches == 0, losses.ratio_error, sums.first_ratio_error
            ),
            gradient_norm=if_applied(sums.gradient_norm + norms, sums.gradient_norm),
            minibatches=sums.minibatches + apply,
            finite=finite,
        )
        weights = if_applied(state.weights - updates, state.weights)
        return _UpdateState(weights, if_applied(optimiser, state.optimiser), ~apply, sums)

    nothing = UpdateMetrics(
        mean=Losses(*jnp.zeros(len(Losses._fields))),
        first_ratio_error=jnp.float32(0),
        gradient_norm=jnp.zeros(len(components(agent))),
        minibatches=jnp.int32(0),
        finite=jnp.bool_(True),
    )
    end = jax.lax.while_loop(
        lambda state: ~state.stop & (state.sums.minibatches < len(batches)),
        minibatch,
        _UpdateState(weights, optimiser, ~allowed, nothing),
    )
    count = jnp.maximum(end.sums.minibatches, 1)
    metrics = end.sums._replace(
        mean=jax.tree.map(lambda total: total / count, end.sums.mean),
        gradient_norm=end.sums.gradient_norm / count,
    )
    return as_agent(end.weights), end.optimiser, metrics


def loss(
    agent: Agent,
    observations: Observations,
    settings: Settings,
    batch: Batch,
    start: tuple[MemoryState, MemoryState],
    entropy_coef: Float[Array, ""],
) -> tuple[Float[Array, ""], Losses]:
    """PPO's clipped objective, the critic's squared error, and the entropy."""
    logits, value = policy_and_value(agent, observations, start, batch.obs, batch.first)
    log_probs = jax.nn.log_softmax(logits)
    log_ratio = log_prob_of(logits, batch.action) - batch.log_prob
    ratio = jnp.exp(log_ratio)
    advantage = (batch.advantage - batch.advantage.mean()) / (batch.advantage.std() + 1e-8)
    clipped_ratio = jnp.clip(ratio, 1 - settings.clip, 1 + settings.clip)
    policy_loss = -jnp.minimum(ratio * advantage, clipped_ratio * advantage).mean()
    value_loss = ((value - batch.target) ** 2).mean()
    entropy = -(jnp.exp(log_probs) * log_probs).sum(-1).mean()
    total = policy_loss + settings.value_coef * value_loss - entropy_coef * entropy
    losses = Losses(
        policy_loss=policy_loss,
        value_loss=value_loss,
        entropy=entropy,
        kl=(ratio - 1 - log_ratio).mean(),
        clipped=(jnp.abs(ratio - 1) > settings.clip).mean(),
        ratio_error=jnp.abs(ratio - 1).max(),
    )
    return total, losses


def minibatches(key: PRNGKeyArray, settings: Settings) -> Int[Array, "minibatch chunk"]:
    """Which chunks each minibatch of an update has: every epoch has every chunk once."""
    epochs = jax.random.split(key, settings.epochs)
    orders = jax.vmap(lambda key: jax.random.permutation(key, settings.chunks))(epochs)
    return orders.reshape(-1, settings.chunks_per_batch)


def clip_components(
    grads: Agent, max_norm: float
) -> tuple[Float[Array, " weight"], Float[Array, " component"]]:
    """The gradient as one vector, each component's scaled to at most `max_norm`; the norms before.

    The vector is in the order of an agent's leaves.
    """
    parts = [ravel_pytree(part)[0] for part in components(grads).values()]
    norms = jnp.stack([jnp.sqrt(jnp.sum(part**2)) for part in parts])
    scale = jnp.minimum(1, max_norm / (norms + 1e-6))
    return jnp.concatenate([part * scale[i] for i, part in enumerate(parts)]), norms
