"""What was proved of a task, beside what was measured on it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from clew.analysis.formatting import listed
from clew.analysis.names import bonus_label
from clew.analysis.stats.intervals import Interval
from clew.analysis.tables.grid import Cell, Grid, word
from clew.analysis.verdict import MARGIN, Verdict
from clew.machines.tasks import TaskVerdict

Proofs = Mapping[tuple[str, str], TaskVerdict]
"""By environment and reward."""
OPEN = "undecided"
SETTLED = ("amplify", "equalise", "null")
NOTE = (
    "A proof is about the reward and its best policies, in the world as enumerated, without its "
    "time limit; it does not look at learning. 'Null' by redundancy, or for a dense and "
    "well-ranked reward, is a theorem; that unsupervised memory means amplify, and supervised "
    "memory with misranked actions equalise, is the study's reading of its experiments."
)


def proof_table(given: Sequence[Verdict], proofs: Proofs) -> Grid:
    """A row for every task and bonus that was judged, the proof on the left of the measurement."""
    rows: list[list[Cell]] = []
    for verdict in given:
        finding = proofs.get((verdict.task.environment, verdict.task.reward))
        if finding is None:
            continue
        expected = _expected(finding)
        rows.append(
            [
                word(verdict.task.label),
                word(bonus_label(verdict.bonus)),
                word(_where(finding)),
                word(_reward_is(finding)),
                word("; ".join(_kept(finding)) or "—"),
                Cell(
                    expected,
                    expected,
                    detail="; ".join(finding.summary["reasons"] if finding.summary else ()),
                ),
                word(verdict.pattern),
                Cell(beside(expected, verdict.pattern, verdict.spread.delta), bold=True),
            ]
        )
    return Grid(
        name="proofs",
        caption="What was proved of each task, and what was measured",
        columns=("Task", "Bonus", "proved of", "the reward is", "it forces memory to keep",
                 "expected", "measured", "as expected?"),
        rows=rows,
        left=8,
        note=NOTE,
    )  # fmt: skip


def beside(expected: str, pattern: str, delta: Interval) -> str:
    """Whether the measured pattern is the expected one.

    A change of spread that was expected and not settled is open as long as the interval of ΔSEP
    leaves room for one that matters.
    """
    if expected not in SETTLED:
        return "nothing was expected"
    if pattern == expected:
        return "as expected"
    room = {"amplify": delta.high, "equalise": -delta.low, "null": 0.0}[expected]
    unsettled = pattern in ("shift", "reorder") and room > MARGIN
    return "open" if pattern == "inconclusive" or unsettled else "not as expected"


def in_brief(finding: TaskVerdict) -> str:
    """One sentence, to stand under the measured pattern."""
    if finding.summary is None:
        return "Nothing was proved of this task."
    return (
        f"Proved of {_where(finding)}: the reward is {_reward_is(finding)}; expected effect of a "
        f"bonus: {_expected(finding)}."
    )


def in_words(finding: TaskVerdict) -> str:
    """The proof in a few sentences."""
    if finding.summary is None:
        return f"Nothing. {_sentence(finding.refused)}"
    said = [f"Of {_where(finding)}, the reward is {_reward_is(finding)}."]
    kept, free = _kept(finding), _forgotten(finding)
    if kept:
        alone = "Of the pairs of situations that differ in one variable alone"
        said.append(f"{alone}, every machine that encodes it keeps apart those in {listed(kept)}.")
    if free:
        said.append(f"It never supervises {listed(free)}.")
    said.append(f"Expected effect of a bonus: {_expected(finding)}.")
    said += [_sentence(reason) for reason in finding.summary["reasons"]]
    if finding.smaller:
        said.append(f"The task itself was not decided: {_sentence(finding.refused)}")
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
    size = f"{finding.summary['states']:,} states, γ = {finding.summary['discount']}"
    if not finding.smaller:
        return f"the world itself ({size})"
    chosen = ", ".join(f"{name}={json.dumps(v)}" for name, v in finding.smaller.items())
    return f"a smaller version of it, with {chosen} ({size})"


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
        said += " (no finite machine encodes it)"
    return said


def _expected(finding: TaskVerdict) -> str:
    return OPEN if finding.summary is None else finding.summary["expected_effect_of_a_bonus"]


def _kept(finding: TaskVerdict) -> list[str]:
    """Variables that memory must keep, with how many pairs of situations differ in it alone."""
    return [
        f"{name} ({tally['unpoolable']:,} of {tally['pairs']:,} pairs)"
        for name, tally in _variables(finding)
        if tally["unpoolable"]
    ]


def _forgotten(finding: TaskVerdict) -> list[str]:
    return [
        f"{name} (0 of {tally['pairs']:,})"
        for name, tally in _variables(finding)
        if not tally["unpoolable"]
    ]


def _variables(finding: TaskVerdict) -> Iterator[tuple[str, dict[str, int]]]:
    profile = (finding.summary["profile"] if finding.summary else None) or {}
    return ((name, tally) for name, tally in profile.items() if name != "all" and tally["pairs"])


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "." if text else ""
