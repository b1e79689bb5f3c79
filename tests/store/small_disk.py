"""What happens on a disk that is full, or that nobody may write to. Needs one to itself.

`python -m tests.store.small_disk full|read-only FOLDER`, where a file system of about 400 kB
is mounted on FOLDER and may be remounted. Prints what was tried.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from clew.store import CannotWrite, Store, scan
from tests.store.things import config, contents, finish, outcome

BLOCK = 4096


def refused(work: Callable[[], Any], number: int) -> bool:
    """Whether some work ends in a plain message about the disk."""
    try:
        work()
    except CannotWrite as error:
        return error.errno == number and os.strerror(number) in str(error)
    return False


@contextmanager
def room(disk: Path, blocks: int) -> Iterator[None]:
    """Only so many blocks are free for a while."""
    ballast = disk / "ballast"
    free = os.statvfs(disk)
    size = free.f_bavail * free.f_bsize - blocks * BLOCK
    ballast.write_bytes(b"\0" * size)
    try:
        yield
    finally:
        ballast.unlink()


def full(disk: Path) -> dict[str, int]:
    store = Store(disk / "store")
    first = finish(store, 0)
    pack = store.pack([config(5)])
    pack.checkpoints.save(1, {"x": np.zeros(100)})
    lease = store.claims().take(pack.name)
    assert lease is not None
    before = kept(store)
    told = {"results": 0, "checkpoints": 0, "claims": 0}
    for blocks in range(12):
        seed = 10 + blocks
        with room(disk, blocks):
            lease.pulse()
            run = store.run(config(seed))
            told["results"] += refused(lambda: run.write_finished(**outcome(seed)), errno.ENOSPC)  # noqa: B023
            big = {"x": np.zeros(BLOCK // 8 * (blocks + 1))}
            told["checkpoints"] += refused(lambda: pack.checkpoints.save(2, big), errno.ENOSPC)  # noqa: B023
            told["claims"] += refused(lambda: store.claims().take(f"p{seed}-0000"), errno.ENOSPC)  # noqa: B023
            # what was there is there, and readable while the disk is full
            assert before.items() <= kept(store).items()
            assert first.finished()
            found = pack.checkpoints.latest()
            assert found is not None
            assert found.step == 1
            assert "damaged" not in {row.status for row in scan(store, deep=True)}
        assert not list(disk.rglob(".tmp-*"))
        run.write_finished(**outcome(seed))
        assert run.finished()
    lease.check()
    with room(disk, 0):
        lease.release()
    assert store.claims().take(pack.name) is not None
    assert store.quarantined() == []
    return told


def kept(store: Store) -> dict[str, bytes]:
    """All but the leases, which heartbeats change."""
    return contents(store.runs_folder) | contents(store.packs_folder)


def read_only(disk: Path) -> dict[str, int]:
    store = Store(disk / "store")
    run, spoilt = finish(store, 0), finish(store, 1)
    (spoilt.path / "curve.npz").write_bytes(b"")
    before = contents(store.root)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    store = Store(disk / "store")
    assert store.run(config(0)).finished()
    assert run.result() == outcome(0)["result"]
    told = {
        "results": refused(lambda: store.run(config(2)).write_finished(**outcome(2)), errno.EROFS),
        "checkpoints": refused(
            lambda: store.pack([config(2)]).checkpoints.save(1, {"x": np.zeros(1)}), errno.EROFS
        ),
        "claims": refused(lambda: store.claims().take("p-00000000"), errno.EROFS),
        "stores": refused(lambda: Store(disk / "another"), errno.EROFS),
    }
    # damage is seen and said, though nothing can be moved
    assert store.run(config(1)).status == "damaged"
    assert store.incidents[0].moved_to is None
    assert contents(store.root) == before
    return {key: int(value) for key, value in told.items()}


if __name__ == "__main__":
    what, folder = sys.argv[1], Path(sys.argv[2])
    print(full(folder) if what == "full" else read_only(folder))
