"""Numbers as text: one way of writing each kind, everywhere."""

from __future__ import annotations

import math

from clew.analysis.stats.intervals import Interval
from clew.store.names import listed as listed

NOTHING = "—"


def number(value: float, decimals: int = 3, plus: bool = False) -> str:
    """'0.164', '−0.075', or a dash for what is not defined."""
    if not math.isfinite(value):
        return NOTHING
    # a rounded −0.0004 is 0.000, not −0.000
    return minus(f"{round(value, decimals) + 0.0:{'+' * plus}.{decimals}f}")


def signed(value: float, decimals: int = 3) -> str:
    """'+0.164', '−0.075'."""
    return number(value, decimals, plus=True)


def rate(value: float) -> str:
    """A success rate as the study prints it: '.14', '1.00'."""
    return number(value, 2).removeprefix("0") if math.isfinite(value) else NOTHING


def change(interval: Interval) -> str:
    """A difference of success rates: '+.18 [+.10, +.25]'."""
    written = [signed_rate(x) for x in (interval.estimate, interval.low, interval.high)]
    return f"{written[0]} [{written[1]}, {written[2]}]" if interval.known else written[0]


def signed_rate(value: float) -> str:
    """A change of a success rate: '+.18', '−.40'."""
    text = signed(value, 2)
    return text[0] + text[1:].removeprefix("0") if math.isfinite(value) else text


def bounds(interval: Interval, decimals: int = 3, plus: bool = False) -> str:
    """'[0.153, 0.175]', or nothing if there is no interval."""
    low, high = (number(end, decimals, plus) for end in (interval.low, interval.high))
    return f"[{low}, {high}]" if interval.known else ""


def estimate(interval: Interval, decimals: int = 3, plus: bool = False) -> str:
    """'+0.164 [+0.153, +0.175]'."""
    middle = number(interval.estimate, decimals, plus)
    return f"{middle} {bounds(interval, decimals, plus)}".strip()


def p_value(p: float) -> str:
    """'0.021', '0.0002', '3e−49'."""
    if not math.isfinite(p):
        return NOTHING
    if p >= 0.01:
        return f"{p:.2g}"
    return f"{p:.1g}" if p >= 1e-4 else minus(f"{p:.0e}")


def large(value: float, unit: float = 1e6) -> str:
    """'12.6' million for 12,600,000; a small one is not '0.0' but '0.02'."""
    scaled = value / unit
    return number(scaled, -math.floor(math.log10(scaled)) if 0 < scaled < 0.1 else 1)


def step_unit(most: float) -> tuple[float, str]:
    """In which steps are counted, so that numbers are short; and its name."""
    return (1e6, "millions") if most >= 1e6 else (1e3, "thousands")


def steps(value: float) -> str:
    """'20 M', '1.5 M', '51.2 k', '512', or a dash for what is not defined."""
    if not 1000 <= value < math.inf:
        return number(value, 0)
    unit, name = step_unit(value)
    return f"{large(value, unit).removesuffix('.0')} {'M' if name == 'millions' else 'k'}"


def hours(value: float, decimals: int) -> str:
    """'1,234.5'; a few minutes or seconds are written as such, with their unit."""
    if not 0 < value < 0.1:
        return f"{value:,.{decimals}f}" if math.isfinite(value) else NOTHING
    seconds = 3600 * value
    return f"{seconds:.2g} s" if seconds < 90 else f"{seconds / 60:.2g} min"


def minus(text: str) -> str:
    """The sign that is as wide as a plus."""
    return text.replace("-", "−")


def seeds(n: tuple[int, ...]) -> str:
    """'10 seeds', '8 to 10 seeds'."""
    low, high = min(n, default=0), max(n, default=0)
    return f"{low} seeds" if low == high else f"{low} to {high} seeds"
