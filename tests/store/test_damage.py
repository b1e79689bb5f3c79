"""Damage in every role: found, quarantined with its reason, and made good by the caller."""

from __future__ import annotations

import errno
import logging
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.store import RunFolder, Store, scan, state
from clew.store.state import AGENT, CONFIG, CURVE, DIAGNOSTICS, FAILURE, PROVENANCE, RESULT
from tests.store import things
from tests.store.things import SPOIL, config, contents, finish, outcome

ROLES = (CONFIG, PROVENANCE, CURVE, DIAGNOSTICS, AGENT, RESULT)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def made_good(store: Store, run: RunFolder, before: dict[str, bytes], role: str) -> None:
    """Whatever happened to a file of a finished run, finishing it again restores every byte."""
    spoilt = (run.path / role).read_bytes() if (run.path / role).is_file() else None
    assert [row.status for row in scan(store, deep=True)] == ["damaged"]
    # a configuration is known to whoever asks, so that alone does not cost a training
    assert run.finished() == (role == CONFIG)
    assert not run.find().damage
    assert any(role in each.path for each in store.incidents)
    damaged = [each for each in store.quarantined() if each["was"].endswith(role)]
    if spoilt is not None:
        assert (store.root / damaged[0]["at"] / role).read_bytes() == spoilt
    run.write_finished(**outcome())
    assert run.finished()
    assert contents(run.path) == before


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("spoil", SPOIL)
@settings(max_examples=5)
@given(n=st.integers(0, 10**6))
def test_spoilt_files(tmp_path_factory: Any, role: str, spoil: str, n: int) -> None:
    store = Store(tmp_path_factory.mktemp("store"))
    run = finish(store)
    before = contents(run.path)
    (run.path / role).write_bytes(SPOIL[spoil](before[role], n))
    made_good(store, run, before, role)


OUT_OF_PLACE = [
    (role, how)
    for role in ROLES
    for how in ("missing", "a folder", "another role", "another run")
    # a run without a result is one that was not finished
    if (role, how) != (RESULT, "missing")
]


@pytest.mark.parametrize(("role", "how"), OUT_OF_PLACE)
def test_files_out_of_place(store: Store, role: str, how: str) -> None:
    run = finish(store)
    before = contents(run.path)
    (run.path / role).unlink()
    if how == "a folder":
        (run.path / role).mkdir()
    elif how == "another role":
        (run.path / role).write_bytes(before[CURVE if role == DIAGNOSTICS else DIAGNOSTICS])
    elif how == "another run":
        other = finish(Store(store.root.parent / "other"), 1)
        (run.path / role).write_bytes((other.path / role).read_bytes())
    made_good(store, run, before, role)


def test_arrays_of_another_training_of_the_same_run(store: Store) -> None:
    """Sound, of the right role and run, and still not what the result was made with."""
    run = finish(store)
    before = contents(run.path)
    other = Store(store.root.parent / "other").run(config())
    other.write_finished(**{**outcome(), "curve": outcome(5)["curve"]})
    shutil.copy(other.path / CURVE, run.path / CURVE)
    made_good(store, run, before, CURVE)


def test_a_damaged_failure_is_as_if_the_run_had_only_begun(store: Store) -> None:
    run = store.run(config())
    run.write_failed("why", provenance=things.PROVENANCE)
    (run.path / FAILURE).write_bytes(b"{}")
    assert run.status == "begun"
    assert store.quarantined()[0]["was"].endswith(FAILURE)


def test_damage_is_reported_once_and_kept_for_later(store: Store, caplog: Any) -> None:
    run = finish(store)
    (run.path / RESULT).write_bytes(b"")
    with caplog.at_level(logging.WARNING, "clew.store"):
        assert run.status == "begun"
        assert run.status == "begun"
    assert len(store.incidents) == len(caplog.records) == 1
    assert "result.json is empty" in caplog.text
    (later,) = Store(store.root).quarantined()
    assert later["reason"] == "is empty"
    assert later["was"] == f"runs/{run.name}/result.json"


@pytest.mark.parametrize("role", ROLES)
def test_a_store_opened_to_be_read_is_not_changed(store: Store, role: str) -> None:
    run = finish(store)
    (run.path / role).write_bytes(b"x")
    before = contents(store.root)
    looking = Store(store.root, read_only=True)
    assert looking.run(config()).status == "damaged"
    assert not looking.run(config()).finished()
    assert len(looking.incidents) >= 1
    assert looking.incidents[0].moved_to is None
    assert contents(store.root) == before


def test_a_file_mended_by_somebody_else_is_not_taken_away(store: Store) -> None:
    run = finish(store)
    good = (run.path / RESULT).read_bytes()
    (run.path / RESULT).write_bytes(b"")
    move = os.replace

    def mended_just_before(source: Any, target: Any) -> None:
        if Path(target).name == RESULT and "set-aside" in str(target):
            (run.path / "new").write_bytes(good)
            move(run.path / "new", run.path / RESULT)
        move(source, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", mended_just_before)
        assert run.finished()
    assert (run.path / RESULT).read_bytes() == good


def test_a_spoilt_mark_is_quarantined_and_written_anew(store: Store) -> None:
    run = finish(store)
    (store.root / "clew-store.json").write_bytes(b"\0" * 100)
    again = Store(store.root)
    assert again.run(config()).finished()
    assert [each["was"] for each in again.quarantined()] == ["clew-store.json"]
    assert Store(store.root).incidents == ()
    assert run.finished()


def test_an_unreadable_folder_is_said_to_be_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may read anything, so the refusal is made up."""
    runs = [finish(store, seed) for seed in range(3)]
    listdir = os.listdir

    def refusing(path: Any) -> Any:
        if Path(path) == runs[1].path:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return listdir(path)

    monkeypatch.setattr(os, "listdir", refusing)
    rows = scan(store)
    assert [row.status for row in rows] == ["finished", "unreadable", "finished"]
    assert "Permission denied" in rows[1].reason
    assert not runs[1].finished()
    with pytest.raises(ValueError, match=r"cannot be written: .*Permission denied"):
        runs[1].write_finished(**outcome(1))
    assert store.incidents == ()


def test_a_file_in_the_place_of_a_folder_is_quarantined(store: Store) -> None:
    run = store.run(config())
    store.runs_folder.mkdir()
    run.path.write_bytes(b"what is this?")
    assert [row.status for row in scan(store)] == ["damaged"]
    assert run.status == "absent"
    run.write_finished(**outcome())
    assert run.finished()
    (damaged,) = store.quarantined()
    assert (store.root / damaged["at"] / run.name).read_bytes() == b"what is this?"


def test_what_somebody_else_is_writing_is_not_damage(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looked at once, a folder may be in the middle of a change."""
    run = store.run(config())
    run.write_failed("why", provenance=things.PROVENANCE, curve=outcome(9)["curve"])
    looks, original = [], state._inspect

    def looking(*args: Any, **kwargs: Any) -> Any:
        if not looks:
            (run.path / CURVE).rename(run.path / "gone")
        found = original(*args, **kwargs)
        if not looks:
            (run.path / "gone").rename(run.path / CURVE)
        looks.append(found.status)
        return found

    monkeypatch.setattr(state, "_inspect", looking)
    assert run.status == "failed"
    assert looks == ["damaged", "failed"]
    assert store.incidents == ()


def test_a_link_to_nowhere_is_quarantined(store: Store) -> None:
    run = finish(store)
    (run.path / RESULT).unlink()
    (run.path / RESULT).symlink_to("nowhere")
    assert run.status == "begun"
    run.write_finished(**outcome())
    assert run.finished()


def test_strangers_in_the_store_are_left_alone(store: Store) -> None:
    run = finish(store)
    (store.runs_folder / "notes").mkdir()
    (store.runs_folder / ".DS_Store").write_bytes(b"x")
    (run.path / "my-plot.png").write_bytes(b"x")
    assert [row.status for row in scan(store, deep=True)] == ["finished"]
    assert run.finished()
    assert store.incidents == ()
