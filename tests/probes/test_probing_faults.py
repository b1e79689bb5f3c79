"""Full and read-only disks, Ctrl-C, foreign documents: a sentence, nothing half-written, go on."""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path

import pytest

from clew.probes import probing, stored
from clew.probes.probing import Protocol, probe_runs
from clew.probes.recording import RowWriter
from clew.store import CannotWrite, Store, documents, merge
from clew.suite import Suite
from tests.probes.conftest import EPISODES, copied
from tests.store.faults import failing, nth, watched

pytestmark = pytest.mark.usefixtures("quick_fits")


@pytest.fixture
def folder(trained: Path, tmp_path: Path) -> Path:
    """A trained store of one's own."""
    return copied(trained, tmp_path / "results")


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where recordings go."""
    place = tmp_path / "scratch"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def answers(folder: Path) -> int:
    return len(stored.read_all_probes(Store(folder, read_only=True)))


def nothing_left(folder: Path, scratch: Path) -> bool:
    return not list(folder.rglob(".tmp-*")) and not list(scratch.iterdir())


def goes_on(folder: Path, small: Suite, before: int) -> None:
    """The same again does what is left, and no more."""
    found = probe_runs(Store(folder), small.runs(), Protocol(EPISODES))
    assert sum(each.new for each in found) == 3 - before
    assert answers(folder) == 3


def test_ctrl_c_costs_one_group(
    clew, folder: Path, scratch: Path, small: Suite, suite_file: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    real, calls = probing.measure, []

    def interrupted(*args, **options):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*args, **options)

    monkeypatch.setattr(probing, "measure", interrupted)
    monkeypatch.setattr(probing, "GROUP_QUESTIONS", 1)
    assert clew("probe", suite_file, "--store", folder, "--episodes", EPISODES) == 130
    assert "stopped early; the same command goes on" in capsys.readouterr().out
    assert answers(folder) == 1
    assert nothing_left(folder, scratch)
    monkeypatch.undo()
    goes_on(folder, small, before=1)


def test_no_room_for_a_recording(
    clew, folder: Path, scratch: Path, small: Suite, suite_file: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    if not Path("/dev/full").exists():
        pytest.skip("there is no disk that is always full")
    with monkeypatch.context() as full:
        full.setattr(RowWriter, "_path", lambda self, name: Path("/dev/full"))
        assert clew("probe", suite_file, "--store", folder, "--episodes", EPISODES) == 2
    said = capsys.readouterr().err
    assert "No space left on device" in said
    assert "name another folder in TMPDIR" in said
    assert answers(folder) == 0
    assert nothing_left(folder, scratch)


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC])
def test_a_store_that_cannot_be_written_is_told_before_anything_is_recorded(
    folder: Path, scratch: Path, small: Suite, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probing, "record", None)  # whoever calls it fails the test
    with pytest.raises(CannotWrite) as told, watched(nth(0, failing(number), ("open", "write"))):
        probe_runs(Store(folder), small.runs(), Protocol(EPISODES))
    assert told.value.errno == number
    assert nothing_left(folder, scratch)


def test_a_disk_that_is_full_at_the_end_keeps_what_was_written(
    folder: Path, scratch: Path, small: Suite
) -> None:
    # the first write is the question whether one may
    with (
        pytest.raises(CannotWrite, match="run the same command again"),
        watched(nth(2, failing(errno.ENOSPC), ("write",))),
    ):
        probe_runs(Store(folder), small.runs(), Protocol(EPISODES))
    assert answers(folder) == 1
    assert nothing_left(folder, scratch)
    goes_on(folder, small, before=1)


def test_a_read_only_store_that_is_probed_can_be_shown(probed: Path, small: Suite) -> None:
    found = probe_runs(Store(probed, read_only=True), small.runs(), Protocol(EPISODES))
    assert not any(each.new for each in found)


@pytest.mark.parametrize("alien", [{}, [1], {"protocol": 3}, {"protocol": {"version": 3}}, None])
def test_a_sound_document_of_another_kind_is_measured_anew(
    folder: Path, small: Suite, alien: object
) -> None:
    run = Store(folder).run(small.runs()[0].config)
    run.write_note(stored.ROLE, alien)
    assert stored.read_probes(run) is None
    assert stored.past_measurements(Store(folder)) == []


def dated(folder: Path) -> set[tuple[object, str]]:
    found = stored.past_measurements(Store(folder))
    return {(one.fields["seed"], one.when) for one in found}


def test_other_versions_make_a_prediction_late_all_the_same(
    probed: Path, small: Suite, tmp_path: Path
) -> None:
    folder = copied(probed, tmp_path / "results")
    now = dated(folder)
    assert len(now) == 3
    for path in folder.rglob("probe.json"):
        header, data = documents.read_any(path)
        old = {**data, "protocol": {**data["protocol"], "version": 1}, "agent": "another"}
        documents.write_document(path, header, old)
    assert not stored.read_all_probes(Store(folder))
    assert {
        (one.fields["seed"], one.when) for one in stored.past_measurements(Store(folder))
    } == now


def test_merging_brings_the_documents(probed: Path, trained: Path, tmp_path: Path) -> None:
    for name, begun in (("new", None), ("trained", trained)):
        into = Store(copied(begun, tmp_path / name) if begun else tmp_path / name)
        merge(into, Store(probed, read_only=True))
        told = [stored.read_all_probes(each) for each in (into, Store(probed, read_only=True))]
        assert told[0] == told[1]
        assert len(told[0]) == 3


def test_a_run_whose_weights_are_damaged_is_skipped(folder: Path, small: Suite) -> None:
    wrong = Store(folder).run(small.runs()[0].config).path / "agent.npz"
    wrong.write_bytes(wrong.read_bytes()[:-40])
    (found,) = probe_runs(Store(folder), small.runs()[:1], Protocol(EPISODES))
    assert found.skipped == "it is begun, not finished"
    assert found.untrained == "to train"
