"""What is stored of a run's probes, and reading it again. Needs no jax."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from clew.probes.fitting.measured import PLANTED, Measured
from clew.probes.predictions import Observed
from clew.store import RunFolder, Store, scan, world_name

ROLE = "probe"
"""The document is probe.json, beside the run's own files."""
VERSION = 3
"""Of what is asked and how it is measured; another one means that everything is measured anew."""
KEYS = {"protocol", "agent", "when", "success", "tail_mean", "summary", "questions"}

Document = dict[str, Any]


def read(run: RunFolder) -> Document | None:
    """The document of a run, if it has a sound one; a damaged one goes into quarantine."""
    document = run.note(ROLE)
    if not isinstance(document, dict) or not set(document) >= KEYS:
        return None
    protocol = document["protocol"]
    sound = isinstance(protocol, dict) and protocol.get("version") == VERSION
    return document if sound else None


def every(store: Store) -> list[tuple[Mapping[str, Any], Document]]:
    """Configuration and document of every run that was probed and still has the same weights."""
    found = []
    for row in scan(store):
        if row.status == "finished":
            run = store.run(row.config)
            document = read(run)
            if document is not None and document["agent"] == weights_of(run):
                found.append((row.config, document))
    return found


def weights_of(run: RunFolder) -> str | None:
    """The digest of a finished run's weights; None if they were not kept."""
    outcome = run.find(deep=False).outcome or {}
    return outcome.get("files", {}).get("agent.npz")


def observed(config: Mapping[str, Any], document: Document) -> list[Observed]:
    """What predictions are graded by: one for each question that could be answered."""
    fields = _fields(config)
    tail = document["tail_mean"]
    return [
        Observed.of(
            {**fields, "latent": asked["question"]},
            Measured.from_json(asked["measured"]),
            success=math.nan if tail is None else tail,
            when=document["when"],
        )
        for asked in document["questions"]
        if asked["measured"] is not None and not asked["why_not"]
    ]


def dated(store: Store) -> list[Observed]:
    """What was ever found out, and when, without the numbers: other versions and weights too.

    Whoever predicts something had seen it.
    """
    found = []
    for row in scan(store):
        told = store.run(row.config).note(ROLE) if row.config else None
        if isinstance(told, dict) and isinstance(told.get("when"), str):
            found += [
                Observed(
                    {**_fields(row.config), "latent": str(asked["question"])}, {}, told["when"]
                )
                for asked in told.get("questions", ())
                if asked["measured"] is not None and not asked["why_not"]
            ]
    return found


def unconverged(document: Document) -> int:
    """Logistic fits that had not reached their minimum; their AUCs are what was reached."""
    return document["summary"]["unconverged"] if document["summary"] is not None else 0


def check(documents: Sequence[Document]) -> dict[str, float]:
    """Whether the probes of some runs can be relied on, by their mean AUCs, and the lowest where
    there was something to find; empty if no run has an answer."""
    told = [each["summary"]["linear"] for each in documents if each["summary"] is not None]
    planted = [one[PLANTED] for one in told if one[PLANTED] is not None]
    null = [one["shuffled"] for one in told if one["shuffled"] is not None]
    if not planted or not null:
        return {}
    found, nothing = (math.fsum(each) / len(each) for each in (planted, null))
    return {PLANTED: found, "lowest": min(planted), "shuffled": nothing}


def check_sentence(documents: Sequence[Document]) -> str:
    """What `check` says, in words; empty if it says nothing."""
    if not (found := check(documents)):
        return ""
    return (
        "Can the probes be relied on? Of a signal planted in the recorded states, which an ideal "
        f"reader would tell with an AUC of 0.92, they find {found[PLANTED]:.2f} (in the worst run "
        f"{found['lowest']:.2f}); of labels swapped between episodes {found['shuffled']:.2f}."
    )


def why_nothing(document: Document) -> str:
    """Why no question of a run could be answered, in a sentence; empty if one could."""
    if document["summary"] is not None:
        return ""
    reasons = dict.fromkeys(asked["why_not"] for asked in document["questions"])
    return "; ".join(reasons) or "there is nothing to ask"


def _fields(config: Mapping[str, Any]) -> dict[str, Any]:
    fields = {name: config[name] for name in ("reward", "architecture", "bonus", "seed")}
    return {**fields, "environment": world_name(config)}
