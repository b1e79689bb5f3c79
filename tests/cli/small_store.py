"""`clew run` into a store on a disk that is full, or that nobody may write to.

`python -m tests.cli.small_store full|read-only FOLDER ELSEWHERE`, where a small file system is
mounted on FOLDER and may be remounted, and ELSEWHERE has room. Prints what was refused.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from tests.cli.called import Done, called
from tests.store.small_disk import room
from tests.store.things import contents
from tests.suite.declared import as_toml, declared
from tests.suite.trial import OUTCOME, results

ROOMS = (0, 1, 5, 10, 18, 25, 40)
"""Free blocks at each try; each goes a little further."""


def run(file: Path, store: Path, *more: str) -> Done:
    words = ("run", str(file), "--store", str(store), "--pack-size", "2")
    return called(*words, "--checkpoint-every", "0s", *more)


def refused(done: Done, store: Path, cause: str, advice: str) -> bool:
    """Whether it ended with one sentence that names a place in the store, the cause, a way out."""
    if done.code == 0:
        return False
    assert done.code == 2, done
    said = rf"clew: '{re.escape(str(store))}[^']*' cannot be written \({cause}\); {advice}.*\n"
    assert re.fullmatch(said, done.err), done.err
    return True


def full(disk: Path, elsewhere: Path, file: Path) -> list[int]:
    """Try with more and more room; then make enough, and see that nothing was lost or spoilt."""
    assert run(file, elsewhere / "undisturbed").code == 0
    store, tried = disk / "store", []
    for blocks in ROOMS:
        with room(disk, blocks):
            done = run(file, store)
            if not refused(done, store, "No space left on device", "make room and run the same"):
                break
            tried.append(blocks)
            assert not list(store.rglob(".tmp-*"))
            if (store / "clew-store.json").exists():
                status = json.loads(called("status", str(store), "--deep", "--json").out)
                assert status["counts"].keys() <= {"absent", "begun", "finished"}, status
                assert status["troubles"] == []
    assert run(file, store).code == 0
    assert results(store) == results(elsewhere / "undisturbed")
    assert len(results(store)) == 4 * len(OUTCOME)
    assert not (store / "set-aside").exists()
    assert not list(store.glob("packs/*"))
    # what is finished needs nothing to be written
    before = contents(store)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    assert run(file, store).code == 0
    assert contents(store) == before
    return tried


def read_only(disk: Path, elsewhere: Path, file: Path) -> list[str]:
    """Looking works; whatever would have to write says that it cannot, and changes nothing."""
    store = disk / "store"
    assert run(file, store, "--time-limit", "0s").code == 4
    before = contents(store)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    cause, advice = "Read-only file system", "choose a folder that you may write to"
    tries = {
        "go on": run(file, store),
        "retry": run(file, store, "--retry"),
        "begin": run(file, disk / "new"),
        "merge": called("merge", str(store), str(disk / "copy")),
    }
    done = [name for name, each in tries.items() if refused(each, disk, cause, advice)]
    assert called("status", str(store)).code == 0
    assert called("merge", str(store), str(elsewhere / "copy")).code == 0
    assert contents(store) == before
    return done


if __name__ == "__main__":
    what, mounted, other = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    suite = other / "tiny.toml"
    suite.write_text(as_toml(declared()), encoding="utf-8")
    print((full if what == "full" else read_only)(mounted, other, suite))
