"""Let the n-th call to the operating system that changes a disk fail, or kill the process there."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

CALLS = ("open", "write", "pwrite", "fsync", "replace", "link", "unlink", "mkdir", "rmdir")


@contextlib.contextmanager
def watched(before: Callable[[str, tuple[Any, ...]], None]) -> Iterator[None]:
    """Call `before(name, arguments)` before each of the calls above that this thread makes."""
    originals = {name: getattr(os, name) for name in CALLS}
    here = threading.get_ident()

    def wrap(name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            # files that are read are opened without waiting: that changes nothing on the disk
            reads = name == "open" and len(args) > 1 and bool(args[1] & os.O_NONBLOCK)
            if threading.get_ident() == here and not reads:
                before(name, args)
            return originals[name](*args, **kwargs)

        return call

    for name in CALLS:
        setattr(os, name, wrap(name))
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(os, name, original)


def nth(n: int, what: Callable[[str], None], among: tuple[str, ...] = CALLS) -> Any:
    """From the n-th such call on (counted from 0), do `what` first."""
    seen = 0

    def before(name: str, args: tuple[Any, ...]) -> None:
        nonlocal seen
        if name in among:
            seen += 1
            if seen > n:
                what(name)

    return before


def failing(number: int) -> Callable[[str], None]:
    """An error of the operating system."""

    def fail(name: str) -> None:
        raise OSError(number, os.strerror(number))

    return fail


def kill(name: str) -> NoReturn:
    """No handler, no `finally`: gone."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def calls_of(work: Callable[[], Any]) -> list[str]:
    """The calls that some work makes."""
    made: list[str] = []
    with watched(lambda name, args: made.append(name)):
        work()
    return made
