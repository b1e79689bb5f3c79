"""A run's probes in a few numbers: means over its questions. Needs no jax."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from clew.probes.fitting.measured import CONTROLS, PLANTED, Measured

FEATURES = ("memory", *CONTROLS)
KINDS = ("linear", "mlp")
CHANCE = 0.5


def summary(measured: Sequence[Measured]) -> dict[str, Any] | None:
    """Plain data, None where a number is not known; None altogether without an evaluable question.

    Selectivity is that of the means: the strongest of many noisy controls, question by question,
    would be too strong.
    """
    sound = [each for each in measured if each.evaluable]
    if not sound:
        return None
    aucs = {
        kind: {
            name: _mean(_auc(each, name, kind) for each in sound) for name in (*FEATURES, PLANTED)
        }
        for kind in KINDS
    }
    return {
        **aucs,
        "selectivity": selectivity(aucs["linear"]),
        "mlp_selectivity": selectivity(aucs["mlp"]),
        "effective_dimension": _mean(each.effective_dimension for each in sound),
        "state_size": sound[0].probes["memory"].size,
        "questions": len(sound),
        "rows": sum(sum(each.rows.values()) for each in sound),
        "unconverged": sum(p.unconverged for each in sound for p in each.probes.values()),
        "by_since": _ages(sound),
    }


def selectivity(aucs: Mapping[str, float | None]) -> float | None:
    """AUC of the memory minus the strongest control's; no control counts as weaker than chance."""
    memory = aucs["memory"]
    if memory is None:
        return None
    return memory - max(CHANCE, *(aucs[name] or CHANCE for name in CONTROLS))


def _auc(measured: Measured, name: str, kind: str) -> float:
    return getattr(measured.probes[name], kind) if name in measured.probes else math.nan


def _mean(values: Any) -> float | None:
    known = [value for value in values if value is not None and math.isfinite(value)]
    return math.fsum(known) / len(known) if known else None


def _ages(sound: Sequence[Measured]) -> list[dict[str, Any]]:
    """Bins of all questions together, each question's AUC weighted by its rows."""
    bins: dict[tuple[int, int], list[Any]] = defaultdict(list)
    for each in sound:
        for one in each.by_since:
            bins[one.low, one.high].append(one)
    found = []
    for (low, high), members in sorted(bins.items()):
        names = dict.fromkeys(name for one in members for name in one.auc)
        aucs = {name: _weighted(members, name) for name in names}
        rows = sum(one.rows for one in members)
        found.append({"low": low, "high": high, "rows": rows, "auc": aucs})
    return found


def _weighted(members: Sequence[Any], name: str) -> float | None:
    known = [one for one in members if math.isfinite(one.auc.get(name, math.nan))]
    rows = sum(one.rows for one in known)
    return math.fsum(one.rows * one.auc[name] for one in known) / rows if rows else None
