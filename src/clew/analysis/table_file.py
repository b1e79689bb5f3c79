"""A file of rows, whoever wrote it: CSV, TSV, JSON lines or Parquet, read as text."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.types import is_scalar

from clew.validate import BadInput

SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}


def read_rows(source: Path | pd.DataFrame, where: str) -> pd.DataFrame:
    """Every cell as text without spaces around it.

    The index is the row's line in the file, or its number in a DataFrame.
    """
    rows = _numbered(source) if isinstance(source, pd.DataFrame) else _of_file(source)
    if not rows.columns.is_unique:
        name = rows.columns[rows.columns.duplicated()][0]
        raise BadInput(f"{where} has several columns called {name!r}; keep one of them")
    if rows.empty:
        raise BadInput(f"{where} has no rows below its header; add one a run")
    return rows


def _of_file(path: Path) -> pd.DataFrame:
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise BadInput(f"{str(path)!r} is no {KINDS} file; save the results as one, best as .csv")
    if not path.is_file():
        raise BadInput(f"{str(path)!r} does not exist; name a file of results or a store's folder")
    return reader(path)


def _separated(path: Path, by: str) -> pd.DataFrame:
    reader = csv.reader(io.StringIO(_text(path), newline=""), delimiter=by)
    try:
        lines = [(reader.line_num, row) for row in reader if any(map(str.strip, row))]
    except csv.Error as error:
        raise BadInput(f"{str(path)!r}, line {reader.line_num}: {error}; save it again") from None
    if not lines:
        raise BadInput(f"{str(path)!r} is empty; a first line with the columns' names is expected")
    (_, header), *rows = lines
    _check_separator(path, header, by)
    for line, row in rows:
        if len(row) != len(header):
            raise BadInput(
                f"{str(path)!r}, line {line}: {len(row)} cells, but the header has {len(header)}; "
                "put cells that contain the separator in quotes, and leave no cell out"
            )
    index = pd.Index([line for line, _ in rows])
    return pd.DataFrame([row for _, row in rows], index, header, dtype=str).map(str.strip)


def _check_separator(path: Path, header: Sequence[str], by: str) -> None:
    """A header that is one cell was separated by something else."""
    if len(header) > 1:
        return
    found = next((s for s in SEPARATORS if s != by and s in header[0]), None)
    if found is not None:
        way = "name it .tsv" if found == "\t" else f"save it with {SEPARATORS[by]}"
        raise BadInput(
            f"{str(path)!r} is separated by {SEPARATORS[found]}, and {SEPARATORS[by]} are expected "
            f"in a {path.suffix} file; {way}"
        )


def _json_lines(path: Path) -> pd.DataFrame:
    records, lines = [], []
    for line, text in enumerate(_text(path).splitlines(), 1):
        if not text.strip():
            continue
        try:
            record = json.loads(text)
        except ValueError:
            record = None
        if not isinstance(record, dict):
            raise BadInput(f"{str(path)!r}, line {line} is no JSON object; one a line is expected")
        records.append(record)
        lines.append(line)
    return _as_text(pd.DataFrame(records, pd.Index(lines), dtype=object))


def _parquet(path: Path) -> pd.DataFrame:
    if importlib.util.find_spec("pyarrow") is None:
        raise BadInput(
            f"{str(path)!r} needs the package pyarrow to be read; install it, or save it as .csv"
        )
    try:
        frame = pd.read_parquet(path, engine="pyarrow")
    except ValueError as error:  # pyarrow's errors are
        raise BadInput(f"{str(path)!r} cannot be read as Parquet ({error})") from None
    return _numbered(frame)


def _numbered(frame: pd.DataFrame) -> pd.DataFrame:
    return _as_text(frame.set_axis(pd.RangeIndex(1, len(frame) + 1)))


def _as_text(frame: pd.DataFrame) -> pd.DataFrame:
    def written(cell: Any) -> str:
        return "" if is_scalar(cell) and pd.isna(cell) else str(cell).strip()

    text = frame.astype(object).map(written)  # categories stay none
    return text.set_axis([str(column) for column in frame.columns], axis=1)


def _text(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise BadInput(f"{str(path)!r} is not UTF-8 text; save it again as 'CSV UTF-8'")
    return text


READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".csv": lambda path: _separated(path, ","),
    ".tsv": lambda path: _separated(path, "\t"),
    ".jsonl": _json_lines,
    ".parquet": _parquet,
}
"""By suffix."""
KINDS = f"{', '.join(list(READERS)[:-1])} or {list(READERS)[-1]}"
