"""Leases: two workers on one folder, or one shared filesystem, never train the same pack.

Every claim on a pack is a *ticket*: a file with a number, created exclusively, so that of several
takers exactly one gets it. The highest number holds the pack. Only its holder writes in a ticket
(a counter: the heartbeat), so nobody can overwrite anybody's claim, and a holder has lost the pack
exactly when a higher number exists. To `confirm` is to try to take the next number oneself: it
cannot succeed once somebody else has it.

No clock is compared with another machine's, nor with a file's time. A watcher takes over when
it has seen the highest ticket unchanged for `stale` seconds of its own monotonic clock, or
at once if the holder was a process of this machine that is gone. Between two looks at most three
heartbeats count: a machine that slept, or a clock that jumped, has not seen anybody silent.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from clew.store import atomic
from clew.store.documents import at_once
from clew.store.errors import CannotRead, CannotWrite, LeaseLost
from clew.store.names import HASH
from clew.validate import BadInput, positive_number

BEAT, STALE = 10.0, 120.0
_HELD, _FREE = "held", "free"
_PROC = Path("/proc")
_STATE = 4 + 1 + 12 + 1  # "held 000000000007\n", at the beginning of a ticket
_NAME = re.compile(r"[0-9]{8}|[1-9][0-9]{8,}")
_LONGEST = 4096  # bytes of a ticket; a longer one is not ours
_LOOKS = 20


class Owner(NamedTuple):
    """A process, told apart from any other on any machine."""

    host: str
    machine: str
    """Boot and process namespace: where `pid` means something. Empty where that is not known."""
    pid: int
    started: str
    """Start time of the process in clock ticks since boot: a pid is used again, this is not."""
    token: str
    """Random."""

    @classmethod
    def current(cls) -> Owner:
        """This process."""
        pid = os.getpid()
        return cls(socket.gethostname(), _machine(), pid, _stat(pid)[1], secrets.token_hex(8))

    def dead(self) -> bool:
        """Whether the process ran here and no longer does. False if there is any doubt."""
        if not self.machine or not self.started or self.machine != _machine():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            pass
        # it exists; but is it the same one, and more than the remains of it?
        state, started = _stat(self.pid)
        return bool(state) and (state in "ZX" or started != self.started)

    def is_current(self) -> bool:
        """Whether it is this very process."""
        mine = os.getpid()
        return (self.machine, self.pid, self.started) == (_machine(), mine, _stat(mine)[1])

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


class Ticket(NamedTuple):
    """A claim as it stands on the disk."""

    number: int
    content: bytes

    @property
    def free(self) -> bool:
        """Given back by its holder."""
        return self.content.startswith(_FREE.encode())

    @property
    def owner(self) -> Owner | None:
        """None for a ticket that was never written to its end, or is not as it was written."""
        line, _, rest = self.content[_STATE:].partition(b"\n")
        if rest != _checksum(line):
            return None
        try:
            owner = Owner(**json.loads(line))
        except (ValueError, TypeError, RecursionError):
            return None
        texts = (owner.host, owner.machine, owner.started, owner.token)
        sound = all(type(text) is str for text in texts) and type(owner.pid) is int
        return owner if sound and 0 < owner.pid < 2**31 else None


class Claims:
    """One worker's view of the leases of a store."""

    def __init__(
        self,
        folder: Path,
        *,
        beat: float = BEAT,
        stale: float = STALE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        positive_number("beat", beat)
        if positive_number("stale", stale) < 3 * beat:
            raise BadInput(f"stale={stale!r} is not valid; it must be at least 3 × beat={beat!r}")
        self.folder, self.beat, self.stale, self._clock = folder, beat, stale, clock
        self._seen: dict[str, tuple[Ticket, float, float]] = {}
        """The ticket, for how long it did not change, and when that was seen."""

    def take(self, name: str) -> Lease | None:
        """The lease on `name`, or None while somebody else has it (call again later)."""
        place = self.folder / name
        last = highest(place)
        if last is not None and not last.free and not self._given_up(name, last):
            return None
        owner, number = Owner.current(), 1 if last is None else last.number + 1
        if not _create(place, number, owner):
            return None
        atomic.sweep(place)
        return Lease(place, number, owner, self.beat)

    def holder(self, name: str) -> Owner | None:
        """Who holds the lease now, alive or not."""
        last = highest(self.folder / name)
        return None if last is None or last.free else last.owner

    def _given_up(self, name: str, last: Ticket) -> bool:
        if last.owner is not None and last.owner.dead():
            return True
        now = self._clock()
        before, silent, looked = self._seen.get(name, (None, 0.0, now))
        silent = 0.0 if before != last else silent + min(max(0.0, now - looked), 3 * self.beat)
        self._seen[name] = (last, silent, now)
        return silent >= self.stale


class Lease:
    """The right to work on a pack, kept alive by a thread until it is released."""

    def __init__(self, place: Path, number: int, owner: Owner, beat: float) -> None:
        self.place, self.number, self.owner = place, number, owner
        self._beat, self._count, self._over = beat, 0, threading.Event()
        self._mine, self._lock = os.getpid(), threading.Lock()
        threading.Thread(target=self._keep_alive, daemon=True, name="lease").start()

    def check(self) -> None:
        """Raise `LeaseLost` if somebody has taken over."""
        last = highest(self.place)
        if last is None or last.number != self.number or os.getpid() != self._mine:
            self._lose()

    def confirm(self) -> None:
        """Raise `LeaseLost` if somebody has taken over; if not, nobody can for a whole period.

        To be called before results are written, however long ago the last heartbeat was.
        """
        with self._lock:
            self.check()
            if not _create(self.place, self.number + 1, self.owner):
                self._lose()
            self.number += 1

    def release(self) -> None:
        """Give the pack back, so that anybody may take it at once."""
        self._over.set()
        if os.getpid() != self._mine:
            return  # a forked copy holds nothing
        with self._lock, contextlib.suppress(OSError):
            self._mark(_FREE)

    def pulse(self) -> None:
        """One heartbeat, in place: it needs no room on the disk."""
        with self._lock:
            if not self._over.is_set():
                self._mark(_HELD)

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *error: object) -> None:
        self.release()

    def _lose(self) -> None:
        self._over.set()
        now = highest(self.place)
        whose = "nobody" if now is None else str(now.owner or "another worker")
        raise LeaseLost(f"{self.place.name} is no longer ours: {whose} has it")

    def _mark(self, state: str) -> None:
        self._count += 1
        handle = os.open(_ticket(self.place, self.number), os.O_WRONLY)
        try:
            os.pwrite(handle, f"{state} {self._count:012d}\n".encode(), 0)
            os.fsync(handle)
        finally:
            os.close(handle)

    def _keep_alive(self) -> None:
        while not self._over.wait(self._beat):
            # a disk that fails now may work at the next beat; if not, the lease goes stale
            with contextlib.suppress(OSError):
                self.pulse()


@contextlib.contextmanager
def writing_under(lease: Lease | None) -> Iterator[None]:
    """Find out about a lost lease before writing, and also if that is why a write fails.

    Who takes over sweeps unfinished files of that lease away, so that what was stopped in the
    middle of a write and goes on later cannot complete it.
    """
    if lease is None:
        yield
        return
    lease.check()
    try:
        with atomic.signed(lease.place.name[-HASH:]):
            yield
    except CannotWrite:
        lease.check()
        raise


def highest(place: Path) -> Ticket | None:
    """The ticket that counts. A name that leads to no file is a ticket of nobody known."""
    number = 0
    for _ in range(_LOOKS):
        try:
            numbers = [int(name) for name in os.listdir(place) if _NAME.fullmatch(name)]
            if not numbers:
                return None
            number = max(numbers)
            with open(_ticket(place, number), "rb", opener=at_once) as file:
                return Ticket(number, file.read(_LONGEST))
        except (FileNotFoundError, IsADirectoryError):
            if not place.exists():
                return None
        except OSError as error:
            raise CannotRead(place, error) from error
    return Ticket(number, b"")


def _create(place: Path, number: int, owner: Owner) -> bool:
    """Create a ticket if nobody has it yet."""
    line = json.dumps(owner._asdict()).encode()
    content = f"{_HELD} {0:012d}\n".encode() + line + b"\n" + _checksum(line)
    try:
        atomic.write(_ticket(place, number), lambda file: file.write(content), overwrite=False)
    except FileExistsError:
        return False
    except CannotWrite as error:
        if error.errno != errno.ENOENT:
            raise
        return False  # whoever has it has swept our attempt away
    return True


def _checksum(owner: bytes) -> bytes:
    return hashlib.sha256(owner).hexdigest().encode() + b"\n"


def _ticket(place: Path, number: int) -> Path:
    return place / f"{number:08d}"


def _machine() -> str:
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        # two containers on one machine have a process 7 each
        return f"{boot} {os.readlink(_PROC / 'self/ns/pid')}"
    except OSError:
        return ""


def _stat(pid: int) -> tuple[str, str]:
    """State and start time of a process; empty if we may not know."""
    try:
        # the command's name, in brackets, may contain anything, brackets too
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "", ""
    return fields[0], fields[19]
