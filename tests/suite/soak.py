"""Two workers at the study's size, killed again and again: `python -m tests.suite.soak NEW 60`.

Trains one suite undisturbed, then again and again for so many minutes, while every 20 to 60 seconds
a process (a worker, or the one that started them) is killed with −9; each time to its end, which
must be the same bytes. Prints what was done. A third number is that of periods of each run.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from clew.store import Store, scan
from tests.suite.declared import as_toml, declared
from tests.suite.test_local import workers_of
from tests.suite.trial import results

WAIT = (20.0, 60.0)


class Soak:
    """A suite at the study's width, and what became of it."""

    def __init__(
        self, folder: Path, *, seeds: int, periods: int, wait: tuple[float, float]
    ) -> None:
        self.folder, self.wait, self.rng = folder, wait, random.Random(0)
        data = declared(architectures=["GRU"], seeds=seeds, steps=8192 * periods)
        data["settings"] = {"eval_every": 1}  # all else as in the study
        self.expected = seeds * periods
        self.file = folder / "soak.toml"
        self.file.write_text(as_toml(data), encoding="utf-8")
        self.kills = self.starts = self.rounds = 0
        self.trained = Counter[tuple[str, str, int]]()

    def run(self, minutes: float) -> dict[str, int]:
        """Until the time is over; the numbers of it."""
        until = time.monotonic() + 60 * minutes
        whole = self.folder / "undisturbed"
        process, log = self.start(whole)
        assert process.wait() == 0, log.read_text()
        while not self.rounds or time.monotonic() < until:
            self.rounds += 1
            store = self.folder / f"round-{self.rounds}"
            self.round(store)
            assert results(store) == results(whole)
            assert {run.status for run in scan(Store(store), deep=True)} == {"finished"}
            assert not Store(store).quarantined()
            left = [*store.rglob(".tmp-*"), *store.glob("packs/*/*")]
            assert not left, left
        return {
            "rounds": self.rounds,
            "kills": self.kills,
            "starts": self.starts,
            "periods": self.rounds * self.expected,
            "trained again": self.trained.total() - len(self.trained),
        }

    def round(self, store: Path) -> None:
        """Start, kill, start again, until everything is finished."""
        while True:
            process, log = self.start(store)
            while process.poll() is None and self.sleep(process):
                others = workers_of(process)
                victim = self.rng.choice([process.pid, *others, *others])
                os.kill(victim, signal.SIGKILL)
                self.kills += 1
            code = process.wait()
            self.read(store, log)
            said = log.with_suffix(".err").read_text()
            assert "Traceback" not in said, said
            assert code in (0, -signal.SIGKILL, 5), (code, said)  # 5: too many workers died
            if code == 0:
                return

    def sleep(self, process: subprocess.Popen[bytes]) -> bool:
        """False if the process has ended meanwhile."""
        until = time.monotonic() + self.rng.uniform(*self.wait)
        while time.monotonic() < until:
            if process.poll() is not None:
                return False
            time.sleep(0.05)
        return True

    def start(self, store: Path) -> tuple[subprocess.Popen[bytes], Path]:
        self.starts += 1
        words = ["run", str(self.file), "--store", str(store), "--pack-size", "1", "--json"]
        words += ["--workers", "2", "--checkpoint-every", "2s"]
        log = self.folder / f"log-{self.starts}.out"
        with open(log, "wb") as out, open(log.with_suffix(".err"), "wb") as err:
            command = [sys.executable, "-c", "from clew.cli import main; main()", *words]
            return subprocess.Popen(command, stdout=out, stderr=err), log

    def read(self, store: Path, log: Path) -> None:
        """Which periods were trained; the last line may be torn."""
        for line in log.read_text().split("\n")[:-1]:
            told = json.loads(line)
            if told.get("what") == "training":
                self.trained[store.name, told["name"], told["period"]] += 1


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True)
    periods = int(sys.argv[3]) if len(sys.argv) > 3 else 60
    print(Soak(folder, seeds=4, periods=periods, wait=WAIT).run(float(sys.argv[2])))


if __name__ == "__main__":
    main()
