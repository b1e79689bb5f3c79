"""Errors that name the field, the bad value and the valid ones."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from typing import TypeVar

T = TypeVar("T")


def one_of(field: str, value: T, valid: Collection[T]) -> T:
    """Return `value` if it is among `valid`, else raise a `ValueError` that lists them."""
    # True == 1, so a bool would pass for a number and the other way round.
    if any(value == v and isinstance(value, bool) == isinstance(v, bool) for v in valid):
        return value
    raise ValueError(f"{field}={value!r} is not valid; choose {listing(valid)}{hint(value, valid)}")


def whole_number(field: str, value: object, low: int, high: int | None = None) -> int:
    """Return `value` if it is an integer in [low, high], else raise a `ValueError`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        inside = False
    else:
        inside = high is None or value <= high
    if not inside:
        span = f"from {low} to {high}" if high is not None else f"of at least {low}"
        raise ValueError(f"{field}={value!r} is not valid; it must be a whole number {span}")
    return value  # type: ignore[return-value]


def known_names(kind: str, names: Iterable[str], valid: Collection[str]) -> None:
    """Raise a `ValueError` for the first of `names` that is not a valid `kind`."""
    for name in names:
        if name not in valid:
            raise ValueError(
                f"unknown {kind} {name!r}; choose {listing(sorted(valid))}{hint(name, valid)}"
            )


def listing(valid: Iterable[object]) -> str:
    """Write choices the way a sentence would: 'a', 'b' or 'c'."""
    words = [repr(v) for v in valid]
    if len(words) <= 1:
        return "".join(words) or "nothing (there are none)"
    return ", ".join(words[:-1]) + " or " + words[-1]


def hint(value: object, valid: Iterable[object]) -> str:
    """Suggest the nearest valid choice to a misspelt one."""
    near = difflib.get_close_matches(str(value), [str(v) for v in valid], n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def divides(field: str, value: int, of: str, whole: int) -> None:
    """Raise a `ValueError` unless `value` divides `whole`."""
    whole_number(field, value, 1)
    if whole % value:
        valid = [n for n in range(1, whole + 1) if whole % n == 0]
        raise ValueError(
            f"{field}={value} is not valid; it must divide {of}={whole}: choose {listing(valid)}"
        )
