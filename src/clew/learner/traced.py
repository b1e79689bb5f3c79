"""Traced programs: compiled from a form that can be kept, so that the next process need not trace.

`clew.learner.program_cache` finds a compiled program by what was traced, and tracing takes longer
than all the rest of a second start. So what was traced is kept beside it, in jax's own exported
form (StableHLO; reading it runs nothing). It is found by the program's description, Clew's own
source and jax's version and settings. A program with parts from elsewhere, whose source is not
known, is traced anew. Either way a program is compiled from the same form: to the bit, a run does
not depend on what was in the cache.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

import equinox
import jax
import numpy as np
import optax
from jax import export
from jaxtyping import PyTree

import clew
from clew.learner.checkpoint import key_data, named_leaves, wrap_like
from clew.learner.program import Program
from clew.learner.program_cache import cache_folder, compile_program
from clew.memory.registry import architectures

Shapes = PyTree[jax.ShapeDtypeStruct]


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

    `result` has the structure of what it returns; keys are where leaves are random keys. The
    argument numbered `donate` is not to be used afterwards.
    """
    leaves, structure = jax.tree.flatten(arguments)
    plain = [jax.eval_shape(key_data, leaf) for leaf in leaves]

    def of_leaves(*values: jax.Array) -> list[jax.Array]:
        given = jax.tree.unflatten(structure, map(wrap_like, leaves, values))
        return [key_data(leaf) for leaf in jax.tree.leaves(function(*given))]

    place = _place(program, _name(function), arguments, result)
    exported = _read(place) if place else None
    if exported is None:
        exported = export.export(jax.jit(of_leaves))(*plain)
        if place:
            _write(place, exported)
    sizes = [len(jax.tree.leaves(each)) for each in arguments]
    first = sum(sizes[:donate])
    donated = range(first, first + sizes[donate]) if donate is not None else ()

    def exported_call(*values: jax.Array) -> PyTree:
        return exported.call(*values)

    exported_call.__name__ = _name(function)  # which is that of its entry in the cache
    lowered = jax.jit(exported_call, donate_argnums=tuple(donated)).lower(*plain)
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


def described(value: object) -> str:
    """Plain data in full, and Clew's own dataclasses by their fields; all else is an error."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if isinstance(value, (tuple, list)):
        return f"({','.join(map(described, value))})"
    kind = type(value)
    if not dataclasses.is_dataclass(value) or kind.__module__.partition(".")[0] != "clew":
        raise ForeignError
    fields = (f"{one.name}={described(getattr(value, one.name))}" for one in _compared(value))
    return f"{kind.__module__}.{kind.__qualname__}({','.join(fields)})"


def _compared(value: Any) -> Iterator[dataclasses.Field[object]]:
    """Fields that tell programs apart; what is derived from them is not compared."""
    return (one for one in dataclasses.fields(value) if one.compare)


def _name(function: Any) -> str:
    return getattr(function, "func", function).__name__


def _place(program: Program, name: str, *shapes: Shapes) -> Path | None:
    """The file for a program; None if it cannot be told from others, or nothing is to be kept."""
    folder = cache_folder()
    if jax.config.values["jax_compilation_cache_dir"] != str(folder):
        return None
    memory = architectures[program.architecture].factory()
    if memory.__module__.partition(".")[0] != "clew":
        return None
    try:
        about = described(program)
    except ForeignError:
        return None
    flags = {name: value for name, value in jax.config.values.items() if "cache" not in name}
    leaves = {name: (leaf.shape, str(leaf.dtype)) for name, leaf in named_leaves(shapes).items()}
    versions = (jax.__version__, equinox.__version__, optax.__version__, np.__version__)
    whole = repr((about, name, leaves, _source(), versions, sorted(flags.items(), key=str)))
    return folder / f"traced-{hashlib.sha256(whole.encode()).hexdigest()}"


@cache
def _source() -> str:
    """A digest of the package's code."""
    digest, package = hashlib.sha256(), Path(clew.__file__).parent
    for path in sorted(package.rglob("*.py")):
        digest.update(str(path.relative_to(package)).encode() + b"\0" + path.read_bytes() + b"\0")
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
    data = bytes(exported.serialize())
    with suppress(OSError):
        handle, temporary = tempfile.mkstemp(dir=place.parent, prefix=".tmp-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(data).digest() + data)
            os.replace(temporary, place)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
