"""Two stores become one: finished wins, nothing is overwritten, disagreement is reported."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.store import Store, count, merge, scan
from clew.store.state import CURVE
from tests.store.things import PROVENANCE, config, contents, finish, outcome

State = Literal["absent", "begun", "failed", "diverged", "finished", "otherwise"]
STATES = st.sampled_from(["absent", "begun", "failed", "diverged", "finished", "otherwise"])
RANK = {"absent": 0, "begun": 1, "failed": 2, "diverged": 2, "finished": 3, "otherwise": 3}
X = {"x": np.arange(3.0)}


def put(store: Store, seed: int, state: State) -> None:
    run = store.run(config(seed))
    if state == "begun":
        run.begin()
    elif state == "finished":
        run.write_finished(**outcome(seed))
    elif state == "otherwise":  # another machine, another last bit
        run.write_finished(**{**outcome(seed), "result": {"tail_mean": 0.25}})
    elif state in ("failed", "diverged"):
        run.write_failed("why", status=state, provenance=PROVENANCE)  # type: ignore[arg-type]


def status(state: State) -> str:
    return "finished" if state == "otherwise" else state


@pytest.fixture
def stores(tmp_path: Path) -> tuple[Store, Store]:
    return Store(tmp_path / "ours"), Store(tmp_path / "theirs")


@settings(max_examples=25)
@given(pairs=st.lists(st.tuples(STATES, STATES), max_size=4))
def test_the_better_outcome_wins_and_the_first_stays(tmp_path_factory: Any, pairs: Any) -> None:
    folder = tmp_path_factory.mktemp("stores")
    ours, theirs = Store(folder / "ours"), Store(folder / "theirs")
    for seed, (mine, other) in enumerate(pairs):
        put(ours, seed, mine)
        put(theirs, seed, other)
    before, source = contents(ours.root), contents(theirs.root)
    merged = merge(ours, theirs)
    assert contents(theirs.root) == source
    names = [ours.run(config(seed)).name for seed in range(len(pairs))]
    for name, (mine, other) in zip(names, pairs, strict=True):
        better = other if RANK[other] > RANK[mine] else mine
        found = {row.name: row.status for row in scan(ours, deep=True)}.get(name, "absent")
        assert found == status(better)
        conflict = {mine, other} == {"finished", "otherwise"}
        assert conflict == any(text.startswith(name) for text in merged.conflicts)
        assert (name in merged.copied) == (RANK[other] > RANK[mine])
        assert (name in merged.kept) == (0 < RANK[other] < RANK[mine])
    # what was there is still there, unless a failure was superseded: that has a number now
    after = contents(ours.root)
    lost = {path for path in before if after.get(path) != before[path]}
    assert all(path.endswith("failure.json") or "provenance" in path for path in lost)
    assert merged.damaged == []
    again = merge(ours, theirs)
    assert again.copied == []
    assert contents(ours.root) == after


def test_copied_away_and_back(stores: tuple[Store, Store], tmp_path: Path) -> None:
    ours, _ = stores
    for seed in range(3):
        finish(ours, seed)
    away = Store(tmp_path / "away")
    assert len(merge(away, ours).copied) == 3
    assert contents(away.runs_folder) == contents(ours.runs_folder)
    finish(away, 3)
    assert merge(ours, away).copied == [away.run(config(3)).name]
    assert count(scan(ours, deep=True)) == {"finished": 4}


def test_a_plain_copy_is_a_store_too(stores: tuple[Store, Store], tmp_path: Path) -> None:
    finish(stores[0])
    shutil.copytree(stores[0].root, tmp_path / "copy")
    assert Store(tmp_path / "copy").run(config()).finished()


@pytest.mark.parametrize("part", ["result", "curve", "diagnostics"])
def test_a_conflict_names_what_differs(stores: tuple[Store, Store], part: str) -> None:
    ours, theirs = stores
    run = finish(ours)
    theirs.run(config()).write_finished(**{**outcome(), part: outcome(1)[part]})
    before = contents(ours.root)
    merged = merge(ours, theirs)
    assert len(merged.conflicts) == 1
    assert merged.conflicts[0].startswith(f"{run.name}: {part}.")
    assert contents(ours.root) == before


def test_another_provenance_is_no_conflict(stores: tuple[Store, Store]) -> None:
    ours, theirs = stores
    run = finish(ours)
    theirs.run(config()).write_finished(**{**outcome(), "provenance": {"host": "other"}})
    assert merge(ours, theirs).same == [run.name]
    assert run.provenance() == PROVENANCE


def test_equal_arrays_in_other_bytes_are_no_conflict(
    stores: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version of Python may lay a zip file out differently."""
    ours, theirs = stores
    run = finish(ours)
    monkeypatch.setattr("clew.store.arrays._EPOCH", (1999, 1, 1, 0, 0, 0))
    other = finish(theirs)
    assert (other.path / CURVE).read_bytes() != (run.path / CURVE).read_bytes()
    assert merge(ours, theirs).same == [run.name]


def test_damage_is_not_spread_but_reported(stores: tuple[Store, Store]) -> None:
    ours, theirs = stores
    runs = [finish(theirs, seed) for seed in range(2)]
    (runs[0].path / CURVE).write_bytes(b"")
    source = contents(theirs.root)
    merged = merge(ours, Store(theirs.root, read_only=True))
    assert merged.damaged == [f"{runs[0].name}: curve.npz is empty"]
    assert merged.copied == [runs[1].name]
    assert contents(theirs.root) == source


def test_damage_here_is_made_good_from_there(stores: tuple[Store, Store]) -> None:
    ours, theirs = stores
    run = finish(ours)
    finish(theirs)
    good = contents(run.path)
    (run.path / CURVE).write_bytes(b"")
    assert merge(ours, theirs).copied == [run.name]
    assert contents(run.path) == good
    assert len(ours.quarantined()) == 2  # the curve, and the result that stood alone


def test_the_further_checkpoint_is_taken(stores: tuple[Store, Store]) -> None:
    ours, theirs = stores
    mine, other = (store.pack([config()]) for store in stores)
    other.checkpoints.save(4, X)
    assert merge(ours, theirs).checkpoints == [mine.name]
    mine.checkpoints.save(6, X)
    other.checkpoints.save(5, X)
    assert merge(ours, theirs).checkpoints == []
    other.checkpoints.save(9, X)
    other.checkpoints.save(10, X).write_bytes(b"")
    merged = merge(ours, theirs)
    assert merged.checkpoints == [mine.name]
    assert len(merged.damaged) == 1
    assert [path.stem[-1] for path in mine.checkpoints.paths()] == ["9", "6"]
    assert theirs.incidents == ()


def test_checkpoints_of_a_pack_at_work_or_done_are_not_touched(stores: tuple[Store, Store]) -> None:
    ours, theirs = stores
    mine, other = (store.pack([config()]) for store in stores)
    other.checkpoints.save(4, X)
    lease = ours.claims().take(mine.name)
    assert lease is not None
    with lease:
        assert merge(ours, theirs).busy == [mine.name]
    finish(ours)
    merged = merge(ours, theirs)
    assert (merged.busy, merged.checkpoints) == ([], [])
    assert mine.checkpoints.paths() == []
