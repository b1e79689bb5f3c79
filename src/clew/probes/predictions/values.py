"""The value that a prediction is about: a mean, a contrast of means, or a correlation over arms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clew.probes.predictions.prediction import FIELDS, Contrast, Value
from clew.probes.results import QuestionResult
from clew.store.names import ARM

AUCS = {
    "auc": "memory", "observation_auc": "observation", "untrained_auc": "untrained",
    "shuffled_auc": "shuffled",
}  # fmt: skip
"""Features whose linear probe a quantity is the AUC of."""


@dataclass(frozen=True)
class Measurement:
    """What was measured of one run's memory with one question."""

    fields: Mapping[str, Value]
    """environment, reward, architecture, bonus, seed and latent (the name of the question)."""
    quantities: Mapping[str, float]
    """By the names of `prediction.QUANTITIES`; NaN or missing where they are not known."""
    when: str = ""
    """When it was measured, ISO 8601 with zone; empty if that is not known."""

    @classmethod
    def of(
        cls,
        fields: Mapping[str, Value],
        result: QuestionResult,
        *,
        success: float = math.nan,
        when: str = "",
    ) -> Measurement:
        """From the result of a question, and the success of the run."""
        quantities = {quantity: result.auc(name, "linear") for quantity, name in AUCS.items()}
        quantities |= {
            "mlp_auc": result.auc("memory", "mlp"),
            "selectivity": result.selectivity,
            "mlp_selectivity": result.mlp_selectivity,
            "effective_dimension": result.effective_dimension,
            "success": success,
        }
        return cls({name: fields[name] for name in FIELDS if name in fields}, quantities, when)

    def knows(self, *quantities: str) -> bool:
        """Whether all of them are known."""
        return not any(math.isnan(self.quantities.get(name, math.nan)) for name in quantities)

    def matches(self, wanted: Mapping[str, Sequence[Value]]) -> bool:
        """Whether every field has one of the wanted values.

        An environment without options stands for all its variants: `MysteryPath-Grid` for
        `MysteryPath-Grid[show_goal=True]` too.
        """
        return all(
            self.fields.get(name) in values
            or (name == "environment" and str(self.fields.get(name)).partition("[")[0] in values)
            for name, values in wanted.items()
        )


def mean(measurements: Sequence[Measurement], quantity: str) -> float:
    """Over questions, then seeds, then arms, of what is known; NaN if nothing is."""
    arms = []
    for arm in by_arm([one for one in measurements if one.knows(quantity)]):
        seeds: dict[Value | None, list[float]] = {}
        for one in arm:
            seeds.setdefault(one.fields.get("seed"), []).append(one.quantities[quantity])
        arms.append(np.mean([np.mean(values) for values in seeds.values()]))
    return float(np.mean(arms)) if arms else math.nan


def contrast_of_means(
    measurements: Sequence[Measurement], quantity: str, contrasts: Sequence[Contrast]
) -> tuple[float, dict[str, float]]:
    """The value, and both sides of the last contrast, which is the outermost."""
    if not contrasts:
        return mean(measurements, quantity), {}
    *inner, last = contrasts
    fields, values = (last.of, last.minus[0]), []
    for field in fields:
        side = [one for one in measurements if one.matches({last.field: (field,)})]
        values.append(contrast_of_means(side, quantity, inner)[0])
    return values[0] - values[1], dict(zip(map(str, fields), values, strict=True))


def correlations(
    arms: Sequence[Sequence[Measurement]], quantities: Sequence[str], within: Sequence[str]
) -> tuple[float, float]:
    """Pearson's, of the arms' means: over all arms, and with the mean of each group of the fields
    `within` subtracted. NaN where a quantity is the same everywhere."""
    points = np.array([[mean(arm, quantity) for quantity in quantities] for arm in arms])
    pooled = _pearson(points)
    groups = [tuple(arm[0].fields.get(name) for name in within) for arm in arms]
    for group in set(groups):
        members = [one == group for one in groups]
        points[members] -= points[members].mean(0)
    return pooled, _pearson(points)


def by_arm(measurements: Sequence[Measurement]) -> list[list[Measurement]]:
    """The measurements of each arm."""
    arms: dict[tuple[Value | None, ...], list[Measurement]] = {}
    for one in measurements:
        arms.setdefault(tuple(one.fields.get(name) for name in ARM), []).append(one)
    return list(arms.values())


def _pearson(points: np.ndarray) -> float:
    centred = points - points.mean(0)
    lengths = np.sqrt((centred**2).sum(0))
    # equal but for rounding errors is equal
    if (lengths <= 1e-12 * (1 + np.abs(points).max())).any():
        return math.nan
    return float(np.clip((centred[:, 0] @ centred[:, 1]) / lengths.prod(), -1, 1))
