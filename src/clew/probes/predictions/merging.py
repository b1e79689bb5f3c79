"""Bring the predictions of one store into another: every registration with its time and hash.

A registration names the one before it, so two histories cannot be put into one row. One that only
goes on where ours ends is added to it; any other is kept whole, in a folder of its own.
"""

from __future__ import annotations

from clew.probes.predictions.registering import (
    FOLDER,
    Registration,
    chains,
    file_name,
    write_registration,
)
from clew.store import Store


def bring_predictions(into: Store, source: Store) -> tuple[list[str], list[str]]:
    """What was copied, by its name in `into`, and what is wrong with those that were not."""
    copied, broken = [], []
    for theirs in chains(source).values():
        if theirs.problems:
            broken += [f"{FOLDER}: {problem}" for problem in theirs.problems]
            continue
        copied += _bring(into, theirs.registrations)
    return copied, broken


def _bring(into: Store, theirs: tuple[Registration, ...]) -> list[str]:
    ours = {name: chain.registrations for name, chain in chains(into).items() if not chain.problems}
    if any(_begins(one, theirs) for one in ours.values()):
        return []
    shorter = {name: len(one) for name, one in ours.items() if _begins(theirs, one)}
    # none that is longer, or else a new one, named by where it ends
    place = max(shorter, key=lambda name: shorter[name], default=f"from-{theirs[-1].hash[:12]}")
    new = theirs[shorter.get(place, 0) :]
    for each in new:
        write_registration(into, place, each)
    return [f"{place}/{file_name(each)}".lstrip("/") for each in new]


def _begins(whole: tuple[Registration, ...], start: tuple[Registration, ...]) -> bool:
    return [each.hash for each in whole[: len(start)]] == [each.hash for each in start]
