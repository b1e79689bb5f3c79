"""What was proved of a task, beside what was measured on it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from clew.analysis.answer import EXCLUDED, Answer
from clew.analysis.formatting import listed
from clew.analysis.names import bonus_label
from clew.analysis.stats.intervals import Interval
from clew.analysis.verdict import MARGIN, Verdict
from clew.machines.tasks import TaskVerdict

Proofs = Mapping[tuple[str, str], TaskVerdict]
"""By environment and reward."""
OPEN = "undecided"
EXPECTED = {
    "amplify": "amplify the differences between memories",
    "equalise": "equalise the memories",
    "null": "change nothing that matters",
}
NOTE = (
    "A proof is about the reward and its best policies, in the world as enumerated; what was left "
    "out stands beside it. It does not look at learning. Only 'null' by redundancy is a theorem; "
    "that a supervised and well-ranked reward leaves nothing to a bonus, that unsupervised memory "
    "means amplify, and supervised memory with misranked actions equalise, is the study's reading "
    "of its experiments."
)


class Measured(NamedTuple):
    """What one bonus did, beside what the proof led to expect."""

    said: str
    """'E3B amplifies differences.', and why that may be if it was not expected."""
    outcome: str
    """Of `beside`."""


class TaskProof(NamedTuple):
    """What the page says of one task."""

    brief: str
    details: str
    measured: list[Measured]


def task_proof(
    finding: TaskVerdict, given: Sequence[Verdict], found: Sequence[Answer] = ()
) -> TaskProof:
    """The proof in a sentence and in full, and what was measured of each bonus.

    Where there are not two memories to compare, the answers about single agents may still say that
    the expectation failed.
    """
    measured = [_measured(finding, v) for v in given]
    for bonus in dict.fromkeys(a.bonus for a in found):
        if all(v.bonus != bonus for v in given):
            measured += _of_agents(finding, bonus, [a for a in found if a.bonus == bonus])
    return TaskProof(in_brief(finding), in_words(finding), measured)


def _of_agents(finding: TaskVerdict, bonus: str, found: Sequence[Answer]) -> list[Measured]:
    """That a bonus helped nobody, or that it helped, where the other was expected."""
    expected = _expected(finding)
    helped = [a.agent for a in found if a.effect.helps]
    none = all(a.effect.said in EXCLUDED for a in found)
    failed = helped if expected == "null" else none and expected in EXPECTED
    if not failed:
        return []
    whom = helped or [a.agent for a in found]
    said = f"{bonus_label(bonus)} {'helps' if helped else 'does not help'} {listed(whom)}."
    return [_unexpected(finding, said, still=none)]


def _measured(finding: TaskVerdict, verdict: Verdict) -> Measured:
    expected = _expected(finding)
    outcome = beside(expected, verdict.pattern, verdict.spread.delta)
    said = f"{bonus_label(verdict.bonus)} {verdict.heading}."
    if outcome == "open":
        said += f" Expected was that it would {EXPECTED[expected]}; the seeds leave room for that."
    if outcome == "not as expected":
        return _unexpected(finding, said, still=verdict.pattern == "null")
    return Measured(said, outcome)


def _unexpected(finding: TaskVerdict, said: str, *, still: bool) -> Measured:
    """What was measured where something else was expected; `still` if the bonus did nothing."""
    expected = _expected(finding)
    said += (
        f" Expected was that it would {EXPECTED[expected]}; that failed here. Both can be true: "
    )
    said += f"{'; '.join(_why_both(finding, expected, still))}."
    return Measured(said, "not as expected")


def _why_both(finding: TaskVerdict, expected: str, still: bool) -> list[str]:
    """Why a proof and a measurement that disagree need not contradict each other."""
    reasons = []
    if finding.smaller:
        reasons.append("the proof is of a smaller relative, the measurement of the task itself")
    if expected == "null":
        reasons.append(
            "the proof says that the bonus does not change which policies are best, not how fast "
            "they are learned, and that is what was measured"
        )
    else:
        reasons.append(
            "the proof says what the reward forces a memory to hold; that a bonus then does this "
            "is what the study saw on its own tasks, not a theorem"
        )
    if still:
        reasons.append("agents that succeed, or fail, with the bonus and without cannot show it")
    return reasons


def beside(expected: str, pattern: str, delta: Interval) -> str:
    """Whether the measured pattern is the expected one.

    A change of spread that was expected and not settled is open as long as the interval of ΔSEP
    leaves room for one that matters.
    """
    if expected not in EXPECTED:
        return "nothing was expected"
    if pattern == expected:
        return "as expected"
    room = {"amplify": delta.high, "equalise": -delta.low, "null": 0.0}[expected]
    unsettled = pattern in ("shift", "reorder") and room > MARGIN
    return "open" if pattern == "inconclusive" or unsettled else "not as expected"


def in_brief(finding: TaskVerdict) -> str:
    """One sentence, which says of what it was proved."""
    if finding.summary is None:
        return "Nothing was proved."
    how = "Found on sampled levels" if finding.summary.get("draws") else "Proved"
    return (
        f"{how} of {_where(finding)}: the reward is {_reward_is(finding)}. "
        f"Expected of a bonus: {EXPECTED.get(_expected(finding), 'nothing, as it is undecided')}."
    )


def in_words(finding: TaskVerdict) -> str:
    """The proof in a few sentences."""
    if finding.summary is None:
        return f"Nothing: {finding.refused.rstrip('.')}."
    said = [f"Of {_where(finding)}, the reward is {_reward_is(finding)}."]
    tallies = _variables(finding)
    kept = [
        f"{v} ({t['unpoolable']:,} of {t['pairs']:,} pairs)" for v, t in tallies if t["unpoolable"]
    ]
    free = [f"{v} (0 of {t['pairs']:,})" for v, t in tallies if not t["unpoolable"]]
    if kept:
        alone = "Of the pairs of situations that differ in one variable alone"
        said.append(f"{alone}, every machine that encodes it keeps apart those in {listed(kept)}.")
    if free:
        said.append(f"It never supervises {listed(free)}.")
    said.append(f"Expected effect of a bonus: {_expected(finding)}.")
    if finding.summary.get("advice"):
        said.append(_sentence(finding.summary["advice"]))
    said += [_sentence(reason) for reason in finding.summary["reasons"]]
    if finding.smaller:
        said.append(f"The task itself was not decided: {finding.refused.rstrip('.')}.")
    return " ".join(said)


def limits(proofs: Proofs) -> list[str]:
    """What the expectations do not cover, each once."""
    known = (finding.summary for finding in proofs.values() if finding.summary)
    every = [limit for summary in known for limit in summary["limits"]]
    return [_sentence(limit) for limit in dict.fromkeys(every)]


def _where(finding: TaskVerdict) -> str:
    """The world that was looked at, and how large it is."""
    if finding.summary is None:
        return "—"
    about = finding.summary
    size = f"{about['states']:,} states, γ = {about['discount']}"
    notes = [note for note in about.get("notes", []) if not note.startswith("of a smaller")]
    size = "; ".join([size, *notes])
    if not finding.smaller:
        return f"the world itself ({size})"
    chosen = ", ".join(f"{name}={json.dumps(v)}" for name, v in finding.smaller.items())
    return f"a smaller relative of the task, not of the task itself: {chosen} ({size})"


def _reward_is(finding: TaskVerdict) -> str:
    plain = finding.summary
    if plain is None:
        return OPEN
    said = OPEN if plain["verdict"] == OPEN else f"structurally {plain['verdict']}"
    witness = plain["witness"]
    if witness and "states" in witness:
        count = witness["states"]
        said += f" (a machine of {count:,} state{'s' * (count > 1)} encodes it and is not perfect)"
    elif witness:
        perfect = "no_machine_is_perfect" in witness
        said += f" (no finite machine {'is perfect' if perfect else 'encodes it'})"
    return said


def _expected(finding: TaskVerdict) -> str:
    return OPEN if finding.summary is None else finding.summary["expected_effect_of_a_bonus"]


def _variables(finding: TaskVerdict) -> list[tuple[str, dict[str, int]]]:
    """Each with how many pairs of situations differ in it alone, and must be kept apart."""
    profile = (finding.summary["profile"] if finding.summary else None) or {}
    return [(name, tally) for name, tally in profile.items() if name != "all" and tally["pairs"]]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "." if text else ""
