"""Errors that name the field, the bad value and the valid ones."""

from __future__ import annotations

import contextlib
import difflib
import math
import os
import traceback
import unicodedata
from collections.abc import Collection, Iterable
from numbers import Integral, Real
from typing import TypeVar

T = TypeVar("T")
NOT_A_USERS = (
    "site-packages",
    "dist-packages",
    "<frozen",
    os.path.dirname(__file__) + os.sep,
    os.path.dirname(os.__file__) + os.sep,
)
"""In the names of files of installed packages, of Clew, and of Python."""


class BadInput(ValueError):  # noqa: N818 (it is what went wrong, in a user's words)
    """A user's mistake, explained: the command line prints it without a traceback."""


def printable(text: str) -> str:
    """The text with every control character, and every sign that turns its direction, as a number.

    A name from somebody else's file must not steer the terminal that it is printed on.
    """
    return "".join(map(_shown, text))


def one_of(field: str, value: T, valid: Collection[T]) -> T:
    """Return `value` if it is among `valid`, else raise an error that lists them."""
    if not any(_alike(value, v) and value == v for v in valid):
        raise BadInput(
            f"{field}={value!r} is not valid; choose {listing(valid)}{hint(value, valid)}"
        )
    return value


def whole_number(field: str, value: object, low: int, high: int | None = None) -> int:
    """Return `value` as an int if it is one in [low, high], else raise an error."""
    if _alike(value, 0):
        number = int(value)  # type: ignore[call-overload]
        if low <= number and (high is None or number <= high):
            return number
    span = f"from {low} to {high}" if high is not None else f"of at least {low}"
    raise BadInput(f"{field}={value!r} is not valid; it must be a whole number {span}")


def finite_number(field: str, value: object) -> float:
    """Return `value` as a float if it is a finite number, else raise an error."""
    if isinstance(value, Real) and _kind(value) is not bool:
        with contextlib.suppress(OverflowError):
            number = float(value)
            if math.isfinite(number):
                return number
    raise BadInput(f"{field}={value!r} is not valid; it must be a finite number")


def positive_number(field: str, value: object) -> float:
    """Return `value` as a float if it is a finite number above zero, else raise an error."""
    if finite_number(field, value) <= 0:
        raise BadInput(f"{field}={value!r} is not valid; it must be above 0")
    return float(value)  # type: ignore[arg-type]


def divides(field: str, value: int, of: str, whole: int) -> None:
    """Raise an error unless `value` divides `whole`."""
    whole_number(field, value, 1)
    if whole % value:
        small = [n for n in range(1, math.isqrt(whole) + 1) if whole % n == 0]
        valid = sorted({*small, *(whole // n for n in small)})
        raise BadInput(
            f"{field}={value} is not valid; it must divide {of}={whole}: choose {listing(valid)}"
        )


def known_names(kind: str, names: Iterable[str], valid: Collection[str]) -> None:
    """Raise an error for the first of `names` that is not a valid `kind`."""
    for name in names:
        if name not in valid:
            raise BadInput(
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
    known = {str(v).lower(): str(v) for v in valid}
    near = difflib.get_close_matches(str(value).lower(), known, n=1)
    return f" (did you mean {known[near[0]]!r}?)" if near else ""


def error_words(error: BaseException) -> str:
    """The type of an error, and the first line of what it says."""
    said = next(iter(str(error).splitlines()), "")
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def error_place(error: BaseException) -> str:
    """Where the user's own code raised it, ` (bad.py, line 18)`; empty if it did not."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not any(other in frame.filename for other in NOT_A_USERS):
            return f" ({os.path.basename(frame.filename)}, line {frame.lineno})"
    return ""


def _alike(value: object, other: object) -> bool:
    """Of one kind: True is no number, 3.0 is no 3, but numpy's 3 is one."""
    return _kind(value) == _kind(other)


def _kind(value: object) -> object:
    if type(value).__name__ in ("bool", "bool_"):
        return bool
    return int if isinstance(value, Integral) else type(value)


def _shown(sign: str) -> str:
    harmless = sign == "\n" or unicodedata.category(sign) not in ("Cc", "Cf", "Cs")
    return sign if harmless else sign.encode("unicode_escape").decode()
