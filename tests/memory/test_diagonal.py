"""A diagonal recurrence by loop and by associative scan, against numpy's complex numbers."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.memory.diagonal import Complex, by_associative_scan, by_loop, states_after

WAYS = (by_loop, by_associative_scan)
CHANNELS = 3


def drawn(rng: np.random.Generator, *shape: int, complex_: bool) -> Any:
    value = rng.normal(size=shape)
    return value + 1j * rng.normal(size=shape) if complex_ else value


def ours(value: Any) -> Any:
    if np.iscomplexobj(value):
        return Complex(jnp.asarray(value.real), jnp.asarray(value.imag))
    return jnp.asarray(value)


def theirs(value: Any) -> Any:
    return value.re + 1j * value.im if isinstance(value, Complex) else value


@pytest.mark.parametrize("complex_", [False, True])
@given(
    steps=st.sampled_from([1, 2, 9]), often=st.sampled_from([0, 0.3, 1]), seed=st.integers(0, 99)
)
@settings(max_examples=12)
def test_both_ways_are_numpys_loop(complex_: bool, steps: int, often: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    decay, drive = (drawn(rng, steps, CHANNELS, complex_=complex_) for _ in range(2))
    state = drawn(rng, CHANNELS, complex_=complex_)
    resets = rng.random(steps) < often
    expected, s = [], state
    for a, b, reset in zip(decay, drive, resets, strict=True):
        s = a * (0 if reset else s) + b
        expected.append(s)
    for way in WAYS:
        found = jax.jit(way)(ours(decay), ours(drive), ours(state), jnp.asarray(resets))
        np.testing.assert_allclose(theirs(found), expected, rtol=1e-12, atol=1e-12)


def test_their_gradients_agree() -> None:
    rng = np.random.default_rng(0)
    decay, drive = (ours(drawn(rng, 9, CHANNELS, complex_=True)) for _ in range(2))
    state = ours(drawn(rng, CHANNELS, complex_=True))
    resets = jnp.zeros(9, bool).at[4].set(True)

    def gradient(way: Any) -> Any:
        def scalar(decay: Any, drive: Any, state: Any) -> Any:
            return sum(jnp.sin(part).sum() for part in way(decay, drive, state, resets))

        return jax.jit(jax.grad(scalar, argnums=(0, 1, 2)))(decay, drive, state)

    one, two = (gradient(way) for way in WAYS)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12), one, two)


def test_one_decay_for_all_steps() -> None:
    drive, resets = jnp.ones((4, 2)), jnp.zeros(4, bool)
    after = states_after(jnp.array([1.0, 0.5]), drive, jnp.zeros(2), resets)
    np.testing.assert_allclose(after, [[1, 1], [2, 1.5], [3, 1.75], [4, 1.875]])
