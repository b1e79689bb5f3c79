"""What tells one state of an environment from another: its attributes, without its clocks."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Hashable, Iterator, Mapping
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.machines.worlds.gym_calls import actions_of, copied, reset, step

if TYPE_CHECKING:
    from gymnasium import Env

STEPS = 40
"""Random steps that are looked at to find attributes that only count them."""
IGNORED = (FunctionType, BuiltinFunctionType, MethodType, ModuleType, type)
GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
UNSEEN = ("render", "screen", "window", "clock", "surface", "metadata", "spec", "viewer", "font")
"""Beginnings of names that have to do with pictures, not with what happens."""
REST = "rest"
PLAIN = (bool, int, float, str, np.integer, np.floating, np.bool_)


class Attributes:
    """Every plain attribute is a latent variable; all others together are one, `REST`.

    Clocks are none, unless `with_clocks`.
    """

    def __init__(self, env: Env, with_clocks: bool = False):
        self.clocks = () if with_clocks else tuple(sorted(_clocks(env)))

    def __call__(self, env: Any) -> Mapping[str, Hashable]:
        """The variables of a state."""
        named: dict[str, Hashable] = {}
        rest: list[Hashable] = []
        for name, value in sorted(vars(env).items()):
            if name in self.clocks or _ignored(name, value):
                continue
            if isinstance(value, PLAIN) and not isinstance(value, Enum):
                named[name] = value.item() if isinstance(value, np.generic) else value
            else:
                rest.append((name, fingerprint(value)))
        digest = hashlib.blake2b(repr(rest).encode(), digest_size=8).hexdigest() if rest else ""
        return {**named, REST: digest}


def fingerprint(value: Any, inside: tuple[int, ...] = ()) -> Hashable:
    """Something that equal values share, whatever they are made of."""
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        return ("array", value.shape, value.dtype.str, value.tobytes())
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str | bytes | complex):
        return value
    if id(value) in inside:
        return "…"
    inside = (*inside, id(value))
    if isinstance(value, Mapping):
        parts = ((repr(fingerprint(k, inside)), fingerprint(v, inside)) for k, v in value.items())
        return ("mapping", *sorted(parts, key=lambda part: part[0]))
    if isinstance(value, set | frozenset):
        return ("set", *sorted(repr(fingerprint(each, inside)) for each in value))
    if isinstance(value, list | tuple | np.ndarray):
        return ("sequence", *(fingerprint(each, inside) for each in value))
    if isinstance(value, Enum):
        return (type(value).__qualname__, value.name)
    held = {**_slots(value), **getattr(value, "__dict__", {})}
    parts = ((n, fingerprint(v, inside)) for n, v in sorted(held.items()) if not _ignored(n, v))
    return (type(value).__qualname__, *parts)


def generators(env: Any) -> list[Any]:
    """The random generators that an environment or one of its wrappers holds."""
    found: dict[int, Any] = {}
    while env is not None:
        for value in vars(env).values():
            if isinstance(value, GENERATORS):
                found[id(value)] = value
        env = vars(env).get("env")
    return list(found.values())


def _slots(value: Any) -> dict[str, Any]:
    names = (n for kind in type(value).__mro__ for n in getattr(kind, "__slots__", ()))
    return {n: getattr(value, n) for n in names if hasattr(value, n)}


def _ignored(name: str, value: Any) -> bool:
    space = type(value).__module__.startswith("gymnasium.spaces")
    return space or isinstance(value, (*IGNORED, *GENERATORS)) or _about_pictures(name)


def _about_pictures(name: str) -> bool:
    return name.lstrip("_").startswith(UNSEEN) or name.startswith("_np_random")


def _clocks(env: Env) -> set[str]:
    """Whole numbers that grow by one in every step, whatever is done."""
    counted: set[str] | None = None
    copy = copied(env)
    for before, after in _steps(copy):
        grown = {
            name
            for name, value in after.items()
            if type(value) is int and type(before.get(name)) is int and value == before[name] + 1
        }
        counted = grown if counted is None else counted & grown
    return counted or set()


def _steps(env: Env) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The attributes before and after random steps, of several episodes."""
    rng = random.Random(0)
    actions = list(actions_of(env).taken)
    rng.shuffle(actions)  # of combined actions, neighbours differ in the last part alone
    reset(env, 0)
    for number in range(STEPS):
        before = dict(vars(env.unwrapped))
        action = actions[number] if number < len(actions) else rng.choice(actions)
        _, _, terminated, truncated = step(env, action)
        yield before, dict(vars(env.unwrapped))
        if terminated or truncated:
            reset(env, number)
