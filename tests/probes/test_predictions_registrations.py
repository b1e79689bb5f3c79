"""Registered predictions: nothing is lost, and what was changed shows."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.probes.predictions import (
    Prediction,
    Registration,
    read_registrations,
    register_predictions,
    registrations,
    study,
    utc_now,
)
from clew.probes.predictions.registrations import FOLDER, FORMAT, parse_time
from clew.store import Store, digest
from clew.store.documents import Header, write_document
from clew.validate import BadInput


def one(bound: float = 0.5, name: str = "A") -> Prediction:
    return Prediction(name, "The memory knows.", "auc", above=bound)


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """A new store each time it is called."""
    return lambda: Store(tmp_path_factory.mktemp("store") / "s")


def rewrite(store: Store, number: int, made: Registration) -> None:
    """What somebody who knows the format can do."""
    path = store.root / FOLDER / f"{number:04d}.json"
    write_document(path, Header("predictions", made.predictions_digest), made.to_json())


@given(st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.4]), min_size=1, max_size=8))
def test_each_text_is_kept_once_with_its_first_time(stores, bounds) -> None:
    store = stores()
    made = [register_predictions(store, [one(bound)]) for bound in bounds]
    kept = read_registrations(store)
    assert not kept.problems
    assert [each.predictions[0].above for each in kept.registrations] == list(dict.fromkeys(bounds))
    for bound, each in zip(bounds, made, strict=True):
        assert each == made[bounds.index(bound)]
    assert len({each.hash for each in kept.registrations}) == len(set(bounds))


@given(st.integers(1, 4), st.sampled_from(["text", "time", "result"]))
def test_an_altered_registration_shows_unless_it_is_the_last(stores, number, what) -> None:
    store = stores()
    made = [register_predictions(store, [one(bound)]) for bound in (0.1, 0.2, 0.3, 0.4)]
    old = made[number - 1]
    changes = {
        "text": {"predictions": (replace(old.predictions[0], above=0.9),)},
        "time": {"registered": "2020-01-01T00:00:00+00:00"},
        "result": {"first_results": {"A": "2020-01-01T00:00:00+00:00"}},
    }
    new = replace(old, **changes[what])
    rewrite(store, number, new)
    assert new.hash != old.hash, "who has the old hash can tell in any case"
    problems = " ".join(read_registrations(store).problems)
    assert (f"registration {number + 1} does not follow" in problems) == (number < 4)


@given(st.integers(1, 3))
def test_a_missing_registration_shows_unless_it_is_the_last(stores, number) -> None:
    store = stores()
    for bound in (0.1, 0.2, 0.3):
        register_predictions(store, [one(bound)])
    (store.root / FOLDER / f"{number:04d}.json").unlink()
    problems = read_registrations(store).problems
    assert (f"registration {number} is missing" in problems) == (number < 3)


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_a_changed_byte_is_never_read(stores, place, flip) -> None:
    store = stores()
    register_predictions(store, study())
    path = store.root / FOLDER / "0001.json"
    content = bytearray(path.read_bytes())
    content[place % len(content)] ^= flip
    path.write_bytes(content)
    kept = read_registrations(store)
    assert not kept.registrations
    assert len(kept.problems) == 1
    assert kept.problems[0].startswith("registration 1 ")


def test_what_was_lost_is_not_written_over(store) -> None:
    first, second = register_predictions(store, [one(0.1)]), register_predictions(store, [one(0.2)])
    assert second.previous == first.hash
    path = store.root / FOLDER / "0002.json"
    path.write_text("{}")
    third = register_predictions(store, [one(0.3)])
    assert third.number == 3
    assert path.read_text() == "{}"
    assert len(read_registrations(store).problems) == 1


@pytest.mark.parametrize("format", [None, FORMAT + 1, "new"])
def test_another_format_is_not_called_damage_and_breaks_no_chain(store, format) -> None:
    first = register_predictions(store, [one(0.1)])
    other = {**first.to_json(), "format": format, "moreover": 1}
    if format is None:
        del other["format"]  # as it was before there were formats
    path = store.root / FOLDER / "0001.json"
    write_document(path, Header("predictions", "any digest"), other)
    second = register_predictions(store, [one(0.2)])
    assert second.previous == digest(other)
    kept = read_registrations(store)
    assert kept.registrations == (second,)
    (problem,) = kept.problems
    assert problem == (
        f"registration 1 is whole, but in another format ({format!r}) than this version of Clew "
        f"reads ({FORMAT})"
    )
    # it is watched over like any other
    write_document(path, Header("predictions", "any digest"), {**other, "moreover": 2})
    assert "registration 2 does not follow the one before it" in read_registrations(store).problems


def test_a_registration_after_results_says_so(store) -> None:
    early = register_predictions(store, [one(0.1)], now="2026-01-01T00:00:00+00:00")
    late = register_predictions(
        store, [one(0.2)],
        first_results={"A": "2026-01-02T01:00:00+01:00"}, now="2026-01-02T00:00:00+00:00",
    )  # fmt: skip
    assert early.late == ()
    assert late.late == ("A",), "at the same moment is not before"
    kept = read_registrations(store)
    assert kept.registrations == (early, late)
    assert not kept.problems


def test_a_clock_that_went_back_shows(store) -> None:
    register_predictions(store, [one(0.1)], now="2026-01-02T00:00:00+00:00")
    register_predictions(store, [one(0.2)], now="2026-01-01T00:00:00+00:00")
    assert "dated before" in read_registrations(store).problems[0]


@pytest.mark.parametrize("moment_of_it", [1, 2, 3])
def test_two_at_once_both_get_in(store, monkeypatch, moment_of_it) -> None:
    real, calls = registrations._next_number, []

    def interrupted(folder):
        number = real(folder)
        calls.append(number)
        if len(calls) == moment_of_it:
            register_predictions(store, [one(0.9)])
        return number

    register_predictions(store, [one(0.1)])
    monkeypatch.setattr(registrations, "_next_number", interrupted)
    register_predictions(store, [one(0.2)])
    read_registrations(store)
    kept = read_registrations(store)
    assert {each.predictions[0].above for each in kept.registrations} == {0.1, 0.2, 0.9}
    assert not kept.problems


def test_mistakes_are_explained(store, tmp_path) -> None:
    with pytest.raises(BadInput, match="name of its own"):
        register_predictions(store, [one(0.1), one(0.2)])
    with pytest.raises(BadInput, match="name of its own"):
        register_predictions(store, [])
    for wrong in ("yesterday", "2026-01-01T00:00:00"):
        with pytest.raises(BadInput, match="2026-01-31T12:00:00"):
            register_predictions(store, [one()], first_results={"A": wrong})
    with pytest.raises(BadInput, match="read-only"):
        register_predictions(Store(store.root, read_only=True), [one()])
    assert not read_registrations(store).registrations


def test_the_file_is_plain_json_that_names_its_digest(store) -> None:
    made = register_predictions(store, study())
    whole = json.loads((store.root / FOLDER / "0001.json").read_text())
    assert whole["of"] == made.predictions_digest
    assert Registration.from_json(whole["data"]) == made
    assert parse_time(made.registered) <= parse_time(utc_now())
