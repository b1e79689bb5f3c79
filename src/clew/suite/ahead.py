"""The next program is compiled while a pack trains.

On an accelerator a program takes a minute or two to compile, on the processor, which has little
else to do. (On a CPU it would only take the time of what trains.)
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from clew.suite.packs import PackSpec

SOON = 180.0
"""Seconds before the end of a pack: earlier, others may still take the next one away."""
NAME = "compile ahead"
"""Of the thread."""


class Ahead:
    """One program at a time, in a thread, which Python waits for when it ends."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._pack: PackSpec | None = None

    def compile(self, pack: PackSpec) -> None:
        """Begin, unless another program is being compiled, or it is not to be done ahead."""
        if self.busy or (compiler := pack.pack.ahead()) is None:
            return
        self._pack = pack
        self._thread = threading.Thread(target=_run, args=(compiler,), name=NAME)
        self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether a program is being compiled."""
        return self._thread is not None and self._thread.is_alive()

    def is_compiling(self, pack: PackSpec) -> bool:
        """Whether that is this pack's."""
        return self.busy and self._pack is not None and pack.same_program(self._pack)

    def wait(self) -> None:
        """Until what is being compiled is done."""
        if self._thread is not None:
            self._thread.join()


def compiles_ahead() -> bool:
    """Whether this process would have to wait for a program before it ends."""
    return any(thread.name == NAME for thread in threading.enumerate())


def _run(compiler: Callable[[], None]) -> None:
    # whatever is wrong with it will be found again, and reported, when it is its turn
    with contextlib.suppress(Exception):
        compiler()
