"""Eight processes take one lease at one moment, 40 times; prints how many got it each time.

A script of its own, because it forks: `python -m tests.store.takers FOLDER`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from clew.store.leases import Claims

TAKERS, ROUNDS = 8, 40


class Gate:
    """Opened once by the parent, for all children that wait at it."""

    def __init__(self) -> None:
        self._wait, self._hold = os.pipe()

    def wait(self) -> None:
        os.close(self._hold)
        os.read(self._wait, 1)

    def open(self) -> None:
        os.close(self._hold)
        os.close(self._wait)


def taker(folder: Path, name: str, tell: int, start: Gate, end: Gate) -> None:
    clock = [0.0]
    claims = Claims(folder, beat=10, stale=30, clock=lambda: clock[0])
    assert claims.take(name) is None  # see the lease as it is
    os.write(tell, b"r")
    clock[0] = 30.0
    start.wait()
    os.write(tell, b"-" if claims.take(name) is None else b"+")
    end.wait()  # stay alive: from a dead process anybody may take it
    os._exit(0)


def race(folder: Path, name: str) -> int:
    """How many of the takers think that they hold the lease."""
    told, tell = os.pipe()
    start, end = Gate(), Gate()
    children = []
    for _ in range(TAKERS):
        child = os.fork()
        if child == 0:
            taker(folder, name, tell, start, end)
        children.append(child)
    assert heard(told) == b"r" * TAKERS
    start.open()
    answers = heard(told)
    end.open()
    for child in children:
        os.waitpid(child, 0)
    os.close(told)
    os.close(tell)
    return answers.count(b"+")


def heard(told: int) -> bytes:
    """One byte from each."""
    answers = b""
    while len(answers) < TAKERS:
        answers += os.read(told, TAKERS - len(answers))
    return answers


if __name__ == "__main__":
    leases = Path(sys.argv[1])
    for number in range(ROUNDS):
        # held by this process, which lives and never beats
        assert Claims(leases, beat=1000, stale=3000).take(str(number)) is not None
        print(race(leases, str(number)), flush=True)
