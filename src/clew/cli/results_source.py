"""Where `clew report` and `clew export` read from: a store's folder, or a file of rows."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.progress import Progress

from clew.store import Store
from clew.validate import BadInput

if TYPE_CHECKING:
    from clew.analysis import Statistics, StoreContents, TableContents
    from clew.probes.stored import ProbedRuns

NEEDS = ("pandas", "scipy", "matplotlib", "jinja2", "threadpoolctl")
TABLE_SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")


class TableOptions(NamedTuple):
    """What a file of rows may need to be told; see `clew report --help`."""

    baseline: str | None = None
    lower: str | None = None
    upper: str | None = None
    score_range: tuple[str, ...] = ()


def is_file_of_rows(path: Path) -> bool:
    """Whether a path names a file, there or not; otherwise it is a store's folder."""
    return not path.is_dir() and (path.is_file() or path.suffix.lower() in TABLE_SUFFIXES)


def read_source(path: Path, options: TableOptions, bars: Progress) -> StoreContents | TableContents:
    """Everything that is there."""
    from clew.analysis import read_store, read_table
    from clew.analysis.score_range import parse_ranges
    from clew.suite.progress import scan_running

    task = bars.add_task(f"reading {path}", total=None)
    if is_file_of_rows(path):
        baseline, lower, upper, words = options
        ranges = parse_ranges(words)
        return read_table(path, baseline=baseline, lower=lower, upper=upper, ranges=ranges)
    given = [name for name, value in options._asdict().items() if value]
    if given:
        flag = "--" + given[0].replace("_", "-")
        raise BadInput(
            f"{flag} is for a file of results, and {str(path)!r} is a store's folder; name the "
            "file before the options"
        )
    opened = Store(path, read_only=True)
    return read_store(
        opened,
        lambda done, of: bars.update(task, completed=done, total=of),
        scan_running(opened),
    )


def read_probes(path: Path) -> ProbedRuns:
    """What `clew probe` put into a store; nothing for a file of rows."""
    from clew.probes.stored import read_all_probes

    return () if is_file_of_rows(path) else read_all_probes(Store(path, read_only=True))


def statistics_of(
    contents: StoreContents | TableContents, probed: ProbedRuns, margin: float
) -> Statistics:
    """Of the results, with the probes of their agents."""
    from clew.analysis import Statistics
    from clew.probes.arms import decoded

    return Statistics(contents.results, margin=margin, decoded=decoded(probed))


def require_extra(what: str = "the report") -> None:
    """Raise an error that names what is not installed."""
    missing = [name for name in NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        raise BadInput(
            f"{what} needs {', '.join(missing)}; install the extra: pip install 'clew[report]'"
        )
