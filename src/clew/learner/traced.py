"""Traced programs: compiled from a form that can be kept, so that the next process need not trace.

`clew.learner.program_cache` finds a compiled program by what was traced, and tracing takes longer
than all the rest of a second start. So what was traced is kept beside it, in jax's own exported
form (StableHLO; reading it runs nothing). It is found by the program's description, Clew's own
source and jax's version and settings. A program is always compiled from that form, whether it was
kept or not: to the bit, a run does not depend on what was in the cache.

A program with parts from elsewhere, whose code is not known, is traced anew, and not exported:
it may print, or call Python, which cannot be.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast, get_type_hints

import equinox
import jax
import numpy as np
import optax
from jax import export
from jaxtyping import PyTree

import clew
from clew.learner.checkpoint import key_data, named_leaves, wrap_like
from clew.learner.program import Program
from clew.learner.program_cache import compile_program, folder_in_use
from clew.memory.registry import architectures

Shapes = PyTree[jax.ShapeDtypeStruct]


_BEGAN = time.time()


class ForeignError(Exception):
    """A part of a program that is not Clew's, or not plain data."""


def compile_traced(
    function: Callable[..., PyTree],
    program: Program,
    arguments: tuple[Shapes, ...],
    result: Shapes,
    options: dict[str, str | bool] | None,
    donate: int | None = None,
) -> Callable[..., PyTree]:
    """`function`, compiled for arguments of these shapes, or taken from the caches.

    `result` has the structure of what it returns, with random keys where those are. The argument
    numbered `donate` is not to be used afterwards.
    """
    leaves, structure = jax.tree.flatten(arguments)
    plain = [jax.eval_shape(key_data, leaf) for leaf in leaves]

    def of_leaves(*values: jax.Array) -> list[jax.Array]:
        given = jax.tree.unflatten(structure, map(wrap_like, leaves, values))
        return [key_data(leaf) for leaf in jax.tree.leaves(function(*given))]

    name, about = _name(function), description(program)
    exported = None
    if about is not None:
        place = _place(about, name, arguments, result)
        exported = _read(place) if place else None
        if exported is None:
            exported = export.export(jax.jit(of_leaves))(*plain)
            if place:
                _write(place, exported)

    def named(*values: jax.Array) -> PyTree:
        return exported.call(*values) if exported else of_leaves(*values)

    named.__name__ = name  # which is that of its entry in the cache
    sizes = [len(jax.tree.leaves(each)) for each in arguments]
    first = sum(sizes[:donate])
    donated = range(first, first + sizes[donate]) if donate is not None else ()
    lowered = jax.jit(named, donate_argnums=tuple(donated)).lower(*plain)
    compiled = compile_program(lowered, options)
    likes, results = jax.tree.flatten(result)

    def call(*given: PyTree) -> PyTree:
        values = compiled(*(key_data(leaf) for leaf in jax.tree.leaves(given)))
        return jax.tree.unflatten(results, map(wrap_like, likes, values))

    return call


def structure_of(record: Any) -> PyTree:
    """A named tuple of named tuples and arrays, with a number in the place of every array."""
    hints = get_type_hints(record)
    kinds = (hints[name] for name in record._fields)
    return record(
        *(structure_of(kind) if hasattr(kind, "_fields") else np.float32(0) for kind in kinds)
    )


def description(program: Program) -> str | None:
    """All that a program is made of; None if a part of it is not Clew's own, or not plain data."""
    entry = architectures[program.architecture]
    try:
        _require_own(entry.factory())
        return described((program, *sorted(entry.preset.items())))
    except ForeignError:
        return None


def described(value: object) -> str:
    """Plain data in full, and Clew's own dataclasses by their fields; all else is an error."""
    if value is None or type(value) in (bool, int, float, str):
        return repr(value)
    if type(value) in (tuple, list):
        return f"({','.join(map(described, cast(Iterable[object], value)))})"
    kind = type(value)
    _require_own(kind)
    if not dataclasses.is_dataclass(value):
        raise ForeignError
    # what is derived from other fields is not compared
    fields = (one.name for one in dataclasses.fields(value) if one.compare)
    inside = (f"{name}={described(getattr(value, name))}" for name in fields)
    return f"{kind.__module__}.{kind.__qualname__}({','.join(inside)})"


def _require_own(code: Any) -> None:
    """A class or function is Clew's own if that is what a module of Clew has under its name."""
    module = sys.modules.get(code.__module__)
    own = code.__module__.partition(".")[0] == "clew"
    if not own or getattr(module, code.__qualname__, None) is not code:
        raise ForeignError


def _name(function: Any) -> str:
    return getattr(function, "func", function).__name__


def _place(about: str, name: str, *shapes: Shapes) -> Path | None:
    """The file for a program; None if nothing is to be kept."""
    if (folder := folder_in_use()) is None or (source := _source()) is None:
        return None
    flags = {name: value for name, value in jax.config.values.items() if "cache" not in name}
    leaves = {name: (leaf.shape, str(leaf.dtype)) for name, leaf in named_leaves(shapes).items()}
    versions = (jax.__version__, equinox.__version__, optax.__version__, np.__version__)
    what = (about, name, leaves, jax.default_backend(), source, versions)
    whole = repr((what, sorted(flags.items(), key=str)))
    return folder / f"traced-{hashlib.sha256(whole.encode()).hexdigest()}"


def _source() -> str | None:
    """A digest of the package's code; None if it is not known to be what this process runs."""
    package = Path(clew.__file__).parent
    digest = hashlib.sha256()
    try:
        for path in sorted(package.rglob("[!.]*.py")):
            if path.stat().st_mtime > _BEGAN:
                return None  # changed since, and perhaps imported before
            digest.update(str(path.relative_to(package)).encode() + b"\0" + path.read_bytes())
    except OSError:
        return None
    return digest.hexdigest()


def _read(place: Path) -> export.Exported | None:
    """None if there is none, or it is damaged."""
    with suppress(OSError):
        digest, data = (kept := place.read_bytes())[:32], kept[32:]
        if hashlib.sha256(data).digest() == digest:
            return export.deserialize(bytearray(data))
    return None


def _write(place: Path, exported: export.Exported) -> None:
    """Whole or not at all; where there is no room, it is traced again next time."""
    if _source() is None:
        return
    data = bytes(exported.serialize())
    with suppress(OSError):
        handle, temporary = tempfile.mkstemp(dir=place.parent, prefix=".tmp-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(data).digest() + data)
            os.replace(temporary, place)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
