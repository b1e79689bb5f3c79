"""Hit, miss, or not evaluable: the outcomes of predictions, with the numbers and the reason."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from clew.probes.predictions.prediction import Contrast, Prediction, Value
from clew.probes.predictions.registrations import Registration, Registrations, parse_time
from clew.probes.predictions.values import (
    Measurement,
    by_arm,
    contrast_of_means,
    correlations,
    mean,
)

HitOrMiss = Literal["hit", "miss", "not evaluable"]
WORDS: tuple[tuple[HitOrMiss, str], ...] = (("hit", "true"), ("miss", "false"))
LISTED = 4
"""Parts that are listed one by one."""
FEWEST = 3
"""Arms that a correlation needs."""
NOTHING = "nothing was measured that it is about"


@dataclass(frozen=True)
class PartOutcome:
    """The outcome for one value that a prediction is about."""

    label: str
    """Such as "GRU", or "GatedDeltaNet − GRU"; empty if there is only one part."""
    verdict: HitOrMiss
    value: float
    """NaN if there is none."""
    numbers: Mapping[str, float] = field(default_factory=dict)
    """What the value was computed from, by name."""
    runs: int = 0
    """Measurements it is computed from."""
    reason: str = ""


@dataclass(frozen=True)
class PredictionOutcome:
    """The outcome of one prediction."""

    prediction: Prediction
    verdict: HitOrMiss
    parts: tuple[PartOutcome, ...]
    """For example one for each architecture. One miss makes the whole a miss; without a miss, one
    part that is not evaluable makes the whole not evaluable."""
    reason: str
    """In a sentence."""
    registered: str
    late: bool
    """Whether it was registered when there were already results it is about: no prediction then."""
    revises: str
    """When another text was registered under this name before; empty if none was."""


def evaluate_predictions(
    registered: Registrations, measurements: Sequence[Measurement]
) -> list[PredictionOutcome]:
    """Every prediction that was ever registered: by name, the earliest text first."""
    by_name: dict[str, list[PredictionOutcome]] = {}
    digests: set[str] = set()
    for registration in registered.registrations:
        for prediction in registration.predictions:
            if prediction.digest not in digests:
                digests.add(prediction.digest)
                texts = by_name.setdefault(prediction.name, [])
                revises = texts[-1].registered if texts else ""
                texts.append(_evaluate(registration, prediction, measurements, revises))
    return [one for texts in by_name.values() for one in texts]


def first_results_about(
    predictions: Sequence[Prediction], measurements: Sequence[Measurement]
) -> dict[str, str]:
    """By name, when the first result was measured that a prediction is about, if there is one."""
    found = {}
    for prediction in predictions:
        times = [one.when for one in measurements if one.when and _is_about(prediction, one)]
        if times:
            found[prediction.name] = min(times, key=parse_time)
    return found


def _evaluate(
    registration: Registration,
    prediction: Prediction,
    measurements: Sequence[Measurement],
    revises: str,
) -> PredictionOutcome:
    about = [one for one in measurements if _is_about(prediction, one)]
    parts = tuple(_evaluate_part(prediction, *part) for part in _parts(prediction, about))
    found = {part.verdict for part in parts}
    all_hit: HitOrMiss = "hit" if found == {"hit"} else "not evaluable"
    verdict = "miss" if "miss" in found else all_hit
    registered = parse_time(registration.registered)
    late = prediction.name in registration.late or any(
        parse_time(one.when) <= registered for one in about if one.when
    )
    reason = _reason(prediction, verdict, parts)
    return PredictionOutcome(
        prediction=prediction,
        verdict=verdict,
        parts=parts,
        reason=f"{reason} (registered after the results)" if late else reason,
        registered=registration.registered,
        late=late,
        revises=revises,
    )


def _is_about(prediction: Prediction, measurement: Measurement) -> bool:
    sides = {one.field: (one.of, *one.minus) for one in prediction.contrasts}
    return measurement.matches({**prediction.where, **sides})


def _parts(
    prediction: Prediction, measurements: Sequence[Measurement]
) -> Iterator[tuple[str, Sequence[Measurement], tuple[Contrast, ...]]]:
    """Label, measurements and contrasts of each part."""
    # values that the prediction names are parts even if nothing was measured of them
    choices = [
        prediction.where.get(name)
        or _distinct(one.fields[name] for one in measurements if name in one.fields)
        for name in prediction.each
    ]
    single = [[replace(c, minus=(m,)) for m in c.minus] for c in prediction.contrasts]
    for values in itertools.product(*choices):
        chosen = {name: (value,) for name, value in zip(prediction.each, values, strict=True)}
        for contrasts in itertools.product(*single):
            wanted = {**chosen, **{one.field: (one.of, *one.minus) for one in contrasts}}
            labels = [str(value) for value in values]
            labels += [
                f"{one.of} − {one.minus[0]}"
                for one, all_ in zip(contrasts, single, strict=True)
                if len(all_) > 1
            ]
            yield ", ".join(labels), [o for o in measurements if o.matches(wanted)], contrasts


def _evaluate_part(
    prediction: Prediction,
    label: str,
    measurements: Sequence[Measurement],
    contrasts: Sequence[Contrast],
) -> PartOutcome:
    quantities = [name for name in (prediction.quantity, prediction.correlates) if name]
    known = [one for one in measurements if one.knows(*quantities)]
    part = PartOutcome(label, "not evaluable", math.nan, runs=len(known))
    if not measurements:
        return replace(part, reason=NOTHING)
    for unless in prediction.unless:
        value = mean(measurements, unless.quantity)
        if bound := unless.exceeded(value):
            return replace(part, reason=f"{unless.quantity} is {value:.3f}, {bound}")
    if prediction.correlates:
        return _evaluate_correlation(prediction, part, quantities, known)
    value, sides = contrast_of_means(known, prediction.quantity, contrasts)
    if math.isnan(value):
        missing = [name for name, number in sides.items() if math.isnan(number)]
        what = " and ".join(missing) or "these runs"
        return replace(part, numbers=sides, reason=f"{prediction.quantity} of {what} is not known")
    return _within_bounds(prediction, replace(part, value=value, numbers=sides))


def _evaluate_correlation(
    prediction: Prediction,
    part: PartOutcome,
    quantities: Sequence[str],
    measurements: Sequence[Measurement],
) -> PartOutcome:
    arms = by_arm(measurements)
    if len(arms) < FEWEST:
        return replace(part, reason=f"{len(arms)} arms are too few to correlate")
    pooled, within = correlations(arms, quantities, prediction.within)
    if math.isnan(pooled):
        return replace(part, reason=f"{' or '.join(quantities)} is the same everywhere")
    part = _within_bounds(prediction, replace(part, value=pooled))
    if not prediction.within:
        return part
    part = replace(part, numbers={"pooled": pooled, "within": within})
    if part.verdict == "hit" and not prediction.holds(within):
        groups = " and ".join(prediction.within)
        reason = (
            f"{pooled:+.3f} over all, but {within:+.3f} within each {groups}: it comes from "
            f"differences in {groups}, not in memory"
        )
        return replace(part, verdict="not evaluable", reason=reason)
    return part


def _within_bounds(prediction: Prediction, part: PartOutcome) -> PartOutcome:
    verdict = "hit" if prediction.holds(part.value) else "miss"
    return replace(part, verdict=verdict, reason=f"{part.value:+.3f} where {_bounds(prediction)}")


def _reason(prediction: Prediction, verdict: HitOrMiss, parts: Sequence[PartOutcome]) -> str:
    if verdict == "not evaluable":
        reasons = [part.reason for part in parts if part.verdict == verdict]
        return "; ".join(dict.fromkeys(reasons)) or NOTHING
    if len(parts) == 1:
        return parts[0].reason
    listed = [(word, _listed(parts, kind)) for kind, word in WORDS]
    text = ", ".join(f"{word} of {names}" for word, names in listed if names)
    return f"{text}, where {_bounds(prediction)}"


def _listed(parts: Sequence[PartOutcome], kind: HitOrMiss) -> str:
    """Which parts, with their values; how many, if they are many."""
    alike = [part for part in parts if part.verdict == kind]
    if len(alike) > LISTED:
        return f"{len(alike)} of {len(parts)}"
    return " and ".join(f"{part.label} ({part.value:+.3f})" for part in alike)


def _bounds(prediction: Prediction) -> str:
    bounds = [
        f"{word} {bound}"
        for word, bound in (("above", prediction.above), ("below", prediction.below))
        if bound is not None
    ]
    return f"{' and '.join(bounds)} was predicted"


def _distinct(values: Iterable[Value]) -> tuple[Value, ...]:
    return tuple(sorted(set(values), key=lambda value: (isinstance(value, str), value)))
