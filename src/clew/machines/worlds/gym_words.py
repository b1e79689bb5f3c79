"""Observations of Gymnasium environments: what equal ones share, and what they are called."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

LONGEST = 40
"""Characters of an observation that is written out."""
SMALL = 8
"""Numbers of an array that is written out."""


def symbol(obs: object) -> Hashable:
    """Something that equal observations share."""
    if isinstance(obs, dict):
        return tuple((name, symbol(part)) for name, part in sorted(obs.items()))
    if isinstance(obs, tuple | list):
        return tuple(map(symbol, obs))
    if isinstance(obs, str):
        return obs
    array = np.asarray(obs)
    if array.ndim == 0 and array.dtype.kind in "iub":
        return int(array)
    if array.dtype.kind in "iub" and array.size <= SMALL:
        return tuple(array.ravel().tolist())
    return array.tobytes() if array.dtype.kind in "iubf" else str(obs)


def written(obs: object) -> str:
    """An observation as people read it; nothing if that is long."""
    same = symbol(obs)
    text = f"o{same}" if isinstance(same, int) else _plain(obs)
    return text if len(text) <= LONGEST else ""


def _plain(obs: object) -> str:
    """`view=2 known=(1, 0)`; a part that is long makes all of it long."""
    if isinstance(obs, dict):
        return " ".join(f"{name}={_plain(part)}" for name, part in obs.items())
    if isinstance(obs, str):
        return obs or "''"
    if isinstance(obs, tuple | list):
        return f"({', '.join(map(_plain, obs))})"
    array = np.asarray(obs)
    if array.size > SMALL or array.dtype.kind not in "iubf":
        return " " * (LONGEST + 1)
    if array.size == 1:
        return f"{array.item():g}"
    return _plain(tuple(array.ravel()))
