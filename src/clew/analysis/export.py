"""Everything that there is to a table of runs, as files for other programs and for papers.

`tables/`, `figures/`, `data/` (the long tables) and `answer.json`. A file of the folder that was
not written here, or was changed since, is not overwritten unless that is asked for; a file of an
earlier export that there are no data for any more is removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from clew.analysis import figures, tables
from clew.analysis.as_json import as_json
from clew.analysis.results import Results
from clew.analysis.statistics import Statistics
from clew.analysis.tables.grid import Grid
from clew.store.atomic import TEMPORARY, explain_errors, make_folder, move, write
from clew.validate import BadInput

WRITTEN = "export.json"
"""Which files the last export wrote, with their SHA-256."""
TABLE_FORMATS = ("csv", "tex", "md")
NAMED = 3
"""Files that an error names before it counts the rest."""


class Exported(NamedTuple):
    """What was written."""

    files: list[Path]
    """Relative to the folder."""
    removed: list[Path]
    parquet: bool
    """Whether the long tables are there as Parquet, too: if pyarrow is installed."""


def export(
    statistics: Statistics,
    folder: Path,
    notes: Sequence[str] = (),
    more_figures: Mapping[str, Figure] | None = None,
    more_tables: Sequence[Grid] = (),
    force: bool = False,
) -> Exported:
    """Write all into `folder`; every file appears whole, and none before all of them are made."""
    parquet = importlib.util.find_spec("pyarrow") is not None
    with explain_errors(folder):
        make_folder(folder)
        staged = tempfile.TemporaryDirectory(prefix=TEMPORARY, dir=folder)
    with staged as name:
        stage = Path(name)
        tables.write(statistics, stage / "tables", TABLE_FORMATS, more_tables)
        figures.every(statistics, stage / "figures")
        for stem, figure in (more_figures or {}).items():
            figures.save(figure, stage / "figures" / stem)
        _write_data(statistics.results, stage / "data", parquet)
        text = as_json(statistics, notes) + "\n"
        (stage / "answer.json").write_text(text, encoding="utf-8")
        made = {
            str(path.relative_to(stage).as_posix()): _checksum(path)
            for path in sorted(stage.rglob("*"))
            if path.is_file()
        }
        removed = _publish(stage, folder, made, force)
    return Exported([*map(Path, made)], removed, parquet)


def _write_data(results: Results, folder: Path, parquet: bool) -> None:
    """Each long table that has rows. Numbers are written so that they are read back the same."""
    folder.mkdir()
    for name in ("runs", "evaluations", "rollouts"):
        frame: pd.DataFrame = getattr(results, name)
        if frame.empty:
            continue
        frame.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")
        if parquet:
            frame.to_parquet(folder / f"{name}.parquet", engine="pyarrow", index=False)


def _publish(stage: Path, folder: Path, made: Mapping[str, str], force: bool) -> list[Path]:
    """Move the files into place; those that went."""
    before = _written(folder)
    if not force:
        _refuse_foreign(folder, made, before)
    # until all are in place, both the old and the new content are ours
    both = {name: list(sums) for name, sums in before.items()}
    for name, checksum in made.items():
        both.setdefault(name, []).append(checksum)
    _keep_written(folder, both)
    for name in made:
        move(stage / name, folder / name)
    gone = [name for name in before if name not in made and _ours(folder, name, before)]
    for name in gone:
        (folder / name).unlink()
        with contextlib.suppress(OSError):  # others' files are in it
            (folder / name).parent.rmdir()
    _keep_written(folder, {name: [checksum] for name, checksum in made.items()})
    return [*map(Path, sorted(gone))]


def _refuse_foreign(
    folder: Path, made: Mapping[str, str], before: Mapping[str, Sequence[str]]
) -> None:
    foreign = [
        name for name in made if (folder / name).exists() and not _ours(folder, name, before)
    ]
    if foreign:
        more = f" and {len(foreign) - NAMED} more" if len(foreign) > NAMED else ""
        raise BadInput(
            f"{str(folder)!r} has files that an export did not write, or that were changed since: "
            f"{', '.join(foreign[:NAMED])}{more}; choose another folder, or overwrite them "
            "with --force"
        )


def _ours(folder: Path, name: str, written: Mapping[str, Sequence[str]]) -> bool:
    path = folder / name
    return path.is_file() and _checksum(path) in written.get(name, ())


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _written(folder: Path) -> dict[str, list[str]]:
    """Checksums by file; a list that cannot be read counts as none."""
    try:
        found = json.loads((folder / WRITTEN).read_text(encoding="utf-8"))["files"]
        return {str(name): list(map(str, sums)) for name, sums in found.items() if _inside(name)}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def _inside(name: str) -> bool:
    """Whether a name from the list stays in the folder."""
    path = Path(name)
    return not path.is_absolute() and ".." not in path.parts


def _keep_written(folder: Path, files: Mapping[str, Sequence[str]]) -> None:
    text = json.dumps({"files": dict(sorted(files.items()))}, indent=1) + "\n"
    write(folder / WRITTEN, lambda file: file.write(text.encode()))
