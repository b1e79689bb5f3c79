"""Functions in numpy against the same functions compiled: equal to the bit, or not taken over."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax import lax

from clew.envs.in_numpy import in_numpy

Arguments = tuple[np.ndarray | np.int32, ...]

# of whole numbers `v` [5] and `m` [3, 4], truth values `b` [5], and numbers `i` and `j`, which may
# lie outside as indices
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sums": lambda v, m, b, i, j: (v + i, v - j, v * i, -v, i * j - 3),
    "products of floats": lambda v, m, b, i, j: jnp.where(b, v * (1 / 845), -0.5),
    "floor division": lambda v, m, b, i, j: (v // 7, v % 7, i // -3, i % -3),
    "division to zero": lambda v, m, b, i, j: (
        lax.div(v, jnp.array([7, -7, 1, -1, 2])),
        lax.rem(i, jnp.int32(-4)),
    ),
    "signs": lambda v, m, b, i, j: (jnp.sign(v), jnp.clip(i, 0, 3), jnp.maximum(v, j)),
    "bits": lambda v, m, b, i, j: (v & i, v | i, v ^ i, ~v, b & (i > j), b ^ True, ~b),
    "comparisons": lambda v, m, b, i, j: (
        v == i,
        v != i,
        v < i,
        v <= i,
        v > i,
        v >= i,
        b == (i < j),
    ),
    "choices": lambda v, m, b, i, j: (
        jnp.where(b, v, i),
        jnp.where(i < j, v, j),
        jnp.where(b[0], i, j),
    ),
    "types": lambda v, m, b, i, j: (
        b.astype(jnp.int32),
        jnp.float32(i),
        v.astype(bool),
        i.astype(jnp.int8),
        v.astype(jnp.float32) > 0.5,
    ),
    "elements": lambda v, m, b, i, j: (v[i], m[i, j], m[1, j], b[j], m[i], m[:, j]),
    "windows": lambda v, m, b, i, j: (
        lax.dynamic_slice(v, (i,), (2,)),
        lax.dynamic_slice(m, (i, j), (2, 4)),
        lax.dynamic_slice(m, (i, j), (1, 1)),
    ),
    "many elements": lambda v, m, b, i, j: (v[m], m[v], m[:, v], m[v, i], v.at[m].get(mode="clip")),
    "slices": lambda v, m, b, i, j: (v[1:4], v[::2], m[::-1], m[0, ::-1], v[-2]),
    "shapes": lambda v, m, b, i, j: (
        m.reshape(2, 6),
        m[None, :, None],
        v[:, None] == jnp.arange(4),
        jnp.broadcast_to(v, (2, 5)),
        jnp.full(3, i),
        jnp.pad(m, ((1, 0), (0, 2)), constant_values=7),
    ),
    "several": lambda v, m, b, i, j: (
        jnp.concatenate((v, v[:2])),
        jnp.stack((i, j, i)),
        jnp.stack((v, v + 1), 1),
        tuple(m),
        jnp.unstack(m, axis=1),
        jnp.roll(v, i),
        jnp.eye(4, dtype=bool)[i],
    ),
    "of all": lambda v, m, b, i, j: (b.any(), b.all(), m.max(0), m.min(), (m > 0).any((0, 1))),
    "unused": lambda v, m, b, i, j: (jax.random.uniform(jax.random.key(i)), v)[1],
    "nothing to do": lambda v, m, b, i, j: (v, 3, jnp.arange(3), True, 2.5),
}

whole = st.one_of(st.integers(-9, 9), st.integers(-(2**20), 2**20))


@st.composite
def arguments(draw: st.DrawFn) -> Arguments:
    def some(n: int) -> np.ndarray:
        return np.array(draw(st.lists(whole, min_size=n, max_size=n)), np.int32)

    i, j = (np.int32(draw(st.integers(-9, 9))) for _ in range(2))
    truths = draw(st.lists(st.booleans(), min_size=5, max_size=5))
    return some(5), some(12).reshape(3, 4), np.array(truths), i, j


LIKE = (
    *(jax.ShapeDtypeStruct(shape, np.int32) for shape in ((5,), (3, 4))),
    jax.ShapeDtypeStruct((5,), np.bool_),
    *[jax.ShapeDtypeStruct((), np.int32)] * 2,
)


@cache
def both(name: str) -> tuple[Any, Any]:
    return in_numpy(FUNCTIONS[name], *LIKE), jax.jit(FUNCTIONS[name])


@pytest.mark.parametrize("name", FUNCTIONS)
@given(given=arguments())
def test_the_same_as_compiled(name: str, given: Arguments) -> None:
    ours, compiled = both(name)
    assert ours is not None
    found, expected = ours(*given), compiled(*given)
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for one, two in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert (one.shape, one.dtype) == (two.shape, two.dtype)
        assert isinstance(one, np.ndarray if two.shape else np.generic)
        np.testing.assert_array_equal(one, np.asarray(two))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, i: jax.random.randint(jax.random.key(i), (), 0, 4),
        lambda x, i: lax.while_loop(lambda n: n < 10, lambda n: n * 2 + 1, i),
        lambda x, i: x[0] + 1.0,  # a compiler may make it one step with a product
        lambda x, i: x[0] / 3,  # or make it a product
        lambda x, i: x.sum(),
        lambda x, i: x[0].astype(jnp.int32),
        lambda x, i: jnp.exp(x),
        lambda x, i: i // (i + 1),  # by zero, perhaps
        lambda x, i: jnp.uint32(i) * 3,
        lambda x, i: x.at[jnp.stack((i, i))].get(mode="fill"),
        lambda x, i: jnp.sort(x),
    ],
)
def test_what_has_no_numpy_form(function: Callable[..., Any]) -> None:
    like = jax.ShapeDtypeStruct((4,), np.float32), jax.ShapeDtypeStruct((), np.int32)
    assert in_numpy(function, *like) is None
