"""Hit, miss, or not evaluable: what came of predictions, with the numbers and the reason."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from clew.probes.fitting.measured import Measured, Probe
from clew.probes.predictions.claims import FIELDS, Prediction, Value
from clew.probes.predictions.parts import Part, claim, judge
from clew.probes.predictions.registering import Register, Registration, moment

Verdict = Literal["hit", "miss", "not evaluable"]
WORDS: tuple[tuple[Verdict, str], ...] = (("hit", "true"), ("miss", "false"))
NAMED = 4
"""Parts that are named one by one."""


@dataclass(frozen=True)
class Observed:
    """What was measured of one run's memory with one question."""

    fields: Mapping[str, Value]
    """environment, reward, architecture, bonus, seed and latent (the name of the question)."""
    quantities: Mapping[str, float]
    """By the names of `claims.QUANTITIES`; NaN where nothing is known."""
    when: str = ""
    """When it was measured, ISO 8601 with zone; empty if that is not known."""

    @classmethod
    def of(
        cls,
        fields: Mapping[str, Value],
        measured: Measured,
        *,
        success: float = math.nan,
        when: str = "",
    ) -> Observed:
        """Of probes, and of how well the run did."""
        probes = {name: measured.probes.get(name, Probe()) for name in _AUCS}
        quantities = {quantity: probes[name].linear for name, quantity in _AUCS.items()}
        quantities |= {
            "mlp_auc": probes["memory"].mlp,
            "selectivity": measured.selectivity,
            "mlp_selectivity": measured.mlp_selectivity,
            "effective_dimension": measured.effective_dimension,
            "success": success,
        }
        return cls({name: fields[name] for name in FIELDS if name in fields}, quantities, when)


_AUCS = {
    "memory": "auc",
    "observation": "observation_auc",
    "untrained": "untrained_auc",
    "shuffled": "shuffled_auc",
}


@dataclass(frozen=True)
class Grade:
    """What came of one prediction."""

    prediction: Prediction
    verdict: Verdict
    parts: tuple[Part, ...]
    """What it says about each architecture, say. One miss makes a miss of the whole; if none
    misses, one that is not evaluable makes the whole not evaluable."""
    reason: str
    """In a sentence."""
    registered: str
    late: bool
    """Whether it was registered when there were results of what it is about: no prediction then."""
    revises: str
    """When another text was registered under this name before; empty if none was."""


def grade(register: Register, observed: Sequence[Observed]) -> list[Grade]:
    """Grade every prediction that was ever registered: by name, the earliest text first."""
    by_name: dict[str, list[Grade]] = {}
    seals: set[str] = set()
    for registration in register.registrations:
        for prediction in registration.predictions:
            if prediction.seal not in seals:
                seals.add(prediction.seal)
                texts = by_name.setdefault(prediction.name, [])
                texts.append(_grade(registration, prediction, observed, texts))
    return [each for texts in by_name.values() for each in texts]


def _grade(
    registration: Registration,
    prediction: Prediction,
    observed: Sequence[Observed],
    older: Sequence[Grade],
) -> Grade:
    about = [each for each in observed if concerns(prediction, each)]
    parts = judge(prediction, [(each.fields, each.quantities) for each in about])
    found = {part.verdict for part in parts}
    verdict: Verdict = "miss" if "miss" in found else "not evaluable" if found != {"hit"} else "hit"
    times = [moment(each.when) for each in about if each.when]
    when = moment(registration.registered)
    late = prediction.name in registration.late or any(time <= when for time in times)
    return Grade(
        prediction=prediction,
        verdict=verdict,
        parts=parts,
        reason=_reason(prediction, verdict, parts, late),
        registered=registration.registered,
        late=late,
        revises=older[-1].registered if older else "",
    )


def first_about(predictions: Sequence[Prediction], observed: Sequence[Observed]) -> dict[str, str]:
    """When the earliest result was made that each of the predictions is about, if there is one."""
    found = {}
    for each in predictions:
        about = [one.when for one in observed if one.when and concerns(each, one)]
        if about:
            found[each.name] = min(about, key=moment)
    return found


def concerns(prediction: Prediction, observed: Observed) -> bool:
    """Whether a prediction says something about a run."""
    wanted = dict(prediction.where)
    for contrast in prediction.contrasts:
        wanted[contrast.field] = (contrast.of, *contrast.minus)
    return all(observed.fields.get(name) in values for name, values in wanted.items())


def _named(parts: Sequence[Part], kind: Verdict) -> str:
    """Which parts, with their values; how many, if they are many."""
    alike = [part for part in parts if part.verdict == kind]
    if len(alike) > NAMED:
        return f"{len(alike)} of {len(parts)}"
    return " and ".join(f"{part.label} ({part.value:+.3f})" for part in alike)


def _reason(prediction: Prediction, verdict: Verdict, parts: Sequence[Part], late: bool) -> str:
    count = {kind: sum(part.verdict == kind for part in parts) for kind in ("hit", "miss")}
    if verdict == "not evaluable":
        reasons = [part.reason for part in parts if part.verdict == "not evaluable"]
        text = "; ".join(dict.fromkeys(reasons)) or "nothing was measured that it is about"
    elif len(parts) == 1:
        text = parts[0].reason
    else:
        text = ", ".join(f"{word} of {_named(parts, kind)}" for kind, word in WORDS if count[kind])
        text += f", where {claim(prediction)}"
    return f"{text} (registered after the results)" if late else text
