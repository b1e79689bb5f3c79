"""All runs of the whole study, listed in a moment."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from clew.store import Store, atomic, count, scan
from tests.store.things import PROVENANCE, config, contents, outcome


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """As many runs as the study has: 1,500 finished, 200 failed, 100 begun."""
    monkeypatch.setattr(atomic.os, "fsync", lambda handle: None)  # no power failure is tested here
    store = Store(tmp_path / "store")
    for seed in range(1800):
        run = store.run(config(seed))
        if seed < 1500:
            run.write_finished(**outcome(seed % 7))
        elif seed < 1700:
            run.write_failed("out of memory", provenance=PROVENANCE)
        else:
            run.begin()
    return store


def test_the_whole_study_in_two_seconds(study: Store) -> None:
    began = time.process_time()  # of this process: others may be busy
    rows = scan(study)
    seconds = time.process_time() - began
    assert count(rows) == {"begun": 100, "failed": 200, "finished": 1500}
    assert seconds < 2
    rows.sort(key=lambda row: row.config["seed"])
    assert rows[8].result == outcome(1)["result"]
    assert rows[1600].reason == "out of memory"


def test_scanning_changes_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.run(config()).begin()
    before = contents(tmp_path)
    scan(Store(tmp_path, read_only=True), deep=True)
    assert contents(tmp_path) == before


def test_an_empty_store_has_no_rows(tmp_path: Path) -> None:
    assert scan(Store(tmp_path)) == []
