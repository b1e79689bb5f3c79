"""Recurrences that must go step by step: s_t = f(weights, s_{t−1}, input_t).

jax can differentiate such a loop by itself, but then every step backwards adds up gradients with
respect to whole matrices, and only the gradient with respect to the state has to travel backwards
in time. So gradients with respect to matrices are computed for all steps at once. On a CPU loops
keep what that needs (`product_gradients`). On an accelerator a loop does as little as it can, and
all else is computed for all steps at once, too (`state_gradients`, `fused`).
"""

from __future__ import annotations

from functools import partial
from typing import TypeVar

import jax
from jaxtyping import Array, Bool, PyTree

from clew.layers import LayerNorm
from clew.memory import state_gradients
from clew.memory.base import Reset, Resets, cleared
from clew.memory.product_gradients import scan_with_product_gradients
from clew.memory.state_gradients import plain_scan, scan_with_state_gradients
from clew.memory.transition import Inputs, Transition, cut, cut_vectors, product_in_parts, width_of

S = TypeVar("S")


def advance(transition: Transition, weights: PyTree, state: S, value: Inputs, reset: Reset) -> S:
    """One step, as agents act."""
    width = width_of(state)
    weights, value = cut_vectors(weights, width), cut(value, width)
    return transition(weights, cleared(state, reset), value, product_in_parts(width))


def recur(transition: Transition, weights: PyTree, state: S, inputs: Inputs, resets: Resets) -> S:
    """The states after every step, stacked: s_t = f(weights, cleared(s_{t−1}), input_t)."""
    if jax.default_backend() != "cpu":
        scan = scan_with_state_gradients
    else:  # jax keeps little of a step without norms: its own gradient is then no slower
        scan = scan_with_product_gradients if _has_norms(weights) else plain_scan
    return scan(transition, weights, state, inputs, resets)


def recur_batch(
    transition: Transition,
    weights: PyTree,
    state: S,
    inputs: Inputs,
    resets: Bool[Array, "env time"],
) -> S:
    """`recur` in every environment."""
    arguments = (transition, weights, state, inputs, resets)
    if state_gradients.kernels_fit(*arguments):
        return state_gradients.kernels_with_state_gradients(*arguments)
    return jax.vmap(partial(recur, transition, weights))(state, inputs, resets)


def _has_norms(weights: PyTree) -> bool:
    parts = jax.tree.leaves(weights, is_leaf=lambda part: isinstance(part, LayerNorm))
    return any(isinstance(part, LayerNorm) for part in parts)
