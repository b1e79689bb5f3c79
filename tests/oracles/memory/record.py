"""Records what public recurrent memories compute: `python -m tests.oracles.memory.record`.

The references cast to float32 in places. Those casts are lifted here to float64, so that a test
can be strict, and the same run as the reference ships it is checked to be within rounding.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from importlib.metadata import version
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from tests.oracles.memory import gated_delta, mamba2, retention, torch_rnn
from tests.oracles.memory.recurrences import GOLDEN, gaps

ORACLES = (torch_rnn, mamba2, gated_delta, retention)
VERSIONS = {package: version(package) for package in ("torch", "transformers", "torchscale")}
ROUNDING = 2e-5


class _Lifted(TorchFunctionMode):
    """Reads every mention of float32 as float64."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.Tensor.float:
            func = torch.Tensor.double
        args = [torch.float64 if arg is torch.float32 else arg for arg in args]
        named = {
            key: torch.float64 if value is torch.float32 else value
            for key, value in (kwargs or {}).items()
        }
        return func(*args, **named)


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
        "versions": VERSIONS,
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
            _record(oracle, name, seed)
    total = sum(path.stat().st_size for path in GOLDEN.glob("*.npz"))
    print(f"{total / 1e3:.0f} kB in all")


if __name__ == "__main__":
    main()
