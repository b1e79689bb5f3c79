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
from clew.machines.deciding.examine import Examination
from clew.machines.deciding.potential import CAUTION
from clew.machines.deciding.spaces import in_words
from clew.machines.model.reward_machine import PomdpRM


def about_verdict(answer: Classification) -> Iterator[str]:
    """Dense, sparse or undecided, and the evidence."""
    verdict, pomdp = answer.verdict, answer.pomdp
    if isinstance(verdict, Dense):
        forced = len(verdict.distinctions.route)
        yield "Structurally DENSE: every machine that encodes this reward is perfect."
        yield (
            f"Certificate: from each of the {forced:,} pairs of situations that differ, a common "
            "sequence of actions and observations leads to two actions that demand different "
            f"gaps of any encoder. {_checked(answer)}"
        )
    elif isinstance(verdict, Sparse):
        machine, mixed = verdict.product.machine, verdict.mixed
        yield (
            f"Structurally SPARSE: a machine of {_states(len(machine.states))} encodes this reward "
            f"(equal returns under every policy) and is not perfect. {_checked(answer)}"
        )
        yield (
            "It does not tell apart these two histories, after which "
            f"{pomdp.actions[mixed.action]!r} has different consequences:"
        )
        yield f"  {in_words(pomdp, mixed.first)}"
        yield f"  {in_words(pomdp, mixed.second)}"
    elif isinstance(verdict, Unencodable):
        yield f"Structurally SPARSE: no finite machine encodes this reward. {_checked(answer)}"
        yield (
            f"{_repeated(verdict.loop)}: every finite machine sends infinitely many of these "
            "histories to one state, and no rewards there make the returns right."
        )
    elif isinstance(verdict, NeverPerfect):
        yield (
            "Structurally SPARSE: no finite machine is perfect, so that none which encodes this "
            f"reward is, whether or not there are any. {_checked(answer)}"
        )
        then = f" {in_words(pomdp, (verdict.loop.word[-1], *verdict.then))}, and" * bool(
            verdict.then
        )
        yield (
            f"{_repeated(verdict.loop)}: every finite machine sends infinitely many of these "
            f"histories to one state, and then{then} {pomdp.actions[verdict.action]!r} has "
            "different consequences."
        )
    else:
        assert isinstance(verdict, Undecided)
        yield f"UNDECIDED: {verdict.reason}."
    if not isinstance(verdict, Unencodable):
        yield _about_size(answer)


def _repeated(loop: Loop) -> str:
    again = in_words(loop.pomdp, (loop.history[-1], *loop.word))
    return f"After {in_words(loop.pomdp, loop.history)}, this can come again and again: {again}"


def headline(answer: Classification) -> str:
    """The answer in one line, and what to do."""
    return f"{answer.diagnosis.outcome.upper()}: {answer.diagnosis.advice}."


def _checked(answer: Classification) -> str:
    """Nothing is proved of a world whose levels were drawn."""
    draws = answer.pomdp.draws
    return f"Checked on levels that were drawn {draws:,} times." if draws else "Verified."


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
    groups: dict[str, list[str]] = {"keep": [], "forget": [], "partly keep": []}
    for name, tally in answer.profile.variables.items():
        if tally.pairs:
            part = tally.unpoolable / tally.pairs
            which = "keep" if part == 1 else "forget" if part == 0 else "partly keep"
            shown = f"; {tally.pooled:,} pooled by the machine above" if tally.pooled else ""
            groups[which].append(f"{name} ({tally.unpoolable:,} of {tally.pairs:,}{shown})")
    for which, names in groups.items():
        if names:
            verb = "lets memory" if which == "forget" else "forces memory to"
            yield f"The reward {verb} {which}: {', '.join(names)}."
    best, ranked = answer.best, answer.ranking
    assert best is not None
    assert ranked is not None
    value = f"J* = {_number(best.value)}"
    if ranked.greedy_value is not None:
        value += "; the policy that is greedy for one-step rewards, with perfect memory, earns "
        value += _number(ranked.greedy_value)
    yield value + "."


def diagnosis_words(answer: Classification) -> Iterator[str]:
    """The expected effect of a bonus, its reasons and its limits."""
    diagnosis = answer.diagnosis
    certain = answer.redundancy is not None and answer.redundancy.holds
    kind = " (a theorem)" if certain else " (an expectation)"
    kind = "" if diagnosis.outcome == "undecided" else kind
    yield f"Expected effect of an exploration bonus: {diagnosis.outcome}{kind}."
    for reason in diagnosis.reasons:
        yield f"  because {reason}."
    for limit in diagnosis.limits:
        yield f"  limit: {limit}."


def about_machine(examined: Examination) -> list[str]:
    """The given machine: encodes, reproduces, perfect, potential."""
    pomdp, name = examined.product.pomdp, examined.product.machine.name
    lines = []
    proof = examined.encodes
    if isinstance(proof, Encodes):
        lines.append(f"{name} ENCODES the reward. Verified.")
    else:
        lines.append(f"{name} does NOT encode the reward. Expected returns that show it:")
        policies = {proof.action: proof.with_action, proof.default: proof.with_default}
        for action, returns in policies.items():
            lines.append(
                f"  after {in_words(pomdp, proof.history)}, {pomdp.actions[action]!r}: POMDP "
                f"{_number(returns.pomdp)}, machine {_number(returns.machine)}"
            )
        could = isinstance(examined.structure, PomdpRM)
        lines.append(f"  {'Other' if could else 'No'} rewards on its edges would make it encode.")
    lines.append(
        "It reproduces the reward step by step."
        if examined.mismatch is None
        else "It does not reproduce the reward step by step."
    )
    whole = examined.perfect
    if isinstance(whole, Perfect):
        lines.append("It is perfect.")
    else:
        lines.append(
            "It is not perfect: it confuses these two histories, after which "
            f"{pomdp.actions[whole.action]!r} has different consequences:"
        )
        lines += [f"  {in_words(pomdp, history)}" for history in (whole.first, whole.second)]
    if examined.potential is not None:
        sparse = "sparse" if examined.potential.sparse else "dense"
        lines.append(
            f"With respect to it the reward is potentially {sparse}: the greedy policy earns "
            f"{_number(examined.potential.greedy.value)}, with φ = V* "
            f"{_number(examined.potential.shaped.value)}."
        )
        if not examined.potential.certain:
            lines.append(f"Caution: {CAUTION}.")
    return lines


def _states(count: int) -> str:
    return "1 state" if count == 1 else f"{count:,} states"


def _number(value: Fraction) -> str:
    """Exactly, if it is short."""
    exact = str(value)
    return exact if len(exact) <= 24 else f"{float(value):.6g} (exact fraction in --json)"
