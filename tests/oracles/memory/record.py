"""Records what public recurrent memories compute: `python -m tests.oracles.memory.record`, or
with the names of some of the files.

The references cast to float32 in places. Those casts are lifted here to float64, so that a test
can be strict, and the same run as the reference ships it is checked to be within rounding.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from importlib.metadata import version
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from tests.oracles.memory import (
    ffm,
    gated_delta,
    gtrxl,
    lru,
    mamba2,
    min_gru,
    mlstm,
    retention,
    torch_rnn,
)
from tests.oracles.memory.recurrences import GOLDEN, gaps

ORACLES = (torch_rnn, mamba2, gated_delta, retention, gtrxl, lru, min_gru, ffm, mlstm)
PACKAGES = ("torch", "transformers", "torchscale")
"""Whose versions are recorded, unless an oracle names its own."""
LIFTED = {torch.float32: torch.float64, torch.complex64: torch.complex128}
ROUNDING = 2e-5


class _Lifted(TorchFunctionMode):
    """Reads every mention of float32 as float64, and of complex numbers alike."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.Tensor.float:
            func = torch.Tensor.double
        named = {key: _lifted(value) for key, value in (kwargs or {}).items()}
        return func(*map(_lifted, args), **named)


def _lifted(value: Any) -> Any:
    return LIFTED.get(value, value) if isinstance(value, torch.dtype) else value


@contextlib.contextmanager
def _precision(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with _Lifted() if dtype is torch.float64 else contextlib.nullcontext():
            yield
    finally:
        torch.set_default_dtype(before)


def _run(
    oracle: ModuleType, name: str, weights: dict, inputs: dict, dtype: torch.dtype
) -> dict[str, np.ndarray]:
    with torch.no_grad(), _precision(dtype):
        # Copies: a reference may write into what it is given.
        given = [
            {key: torch.tensor(value, dtype=dtype) for key, value in arrays.items()}
            for arrays in (weights, inputs)
        ]
        outputs = oracle.run(name, oracle.CASES[name], *given)
    assert all(value.dtype is dtype for value in outputs.values()), name
    return {key: value.numpy() for key, value in outputs.items()}


def _record(oracle: ModuleType, name: str, seed: int) -> None:
    config = oracle.CASES[name]
    weights, inputs = oracle.draw(name, config, np.random.default_rng(seed))
    outputs = _run(oracle, name, weights, inputs, torch.float64)
    shipped = _run(oracle, name, weights, inputs, torch.float32)
    apart = max(float(np.abs(outputs[key] - shipped[key]).max()) for key in outputs)
    assert apart < ROUNDING, f"{name}: lifting casts changed {apart:.1e}"
    header = config | {
        "versions": {each: version(each) for each in getattr(oracle, "PACKAGES", PACKAGES)},
        "weights": list(weights),
        "inputs": list(inputs),
        "outputs": list(outputs),
    }
    path = GOLDEN / f"{name}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = weights | inputs | outputs
    np.savez_compressed(path, config=np.array(json.dumps(header)), **arrays)
    ours = max(gaps(name).values())
    size = path.stat().st_size / 1e3
    print(f"{name:26}{size:6.1f} kB   float32 {apart:.1e}   our recurrence {ours:.1e}")


def main() -> None:
    torch.set_num_threads(1)
    for oracle in ORACLES:
        for seed, name in enumerate(oracle.CASES):
            if name in (sys.argv[1:] or oracle.CASES):
                _record(oracle, name, seed)
    total = sum(path.stat().st_size for path in GOLDEN.glob("*.npz"))
    print(f"{total / 1e3:.0f} kB in all")


if __name__ == "__main__":
    main()
