"""What is stored of a run's probes, and reading it again. Needs no jax."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from clew.probes.fitting.measured import Measured
from clew.probes.predictions import Observed
from clew.suite.store import RunFolder, Store, scan, world_name

ROLE = "probe"
"""The document is probe.json, beside the run's own files."""
VERSION = 2
"""Of what is asked and how it is measured; another one means that everything is measured anew."""
KEYS = {"protocol", "agent", "when", "success", "tail_mean", "summary", "questions"}

Document = dict[str, Any]


def read(run: RunFolder) -> Document | None:
    """The document of a run, if it has a sound one; a damaged one is set aside."""
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


def why_nothing(document: Document) -> str:
    """Why no question of a run could be answered, in a sentence; empty if one could."""
    if document["summary"] is not None:
        return ""
    reasons = dict.fromkeys(asked["why_not"] for asked in document["questions"])
    return "; ".join(reasons) or "there is nothing to ask"


def _fields(config: Mapping[str, Any]) -> dict[str, Any]:
    fields = {name: config[name] for name in ("reward", "architecture", "bonus", "seed")}
    return {**fields, "environment": world_name(config)}
