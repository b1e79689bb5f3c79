"""The next program is compiled while a pack trains.

On an accelerator a program takes a minute or two to compile, on the processor, which has little
else to do. (On a CPU it would only take the time of what trains.)
"""

from __future__ import annotations

import contextlib
import threading

from clew.suite.packs import PackSpec

SOON = 180.0
"""Seconds before the end of a pack: earlier, others may still take the next one away."""


class Ahead:
    """One program at a time, in a thread. The process ends when that has, not before."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._pack: PackSpec | None = None

    def compile(self, pack: PackSpec) -> None:
        """Begin, unless another program is being compiled."""
        if self._thread is None or not self._thread.is_alive():
            self._pack = pack
            self._thread = threading.Thread(target=_compile, args=(pack,), name="compile ahead")
            self._thread.start()

    def is_compiling(self, pack: PackSpec) -> bool:
        """Whether that is under way for this pack."""
        return self._thread is not None and self._thread.is_alive() and pack == self._pack

    def wait(self) -> None:
        """Until what is under way is done."""
        if self._thread is not None:
            self._thread.join()


def _compile(pack: PackSpec) -> None:
    # whatever is wrong with it will be found again, and reported, when it is its turn
    with contextlib.suppress(Exception):
        pack.pack.compile_ahead()
