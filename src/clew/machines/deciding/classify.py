"""Everything that can be said about a POMDP's reward, in one object."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TypedDict

from clew.machines.certificates.claims import (
    Bound,
    Dense,
    Optimal,
    Sparse,
    Undecided,
    Unencodable,
    Verdict,
    verdict_name,
)
from clew.machines.certificates.verify import verify
from clew.machines.deciding.density import SMALL, density, one_state, size_bound
from clew.machines.deciding.diagnosis import Diagnosis, Redundancy, diagnose, redundancy
from clew.machines.deciding.encodes import reward_mismatches
from clew.machines.deciding.optimal import Ranking, optimal, ranking
from clew.machines.deciding.pairs import Pairs, decide_pairs, none_apart
from clew.machines.deciding.profile import Profile, profile
from clew.machines.deciding.quotient import compressed_machine
from clew.machines.deciding.spaces import in_words
from clew.machines.deciding.structure import admits
from clew.machines.model.belief import Filter, close
from clew.machines.model.pomdp import Pomdp
from clew.machines.model.reward_machine import PomdpRM
from clew.validate import BadInput, whole_number

POSTERIORS = 20_000
PAIRS = 3_000_000
GLIMPSE = 100
"""Posteriors of an infinite filter that are looked at for forced distinctions."""


@dataclass(frozen=True)
class Classification:
    """The answers. Where the posteriors are not finite, those about optimal play are None."""

    pomdp: Pomdp
    beliefs: Filter
    verdict: Verdict
    encoder: PomdpRM | None
    """A small machine that encodes: the witness of "sparse", or a perfect one for "dense"."""
    bound: Bound
    best: Optimal | None
    profile: Profile | None
    ranking: Ranking | None
    redundancy: Redundancy | None
    diagnosis: Diagnosis


def classify(pomdp: Pomdp, limit: int = POSTERIORS) -> Classification:
    """Answer all questions, and have every certificate verified."""
    whole_number("limit", limit, 1)
    beliefs = close(pomdp, limit)
    if beliefs.finite:
        refuse_too_many_pairs(beliefs)
    alone = one_state(pomdp)
    if alone is not None:
        pairs, verdict = none_apart(beliefs), alone
    else:
        pairs = decide_pairs(beliefs if beliefs.finite else close(pomdp, min(limit, GLIMPSE)))
        verdict = density(pairs, one_state_tried=True)
    bound = size_bound(pairs)
    for certificate in (verdict, bound):
        if not isinstance(certificate, Undecided):
            verify(certificate)
    encoder = _small_encoder(pairs, verdict)
    return Classification(
        pomdp, beliefs, verdict, encoder, bound, *_finite(pairs, beliefs, verdict)
    )


def refuse_too_many_pairs(beliefs: Filter) -> None:
    """Say how many pairs there would be, before memory is spent on them."""
    seen = Counter(cell.observation for cell in beliefs.cells)
    pairs = sum(count * (count - 1) // 2 for count in seen.values())
    if pairs > PAIRS:
        raise BadInput(
            f"{beliefs.pomdp.name} has {len(beliefs.cells):,} posteriors and {pairs:,} pairs of "
            f"them that share an observation; at most {PAIRS:,} pairs are decided"
        )


def _small_encoder(pairs: Pairs, verdict: Verdict) -> PomdpRM | None:
    if isinstance(verdict, Sparse):
        return verdict.product
    if isinstance(verdict, Dense) and len(pairs.beliefs.pomdp.states) <= SMALL:
        answer = admits(compressed_machine(pairs))
        return answer if isinstance(answer, PomdpRM) else None
    return None


def _finite(
    pairs: Pairs, beliefs: Filter, verdict: Verdict
) -> tuple[Optimal | None, Profile | None, Ranking | None, Redundancy | None, Diagnosis]:
    if not beliefs.finite:
        within = f"the filter is not finite within {len(beliefs.cells):,} posteriors"
        reason = f"{within}: optimal play and its memory were not computed"
        return None, None, None, None, Diagnosis("undecided", (reason,))
    best = optimal(beliefs)
    verify(best)
    pooling = verdict.product if isinstance(verdict, Sparse) else None
    counted = profile(pairs, best, pooling)
    ranked, repeated = ranking(best), redundancy(best)
    return best, counted, ranked, repeated, diagnose(counted, ranked, repeated)


class Witness(TypedDict, total=False):
    """What proves a sparse verdict: a machine that pools two histories, or that there is none."""

    machine: str
    states: int
    step_by_step: bool
    pooled: list[str]
    told_apart_by: str | list[str]
    no_machine_encodes: bool
    after: str
    repeated: str


class Summary(TypedDict):
    """The answers as plain data; fractions are text."""

    name: str
    states: int
    actions: int
    observations: int
    discount: str
    notes: list[str]
    posteriors: int | None
    growth: list[int]
    verdict: str
    witness: Witness | None
    encoder_states_at_least: int
    optimal_return: str | None
    greedy_return: str | None
    misranked: bool | None
    redundant: bool | None
    profile: dict[str, dict[str, int]] | None
    expected_effect_of_a_bonus: str
    reasons: list[str]
    limits: list[str]


def summary(answer: Classification) -> Summary:
    """The answers as plain data, for JSON."""
    return {
        "name": answer.pomdp.name,
        "states": len(answer.pomdp.states),
        "actions": len(answer.pomdp.actions),
        "observations": len(answer.pomdp.observations),
        "discount": str(answer.pomdp.discount),
        "notes": list(answer.pomdp.notes),
        "posteriors": len(answer.beliefs.cells) if answer.beliefs.finite else None,
        "growth": list(answer.beliefs.growth),
        "verdict": verdict_name(answer.verdict),
        "witness": _witness(answer.verdict),
        "encoder_states_at_least": answer.bound.states,
        "optimal_return": _exact(answer.best.value if answer.best else None),
        "greedy_return": _exact(answer.ranking.greedy_value if answer.ranking else None),
        "misranked": answer.ranking.misranked if answer.ranking else None,
        "redundant": answer.redundancy.holds if answer.redundancy else None,
        "profile": _tallies(answer.profile),
        "expected_effect_of_a_bonus": answer.diagnosis.outcome,
        "reasons": list(answer.diagnosis.reasons),
        "limits": list(answer.diagnosis.limits),
    }


def _witness(verdict: Verdict) -> Witness | None:
    if isinstance(verdict, Unencodable):
        pomdp = verdict.pomdp
        return {
            "no_machine_encodes": True,
            "after": in_words(pomdp, verdict.history),
            "repeated": pomdp.actions[verdict.repeated],
            "told_apart_by": [pomdp.actions[action] for action in verdict.actions],
        }
    if not isinstance(verdict, Sparse):
        return None
    pomdp, mixed = verdict.product.pomdp, verdict.mixed
    return {
        "machine": verdict.product.machine.name,
        "states": len(verdict.product.machine.states),
        "step_by_step": next(reward_mismatches(verdict.product), None) is None,
        "pooled": [in_words(pomdp, mixed.first), in_words(pomdp, mixed.second)],
        "told_apart_by": pomdp.actions[mixed.action],
    }


def _tallies(counted: Profile | None) -> dict[str, dict[str, int]] | None:
    if counted is None:
        return None
    return {"all": vars(counted.total)} | {v: vars(t) for v, t in counted.variables.items()}


def _exact(value: Fraction | None) -> str | None:
    return None if value is None else str(value)
