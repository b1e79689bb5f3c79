"""Proximal policy optimisation with truncated backpropagation through time."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Shaped

from clew.envs.observations import Observations
from clew.learner.agent import Agent, components, policy_and_value
from clew.learner.program import Program
from clew.learner.rollout import in_chunks, log_prob_of
from clew.learner.settings import Settings

ADAM: Any = optax.scale_by_adam(eps=1e-5)


def init_optimiser(agent: Agent) -> Any:
    """The optimiser's state before its first step."""
    return ADAM.init(ravel_pytree(agent)[0])


class Batch(NamedTuple):
    """A rollout as PPO learns from it; or chunks of it, each a row."""

    obs: Shaped[Array, "time env *obs"]
    first: Bool[Array, "time env"]
    action: Int[Array, "time env"]
    log_prob: Float[Array, "time env"]
    advantage: Float[Array, "time env"]
    target: Float[Array, "time env"]
    """Of the critic."""


class Losses(NamedTuple):
    """What one minibatch, or the mean over an update's, looked like."""

    policy_loss: Float[Array, ""]
    value_loss: Float[Array, ""]
    entropy: Float[Array, ""]
    kl: Float[Array, ""]
    """Of the new policy from the old one, by the estimate E[r − 1 − log r]."""
    clipped: Float[Array, ""]
    """Share of steps whose ratio lies outside the clip range."""
    ratio_error: Float[Array, ""]
    """Largest |ratio − 1|; at the first minibatch of an update nothing has changed yet."""


class UpdateMetrics(NamedTuple):
    """An update in numbers."""

    mean: Losses
    first_ratio_error: Float[Array, ""]
    gradient_norm: Float[Array, " component"]
    """Before clipping, averaged over the minibatches."""
    minibatches: Int[Array, ""]
    """Applied before the update ended."""
    finite: Bool[Array, ""]


class _Progress(NamedTuple):
    weights: Float[Array, " weight"]
    optimiser: Any
    done: Int[Array, ""]
    stop: Bool[Array, ""]
    total: Losses
    norms: Float[Array, " component"]
    first_ratio_error: Float[Array, ""]
    finite: Bool[Array, ""]


def update(
    program: Program,
    agent: Agent,
    optimiser: Any,
    batch: Batch,
    memories: tuple[Any, Any],
    knobs: Any,
    key: PRNGKeyArray,
    allowed: Bool[Array, ""],
) -> tuple[Agent, Any, UpdateMetrics]:
    """Several epochs over a rollout, ended early if the policy has moved too far.

    A minibatch whose loss or gradient is not finite ends the update, and is not applied. Between
    minibatches all weights are one vector: clipping and Adam are then a few operations, not a few
    for every leaf, which is what a compiler spends its time on.
    """
    s = program.settings
    weights, as_agent = ravel_pytree(agent)
    chunks, starts = _flat((in_chunks(batch, s.chunk), memories))
    batches = minibatches(key, s)

    def body(now: _Progress) -> _Progress:
        chosen = batches[now.done]
        batch, start = jax.tree.map(lambda x: x[chosen], (chunks, starts))

        def objective(agent: Agent) -> tuple[Array, Losses]:
            return loss(agent, program.observations, s, batch, start, knobs.entropy)

        (total, losses), grads = jax.value_and_grad(objective, has_aux=True)(as_agent(now.weights))
        grads, norms = clip_components(grads, s.max_grad_norm)
        finite = jnp.isfinite(total) & jnp.isfinite(norms).all()
        apply = finite & (losses.kl <= 1.5 * s.target_kl)
        change, optimiser = ADAM.update(grads, now.optimiser)
        keep = _chosen(apply)
        return _Progress(
            weights=keep(now.weights - knobs.learning_rate * change, now.weights),
            optimiser=keep(optimiser, now.optimiser),
            done=now.done + apply,
            stop=~apply,
            total=keep(jax.tree.map(jnp.add, now.total, losses), now.total),
            norms=keep(now.norms + norms, now.norms),
            first_ratio_error=jnp.where(now.done == 0, losses.ratio_error, now.first_ratio_error),
            finite=finite,
        )

    nothing = _Progress(
        weights=weights,
        optimiser=optimiser,
        done=jnp.int32(0),
        stop=~allowed,
        total=Losses(*jnp.zeros(len(Losses._fields))),
        norms=jnp.zeros(len(components(agent))),
        first_ratio_error=jnp.float32(0),
        finite=jnp.bool_(True),
    )
    end = jax.lax.while_loop(lambda now: ~now.stop & (now.done < len(batches)), body, nothing)
    count = jnp.maximum(end.done, 1)
    report = UpdateMetrics(
        mean=jax.tree.map(lambda total: total / count, end.total),
        first_ratio_error=end.first_ratio_error,
        gradient_norm=end.norms / count,
        minibatches=end.done,
        finite=end.finite,
    )
    return as_agent(end.weights), end.optimiser, report


def loss(
    agent: Agent,
    observations: Observations,
    settings: Settings,
    batch: Batch,
    start: tuple[Any, Any],
    entropy_coef: Float[Array, ""],
) -> tuple[Float[Array, ""], Losses]:
    """PPO's clipped objective, the critic's squared error, and the entropy."""
    logits, value = policy_and_value(agent, observations, start, batch.obs, batch.first)
    logs = jax.nn.log_softmax(logits)
    log_ratio = log_prob_of(logits, batch.action) - batch.log_prob
    ratio = jnp.exp(log_ratio)
    gain = (batch.advantage - batch.advantage.mean()) / (batch.advantage.std() + 1e-8)
    bounded = jnp.clip(ratio, 1 - settings.clip, 1 + settings.clip)
    policy_loss = -jnp.minimum(ratio * gain, bounded * gain).mean()
    value_loss = ((value - batch.target) ** 2).mean()
    entropy = -(jnp.exp(logs) * logs).sum(-1).mean()
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
    grads: Agent, largest: float
) -> tuple[Float[Array, " weight"], Float[Array, " component"]]:
    """Each component's gradient, scaled to a norm of at most `largest`; the norms before that.

    All of it as one vector, in the order of an agent's leaves.
    """
    parts = [ravel_pytree(part)[0] for part in components(grads).values()]
    norms = jnp.stack([jnp.sqrt(jnp.sum(part**2)) for part in parts])
    scale = jnp.minimum(1, largest / (norms + 1e-6))
    return jnp.concatenate([part * scale[i] for i, part in enumerate(parts)]), norms


def _flat(pieces: Any) -> Any:
    """[piece, env, …] → [piece · env, …]."""
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), pieces)


def _chosen(condition: Bool[Array, ""]) -> Any:
    return lambda new, old: jax.tree.map(lambda a, b: jnp.where(condition, a, b), new, old)
