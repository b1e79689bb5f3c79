"""What each memory costs: weights, state, work."""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp

from clew.memory.base import Architecture
from clew.memory.registry import make, names


@dataclasses.dataclass(frozen=True)
class Description:
    """One memory at one size."""

    name: str
    parameters: int
    state_bytes: int
    """Of one environment."""
    flops_per_step: int
    """Floating-point operations of one `step`, as XLA counts them."""
    parallel: bool
    """Whether `unroll` has a form without a loop over steps."""


def describe(in_size: int = 128, width: int = 128) -> tuple[Description, ...]:
    """Describe every registered memory with its default options."""
    key = jax.random.key(0)
    return tuple(
        describe_one(name, make(name, in_size=in_size, width=width, key=key)) for name in names()
    )


def describe_one(name: str, memory: Architecture) -> Description:
    """Describe a memory with options of your choice."""
    arrays, static = eqx.partition(memory, eqx.is_array)
    state = memory.initial_state()

    def step(arrays: Architecture, x: jax.Array, reset: jax.Array) -> object:
        whole = eqx.combine(arrays, static)
        return whole.step(state, whole.read(x), reset)

    lowered = jax.jit(step).lower(arrays, jnp.zeros(memory.in_size), jnp.bool_(False))
    counted = lowered.cost_analysis() or {}
    return Description(
        name=name,
        parameters=sum(leaf.size for leaf in jax.tree.leaves(arrays)),
        state_bytes=sum(leaf.nbytes for leaf in jax.tree.leaves(state)),
        flops_per_step=int(counted.get("flops", 0)),
        parallel=memory.parallel,
    )


def table(descriptions: tuple[Description, ...]) -> str:
    """The descriptions as a Markdown table."""
    lines = [
        "| architecture | parameters | state, bytes | FLOPs a step | parallel `unroll` |",
        "|---|---:|---:|---:|---|",
    ]
    for one in descriptions:
        numbers = f"{one.parameters:,} | {one.state_bytes:,} | {one.flops_per_step:,}"
        lines.append(f"| {one.name} | {numbers} | {'yes' if one.parallel else 'no'} |")
    return "\n".join(lines)
