"""Rows on the disk: small columns in memory, features in files that are mapped when whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np

from clew.validate import BadInput

TYPES: Mapping[str, Any] = {
    "episode": np.int32, "step": np.int32, "asked": bool, "answer": bool, "since": np.int32,
}  # fmt: skip
QUESTIONS = ("asked", "answer", "since")
"""Columns with an entry for each question."""
BLOCK_BYTES = 32 * 2**20


class Rows:
    """Appended to segment by segment. What has been written is not held."""

    def __init__(self, folder: Path, *, wide: bool) -> None:
        self._folder = folder
        self._wide = wide
        self._columns: dict[str, list[np.ndarray]] = {name: [] for name in TYPES}
        self._widths: dict[str, int] = {}

    def add(self, columns: Mapping[str, np.ndarray], features: Mapping[str, np.ndarray]) -> None:
        """Take in the rows of one segment."""
        for name, dtype in TYPES.items():
            self._columns[name].append(np.asarray(columns[name]).astype(dtype))
        for name, array in features.items():
            self._widths[name] = array.shape[1]
            with _writing(self._path(name), "ab") as file:
                file.write(np.ascontiguousarray(array, self._dtype(name)).data)

    def finish(self, questions: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """All columns, and all features, mapped."""
        columns = {
            name: np.concatenate(parts)
            if parts
            else np.empty((0, questions) if name in QUESTIONS else 0, TYPES[name])
            for name, parts in self._columns.items()
        }
        n = len(columns["episode"])
        features = {
            name: mapped(self._path(name), self._dtype(name), (n, width))
            for name, width in self._widths.items()
        }
        return columns, features

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.rows"

    def _dtype(self, name: str) -> Any:
        return np.float16 if self._wide and name != "observation" else np.float32


def mapped(path: Path, dtype: Any, shape: tuple[int, int]) -> np.ndarray:
    """A file as an array; nothing cannot be mapped."""
    return np.memmap(path, dtype, "r", shape=shape) if np.prod(shape) else np.empty(shape, dtype)


def chosen_rows(array: np.ndarray, rows: np.ndarray, path: Path) -> np.ndarray:
    """Some rows of a mapped array, in a file of their own, without holding them all."""
    at_once = max(1, BLOCK_BYTES // max(1, array.shape[1] * array.itemsize))
    with _writing(path, "wb") as file:
        for start in range(0, len(rows), at_once):
            file.write(np.ascontiguousarray(array[rows[start : start + at_once]]).data)
    return mapped(path, array.dtype, (len(rows), array.shape[1]))


@contextmanager
def _writing(path: Path, mode: Literal["ab", "wb"]) -> Iterator[IO[bytes]]:
    """A file of a recording. Where there is no room for it, that is said."""
    try:
        with open(path, mode) as file:
            yield file
    except OSError as error:
        raise BadInput(
            f"the recording in {str(path.parent)!r} cannot be written ({error.strerror}); make "
            "room there or name another folder in TMPDIR, and run the same command again: nothing "
            "that was stored is lost"
        ) from error
