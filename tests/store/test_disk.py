"""Disks that are full or read-only: real ones where we may mount one, made up everywhere."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from clew.store import CannotWrite, Store, scan
from tests.mounts import on_a_small_disk
from tests.store.faults import calls_of, failing, nth, watched
from tests.store.things import config, contents, finish


@pytest.mark.parametrize("what", ["full", "read-only"])
def test_a_real_disk(tmp_path: Path, what: str) -> None:
    told = on_a_small_disk("400k", tmp_path, "tests.store.small_disk", what, str(tmp_path))
    assert min(told.values()) >= 1, told
    if what == "full":
        # the first times there was no room, the last times there was
        assert told["results"] < 12


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_a_disk_that_fails_from_some_moment_on(tmp_path: Path, number: int) -> None:
    whole = finish(Store(tmp_path / "whole"))
    expected = contents(whole.path)
    calls = calls_of(lambda: finish(Store(tmp_path / "count")))
    # renaming and removing need no room
    among = ("open", "write", "fsync", "mkdir")
    for n in range(sum(call in among for call in calls)):
        root = tmp_path / f"store-{n}"
        with pytest.raises(CannotWrite) as error, watched(nth(n, failing(number), among)):
            finish(Store(root))
        assert error.value.errno == number
        store = Store(root)
        rows = scan(store, deep=True)
        assert {row.status for row in rows} <= {"begun", "finished"}
        assert not list(root.rglob(".tmp-*"))
        assert contents(finish(store).path) == expected
        assert store.incidents == ()


def test_a_checkpoint_that_does_not_fit_leaves_the_one_before(tmp_path: Path) -> None:
    pack = Store(tmp_path).pack([config()])
    pack.checkpoints.save(1, {"x": np.zeros(10)})
    pack.checkpoints.save(2, {"x": np.ones(10)})
    with (
        pytest.raises(CannotWrite, match="No space left"),
        watched(nth(0, failing(errno.ENOSPC), ("write",))),
    ):
        pack.checkpoints.save(3, {"x": np.ones(10)})
    found = pack.checkpoints.latest()
    assert found is not None
    assert found.step == 2
    assert len(os.listdir(pack.checkpoints.folder)) == 2


def test_a_full_disk_does_not_hide_damage(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = finish(store)
    (run.path / "curve.npz").write_bytes(b"")
    with watched(nth(0, failing(errno.ENOSPC), ("write", "mkdir"))):
        assert run.status == "damaged"
        assert not run.finished()
    assert (run.path / "curve.npz").exists()
    assert run.status == "begun"
    assert len(store.quarantined()) == 2
