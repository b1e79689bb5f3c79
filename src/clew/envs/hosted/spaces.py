"""From Gymnasium's spaces to what the learner has: one array an observation, one number an action.

| space | observation |
|---|---|
| Box of floats | as it is |
| Box of integers | divided by its largest bound; so pixels are from 0 to 1 |
| Discrete | a symbol, which stands for a one-hot vector |
| MultiDiscrete, MultiBinary | one-hot vectors, one after the other; numbers 0 and 1 |
| Dict | its parts, flat, one after the other in the order of their keys; one part alone keeps its shape |

Images have their channels last: those of other environments are turned.
"""  # noqa: E501

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from gymnasium import spaces
from jaxtyping import Float, Int

from clew.validate import BadInput, known_names

Space = spaces.Space[Any]
Batch = Any
"""Observations of several copies, as their vector hands them out: an array, or a dict of them."""
SMALLEST_IMAGE = 36
"""Pixels along a side of what is taken for an image."""
CHANNELS = (1, 3, 4)
MOST_ACTIONS = 1_000
"""Combinations of a MultiDiscrete action, each of which gets a probability of its own."""
SLACK = 0.1
"""How far beyond a bound floats may be without a word: of the bound, or of 1 if that is more."""
OBSERVATIONS = "Box, Discrete, MultiDiscrete, MultiBinary and Dict of these"


@dataclass(frozen=True)
class Layout:
    """How observations are laid out as arrays."""

    shape: tuple[int, ...]
    dtype: np.dtype
    scale: float
    """What a network divides them by."""
    symbols: int | None
    """How many there are, if an observation is the number of a one-hot vector."""
    array: Callable[[Batch], np.ndarray]

    @property
    def size(self) -> int:
        """Numbers in one observation."""
        return math.prod(self.shape)

    def flat(self, batch: Batch) -> Float[np.ndarray, "env size"]:
        """As a network would see them."""
        if self.symbols is not None:
            return np.eye(self.symbols, dtype=np.float32)[self.array(batch)]
        array = self.array(batch)
        return array.reshape(len(array), -1).astype(np.float32) / np.float32(self.scale)


def observation_layout(name: str, space: Space, keys: Sequence[str], apart: str | None) -> Layout:
    """Of the parts in `keys`, or all; without the part `apart`, which holds knowledge."""
    if not isinstance(space, spaces.Dict):
        if keys or apart:
            said = f"keys={list(keys)!r}" if keys else f"knowledge={apart!r}"
            raise BadInput(
                f"{said} is not valid; observations of {name} are {type(space).__name__}, and only "
                "those of a Dict have keys"
            )
        return _layout(name, space)
    chosen = [key for key in keys or space.keys() if key != apart]
    named = [*chosen, *([apart] if apart else [])]
    known_names(f"key of the observations of {name}", named, space.spaces)
    if not chosen:
        raise BadInput(f"no key of the observations of {name} is left beside knowledge={apart!r}")
    if len(chosen) == 1:
        return _of_part(_layout(name, space[chosen[0]], f" under {chosen[0]!r}"), chosen[0])
    return _joined({key: _layout(name, space[key], f" under {key!r}") for key in chosen})


def knowledge_layout(name: str, space: Space, key: str) -> Layout:
    """Of the part that holds what a perfect memory would know."""
    assert isinstance(space, spaces.Dict)
    return _of_part(_layout(name, space[key], f" under {key!r}"), key)


@dataclass(frozen=True)
class Actions:
    """How actions, numbered from 0 on, become those of the environment."""

    names: tuple[str, ...]
    taken: Callable[[Int[np.ndarray, " env"]], np.ndarray]


def action_layout(name: str, space: Space) -> Actions:
    """Of a Discrete space, or of every combination of a MultiDiscrete one."""
    if isinstance(space, spaces.Discrete):
        first = int(space.start)
        names = tuple(str(first + i) for i in range(int(space.n)))
        return Actions(names, lambda chosen: chosen.astype(np.int64) + first)
    if not isinstance(space, spaces.MultiDiscrete) or space.nvec.ndim != 1:
        raise BadInput(
            f"actions of {name} are {space}; Clew's policies choose from Discrete or MultiDiscrete "
            "ones, so wrap the environment to offer a few"
        )
    sizes = tuple(int(n) for n in space.nvec)
    if (total := math.prod(sizes)) > MOST_ACTIONS:
        raise BadInput(
            f"actions of {name} are {space}, {total:,} combinations, and each has a probability of "
            f"its own; wrap the environment to offer at most {MOST_ACTIONS:,}"
        )
    every = np.stack(np.unravel_index(np.arange(total), sizes), -1) + space.start
    names = tuple(",".join(map(str, row)) for row in every.tolist())
    return Actions(names, lambda chosen: every[chosen])


def space_words(space: Space) -> str:
    """In short: bounds are long, and say little."""
    if isinstance(space, spaces.Dict):
        return f"Dict({', '.join(f'{key}: {space_words(part)}' for key, part in space.items())})"
    if isinstance(space, spaces.Box):
        return f"Box{space.shape} of {space.dtype}"
    return str(space)


def misshapen(space: Space, obs: object, what: str = "the observation") -> str:
    """How the keys and shapes of one observation differ from its space's; empty if they do not."""
    if not isinstance(space, spaces.Dict):
        if space.shape is None or (shape := np.shape(obs)) == space.shape:  # type: ignore[arg-type]
            return ""
        return f"{what} has shape {shape}, the space says {space.shape}"
    if not isinstance(obs, Mapping):
        return f"{what} is {type(obs).__name__}, the space says Dict"
    for key, part in space.items():
        if key not in obs:
            return f"{what} has no key {key!r}; the space has it"
        if wrong := misshapen(part, obs[key], f"{what} under {key!r}"):
            return wrong
    return ""


def outside(
    space: Space,
    batch: Batch,
    keys: Sequence[str] = (),
    floats: bool = False,
    what: str = "the observation",
) -> str:
    """A whole number that its space does not have, or a float far from it; empty if there is none.

    Only parts of a Dict that are in `keys` are looked at; all, if not given.
    """
    if isinstance(space, spaces.Dict):
        told = (
            outside(space[key], batch[key], (), floats, f"{what} under {key!r}")
            for key in keys or space
        )
        return next(filter(None, told), "")
    low, high = _bounds(space)
    if np.issubdtype(space.dtype, np.floating) != floats:
        return ""
    found, slack = np.asarray(batch), SLACK if floats else 0
    with np.errstate(all="ignore"):  # some bounds are the largest floats there are
        below = found < low - slack * np.maximum(1, np.abs(low))
        above = found > high + slack * np.maximum(1, np.abs(high))
    if not (wrong := below | above).any():
        return ""
    first = tuple(np.argwhere(wrong)[0])
    value, least, most = (np.broadcast_to(each, found.shape)[first] for each in (found, low, high))
    return f"{value} in {what}, where {space_words(space)} has {least} to {most}"


def _bounds(space: Space) -> tuple[Any, Any]:
    """The least and the largest number of a space, or of each of its entries."""
    if isinstance(space, spaces.Discrete):
        return space.start, space.start + space.n - 1
    if isinstance(space, spaces.MultiDiscrete):
        return space.start, space.start + space.nvec - 1
    return (space.low, space.high) if isinstance(space, spaces.Box) else (0, 1)


def _layout(name: str, space: Space, where: str = "") -> Layout:
    if isinstance(space, spaces.Discrete):
        n, first = int(space.n), int(space.start)
        return Layout((n,), np.dtype(np.int32), 1, n, lambda batch: _cast(batch - first, np.int32))
    if isinstance(space, spaces.MultiDiscrete):
        return _hot(space)
    if isinstance(space, spaces.MultiBinary):
        shape = tuple(map(int, np.atleast_1d(space.shape)))
        return Layout(shape, np.dtype(np.uint8), 1, None, lambda batch: _cast(batch, np.uint8))
    if isinstance(space, spaces.Box):
        return _box(space)
    if isinstance(space, spaces.Dict):
        return _joined({key: _layout(name, part, f" under {key!r}") for key, part in space.items()})
    raise BadInput(
        f"observations of {name}{where} are {type(space).__name__}; Clew reads {OBSERVATIONS}, so "
        + ("name the keys to keep, keys=[…]" if where else "wrap the environment")
    )


def _hot(space: spaces.MultiDiscrete) -> Layout:
    sizes = space.nvec.reshape(-1)
    starts = np.cumsum(sizes) - sizes - np.asarray(space.start).reshape(-1)
    width = int(sizes.sum())

    def array(batch: Batch) -> np.ndarray:
        hot = np.zeros((len(batch), width), np.uint8)
        hot[np.arange(len(batch))[:, None], batch.reshape(len(batch), -1) + starts] = 1
        return hot

    return Layout((width,), np.dtype(np.uint8), 1, None, array)


def _box(space: spaces.Box) -> Layout:
    dtype = np.dtype(np.uint8 if space.dtype == np.uint8 else np.float32)
    scale = 1.0
    if not np.issubdtype(space.dtype, np.floating):
        bound = float(max(np.abs(space.low).max(initial=0), np.abs(space.high).max(initial=0)))
        # integers without bounds have those of their type
        scale = bound if 0 < bound < 2**31 - 1 else 1.0
    shape = space.shape or (1,)
    plain = Layout(shape, dtype, scale, None, lambda batch: _cast(batch, dtype).reshape(-1, *shape))
    sides = [side for side in shape if side >= SMALLEST_IMAGE]
    if space.dtype == np.uint8 and len(shape) == len(sides) == 2:
        return replace(plain, shape=(*shape, 1), array=lambda batch: batch[..., None])
    if space.dtype == np.uint8 and len(shape) == 3 and shape[0] in CHANNELS and len(sides) == 2:
        turned = (*shape[1:], shape[0])
        return replace(plain, shape=turned, array=lambda batch: np.moveaxis(batch, 1, -1))
    return plain


def _of_part(layout: Layout, key: str) -> Layout:
    whole = layout.array
    return replace(layout, array=lambda batch: whole(batch[key]))


def _joined(parts: Mapping[str, Layout]) -> Layout:
    def array(batch: Batch) -> np.ndarray:
        return np.concatenate([part.flat(batch[key]) for key, part in parts.items()], -1)

    width = sum(part.size for part in parts.values())
    return Layout((width,), np.dtype(np.float32), 1, None, array)


def _cast(batch: Batch, dtype: np.typing.DTypeLike) -> np.ndarray:
    return np.asarray(batch).astype(dtype, copy=False)
