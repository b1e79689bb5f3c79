"""From a recording to data sets, one for each question."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from clew.envs import Latent
from clew.probes.fitting import Dataset
from clew.probes.replay import Recording
from clew.probes.rows import chosen_rows


class Question(NamedTuple):
    """What was asked, and the data, or why there are none."""

    name: str
    rows: int
    episodes: int
    data: Dataset | None
    why_not: str = ""


def questions(recording: Recording, latent: Latent, folder: Path) -> list[Question]:
    """Every question of a latent. Data sets about the same rows share their features' files."""
    shared: dict[bytes, dict[str, np.ndarray]] = {}
    found = []
    for at, name in enumerate(latent.questions):
        rows = np.flatnonzero(recording.asked[:, at])
        answers = recording.answer[rows, at]
        episodes = len(np.unique(recording.episode[rows]))
        if why := unfit(answers):
            found.append(Question(name, len(rows), episodes, None, why))
            continue
        key = rows.tobytes()
        if key not in shared:
            shared[key] = _features(recording, rows, folder, len(shared))
        data = Dataset(
            labels=answers.astype(np.uint8),
            episode=recording.episode[rows],
            since=recording.since[rows, at],
            features=shared[key],
        )
        found.append(Question(name, len(rows), episodes, data))
    return found


def unfit(answers: np.ndarray) -> str:
    """Why there is nothing to tell apart; empty if there is something."""
    if not len(answers):
        return "it is never asked"
    if answers.all() or not answers.any():
        return f"all answers are {'yes' if answers[0] else 'no'}"
    return ""


def _features(
    recording: Recording, rows: np.ndarray, folder: Path, number: int
) -> dict[str, np.ndarray]:
    if len(rows) == len(recording.episode):
        return recording.features
    return {
        name: chosen_rows(array, rows, folder / f"{name}-{number}.rows")
        for name, array in recording.features.items()
    }
