"""Small configurations and results to store, and ways to spoil a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from clew.store import RunFolder, Store

PROVENANCE = {"clew": "0.1.0", "device": "cpu", "seconds": 1.5}

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


def config(seed: int = 0, **changes: Any) -> dict[str, Any]:
    whole = {
        "environment": "TinyReproduce",
        "reward": "dense",
        "architecture": "GRU",
        "bonus": "e3b",
        "seed": seed,
        "settings": {"gamma": 0.995, "learning_rate": 1e-3, "steps": 512},
    }
    return {**whole, **changes}


def outcome(seed: int = 0) -> dict[str, Any]:
    """What a deterministic trainer would hand to `write_finished`."""
    rng = np.random.default_rng(seed)
    success = rng.random(5).astype(np.float32)
    return {
        "result": {"tail_mean": float(success[-1]), "first_success": 640 + seed},
        "curve": {"success": success, "events": rng.random((5, 3)).astype(np.float32)},
        "diagnostics": {"report/loss": rng.standard_normal(50).astype(np.float32)},
        "agent": {"policy/weight": rng.standard_normal((3, 2)).astype(np.float32)},
        "provenance": PROVENANCE,
    }


def finish(store: Store, seed: int = 0, **changes: Any) -> RunFolder:
    run = store.run(config(seed, **changes))
    run.write_finished(**outcome(seed))
    return run


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its path from there."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def flip(data: bytes, bit: int) -> bytes:
    bit %= 8 * len(data)
    spoilt = bytearray(data)
    spoilt[bit // 8] ^= 1 << bit % 8
    return bytes(spoilt)


SPOIL: dict[str, Callable[[bytes, int], bytes]] = {
    "empty": lambda data, n: b"",
    "cut short": lambda data, n: data[: n % len(data)],
    "bit flipped": flip,
    "longer": lambda data, n: data + bytes(1 + n % 9),
    "zeros": lambda data, n: bytes(len(data)),
    "half zeros": lambda data, n: data[: len(data) // 2].ljust(len(data), b"\0"),
    "foreign": lambda data, n: os.urandom(len(data)),
}
