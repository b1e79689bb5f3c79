"""Our worlds against the original packages, step by step."""

from __future__ import annotations

import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clew.envs.worlds.mystery_path.levels import find_path
from tests.envs.replay import check
from tests.oracles.traces import GOLDEN, Trace

TRACES = sorted(path.stem for path in GOLDEN.glob("m*.npz"))
SIZES = sorted(int(path.stem.split("-")[1]) for path in GOLDEN.glob("search-*.npz"))

LIVE_EPISODES = 1000


@pytest.mark.parametrize("name", TRACES)
def test_recorded_traces_of_the_originals(name: str) -> None:
    check(Trace.load(GOLDEN / f"{name}.npz"))


def test_every_golden_trace_has_successes_and_failures() -> None:
    """A trace in which nothing happens would prove nothing."""
    for name in TRACES:
        trace = Trace.load(GOLDEN / f"{name}.npz")
        assert 0 < trace.success.any(1).mean() < 1, name


@pytest.mark.parametrize("size", SIZES)
def test_path_search_is_the_originals(size: int) -> None:
    with np.load(GOLDEN / f"search-{size}.npz") as file:
        _check_searches(size, dict(file))


def _check_searches(size: int, recorded: dict[str, np.ndarray]) -> None:
    names = ("walls", "origin", "goal", "costs")
    inputs = [jnp.asarray(recorded[name]) for name in names]
    inputs[1:] = [value.astype(jnp.int32) for value in inputs[1:]]
    found = jax.jit(jax.vmap(lambda *row: find_path(size, *row)))(*inputs)
    np.testing.assert_array_equal(np.asarray(found), recorded["path"])


# Live -----------------------------------------------------------------------------------------

LIVE = [
    *((oracle, name) for oracle, prefix in (("mystery_path", "mystery"), ("memory_s", "memory"))
      for name in TRACES if name.startswith(prefix)),
]  # fmt: skip


@pytest.mark.originals
@pytest.mark.parametrize(("oracle", "name"), LIVE)
def test_the_originals_live(oracle: str, name: str) -> None:
    module = importlib.import_module(f"tests.oracles.{oracle}")
    [case] = [case for case in module.CASES if case.name == name]
    check(module.play(case, LIVE_EPISODES, seed=20261115))


@pytest.mark.originals
@pytest.mark.parametrize("size", [3, 4, 5, 6, 7, 8, 9, 10, 12, 16])
def test_path_search_live(size: int) -> None:
    oracle = importlib.import_module("tests.oracles.mystery_path")
    _check_searches(size, oracle.searches(size, 3000 if size == 7 else 500, seed=1))
