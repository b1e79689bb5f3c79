"""What a replay recorded, on disk, and a dataset for each question.

The small columns are held in memory; features are appended to files, and memory-mapped afterwards.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int
from numpy.typing import DTypeLike

from clew.probes.fitting import Dataset
from clew.validate import BadInput

COLUMNS: Mapping[str, DTypeLike] = {
    "episode": np.int32, "step": np.int32, "asked": bool, "answer": bool, "since": np.int32,
}  # fmt: skip
PER_QUESTION = ("asked", "answer", "since")
"""Columns with an entry for each question."""


@dataclasses.dataclass(frozen=True)
class Recording:
    """One run's episodes: whether they succeeded, and a row for each step at which a question
    has an answer.

    Rows are ordered by step, then by episode. Features lie in files of the given folder, for as
    long as that exists.
    """

    questions: tuple[str, ...]
    success: Bool[np.ndarray, " episode"]
    length: Int[np.ndarray, " episode"]
    episode: Int[np.ndarray, " row"]
    step: Int[np.ndarray, " row"]
    asked: Bool[np.ndarray, "row question"]
    answer: Bool[np.ndarray, "row question"]
    since: Int[np.ndarray, "row question"]
    features: dict[str, np.ndarray]
    """memory: the actor's state after the step's observation, all of it, flat.
    observation: the actor's encoding of that observation, which is the input of the memory.
    untrained: the state of a randomly initialised memory of the same shape with the same input."""

    @property
    def bytes(self) -> int:
        """On the disk."""
        return sum(array.nbytes for array in self.features.values())


class RowWriter:
    """Appends the rows of a replay, segment by segment, without holding their features."""

    def __init__(self, folder: Path, *, half: bool) -> None:
        self._folder = folder
        self._half = half
        self._columns: dict[str, list[np.ndarray]] = {name: [] for name in COLUMNS}
        self._widths: dict[str, int] = {}

    def add(self, columns: Mapping[str, np.ndarray], features: Mapping[str, np.ndarray]) -> None:
        """Append the rows of one segment. What is known only later may be added by itself."""
        for name, column in columns.items():
            self._columns[name].append(np.asarray(column).astype(COLUMNS[name]))
        for name, array in features.items():
            self._widths[name] = array.shape[1]
            self._append(name, np.ascontiguousarray(array, self._dtype(name)))

    def finish(
        self, questions: tuple[str, ...], success: np.ndarray, length: np.ndarray
    ) -> Recording:
        """All rows; features are memory-mapped."""
        columns = {
            name: np.concatenate(parts)
            if parts
            else np.empty((0, len(questions)) if name in PER_QUESTION else 0, COLUMNS[name])
            for name, parts in self._columns.items()
        }
        n = len(columns["episode"])
        features = {name: self._mapped(name, (n, width)) for name, width in self._widths.items()}
        return Recording(questions, success, length, **columns, features=features)

    def _append(self, name: str, array: np.ndarray) -> None:
        try:
            with open(self._path(name), "ab") as file:
                file.write(array.data)
        except OSError as error:
            raise BadInput(
                f"the recording in {str(self._folder)!r} cannot be written ({error.strerror}); "
                "free some space there or name another folder in TMPDIR, and run the same command "
                "again: nothing that was stored is lost"
            ) from error

    def _mapped(self, name: str, shape: tuple[int, int]) -> np.ndarray:
        """A file as an array; an empty file cannot be mapped."""
        if not np.prod(shape):
            return np.empty(shape, self._dtype(name))
        return np.memmap(self._path(name), self._dtype(name), "r", shape=shape)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.rows"

    def _dtype(self, name: str) -> DTypeLike:
        return np.float16 if self._half and name != "observation" else np.float32


class Question(NamedTuple):
    """A question and its dataset, or why there is none."""

    name: str
    rows: int
    episodes: int
    data: Dataset | None
    why_not: str = ""


def question_datasets(recording: Recording) -> list[Question]:
    """A dataset for every question that has both answers. All share the recorded features."""
    found = []
    for number, name in enumerate(recording.questions):
        rows = np.flatnonzero(recording.asked[:, number])
        answers = recording.answer[rows, number]
        episodes = len(np.unique(recording.episode[rows]))
        if not len(answers) or answers.all() or not answers.any():
            same = f"all answers are {'yes' if answers.any() else 'no'}"
            why_not = same if len(answers) else "it is never asked"
            found.append(Question(name, len(rows), episodes, None, why_not))
            continue
        data = Dataset(
            labels=answers.astype(np.uint8),
            episode=recording.episode[rows],
            since=recording.since[rows, number],
            features=recording.features,
            feature_rows=rows,
        )
        found.append(Question(name, len(rows), episodes, data))
    return found
