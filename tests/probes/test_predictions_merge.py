"""Predictions come along when stores are merged: their texts, times and hashes, whoever merges."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.cli import main
from clew.probes.predictions import (
    Prediction,
    merge_registrations,
    read_registrations,
    register_predictions,
)
from clew.probes.predictions.registrations import FOLDER
from clew.store import Store

BOUNDS = st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.4]), max_size=4, unique=True)


def one(bound: float) -> Prediction:
    return Prediction("A", "The memory knows.", "auc", above=bound)


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """A new store each time it is called, with these bounds registered."""

    def make(bounds: list[float]) -> Store:
        store = Store(tmp_path_factory.mktemp("store") / "s")
        for bound in bounds:
            register_predictions(store, [one(bound)])
        return store

    return make


def hashes(store: Store) -> set[str]:
    kept = read_registrations(store)
    assert not kept.problems
    return {each.hash for each in kept.registrations}


@settings(max_examples=8)
@given(BOUNDS, BOUNDS, BOUNDS)
def test_every_registration_arrives_with_its_hash(stores, here, there, later) -> None:
    into, source = stores(here), stores(there)
    before = {path: path.read_bytes() for path in source.root.rglob("*.json")}
    wanted = hashes(into) | hashes(source)
    merge_registrations(into, source)
    assert hashes(into) == wanted
    assert merge_registrations(into, source) == ([], []), "once is enough"
    assert {path: path.read_bytes() for path in source.root.rglob("*.json")} == before
    # both go on, and meet again; and what was brought can be brought on
    for bound in later:
        register_predictions(into, [one(bound + 0.01)])
        register_predictions(source, [one(bound + 0.02)])
    wanted = hashes(into) | hashes(source)
    merge_registrations(into, source)
    third = stores([])
    merge_registrations(third, into)
    assert hashes(into) == hashes(third) == wanted


def test_copying_a_store_away_copies_the_same_files(stores) -> None:
    source, into = stores([0.1, 0.2]), stores([])
    assert merge_registrations(into, source) == (["0001.json", "0002.json"], [])
    names = [path.name for path in sorted((into.root / FOLDER).iterdir())]
    assert names == ["0001.json", "0002.json"]
    for name in names:
        same = [(store.root / FOLDER / name).read_bytes() for store in (into, source)]
        assert same[0] == same[1]
    register_predictions(into, [one(0.3)])
    assert len(hashes(into)) == 3


def test_registrations_are_in_the_order_of_time(stores) -> None:
    into, source = stores([]), stores([])
    for day, store in ((1, into), (2, source), (3, into)):
        register_predictions(store, [one(day / 10)], now=f"2026-01-0{day}T00:00:00+00:00")
    merge_registrations(into, source)
    told = [each.predictions[0].above for each in read_registrations(into).registrations]
    assert told == [0.1, 0.2, 0.3]


def test_what_is_broken_there_is_told_and_not_brought(stores) -> None:
    source, into = stores([0.1, 0.2]), stores([0.3])
    path = source.root / FOLDER / "0001.json"
    path.write_bytes(path.read_bytes()[:-9])
    copied, broken = merge_registrations(into, source)
    assert copied == []
    assert any("registration 1 " in each for each in broken)
    assert len(hashes(into)) == 1


def test_a_store_without_predictions_changes_nothing_even_where_ours_are_broken(stores) -> None:
    source, into = stores([]), stores([0.1, 0.2])
    (into.root / FOLDER / "0001.json").unlink()
    assert merge_registrations(into, source) == ([], [])


def test_what_is_changed_among_the_brought_shows(stores) -> None:
    source, into = stores([0.1, 0.2]), stores([0.3])
    merge_registrations(into, source)
    (path,) = (into.root / FOLDER).glob("*/0001.json")
    path.unlink()
    assert any("registration 1 is missing" in each for each in read_registrations(into).problems)


def test_the_command_brings_them(
    stores, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    source, into = stores([0.1, 0.2]), tmp_path / "new"
    monkeypatch.setattr(sys, "argv", ["clew", "merge", str(source.root), str(into)])
    main()
    assert "2 registrations of predictions copied" in capsys.readouterr().out
    assert hashes(Store(into)) == hashes(source)
    (source.root / FOLDER / "0001.json").write_text("{}")
    words = ["clew", "merge", str(source.root), str(tmp_path / "other"), "--json"]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 3
    done = json.loads(capsys.readouterr().out)
    assert done["predictions"] == []
    assert any("predictions: registration 1" in each for each in done["damaged"])
