"""Numbers as people give them become exact fractions, and what was guessed is said.

A float is not the number its author had in mind: 0.1 is not a tenth. It is read as the fraction
with a small denominator that lies next to it (1/3, 99/100, 1/8450), or as the decimal it prints as.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from fractions import Fraction
from numbers import Rational, Real
from typing import TypeVar

from clew.validate import BadInput

K = TypeVar("K", bound=Hashable)
W = TypeVar("W", int, Fraction)

SLACK = Fraction(1, 2**50)
"""A float may be the result of a few operations, each of which rounds."""
SMALL = 10**6
"""One random float in a few thousand lies so near to a fraction with so small a denominator."""
MAX_DIGITS = 4000
"""Longer numbers are refused: nobody means them, and they can take memory without end."""


NumberLike = int | float | str | Fraction
"""What `rational` reads."""


def rational(field: str, value: object) -> Fraction:
    """The fraction that `value` was meant to be: a number, or text such as '3/4' and '0.75'."""
    if isinstance(value, bool):
        raise BadInput(f"{field}={value!r} is not valid; it must be a number")
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, Real) and math.isfinite(value):
        return meant_by(float(value))
    if isinstance(value, str) and len(value) <= MAX_DIGITS:
        return _from_text(field, value)
    shown = repr(value) if len(repr(value)) < 60 else repr(value)[:57] + "..."
    raise BadInput(f"{field}={shown} is not valid; it must be a finite number or text like '3/4'")


def summed(weights: Iterable[tuple[K, W]]) -> dict[K, W]:
    """Weights by key; those of equal keys are added."""
    total: dict[K, W] = {}
    for key, weight in weights:
        total[key] = total[key] + weight if key in total else weight
    return total


def exact_text(value: Fraction) -> str:
    """`str(value)`, however long: Python refuses whole numbers of more than 4,300 digits."""
    parts = [_digits(value.numerator)]
    return "/".join(parts if value.denominator == 1 else [*parts, _digits(value.denominator)])


def _digits(number: int) -> str:
    if number < 0:
        return f"-{_digits(-number)}"
    if number.bit_length() < 10_000:
        return str(number)
    low_digits = number.bit_length() * 3 // 20  # about half of them
    high, low = divmod(number, 10**low_digits)
    return _digits(high) + _digits(low).zfill(low_digits)


def is_float(value: object) -> bool:
    """Whether `rational` has to guess what `value` means."""
    return isinstance(value, Real) and not isinstance(value, Rational)


def meant_by(value: float) -> Fraction:
    """The fraction with a small denominator next to `value`, or else the decimal it prints as."""
    exact = Fraction(value)
    if exact == 0:
        return exact
    slack = abs(exact) * SLACK
    near = simplest(abs(exact) - slack, abs(exact) + slack)
    if near.denominator <= SMALL:
        return near if value > 0 else -near
    return Fraction(repr(value))


def simplest(low: Fraction, high: Fraction) -> Fraction:
    """The fraction with the smallest denominator in [low, high], where 0 <= low <= high."""
    whole = math.ceil(low)
    if whole <= high:
        return Fraction(whole)
    floor = math.floor(low)
    # the rest lies strictly between two whole numbers: look at its reciprocal
    return floor + 1 / simplest(1 / (high - floor), 1 / (low - floor))


def _from_text(field: str, text: str) -> Fraction:
    try:
        _, _, exponent = text.lower().partition("e")
        if exponent and abs(int(exponent)) > MAX_DIGITS:
            raise ValueError
        return Fraction(text.strip())
    except (ValueError, ZeroDivisionError):
        raise BadInput(
            f"{field}={text!r} is not valid; write a number such as 3, 0.75 or 3/4"
        ) from None
