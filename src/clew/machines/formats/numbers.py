"""Decimals, and the fractions they were meant to be.

Somebody who means 1/15 writes 0.0666667, and somebody whose row must add up to one writes 0.333334
beside two of 0.333333. A *written* number remembers its digits, so that a row can be read the way
it was meant (`distribution`) and what was changed can be told.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn, TypeVar

from clew.machines.formats.text import ParseError, Place

K = TypeVar("K")

LONGEST = 60
"""Characters of a number, and its exponent's size, at most: nobody means more."""
CERTAIN = 5
"""With this many decimals a fraction is recognised even where the decimals add up as they stand."""
ROUNDED = 12
"""Decimals, at least, of a number that cannot be written out."""

_PARTS = re.compile(r"([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")


@dataclass(frozen=True)
class Written:
    """A number as it stands in a text."""

    value: Fraction
    decimals: int
    """Digits after the point, once the exponent is counted in; 0 for a whole number."""
    text: str
    place: Place

    def fail(self, message: str, expected: str = "") -> NoReturn:
        """Refuse this number."""
        raise ParseError(message, self.place, self.text, expected)

    @property
    def unit(self) -> Fraction:
        """One in the last place."""
        return Fraction(1, 10**self.decimals)


@dataclass(frozen=True)
class Snap:
    """A decimal that was taken for a fraction."""

    text: str
    value: Fraction
    place: Place

    def __str__(self) -> str:
        return f"{self.place}: {self.text} read as {self.value}"


def written(text: str, place: Place, negative: bool = False) -> Written:
    """Read a decimal exactly; refuse one of absurd length before any work is done."""
    match = _PARTS.fullmatch(text)
    if match is None or not (match[1] or match[2]):
        raise ParseError("this is no number", place, text, "a decimal number, for example 0.25")
    whole, decimals, exponent = match[1], match[2] or "", match[3] or "0"
    if len(text) > LONGEST or len(exponent) > 4 or abs(int(exponent)) > LONGEST:
        wanted = f"at most {LONGEST} characters and an exponent between -{LONGEST} and {LONGEST}"
        raise ParseError("this number is too long", place, text, wanted)
    shift = len(decimals) - int(exponent)
    value = Fraction(int((whole + decimals) or "0")) / Fraction(10) ** shift
    return Written(
        -value if negative else value, max(shift, 0), ("-" if negative else "") + text, place
    )


def meant(number: Written) -> Fraction | None:
    """The small fraction that, rounded or cut to as many decimals, is written like this.

    Small is a denominator q with q³ ≤ 10^decimals: of all numbers with six decimals fewer than one
    in a hundred lie so near a fraction of denominator up to 100 by chance. None where there is no
    such fraction; the number itself where its own denominator is that small.
    """
    limit = int(10 ** (number.decimals / 3) + 1e-6)
    near = number.value.limit_denominator(limit)
    if near == number.value:
        return near
    off = abs(near) - abs(number.value)
    rounded, cut = abs(off) * 2 <= number.unit, 0 < off < number.unit
    return near if near and (rounded or cut) else None


def single(number: Written, snaps: list[Snap]) -> Fraction:
    """A number that stands by itself: a fraction only where its decimals leave no doubt."""
    value = meant(number) if number.decimals >= CERTAIN else None
    if value is None or value == number.value:
        return number.value
    snaps.append(Snap(number.text, value, number.place))
    return value


def distribution(row: Mapping[K, Written], snaps: list[Snap]) -> dict[K, Fraction] | None:
    """The probabilities that a row means, which add up to exactly one; None if no reading does.

    Readings in order: the decimals as they stand, if they add up and are short; every decimal as
    the fraction it is near, where one of them may instead be what the others leave (authors put
    the rounding error of a row into one entry); the decimals as they stand. No reading makes a
    positive entry zero.
    """
    literal = {key: number.value for key, number in row.items() if number.value}
    adds_up = sum(literal.values()) == 1
    short = all(number.decimals < CERTAIN for number in row.values())
    if adds_up and short:
        return literal
    reading = _as_fractions({key: row[key] for key in literal}, adds_up)
    if reading is None:
        return literal if adds_up else None
    for key, value in reading.items():
        if value != row[key].value:
            snaps.append(Snap(row[key].text, value, row[key].place))
    return reading


def _as_fractions(row: Mapping[K, Written], adds_up: bool) -> dict[K, Fraction] | None:
    reading: dict[K, Fraction] = {}
    doubtful: list[K] = []
    for key, number in row.items():
        keep = adds_up and number.decimals < CERTAIN
        value = number.value if keep else meant(number)
        reading[key] = number.value if value is None else value
        if value is None and number.decimals >= CERTAIN:
            doubtful.append(key)
    rest = 1 - sum(reading.values())
    if len(doubtful) == 1 and rest:
        carrier = row[doubtful[0]]
        corrected = carrier.value + rest
        if corrected > 0 and abs(rest) <= len(row) * carrier.unit:
            reading[doubtful[0]] = corrected
            rest = Fraction(0)
    return reading if not rest else None


def decimal(value: Fraction, decimals: int) -> str:
    """`value` rounded to so many decimals."""
    units = round(abs(value) * 10**decimals)
    digits = f"{units:0{decimals + 1}d}"
    sign = "-" if value < 0 else ""
    return sign + (f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits)


def recognisable(value: Fraction) -> str | None:
    """A decimal that is read back as `value`; None if it would be too long.

    One that does not end gets enough digits for other programs, which want rows to add up to about
    one, to be content with it.
    """
    ends = 10**LONGEST % value.denominator == 0
    for decimals in range(0 if ends else ROUNDED, LONGEST - 2):
        text = decimal(value, decimals)
        number = written(text.lstrip("-"), Place(1, 1), value < 0) if len(text) < LONGEST else None
        if number is not None and single(number, []) == value:
            return text
    return None
