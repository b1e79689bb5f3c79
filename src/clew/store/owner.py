"""Who holds a lease, and whether that process is certainly gone."""

from __future__ import annotations

import os
import secrets
import socket
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")


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

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


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
