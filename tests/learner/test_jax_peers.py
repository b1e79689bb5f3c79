"""The peers in JAX that `make bench-peers` measures: it is fair only if they train."""

from __future__ import annotations

from functools import partial

import jax
import numpy as np
import pytest

import jax_peers
from clew import envs
from clew.learner import Knobs
from tests.learner.conftest import small

UPDATES = 2


@pytest.mark.parametrize("kind", [jax_peers.PureJaxRL, jax_peers.XLand])
def test_a_peer_trains(kind: type[jax_peers.PureJaxRL] | type[jax_peers.XLand]) -> None:
    settings = small(steps=8, chunk=8, chunks_per_batch=2)
    world = envs.make("MiniGrid-MemoryS7")
    trainer = jax_peers.Trainer(kind, world, "sparse", settings, Knobs())
    before = jax.jit(trainer.begin)()
    after, told = jax.jit(partial(trainer.train, updates=UPDATES))(before)
    assert told.loss.shape == (UPDATES, settings.epochs, 2)
    assert np.isfinite(told.loss).all()
    # what was played is what is learned from, also in a rollout that begins with memories
    np.testing.assert_allclose(told.ratio_error[:, 0, 0], 0, atol=1e-5)
    assert (told.ratio_error[:, -1, -1] > 1e-5).all()
    assert np.abs(after.memory).max() > 0
    for old, new in zip(*map(jax.tree.leaves, (before.network, after.network)), strict=True):
        assert np.isfinite(new).all()
        assert (old != new).any()
