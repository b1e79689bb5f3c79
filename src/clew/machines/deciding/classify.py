"""Everything that can be said about a POMDP's reward, in one object."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import NotRequired, TypedDict

from clew.machines.certificates.claims import (
    Bound,
    Dense,
    NeverPerfect,
    Optimal,
    Sparse,
    Undecided,
    Unencodable,
    Verdict,
    verdict_name,
)
from clew.machines.certificates.verify import verify
from clew.machines.deciding.density import SMALL, density, one_state, size_bound
from clew.machines.deciding.diagnosis import (
    Diagnosis,
    Redundancy,
    diagnose,
    not_computed,
    redundancy,
)
from clew.machines.deciding.encodes import reward_mismatches
from clew.machines.deciding.optimal import Ranking, optimal, ranking
from clew.machines.deciding.pairs import Pairs, decide_pairs, none_apart
from clew.machines.deciding.profile import Profile, profile
from clew.machines.deciding.quotient import compressed_machine
from clew.machines.deciding.spaces import in_words
from clew.machines.deciding.structure import rewarded
from clew.machines.deciding.unencodable import never_perfect
from clew.machines.exact.garbage import uncollected
from clew.machines.exact.numbers import exact_text
from clew.machines.model.belief import Filter, close
from clew.machines.model.ends import MEANING
from clew.machines.model.pomdp import Pomdp
from clew.machines.model.reward_machine import PomdpRM
from clew.validate import BadInput, whole_number

POSTERIORS = 20_000
PAIRS = 3_000_000
GLIMPSE = 100
"""The first posteriors, which may show that there is no end of them, and what is kept apart."""


@dataclass(frozen=True, repr=False)
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

    def __repr__(self) -> str:
        """In a line: the whole is as large as the task."""
        kind = verdict_name(self.verdict)
        return f"<{self.pomdp.name}: {kind}, {self.diagnosis.outcome}; {self.diagnosis.todo}>"


@uncollected()
def classify(pomdp: Pomdp, limit: int = POSTERIORS) -> Classification:
    """Answer all questions, and have every certificate verified."""
    if not isinstance(pomdp, Pomdp):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadInput(
            f"pomdp is of type {type(pomdp).__name__}, and must be a Pomdp: write "
            "classify(gallery.make(NAME)), classify(from_env(ENVIRONMENT)) or, for a file, "
            "classify(formats.read(FILE))"
        )
    whole_number("limit", limit, 1)
    glimpse = close(pomdp, min(limit, GLIMPSE))
    endless = not glimpse.finite and never_perfect(glimpse) is not None
    beliefs = glimpse if glimpse.finite or endless else close(pomdp, limit)
    alone = one_state(pomdp)
    if alone is not None:
        pairs, verdict = none_apart(beliefs), alone
    else:
        if beliefs.finite and (many := count_pairs(beliefs)) > PAIRS:
            raise BadInput(
                f"{pomdp.name} has {len(beliefs.cells):,} posteriors and {many:,} pairs of them "
                f"that share an observation; at most {PAIRS:,} pairs are decided"
            )
        pairs = decide_pairs(beliefs if beliefs.finite else glimpse)
        verdict = density(pairs, one_state_tried=True)
    bound = size_bound(pairs)
    for certificate in (verdict, bound):
        if not isinstance(certificate, Undecided):
            verify(certificate)
    encoder = _small_encoder(pairs, verdict)
    return Classification(
        pomdp, beliefs, verdict, encoder, bound, *_finite(pairs, beliefs, verdict)
    )


def count_pairs(beliefs: Filter) -> int:
    """How many pairs of posteriors there are, before memory is spent on them."""
    seen = Counter(cell.observation for cell in beliefs.cells)
    return sum(count * (count - 1) // 2 for count in seen.values())


def _small_encoder(pairs: Pairs, verdict: Verdict) -> PomdpRM | None:
    if isinstance(verdict, Sparse):
        return verdict.product
    if isinstance(verdict, Dense) and len(pairs.beliefs.pomdp.states) <= SMALL:
        return rewarded(compressed_machine(pairs))
    return None


def _finite(
    pairs: Pairs, beliefs: Filter, verdict: Verdict
) -> tuple[Optimal | None, Profile | None, Ranking | None, Redundancy | None, Diagnosis]:
    why = ""
    if not beliefs.finite:
        why = f"there are more than {len(beliefs.cells):,} posteriors, and no end of them was seen"
    elif (many := count_pairs(beliefs)) > PAIRS:
        why = f"there are {many:,} pairs of posteriors; at most {PAIRS:,} are counted"
    if why:
        alone = isinstance(verdict, Sparse) and len(verdict.product.machine.states) == 1
        return None, None, None, None, not_computed(why, unsupervised=alone)
    best = optimal(beliefs)
    verify(best)
    pooling = verdict.product if isinstance(verdict, Sparse) else None
    counted = profile(pairs, best, pooling)
    ranked, repeated = ranking(best), redundancy(best)
    return best, counted, ranked, repeated, diagnose(counted, ranked, repeated)


class Witness(TypedDict, total=False):
    """What proves a sparse verdict: a machine that pools two histories, or why there is none."""

    machine: str
    states: int
    step_by_step: bool
    pooled: list[str]
    told_apart_by: str | list[str]
    no_machine_encodes: bool
    no_machine_is_perfect: bool
    after: str
    repeated: str


class Summary(TypedDict):
    """The answers as plain data; fractions are text."""

    name: str
    advice: str
    end: str
    draws: int
    states: int
    actions: int
    observations: int
    discount: str
    notes: list[str]
    posteriors: int | None
    growth: list[int]
    verdict: str
    witness: Witness | None
    encoder_states: int | None
    encoder_states_at_least: NotRequired[int]
    """Absent where no machine encodes."""
    theorem: bool
    """Whether the expected effect follows; else it is the study's reading."""
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
    plain: Summary = {
        "name": answer.pomdp.name,
        "advice": answer.diagnosis.advice,
        "end": answer.pomdp.end,
        "draws": answer.pomdp.draws,
        "states": len(answer.pomdp.states),
        "actions": len(answer.pomdp.actions),
        "observations": len(answer.pomdp.observations),
        "discount": str(answer.pomdp.discount),
        "notes": list(notes(answer.pomdp)),
        "posteriors": len(answer.beliefs.cells) if answer.beliefs.finite else None,
        "growth": list(answer.beliefs.growth),
        "verdict": verdict_name(answer.verdict),
        "witness": _witness(answer.verdict),
        "encoder_states": len(answer.encoder.machine.states) if answer.encoder else None,
        "theorem": bool(answer.redundancy and answer.redundancy.holds),
        "optimal_return": _exact(answer.best.value if answer.best else None),
        "greedy_return": _exact(answer.ranking.greedy_value if answer.ranking else None),
        "misranked": answer.ranking.misranked if answer.ranking else None,
        "redundant": answer.redundancy.holds if answer.redundancy else None,
        "profile": _tallies(answer.profile),
        "expected_effect_of_a_bonus": answer.diagnosis.outcome,
        "reasons": list(answer.diagnosis.reasons),
        "limits": list(answer.diagnosis.limits),
    }
    if not isinstance(answer.verdict, Unencodable):
        plain["encoder_states_at_least"] = answer.bound.states
    return plain


def notes(pomdp: Pomdp) -> tuple[str, ...]:
    """What has to be known beside an answer: the convention of the end, and what was left out."""
    end = f"end={pomdp.end}: {MEANING[pomdp.end]}"
    return (*pomdp.notes, end if pomdp.terminal else "no state is terminal: episodes do not end")


def _witness(verdict: Verdict) -> Witness | None:
    if isinstance(verdict, Unencodable | NeverPerfect):
        pomdp, loop = verdict.loop.pomdp, verdict.loop
        shown: Witness = {
            "after": in_words(pomdp, loop.history),
            "repeated": in_words(pomdp, (loop.history[-1], *loop.word)),
        }
        if isinstance(verdict, NeverPerfect):
            told = pomdp.actions[verdict.action]
            return {"no_machine_is_perfect": True, **shown, "told_apart_by": told}
        used = [pomdp.actions[action] for action in sorted({a for _, _, a, _ in verdict.multiples})]
        return {"no_machine_encodes": True, **shown, "told_apart_by": used}
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
    return None if value is None else exact_text(value)
