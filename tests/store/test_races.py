"""Two at one run at a time: whatever the one does, at every moment of what the other does."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clew.store import Conflict, Lease, Merged, PackFolder, RunFolder, Store, merge
from clew.store.state import AGENT, CURVE, DIAGNOSTICS
from tests.store.faults import calls_of, failing, nth, watched
from tests.store.things import PROVENANCE, config, contents, finish, outcome

OTHERWISE = {name: value for name, value in outcome(1).items() if name != "provenance"}
OTHERWISE |= {"result": outcome()["result"], "provenance": PROVENANCE}
"""The same result, and arrays that differ: another device."""
ARRAYS = (CURVE, DIAGNOSTICS, AGENT)


@pytest.fixture
def no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", lambda *args: failing(errno.EPERM)("link"))


class KilledError(Exception):
    """A process ends here."""


class Moment:
    """Before one of the calls to the operating system that some work makes."""

    def __init__(self, root: Path, act: Callable[[], Any], n: int) -> None:
        self.root, self._act, self._n = root, act, n

    def together(self, other: Callable[[], Any]) -> Any:
        """Do the work, and in the middle of it the other, once."""
        done: list[bool] = []

        def before(name: str) -> None:
            if not done:
                done.append(True)
                other()

        with watched(nth(self._n, before)):
            told = self._act()
        assert done
        return told


def moments(folder: Path, prepare: Callable[[Path], Callable[[], Any]]) -> Iterator[Moment]:
    """Every one, each in a new store. `prepare` gives the work."""
    folder.mkdir()
    for n in range(len(calls_of(prepare(folder / "undisturbed")))):
        yield Moment(folder / str(n), prepare(folder / str(n)), n)


def writing(root: Path) -> Callable[[], bool]:
    """A run that is begun gets its result, if there is none yet."""
    run = Store(root).run(config())
    run.begin()

    def write() -> bool:
        try:
            run.write_finished(**OTHERWISE)
        except Conflict as error:
            assert "is already finished, with a different curve" in str(error)  # noqa: PT017
            return False
        return True

    return write


def merging(source: Store) -> Callable[[Path], Callable[[], Merged]]:
    def prepare(root: Path) -> Callable[[], Merged]:
        into = Store(root)
        return lambda: merge(into, source)

    return prepare


def run_of(root: Path) -> RunFolder:
    return Store(root).run(config())


def stored_as(run: RunFolder, wanted: dict[str, Any]) -> bool:
    found = {"curve": run.curve(), "diagnostics": run.diagnostics(), "agent": run.agent() or {}}
    return all(
        np.array_equal(value, wanted[part][name])
        for part, arrays in found.items()
        for name, value in arrays.items()
    )


def test_a_result_stays_whoever_else_writes_the_run(tmp_path: Path) -> None:
    """Two suites have the run in different packs, and train it on different devices."""
    for moment in moments(tmp_path / "stores", writing):
        run = run_of(moment.root)

        def other(run: RunFolder = run) -> None:
            with contextlib.suppress(Conflict):
                run.write_finished(**outcome())

        wrote = moment.together(other)
        assert run.finished()
        assert stored_as(run, OTHERWISE if wrote else outcome())
        assert Store(moment.root).quarantined() == []
        assert len(list(run.path.glob("*.npz"))) == len(ARRAYS), "nothing is left of the other"


def test_a_result_stays_whatever_a_killed_worker_wrote_beside_it(tmp_path: Path) -> None:
    """Arrays here, arrays there, the result here: its arrays are still its own."""
    for killed_at in range(0, len(calls_of(writing(tmp_path / "undisturbed"))), 4):
        for moment in moments(tmp_path / str(killed_at), writing):
            run = run_of(moment.root)

            def killed(name: str) -> None:
                raise KilledError

            def other(run: RunFolder = run, killed_at: int = killed_at) -> None:
                with contextlib.suppress(KilledError, Conflict), watched(nth(killed_at, killed)):
                    run.write_finished(**outcome())

            wrote = moment.together(other)
            assert run.finished()
            assert stored_as(run, OTHERWISE if wrote else outcome())
            assert Store(moment.root).quarantined() == []


def test_what_a_training_left_is_not_taken_for_the_results(tmp_path: Path) -> None:
    """Arrays of a failure, or of a worker that was killed, stand where the result's would."""
    store = Store(tmp_path)
    run = store.run(config())
    given = {name: outcome()[name] for name in ("curve", "diagnostics")}
    run.write_failed("why", status="diverged", provenance=PROVENANCE, **given)
    (run.path / AGENT).write_bytes(b"half")
    run.write_finished(**OTHERWISE)
    assert run.finished()
    assert stored_as(run, OTHERWISE)
    assert not any((run.path / name).exists() for name in ARRAYS)
    before = contents(run.path)
    run.write_finished(**OTHERWISE)
    assert contents(run.path) == before
    # copied, it has the names that anybody looks for first
    copy = Store(tmp_path / "copy").run(config())
    assert merge(Store(tmp_path / "copy"), Store(tmp_path)).copied == [run.name]
    assert stored_as(copy, OTHERWISE)
    assert all((copy.path / name).exists() for name in ARRAYS)
    assert merge(Store(tmp_path / "copy"), Store(tmp_path)).same == [run.name]
    next(run.path.glob("curve-*.npz")).write_bytes(b"")
    assert run.status == "begun"
    assert [each.reason for each in store.incidents if "/curve-" in each.path] == ["is empty"]


@pytest.mark.parametrize("theirs", ["finished", "diverged", "begun"])
def test_a_merge_overwrites_nothing_that_a_worker_finishes(tmp_path: Path, theirs: str) -> None:
    source = Store(tmp_path / "source")
    run = source.run(config())
    if theirs == "finished":
        run.write_finished(**OTHERWISE)
    elif theirs == "diverged":
        given = {name: OTHERWISE[name] for name in ("curve", "diagnostics")}
        run.write_failed("why", status="diverged", provenance=PROVENANCE, **given)
    else:
        run.begin()
        run.write_provenance({"from": {"memory": "mine 1.0"}})
    finish(source, 1)

    for moment in moments(tmp_path / "stores", merging(source)):
        into, won = Store(moment.root), list[bool]()
        ours = into.run(config())

        def finished(ours: RunFolder = ours, won: list[bool] = won) -> None:
            with contextlib.suppress(Conflict):
                ours.write_finished(**outcome())
                won.append(True)

        merged = moment.together(finished)
        assert ours.finished()
        assert stored_as(ours, outcome() if won else OTHERWISE)
        assert into.run(config(1)).finished(), "the rest is merged"
        assert into.quarantined() == []
        assert merged.damaged == []
        assert not merged.conflicts or (won and theirs == "finished")
        assert merge(into, source).copied == []


def test_a_merge_goes_on_whatever_is_damaged_meanwhile(tmp_path: Path) -> None:
    source = Store(tmp_path / "source")
    finish(source)
    finish(source, 1)
    for moment in moments(tmp_path / "stores", merging(source)):
        ours = run_of(moment.root)

        def spoil(ours: RunFolder = ours) -> None:
            with contextlib.suppress(Conflict):
                ours.write_finished(**OTHERWISE)
            (ours.path / CURVE).write_bytes(b"")

        merged = moment.together(spoil)
        assert Store(moment.root).run(config(1)).finished()
        assert all(text.startswith(ours.name) for text in merged.damaged)


def test_a_run_without_weights_is_merged_with_one_that_has_them(tmp_path: Path) -> None:
    ours, theirs = Store(tmp_path / "ours"), Store(tmp_path / "theirs")
    run = finish(ours)
    theirs.run(config()).write_finished(**{**outcome(), "agent": None})
    assert merge(ours, theirs).same == [run.name]
    assert merge(theirs, ours).same == [run.name]
    theirs.run(config()).write_finished(**outcome())


def held(root: Path, *seeds: int) -> tuple[PackFolder, Lease]:
    """A pack, and its lease."""
    store = Store(root)
    pack = store.pack([config(seed) for seed in seeds])
    lease = store.claims(beat=1000, stale=3000).take(pack.name)
    assert lease is not None
    return pack, lease


@pytest.mark.parametrize("what", ["result", "merge", "note", "checkpoint"])
def test_a_pack_is_begun_while_another_writes_in_its_folders(tmp_path: Path, what: str) -> None:
    """Another pack has the run, too; merges and notes have no lease at all."""
    source = Store(tmp_path / "source")
    finish(source)

    def prepared(root: Path) -> Callable[[], object]:
        pack, lease = held(root, 0)
        if what == "result":
            return lambda: pack.runs[0].write_finished(**outcome(), lease=lease)
        if what == "merge":
            return lambda: merge(Store(root), source)
        if what == "note":
            finish(Store(root))
            return lambda: pack.runs[0].write_note("probe", {"auc": 0.5})
        # what a plan is revised by, before it is known who will have the new pack
        new = Store(root).pack([config(), config(1)])
        return lambda: new.checkpoints.save(1, {"x": np.zeros(3)})

    for moment in moments(tmp_path / "stores", prepared):
        other, _ = held(moment.root, 0, 1)
        moment.together(other.sweep)
        assert run_of(moment.root).status == ("absent" if what == "checkpoint" else "finished")
        assert not list(moment.root.rglob(".tmp-*"))


def test_a_merge_leaves_a_worker_its_checkpoint(tmp_path: Path) -> None:
    """The merge brings the results of all its runs, and somebody else's checkpoint of them."""
    source = Store(tmp_path / "source")
    finish(source)
    source.pack([config()]).checkpoints.save(2, {"x": np.zeros(3)})

    def saving(root: Path) -> Callable[[], Path]:
        pack, lease = held(root, 0)
        return lambda: pack.checkpoints.save(1, {"x": np.zeros(3)}, lease)

    for moment in moments(tmp_path / "stores", saving):
        assert moment.together(lambda moment=moment: merge(Store(moment.root), source)).exists()


@pytest.mark.usefixtures("no_links")
def test_without_links_all_follow_one_plan(tmp_path: Path) -> None:
    def proposing(root: Path) -> Callable[[], bool]:
        store = Store(root)
        return lambda: store.propose("plan-x", 1, {"packs": [[0], [1]]})

    for moment in moments(tmp_path / "stores", proposing):
        two, told = Store(moment.root), list[bool]()

        def other(two: Store = two, told: list[bool] = told) -> None:
            two.plan("plan-x")
            told.append(two.propose("plan-x", 1, {"packs": [[0, 1]]}))

        assert moment.together(other) != told[0]
        packs = [[0, 1]] if told[0] else [[0], [1]]
        assert two.plan("plan-x") == Store(moment.root).plan("plan-x") == (1, {"packs": packs})


@pytest.mark.usefixtures("no_links")
def test_without_links_who_looks_takes_nothing_away(tmp_path: Path) -> None:
    """A plan or a result that is half written is set aside, and then written again."""

    def both(root: Path) -> Callable[[], None]:
        store = Store(root)

        def write() -> None:
            assert store.propose("plan-x", 1, {"packs": [[0]]})
            store.run(config()).write_finished(**outcome())

        return write

    for moment in moments(tmp_path / "stores", both):
        store = Store(moment.root)

        def look(store: Store = store) -> None:
            store.plan("plan-x")
            store.run(config()).find()

        moment.together(look)
        assert store.plan("plan-x") == (1, {"packs": [[0]]})
        assert store.run(config()).finished()
        assert not list(moment.root.rglob(".tmp-*"))


@pytest.mark.usefixtures("no_links")
def test_without_links_what_was_put_aside_and_is_whole_comes_back(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = finish(store)
    good = (run.path / CURVE).read_bytes()
    (run.path / CURVE).write_bytes(b"")
    (damage, *_) = Store(tmp_path, read_only=True).run(config()).find().damage
    move = os.replace

    def mended_just_before(source: Any, target: Any) -> None:
        (run.path / CURVE).write_bytes(good)
        move(source, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", mended_just_before)
        store._quarantine.put(damage)
    assert run.finished()
