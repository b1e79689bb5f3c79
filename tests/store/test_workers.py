"""Real processes: killed, stopped, racing. The results are those of one that was left alone."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from clew.store import Claims, LeaseLost, Store, count, scan
from tests.store.faults import nth, watched
from tests.store.things import contents, outcome
from tests.store.trainer import RUNS, Log, packs_of, work

ROOT = Path(__file__).parents[2]


class Trial:
    """A store that workers work on, and the same work done in peace."""

    def __init__(self, folder: Path, stale: float = 60, **size: float) -> None:
        self.folder, self.stale = folder, stale
        self.size = [int(size[key]) for key in ("packs", "periods", "every")]
        self.pause = size["pause"]
        self.log = folder / "log"

    def worker(self) -> subprocess.Popen[str]:
        arguments = [self.folder / "store", self.log, *self.size, self.pause, self.stale]
        command = [sys.executable, "-m", "tests.store.trainer", *map(str, arguments)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        return child

    def lines(self) -> list[list[str]]:
        """word, pack, step, process."""
        return [line.split() for line in self.log.read_text().splitlines()]

    def store(self) -> Store:
        return Store(self.folder / "store")

    def check(self) -> None:
        """Equal to undisturbed work to the byte, with nothing left over and nothing damaged."""
        packs, periods, every = self.size
        peace = Store(self.folder / "peace")
        work(peace, Log(self.folder / "peaceful"), packs, periods, every, 0)
        store = self.store()
        assert count(scan(store, deep=True)) == {"finished": RUNS * packs}
        assert contents(store.runs_folder) == contents(peace.runs_folder)
        assert contents(store.packs_folder) == {}
        assert store.quarantined() == []

    def retrained(self) -> int:
        """Periods trained more than once; none of them was before a checkpoint on the disk."""
        saved: dict[str, int] = defaultdict(int)
        trained: Counter[tuple[str, int]] = Counter()
        for word, pack, step, _ in self.lines():
            if word == "period":
                assert int(step) > saved[pack], f"{pack}: period {step} again after {saved[pack]}"
                trained[pack, int(step)] += 1
            elif word == "saved":
                saved[pack] = max(saved[pack], int(step))
        packs, periods, _ = self.size
        assert len(trained) == packs * periods
        return sum(trained.values()) - len(trained)


def test_killed_at_twenty_random_moments(tmp_path: Path) -> None:
    trial = Trial(tmp_path, packs=8, periods=60, every=5, pause=0.004)
    moments = random.Random(5)
    for _ in range(20):
        worker = trial.worker()
        time.sleep(moments.uniform(0, 0.15))
        worker.kill()
        assert worker.wait() == -signal.SIGKILL  # it was not done yet
        worker.communicate()
    last = trial.worker()
    assert last.communicate(timeout=300) is not None
    assert last.returncode == 0
    assert trial.retrained() <= 20 * 5
    trial.check()


def test_racing_for_a_hundred_packs(tmp_path: Path) -> None:
    trial = Trial(tmp_path, packs=100, periods=2, every=1, pause=0.001)
    workers = [trial.worker() for _ in range(3)]
    for worker in workers:
        worker.communicate(timeout=300)
        assert worker.returncode == 0
    assert trial.retrained() == 0
    done = [line for line in trial.lines() if line[0] == "done"]
    assert len(done) == 100
    assert len({process for *_, process in done}) > 1
    assert not [line for line in trial.lines() if line[0] == "lost"]
    trial.check()


def test_a_stopped_worker_is_replaced_and_finds_out(tmp_path: Path) -> None:
    trial = Trial(tmp_path, stale=3, packs=1, periods=400, every=10, pause=0.005)
    stopped = trial.worker()
    wait_for(lambda: trial.log.exists() and len(trial.lines()) > 20)
    stopped.send_signal(signal.SIGSTOP)
    other = trial.worker()
    wait_for(lambda: str(other.pid) in {process for *_, process in trial.lines()})
    stopped.send_signal(signal.SIGCONT)
    for worker in (stopped, other):
        worker.communicate(timeout=300)
        assert worker.returncode == 0
    lost = [line for line in trial.lines() if line[0] == "lost"]
    assert [process for *_, process in lost] == [str(stopped.pid)]
    done = [line for line in trial.lines() if line[0] == "done"]
    assert [process for *_, process in done] == [str(other.pid)]
    trial.check()


@pytest.mark.parametrize("call", ["fsync", "open", "replace", "link"])
@pytest.mark.parametrize("what", ["checkpoint", "result"])
def test_replaced_in_the_middle_of_a_write(tmp_path: Path, what: str, call: str) -> None:
    """The new holder sweeps; the old one is told that it lost the lease, not that a disk failed."""
    store = Store(tmp_path)
    pack = packs_of(store, 1)[0]
    lease = store.claims(beat=1000, stale=3000).take(pack.name)
    assert lease is not None
    clock, taken = [0.0], []
    other = Claims(lease.place.parent, beat=10, stale=30, clock=lambda: clock[0])
    assert other.take(pack.name) is None

    def take_over(name: str) -> None:
        if not taken:
            taken.append(True)  # and not for what the new holder does
            clock[0] = 30.0
            taken.append(other.take(pack.name))
            pack.sweep()

    with (
        watched(nth(1 if call == "open" else 0, take_over, (call,))),
        contextlib.suppress(LeaseLost),
    ):
        if what == "checkpoint":
            pack.checkpoints.save(1, {"x": np.zeros(3)}, lease)
        else:
            pack.runs[0].write_finished(**outcome(), lease=lease)
    assert len(taken) == (0 if (what, call) == ("checkpoint", "link") else 2)
    assert store.incidents == ()
    assert pack.runs[0].status in ("absent", "begun", "finished")
    if taken:
        assert taken[1] is not None
        with pytest.raises(LeaseLost):
            lease.check()


def wait_for(what: Callable[[], bool], seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_many_takers_of_one_stale_lease(tmp_path: Path) -> None:
    """Eight processes see a lease go free at the same moment, 40 times over; one gets it."""
    command = [sys.executable, "-m", "tests.store.takers", str(tmp_path)]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    winners = [int(line) for line in done.stdout.split()]
    assert winners == [1] * 40


def test_packs_are_numbered_apart(tmp_path: Path) -> None:
    assert len({pack.name for pack in packs_of(Store(tmp_path / "s"), 100)}) == 100


@pytest.mark.slow
def test_killed_again_and_again_with_two_workers(tmp_path: Path) -> None:
    """One worker is killed 60 times while another goes on; each takes over from the other."""
    trial = Trial(tmp_path, packs=30, periods=60, every=5, pause=0.01)
    moments = random.Random(6)
    steady = trial.worker()
    killed = 0
    while killed < 60 and steady.poll() is None:
        worker = trial.worker()
        time.sleep(moments.uniform(0, 0.3))
        worker.kill()
        killed += worker.wait() == -signal.SIGKILL
        worker.communicate()
    steady.communicate(timeout=300)
    assert steady.returncode == 0
    assert killed >= 10
    assert trial.retrained() <= killed * 5
    trial.check()
