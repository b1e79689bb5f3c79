"""Recurrences that must go step by step.

On a CPU that is a scan. On an accelerator a step's work is small and its overhead is not, and
differentiating a scan also accumulates the gradient of every weight step by step, a matrix update
a step. Only the state's own cotangent has to travel backwards, though; given it, the gradients of
weights and inputs of all steps are one batched product. So there the states are computed by a bare
scan, every step is *replayed* at once for all of time from its recorded state, and the cotangent
travels back by a bare scan of its own. Replaying costs arithmetic, which a CPU would notice.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from clew.memory.base import cleared

Cell = Callable[[Any, Any, Any], Any]
"""(weights, state, input) → next state. A plain function: methods cannot be hashed."""
UNROLL = 4
"""Steps that an accelerator takes in one round of a loop: rounds have a cost of their own."""


def recur(cell: Cell, weights: Any, state: Any, inputs: Any, resets: Bool[Array, " time"]) -> Any:
    """The states after every step, stacked: s_t = cell(weights, cleared(s_{t−1}), input_t)."""
    way = scanned if jax.default_backend() == "cpu" else replayed
    return way(cell, weights, state, inputs, resets)


def scanned(cell: Cell, weights: Any, state: Any, inputs: Any, resets: Any) -> Any:
    """A plain scan, differentiated as it stands."""

    def advance(state: Any, now: Any) -> tuple[Any, Any]:
        value, reset = now
        state = cell(weights, cleared(state, reset), value)
        return state, state

    return jax.lax.scan(advance, state, (inputs, resets))[1]


def replayed(cell: Cell, weights: Any, state: Any, inputs: Any, resets: Any) -> Any:
    """The same, with only the state and its cotangent inside loops."""
    frozen = jax.lax.stop_gradient((weights, state, inputs))
    before = _states_before(cell, *frozen, resets)
    again = jax.vmap(cell, in_axes=(None, 0, 0))(weights, before, inputs)
    return _carry_back(cell, again, state, frozen[0], before, frozen[2], resets)


def _states_before(cell: Cell, weights: Any, state: Any, inputs: Any, resets: Any) -> Any:
    """What each step starts from, resets applied."""

    def advance(state: Any, now: Any) -> tuple[Any, Any]:
        value, reset = now
        state = cleared(state, reset)
        return cell(weights, state, value), state

    return jax.lax.scan(advance, state, (inputs, resets), unroll=UNROLL)[1]


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _carry_back(
    cell: Cell, after: Any, state: Any, weights: Any, before: Any, inputs: Any, resets: Any
) -> Any:
    """`after`, unchanged. Its cotangent picks up what later steps owe to earlier ones."""
    return after


def _forward(cell: Cell, after: Any, state: Any, *rest: Any) -> tuple[Any, Any]:
    return after, rest


def _backward(cell: Cell, rest: Any, cotangents: Any) -> tuple[Any, ...]:
    weights, before, inputs, resets = rest

    def retreat(owed: Any, now: Any) -> tuple[Any, Any]:
        cotangent, state, value, reset = now
        total = jax.tree.map(jnp.add, cotangent, owed)
        _, pull = jax.vjp(lambda state: cell(weights, state, value), state)
        return cleared(pull(total)[0], reset), total

    nothing = jax.tree.map(lambda leaf: jnp.zeros_like(leaf[0]), cotangents)
    steps = (cotangents, before, inputs, resets)
    owed, totals = jax.lax.scan(retreat, nothing, steps, reverse=True, unroll=UNROLL)
    return totals, owed, None, None, None, None


_carry_back.defvjp(_forward, _backward)
