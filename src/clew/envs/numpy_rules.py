"""What jax's operations are in numpy, where the answer is the same to the bit.

A rule takes an operation, what was written so far, and the names of the operands. It gives a Python
expression (several if there are several results), or None where numpy might answer otherwise:
compilers round floating-point as they like (a division may become a product, a product and a sum
one step).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, cast

import numpy as np
from jax.core import ShapedArray
from jax.extend.core import JaxprEqn, Literal, Var
from jax.lax import GatherScatterMode


class Written(Protocol):
    """The lines so far."""

    @property
    def known(self) -> Mapping[str, Any]:
        """The values of constants, by name."""
        ...

    @property
    def expressions(self) -> Mapping[str, str]:
        """What computes the other values, by name."""
        ...

    def name(self, expression: str) -> str:
        """Compute this on a line of its own, once for all that need it."""
        ...


Rule = Callable[..., str | list[str] | None]

BITS = (np.bool_, np.signedinteger)  # unsigned numbers may wrap around, of which numpy warns
NUMBERS = (np.signedinteger, np.floating)


def _each(text: str, *kinds: type) -> Rule:
    return lambda eqn, written, *x: text.format(*x) if _is(eqn, *kinds) else None


def _divide(eqn: JaxprEqn, written: Written, x: str, by: str) -> str | None:
    """Towards zero, by what is known not to be zero."""
    if not _is(eqn, np.signedinteger) or not np.all(written.known.get(by, 0)):
        return None
    rest = written.name(f"np.fmod({x}, {by})")
    return rest if eqn.primitive.name == "rem" else f"({x} - {rest}) // {by}"


def _select(eqn: JaxprEqn, written: Written, which: str, *x: str) -> str | None:
    if not _is(eqn, np.bool_):
        return None
    if _shapes(eqn)[0]:
        return f"np.where({which}, {x[1]}, {x[0]})"
    chosen = written.known.get(which)
    return f"{x[1]} if {which} else {x[0]}" if chosen is None else x[int(chosen)]


def _convert(eqn: JaxprEqn, written: Written, x: str) -> str | None:
    if aval(eqn.invars[0]).dtype == aval(eqn.outvars[0]).dtype:
        return x
    if not _is(eqn, *BITS):
        return None
    return f"{x}.astype({_type(eqn)})" if _shapes(eqn)[0] else f"{_type(eqn)}({x})"


def _reshape(eqn: JaxprEqn, written: Written, x: str) -> str:
    before, after = _shapes(eqn)
    if before == after:
        return x
    if after:
        return f"{x}.reshape({after})"
    # of a window of one element, the element
    element, window, _ = written.expressions.get(x, "").partition("].reshape")
    return f"{element}]" if window else f"{x}[{', '.join('0' * len(before))}]"


def _broadcast(eqn: JaxprEqn, written: Written, x: str) -> str:
    before, after = _shapes(eqn)
    between = [1] * len(after)
    for size, axis in zip(before, eqn.params["broadcast_dimensions"], strict=True):
        between[axis] = size
    if before == after:
        return x
    spread = f"{x}.reshape({between})"
    return spread if tuple(between) == after else f"np.full({after}, {spread}, {_type(eqn)})"


def _slice(eqn: JaxprEqn, written: Written, x: str) -> str:
    starts, ends = eqn.params["start_indices"], eqn.params["limit_indices"]
    steps = eqn.params["strides"] or [1] * len(starts)
    return _cut(x, (f"{a}:{b}:{c}" for a, b, c in zip(starts, ends, steps, strict=True)))


def _window(eqn: JaxprEqn, written: Written, x: str, *starts: str) -> str:
    """A slice that is moved inside if it begins outside."""
    shape, sizes = _shapes(eqn)
    every = zip(starts, shape, sizes, strict=True)
    first = [written.name(f"min(max({at}, 0), {n - m})") for at, n, m in every]
    if set(sizes) == {1}:
        return f"{_cut(x, first)}.reshape({sizes})"
    every = zip(first, shape, sizes, strict=True)
    return _cut(x, (":" if n == m else f"{at}:{at} + {m}" for at, n, m in every))


def _reverse(eqn: JaxprEqn, written: Written, x: str) -> str:
    turned, axes = eqn.params["dimensions"], range(len(_shapes(eqn)[0]))
    return _cut(x, ("::-1" if axis in turned else ":" for axis in axes))


def _gather(eqn: JaxprEqn, written: Written, x: str, at: str) -> str | None:
    """`x[:, i]` along one axis, or `x[i, j]` along all; what lies outside is moved inside."""
    dims, shape = eqn.params["dimension_numbers"], _shapes(eqn)[0]
    indexed = tuple(dims.start_index_map)
    if eqn.params["mode"] == GatherScatterMode.FILL_OR_DROP or dims.operand_batching_dims:
        return None
    if dims.collapsed_slice_dims != indexed:
        return None
    if len(indexed) == 1:
        (axis,), index_axes = indexed, len(aval(eqn.invars[1]).shape) - 1
        before, after = shape[:axis], shape[axis + 1 :]
        others = (*range(axis), *range(axis + index_axes, index_axes + len(shape) - 1))
        whole = eqn.params["slice_sizes"] == (*before, 1, *after) and dims.offset_dims == others
        return f"{x}.take({at}[..., 0], {axis}, mode='clip')" if whole else None
    if indexed != tuple(range(len(shape))):
        return None
    inside = "np.minimum(np.maximum({}[..., {}], 0), {})"
    return _cut(x, (inside.format(at, axis, n - 1) for axis, n in enumerate(shape)))


def _stack(eqn: JaxprEqn, written: Written, *x: str) -> str:
    if _shapes(eqn)[0]:
        return f"np.stack([{', '.join(x)}], {eqn.params['axis']})"
    return f"np.array([{', '.join(x)}], {_type(eqn)})"


def _pad(eqn: JaxprEqn, written: Written, x: str, value: str) -> str | None:
    low, high, within = zip(*eqn.params["padding_config"], strict=True)
    if min(*low, *high) < 0 or any(within):
        return None
    places = [slice(int(a), int(a) + n) for a, n in zip(low, _shapes(eqn)[0], strict=True)]
    return f"padded({x}, {value}, {_shapes(eqn)[1]}, {_type(eqn)}, {tuple(places)})"


def padded(
    x: np.ndarray, value: np.generic, shape: tuple[int, ...], dtype: type, places: tuple[slice, ...]
) -> np.ndarray:
    """numpy's own takes ten times as long."""
    result = np.full(shape, value, dtype)
    result[places] = x
    return result


def _reduce(method: str) -> Rule:
    def rule(eqn: JaxprEqn, written: Written, x: str) -> str | None:
        axes = tuple(eqn.params["axes"]) if _shapes(eqn)[1] else ""
        return f"{x}.{method}({axes})" if _is(eqn, *BITS) else None

    return rule


RULES: dict[str, Rule] = {
    "add": _each("{} + {}", np.signedinteger),
    "sub": _each("{} - {}", np.signedinteger),
    "mul": _each("{} * {}", *NUMBERS),
    "div": _divide,
    "rem": _divide,
    "neg": _each("-{}", *NUMBERS),
    "sign": _each("np.sign({})", np.signedinteger),
    "max": _each("np.maximum({}, {})", *BITS),
    "min": _each("np.minimum({}, {})", *BITS),
    "and": _each("{} & {}", *BITS),
    "or": _each("{} | {}", *BITS),
    "xor": _each("{} ^ {}", *BITS),
    "not": _each("~{}", *BITS),
    "eq": _each("{} == {}", *BITS, np.floating),
    "ne": _each("{} != {}", *BITS, np.floating),
    "lt": _each("{} < {}", *NUMBERS),
    "le": _each("{} <= {}", *NUMBERS),
    "gt": _each("{} > {}", *NUMBERS),
    "ge": _each("{} >= {}", *NUMBERS),
    "select_n": _select,
    "convert_element_type": _convert,
    "reshape": _reshape,
    "squeeze": _reshape,
    "broadcast_in_dim": _broadcast,
    "iota": lambda eqn, written: (
        f"np.indices({eqn.params['shape']}, {_type(eqn)})[{eqn.params['dimension']}]"
    ),
    "slice": _slice,
    "dynamic_slice": _window,
    "gather": _gather,
    "rev": _reverse,
    "pad": _pad,
    "concatenate": lambda eqn, written, *x: (
        f"np.concatenate([{', '.join(x)}], {eqn.params['dimension']})"
    ),
    "stack": _stack,
    "unstack": lambda eqn, written, x: [
        f"{x}[{':, ' * eqn.params['axis']}{i}]" for i in range(len(eqn.outvars))
    ],
    "reduce_or": _reduce("any"),
    "reduce_and": _reduce("all"),
    "reduce_max": _reduce("max"),
    "reduce_min": _reduce("min"),
}


def _is(eqn: JaxprEqn, *kinds: type) -> bool:
    return any(np.issubdtype(aval(eqn.invars[0]).dtype, kind) for kind in kinds)


def _shapes(eqn: JaxprEqn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return aval(eqn.invars[0]).shape, aval(eqn.outvars[0]).shape


def _type(eqn: JaxprEqn) -> str:
    name = aval(eqn.outvars[0]).dtype.name
    return f"np.{'bool_' if name == 'bool' else name}"


def aval(atom: Var | Literal) -> ShapedArray:
    """Its shape and type; jax's own type for it says less."""
    return cast(ShapedArray, atom.aval)


def _cut(x: str, places: Iterable[str]) -> str:
    return f"{x}[{', '.join(places)}]"
