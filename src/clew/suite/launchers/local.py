"""Several workers on this machine, each a process with its share of the cores.

A worker trains two runs at a time on a CPU, so as many workers as there are pairs of cores keep all
of them busy.
"""

from __future__ import annotations

import contextlib
import multiprocessing as mp
import os
import signal
import threading
from collections.abc import Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from clew.suite.ahead import compiles_ahead
from clew.suite.progress import OnProgress, PackProgress
from clew.suite.stop import SIGNALS, Stop
from clew.suite.worker import Outcome, WorkerConfig, run_worker
from clew.validate import BadInput

POLL = 1.0
RESTARTS = 3
"""Deaths for each worker, on average, before no more are started."""
GPU_MEMORY = 0.9
"""Of a GPU, divided among the workers, unless the environment says otherwise."""


class LocalWorkers:
    """The workers, while they work."""

    def __init__(self, config: WorkerConfig, size: int) -> None:
        self._config, self._size = config, size
        # not a fork: jax's threads would not survive it
        self._context = mp.get_context("spawn")
        self._working: dict[Connection, tuple[int, BaseProcess]] = {}
        self._deaths = 0

    def launch(self, stop: Stop, watch: OnProgress) -> tuple[str, list[str]]:
        """Start the workers and pass on what they tell, until the last has ended.

        Returns why they ended early, if they did, and a sentence for each that failed.
        """
        for index in range(self._size):
            self._start(index)
        stopped, failures, asked = "", list[str](), False
        while self._working:
            for line in wait(list(self._working), POLL):
                assert isinstance(line, Connection)
                try:
                    told = line.recv()
                except (EOFError, OSError):
                    failures += self._ended(line, stop)
                    continue
                if isinstance(told, PackProgress):
                    watch(told)
                elif isinstance(told, Outcome):
                    stopped = stopped or told.stopped
                else:
                    failures.append(told)
            if stop.reason and not asked:
                asked = True
                for _, process in self._working.values():
                    process.terminate()  # SIGTERM, which their `Stop` takes as a request
        return stop.reason or stopped, failures

    def kill(self) -> None:
        """At once: what is in the store is whole."""
        for _, process in self._working.values():
            process.kill()

    def _start(self, index: int) -> None:
        ours, theirs = self._context.Pipe(duplex=False)
        process = self._context.Process(
            target=_work, args=(self._config, index, self._size, theirs), daemon=True
        )
        # before it has a `Stop`, a signal would end it as if it had failed: it is heard then
        resource_tracker.ensure_running()  # which would let signals through again
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()  # or its end would not be noticed here
        self._working[ours] = index, process

    def _ended(self, line: Connection, stop: Stop) -> list[str]:
        index, process = self._working.pop(line)
        line.close()
        process.join()
        if process.exitcode == 0:
            return []
        self._deaths += 1
        if not stop.reason and self._deaths <= RESTARTS * self._size:
            self._start(index)
            return []
        return [f"a worker died, {_how(process.exitcode)}"]


def _how(code: int | None) -> str:
    """An exit code in words."""
    if code == -signal.SIGKILL:
        return (
            "killed by SIGKILL: if nobody did that, the machine was out of memory; take fewer "
            "--workers, or a smaller --pack-size with --retry"
        )
    return f"exit code {code}"


def _work(config: WorkerConfig, index: int, size: int, line: Connection) -> None:
    """One worker: the main function of its process."""
    _take_share(index, size)

    def tell(what: PackProgress | Outcome | str) -> None:
        with contextlib.suppress(OSError):  # whoever started this is gone
            line.send(what)

    with Stop(config.time_limit, again=lambda: os._exit(1)) as stop:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        threading.Thread(target=_end_with_the_parent, daemon=True, name="parent").start()
        try:
            tell(run_worker(config, stop, tell))
        except (BadInput, OSError) as error:
            tell(f"a worker ended: {error}")
    if compiles_ahead():  # nobody waits for that program any more
        os._exit(0)


def _end_with_the_parent() -> None:
    """Whatever this process does now, it ends at a checkpoint when its parent is gone."""
    parent = mp.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def _take_share(index: int, size: int) -> None:
    """Before jax has looked at the machine: this worker's cores, and its part of the GPU."""
    part = f"{GPU_MEMORY / size:.3f}"
    os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", part)
    if hasattr(os, "sched_setaffinity"):
        mine = share_of_cores(sorted(os.sched_getaffinity(0)), index, size)
        os.sched_setaffinity(0, mine)


def share_of_cores(cores: Sequence[int], index: int, size: int) -> list[int]:
    """Neighbouring cores for each worker, as evenly as possible; at least one."""
    if size >= len(cores):
        return [cores[index % len(cores)]]
    return list(cores[index * len(cores) // size : (index + 1) * len(cores) // size])
