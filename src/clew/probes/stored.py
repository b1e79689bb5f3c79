"""The stored probes of a run, probe.json: reading it, and what it says. Needs no jax."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from typing import TypedDict

from clew.loading import load
from clew.probes.predictions import Measurement
from clew.probes.results import PLANTED, ProbeSummary, QuestionResult
from clew.store import RunFolder, Store, scan, world_name
from clew.store.canonical import JsonObject
from clew.store.state import inspect_run

ROLE = "probe"
"""The file is probe.json, beside the run's own files."""
VERSION = 3
"""Of what is asked and how it is measured; results of another version are measured again."""


class StoredQuestion(TypedDict):
    """One question."""

    question: str
    rows: int
    episodes: int
    why_not: str
    """Why there is no result; empty if there is one."""
    measured: JsonObject | None
    """A `QuestionResult`."""


class StoredProbes(TypedDict):
    """The content of probe.json."""

    protocol: dict[str, int | str]
    """Version, episodes and seed; the latent, if it is not the world's own."""
    agent: str
    """Digest of the weights that were probed."""
    when: str
    success: float
    """Of the replayed episodes."""
    tail_mean: float | None
    """Of the run's training."""
    summary: ProbeSummary | None
    """None if no question has a result."""
    questions: list[StoredQuestion]


ProbedRuns = Sequence[tuple[JsonObject, StoredProbes]]
"""Configuration and probes of some runs."""


def read_probes(run: RunFolder) -> StoredProbes | None:
    """The probes of a run, if there are any of this version; a damaged file is quarantined."""
    try:
        stored = load(run.note(ROLE), StoredProbes, ROLE)
        for question in stored["questions"]:
            if question["measured"] is not None:
                QuestionResult.from_json(question["measured"])
    except (ValueError, TypeError, LookupError, AttributeError):
        return None  # of another version, or made up
    return stored if stored["protocol"].get("version") == VERSION else None


def read_all_probes(store: Store) -> ProbedRuns:
    """Every finished run that was probed and still has the same weights."""
    found = []
    for folder in store.folders():
        # most runs have none, and to examine a run takes longer
        if not os.path.exists(folder / f"{ROLE}.json"):
            continue
        row = inspect_run(folder, deep=False)
        if row.status == "finished":
            run = store.run(row.config)
            stored = read_probes(run)
            if stored is not None and stored["agent"] == weights_digest(run):
                found.append((row.config, stored))
    return found


def weights_digest(run: RunFolder) -> str | None:
    """The digest of a finished run's weights; None if they were not kept."""
    outcome = run.find(deep=False).outcome or {}
    return outcome.get("files", {}).get("agent.npz")


def measurements(runs: ProbedRuns) -> list[Measurement]:
    """What predictions are evaluated by: one for each question that has a result."""
    found = []
    for config, stored in runs:
        tail = math.nan if stored["tail_mean"] is None else stored["tail_mean"]
        for fields, measured in _with_result(config, stored["questions"]):
            result = QuestionResult.from_json(measured)
            found.append(Measurement.of(fields, result, success=tail, when=stored["when"]))
    return found


def past_measurements(store: Store) -> list[Measurement]:
    """When each question was last answered, without numbers: with other versions and weights too.

    A prediction about any of them comes after its result.
    """
    found = []
    for row in scan(store):
        stored = store.run(row.config).note(ROLE) if row.config else None
        if isinstance(stored, dict) and isinstance(stored.get("when"), str):
            questions = _with_result(row.config, stored.get("questions", ()))
            found += [Measurement(fields, {}, stored["when"]) for fields, _ in questions]
    return found


def unconverged(stored: StoredProbes) -> int:
    """Logistic fits that did not converge; their AUCs are those of the last iterate."""
    return stored["summary"]["unconverged"] if stored["summary"] is not None else 0


def planted_check(runs: Sequence[StoredProbes]) -> dict[str, float]:
    """Can the probes of these runs be relied on? The mean and the lowest AUC for the planted
    signal, and the mean AUC for shuffled labels; empty if no run has them."""
    aucs = [one["summary"]["linear"] for one in runs if one["summary"] is not None]
    planted = [auc for one in aucs if (auc := one[PLANTED]) is not None]
    shuffled = [auc for one in aucs if (auc := one["shuffled"]) is not None]
    if not planted or not shuffled:
        return {}
    found, chance = (math.fsum(each) / len(each) for each in (planted, shuffled))
    return {PLANTED: found, "lowest": min(planted), "shuffled": chance}


def planted_check_sentence(runs: Sequence[StoredProbes]) -> str:
    """`planted_check` in words; empty if it is."""
    if not (found := planted_check(runs)):
        return ""
    return (
        "Can the probes be relied on? For a signal planted in the recorded states, which an ideal "
        f"classifier would find with an AUC of 0.92, theirs is {found[PLANTED]:.2f} (in the worst "
        f"run {found['lowest']:.2f}); for labels shuffled between episodes {found['shuffled']:.2f}."
    )


def why_no_result(stored: StoredProbes) -> str:
    """Why no question of a run has a result, in a sentence; empty if one has."""
    if stored["summary"] is not None:
        return ""
    reasons = dict.fromkeys(one["why_not"] for one in stored["questions"])
    return "; ".join(reasons) or "there is nothing to ask"


def _with_result(
    config: JsonObject, questions: Sequence[StoredQuestion]
) -> Iterator[tuple[dict[str, str | int], JsonObject]]:
    """The fields that a prediction can name, and the numbers, of each question with a result."""
    fields = {name: config[name] for name in ("reward", "architecture", "bonus", "seed")}
    fields["environment"] = world_name(config)
    for one in questions:
        if one["measured"] is not None and not one["why_not"]:
            yield {**fields, "latent": str(one["question"])}, one["measured"]
