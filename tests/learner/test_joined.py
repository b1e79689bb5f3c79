"""What a loop writes at once is what it was given."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from clew.learner.joined import join, part


def test_joined_and_parted_again() -> None:
    """Numbers and vectors of three kinds are two arrays; images, and other dtypes, stay apart."""
    rng = np.random.default_rng(0)
    time, envs = 5, 3
    tree = {
        "flag": rng.random((time, envs)) < 0.5,
        "symbol": rng.integers(0, 2**31 - 1, (time, envs), np.int32),
        "logits": rng.normal(size=(time, envs, 4)).astype(np.float32),
        "reward": rng.normal(size=(time, envs)).astype(np.float32),
        "image": rng.integers(0, 256, (time, envs, 2, 2, 3), np.uint8),
        "matrix": rng.normal(size=(time, envs, 2, 2)).astype(np.float32),
        "byte": rng.integers(0, 256, (time, envs), np.uint8),
    }
    tree = jax.tree.map(jnp.asarray, tree)
    _, written = jax.lax.scan(lambda carry, now: (carry, join(now)), None, tree)
    assert len(written) == 2 + 3
    shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), tree)
    for name, found in part(written, shapes).items():
        assert found.dtype == tree[name].dtype
        np.testing.assert_array_equal(found, tree[name])
