"""The numbers behind a grade: means, contrasts and correlations over runs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from clew.probes.predictions.claims import Contrast, Prediction, Value

Fields = Mapping[str, Value]
Row = tuple[Fields, Mapping[str, float]]
CELL = ("environment", "reward", "architecture", "bonus")
FEWEST = 3
"""Cells that a correlation needs."""


@dataclass(frozen=True)
class Part:
    """One value that a prediction is about."""

    label: str
    """Such as "GRU", or "GatedDeltaNet − GRU"; empty if there is but one part."""
    verdict: Literal["hit", "miss", "not evaluable"]
    value: float
    """NaN if there is none."""
    numbers: Mapping[str, float] = field(default_factory=dict)
    """What the value was made from, by name."""
    runs: int = 0
    """Measurements it rests on."""
    reason: str = ""


def judge(prediction: Prediction, rows: Sequence[Row]) -> tuple[Part, ...]:
    """Judge each part. `rows` are the runs that the prediction is about."""
    return tuple(_judged(prediction, *part) for part in _parts(prediction, rows))


def _parts(
    prediction: Prediction, rows: Sequence[Row]
) -> Iterator[tuple[str, Sequence[Row], tuple[Contrast, ...]]]:
    """Label, runs and contrasts of each part."""
    # values that were named are parts even if nothing was measured of them
    choices = [
        prediction.where.get(name)
        or _distinct(fields[name] for fields, _ in rows if name in fields)
        for name in prediction.each
    ]
    single = [[replace(c, minus=(m,)) for m in c.minus] for c in prediction.contrasts]
    for values in itertools.product(*choices):
        chosen = dict(zip(prediction.each, values, strict=True))
        for contrasts in itertools.product(*single):
            sides = {contrast.field: (contrast.of, *contrast.minus) for contrast in contrasts}
            wanted = {**{name: (value,) for name, value in chosen.items()}, **sides}
            names = [str(value) for value in values]
            names += [
                f"{one.of} − {one.minus[0]}"
                for one, all_ in zip(contrasts, single, strict=True)
                if len(all_) > 1
            ]
            yield ", ".join(names), _where(rows, wanted), contrasts


def _judged(
    prediction: Prediction, label: str, rows: Sequence[Row], contrasts: Sequence[Contrast]
) -> Part:
    known = [row for row in rows if _known(prediction, row[1])]
    part = Part(label, "not evaluable", math.nan, runs=len(known))
    if not rows:
        return replace(part, reason="nothing was measured that it is about")
    for unless in prediction.unless:
        mean = _mean(rows, unless.quantity)
        if unless.holds(mean):
            bound = f"above {unless.above}" if mean > _or(unless.above) else f"below {unless.below}"
            return replace(part, reason=f"{unless.quantity} is {mean:.3f}, {bound}")
    if prediction.correlates:
        return _correlated(prediction, part, known)
    value, numbers = _contrasted(known, prediction.quantity, contrasts)
    if math.isnan(value):
        missing = [name for name, number in numbers.items() if math.isnan(number)]
        what = " and ".join(missing) or "these runs"
        return replace(
            part, numbers=numbers, reason=f"{prediction.quantity} of {what} is not known"
        )
    return _decided(prediction, replace(part, value=value, numbers=numbers))


def _decided(prediction: Prediction, part: Part) -> Part:
    verdict = "hit" if prediction.holds(part.value) else "miss"
    return replace(part, verdict=verdict, reason=f"{part.value:+.3f} where {claim(prediction)}")


def _correlated(prediction: Prediction, part: Part, rows: Sequence[Row]) -> Part:
    cells = list(_cells(rows).values())
    if len(cells) < FEWEST:
        return replace(part, reason=f"{len(cells)} cells are too few to correlate")
    pair = (prediction.quantity, prediction.correlates)
    points = np.array([[_mean(cell, quantity) for quantity in pair] for cell in cells])
    value = _correlation(points)
    if math.isnan(value):
        return replace(part, reason=f"{' or '.join(pair)} is the same everywhere")
    part = _decided(prediction, replace(part, value=value))
    if not prediction.within:
        return part
    group = [tuple(cell[0][0].get(name) for name in prediction.within) for cell in cells]
    for one in set(group):
        members = [each == one for each in group]
        points[members] -= points[members].mean(0)
    inner = _correlation(points)
    part = replace(part, numbers={"pooled": value, "within": inner})
    if part.verdict == "hit" and not prediction.holds(inner):
        groups = " and ".join(prediction.within)
        reason = f"{value:+.3f} over all, but {inner:+.3f} within each {groups}"
        return replace(
            part, verdict="not evaluable", reason=f"{reason}: it is theirs, not memory's"
        )
    return part


def _contrasted(
    rows: Sequence[Row], quantity: str, contrasts: Sequence[Contrast]
) -> tuple[float, dict[str, float]]:
    """The value, and both sides of the outermost contrast, which is the last."""
    if not contrasts:
        return _mean(rows, quantity), {}
    *inner, last = contrasts
    numbers = {
        str(side): _contrasted(_where(rows, {last.field: (side,)}), quantity, inner)[0]
        for side in (last.of, last.minus[0])
    }
    more, less = numbers.values()
    return more - less, numbers


def _mean(rows: Sequence[Row], quantity: str) -> float:
    """Over questions, then seeds, then cells, of what is known."""
    known = [row for row in rows if not math.isnan(row[1].get(quantity, math.nan))]
    cells = []
    for cell in _cells(known).values():
        seeds: dict[Value | None, list[float]] = {}
        for fields, quantities in cell:
            seeds.setdefault(fields.get("seed"), []).append(quantities[quantity])
        cells.append(np.mean([np.mean(each) for each in seeds.values()]))
    return float(np.mean(cells)) if cells else math.nan


def _cells(rows: Sequence[Row]) -> dict[tuple[Value | None, ...], list[Row]]:
    cells: dict[tuple[Value | None, ...], list[Row]] = {}
    for row in rows:
        cells.setdefault(tuple(row[0].get(name) for name in CELL), []).append(row)
    return cells


def _where(rows: Sequence[Row], wanted: Mapping[str, tuple[Value, ...]]) -> list[Row]:
    return [row for row in rows if all(row[0].get(name) in v for name, v in wanted.items())]


def _known(prediction: Prediction, quantities: Mapping[str, float]) -> bool:
    names = [prediction.quantity, *([prediction.correlates] if prediction.correlates else [])]
    return not any(math.isnan(quantities.get(name, math.nan)) for name in names)


def _correlation(points: np.ndarray) -> float:
    centred = points - points.mean(0)
    lengths = np.sqrt((centred**2).sum(0))
    # equal but for rounding is equal
    if (lengths <= 1e-12 * (1 + np.abs(points).max())).any():
        return math.nan
    return float(np.clip((centred[:, 0] @ centred[:, 1]) / lengths.prod(), -1, 1))


def claim(prediction: Prediction) -> str:
    """Its bounds, in words."""
    bounds = [
        f"{word} {bound}"
        for word, bound in (("above", prediction.above), ("below", prediction.below))
        if bound is not None
    ]
    return f"{' and '.join(bounds)} was predicted"


def _distinct(values: Iterable[Value]) -> tuple[Value, ...]:
    return tuple(sorted(set(values), key=lambda value: (isinstance(value, str), value)))


def _or(bound: float | None) -> float:
    return math.inf if bound is None else bound
