"""When to stop early: a time limit, Ctrl-C, or a scheduler that wants its machine back."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

from clew.validate import BadInput

SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGUSR1") if hasattr(signal, name)
]
Handler = Callable[[int, FrameType | None], object] | int | None
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def interrupt() -> None:
    """What Ctrl-C does to a program that has not asked for anything else."""
    raise KeyboardInterrupt


class Stop:
    """Asks to end at the next checkpoint. A second Ctrl-C does not ask: `again` is called."""

    def __init__(
        self,
        time_limit: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        again: Callable[[], None] = interrupt,
    ) -> None:
        self._clock, self._again = clock, again
        self._until = None if time_limit is None else clock() + time_limit
        self._reason = ""
        self._before: dict[int, Handler] = {}

    @property
    def reason(self) -> str:
        """Why to stop; empty while there is no reason to."""
        if not self._reason and self._until is not None and self._clock() >= self._until:
            self._reason = "the time limit is reached"
        return self._reason

    def after(self, seconds: float) -> bool:
        """Whether there is a reason to stop, or the time limit is reached within `seconds`.

        If so, `reason` is set from now on, and nothing else must be started.
        """
        soon = self._until is not None and self._clock() + seconds >= self._until
        if soon and not self._reason:
            self._reason = "the time limit is reached"
        return bool(self._reason)

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                self._before[number] = signal.signal(number, self._asked)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _asked(self, number: int, frame: FrameType | None) -> None:
        if self._reason and number == signal.SIGINT:
            self._again()
        self._reason = f"{signal.Signals(number).name} was received"


def seconds_of(text: str, field: str = "time_limit") -> float:
    """`90s`, `25m`, `1.5h`, `1h30m` or `90` (seconds)."""
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    if not re.fullmatch(r"(\d+(\.\d+)?[smhd])+", text):
        raise BadInput(f"{field}={text!r} is not valid; write 90s, 25m, 1.5h or 1h30m")
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd])", text)
    return sum(float(number) * UNITS[unit] for number, unit in parts)
