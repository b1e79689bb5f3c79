"""Verdicts as sentences."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from clew.machines.certificates.claims import (
    Dense,
    Encodes,
    Loop,
    NeverPerfect,
    Perfect,
    Sparse,
    Undecided,
    Unencodable,
)
from clew.machines.deciding.classify import Classification
from clew.machines.deciding.contrasts import Contrast, future
from clew.machines.deciding.examine import Examination
from clew.machines.deciding.potential import CAUTION
from clew.machines.deciding.spaces import in_words
from clew.machines.exact.numbers import exact_text
from clew.machines.model.reward_machine import PomdpRM

ENCODES = "encodes it (pays the same return under every policy)"
PERFECT = "perfect (it keeps all that matters for what comes next)"
IMPERFECT = "not perfect (it forgets something that matters for what comes next)"
SPARSE = "The reward is structurally SPARSE"
SHORT = 16
"""Characters of a fraction that is written out."""
EFFECTS = {
    "null": "NULL, it changes nothing that matters",
    "equalise": "EQUALISE, it brings memories closer together",
    "amplify": "AMPLIFY, it helps good memories more than others",
    "undecided": "not decided",
}


def headline(answer: Classification) -> str:
    """What to do, in one line."""
    return _sentence(answer.diagnosis.todo)


def about_bonus(answer: Classification) -> str:
    """What a bonus is expected to do, and how sure that is."""
    said = answer.diagnosis
    sure = f" ({said.certainty})" if said.certainty else ""
    return f"Expected effect of a bonus: {EFFECTS[said.outcome]}{sure}. {_sentence(said.expected)}"


def about_verdict(answer: Classification) -> Iterator[str]:
    """Dense, sparse or undecided, and the evidence."""
    verdict, pomdp = answer.verdict, answer.pomdp
    if isinstance(verdict, Dense):
        forced = len(verdict.distinctions.route)
        yield f"The reward is structurally DENSE: every reward machine that {ENCODES} is {PERFECT}."
        yield (
            f"Certificate: {forced:,} pairs of situations look the same and differ; from each, "
            "some common continuation pays what no encoder that confuses the two could pay. "
            if forced
            else "No two situations that look the same differ: there is nothing to remember. "
        ) + _checked(answer)
    elif isinstance(verdict, Sparse):
        size = _states(len(verdict.product.machine.states))
        yield (
            f"{SPARSE}: a reward machine of {size} {ENCODES} and is {IMPERFECT}. {_checked(answer)}"
        )
    elif isinstance(verdict, Unencodable):
        yield f"{SPARSE}: no finite reward machine {ENCODES}. {_checked(answer)}"
        yield f"{_repeated(verdict.loop)}, and no rewards there make the returns right."
    elif isinstance(verdict, NeverPerfect):
        yield (
            f"{SPARSE}: no finite reward machine is {PERFECT}, so that none which encodes it (pays "
            f"the same return under every policy) is, if there are any. {_checked(answer)}"
        )
        then = in_words(pomdp, (verdict.loop.word[-1], *verdict.then)) + ", and "
        yield (
            f"{_repeated(verdict.loop)}, and then {then * bool(verdict.then)}"
            f"{pomdp.actions[verdict.action]!r} has different consequences."
        )
    else:
        assert isinstance(verdict, Undecided)
        yield f"Whether the reward is structurally dense or sparse is UNDECIDED: {verdict.reason}."
    something = answer.encoder is not None or answer.bound.states > 1
    if something and not isinstance(verdict, Unencodable):
        yield _about_size(answer)


def _repeated(loop: Loop) -> str:
    again = in_words(loop.pomdp, (loop.history[-1], *loop.word))
    return (
        f"After {in_words(loop.pomdp, loop.history)}, this can come again and again: {again}. "
        "Every finite machine sends infinitely many of these histories to one state"
    )


def about_contrast(answer: Classification, contrast: Contrast) -> Iterator[str]:
    """Two histories in words, and what is best after each."""
    yield f"{contrast.about}:"
    for name, history in zip("AB", contrast.histories, strict=True):
        good = future(answer, history, None).good
        best = f"  (best now: {' or '.join(answer.pomdp.actions[a] for a in good)})" if good else ""
        yield f"  {name}: {in_words(answer.pomdp, history)}{best}"


def _checked(answer: Classification) -> str:
    """Nothing is proved of a world whose levels were drawn."""
    draws = answer.pomdp.draws
    return f"Checked on probabilities from {draws:,} draws." if draws else "Verified."


def _about_size(answer: Classification) -> str:
    least = answer.bound.states
    if answer.encoder is None:
        return f"Every encoder has at least {_states(least)}."
    known = len(answer.encoder.machine.states)
    if known == least:
        return f"An encoder of {_states(known)} is known; no encoder is smaller."
    return (
        f"An encoder of {_states(known)} is known; whether it is the smallest is not, but none "
        f"has fewer than {least:,}."
    )


def about_profile(answer: Classification) -> Iterator[str]:
    """What must be kept and what may be forgotten."""
    assert answer.profile is not None
    groups: dict[str, list[str]] = {"keep": [], "forget": [], "keep in part": []}
    for name, tally in answer.profile.variables.items():
        if tally.pairs:
            part = tally.unpoolable / tally.pairs
            which = "keep" if part == 1 else "forget" if part == 0 else "keep in part"
            shown = f"; the machine above pools {tally.pooled:,}" if tally.pooled else ""
            groups[which].append(
                f"{name} (of {tally.pairs:,} pairs that differ in nothing else, "
                f"{tally.unpoolable:,} are kept apart{shown})"
            )
    for which, names in groups.items():
        if names:
            verb = "lets memory" if which == "forget" else "forces memory to"
            yield f"The reward {verb} {which}: {', '.join(names)}."
    best, ranked = answer.best, answer.ranking
    assert best is not None
    assert ranked is not None
    value = f"The best return, J*, is {_number(best.value)}"
    if ranked.greedy_value is not None:
        value += "; doing what pays most at once, with perfect memory, earns "
        value += _number(ranked.greedy_value)
        value += " (so one-step rewards misrank actions)" if ranked.misranked else ""
    yield f"{value}."


def diagnosis_words(answer: Classification) -> Iterator[str]:
    """Why this effect of a bonus is expected, and the limits of the statement."""
    diagnosis = answer.diagnosis
    decided = diagnosis.outcome != "undecided"
    yield f"Why {diagnosis.outcome.upper()}:" if decided else "Why the effect is not decided:"
    yield from (f"  - {reason}." for reason in diagnosis.reasons)
    if decided:
        yield "Limits:"
        yield from (f"  - {limit}." for limit in diagnosis.limits)


def about_machine(examined: Examination) -> list[str]:
    """The given machine: encodes, reproduces, perfect, potential."""
    pomdp, name = examined.product.pomdp, examined.product.machine.name
    lines = []
    proof = examined.encodes
    if isinstance(proof, Encodes):
        lines.append(
            f"{name} ENCODES the reward: it pays the same return under every policy. Verified."
        )
    else:
        lines.append(f"{name} does NOT encode the reward. Expected returns that show it:")
        policies = {proof.action: proof.with_action, proof.default: proof.with_default}
        for action, returns in policies.items():
            lines.append(
                f"  after {in_words(pomdp, proof.history)}, {pomdp.actions[action]!r}, and from "
                f"then on {pomdp.actions[proof.default]!r}: the task pays "
                f"{_number(returns.pomdp)}, the machine {_number(returns.machine)}"
            )
        could = isinstance(examined.structure, PomdpRM)
        lines.append(
            "  Other rewards on its edges would make it encode."
            if could
            else "  No rewards on its edges would make it encode: it tells too little apart."
        )
    lines.append(
        "It reproduces the reward step by step."
        if examined.mismatch is None
        else "It does not reproduce the reward step by step: in some steps it pays more or less."
    )
    lines.append(f"It is {PERFECT if isinstance(examined.perfect, Perfect) else IMPERFECT}.")
    if examined.potential is not None:
        sparse = "sparse" if examined.potential.sparse else "dense"
        lines.append(
            f"With respect to it the reward is potentially {sparse}: doing what pays most at once "
            f"earns {_number(examined.potential.greedy.value)}; with the best potential-based "
            f"shaping (φ = V*) it earns {_number(examined.potential.shaped.value)}."
        )
        if not examined.potential.certain:
            lines.append(f"Caution: {CAUTION}.")
    return lines


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _states(count: int) -> str:
    return "1 state" if count == 1 else f"{count:,} states"


def _number(value: Fraction) -> str:
    """Exactly, if it is short; `--json` has all of it."""
    exact = exact_text(value)
    return exact if len(exact) <= SHORT else f"≈ {float(value):.6g}"
