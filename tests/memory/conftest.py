"""Every registered memory, and the full blocks, small and in float64."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import pytest

from clew import memory
from clew.memory import Architecture
from clew.testing.memory_laws import IN, WIDTH, stirred

OPTIONS: dict[str, dict[str, object]] = {
    "GRU, plain": {"norm": False},
    "LSTM, plain": {"norm": False},
    "RetNet, full block": {"full_block": True},
    "GatedDeltaNet, full block": {"full_block": True},
    "RetNet, study code": {"study_code": True},
    "GatedDeltaNet, study code": {"study_code": True},
    "Mamba-2, study code": {"study_code": True},
}
SMALL: dict[str, dict[str, object]] = {
    "Mamba-2": {"states": 6},
    "GatedDeltaNet": {"assoc_size": 6},
    "LRU": {"states": 6},
    "FFM": {"memory_size": 5, "context_size": 3},
    # shorter than a chunk; 20 steps back are seen by the second layer alone
    "GTrXL": {"window": 11, "layers": 2},
}
VARIANTS = (*memory.names(), *OPTIONS)


def build(variant: str, in_size: int = IN, width: int = WIDTH, seed: int = 0) -> Architecture:
    """A small memory whose every weight is random, so that no law holds by a zero."""
    name, _, _ = variant.partition(",")
    options = {**SMALL.get(name, {}), **OPTIONS.get(variant, {})}
    return stirred(memory.make(name, in_size, width, key=jax.random.key(seed), **options), seed)


@pytest.fixture(autouse=True)
def float64() -> Iterator[None]:
    """The laws hold to rounding, so rounding is made small."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(params=VARIANTS)
def cell(request: pytest.FixtureRequest) -> Architecture:
    """Every memory."""
    return build(request.param)
