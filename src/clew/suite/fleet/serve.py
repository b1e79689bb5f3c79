"""One worker, wherever it runs: the claim loop, and a log of what it did in the store."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from pathlib import Path

from clew.store import Store
from clew.suite.fleet.order import Order
from clew.suite.planning import plan
from clew.suite.steps import Step
from clew.suite.stop import Stop
from clew.suite.worker import Outcome, work

LOGS = "fleet"
"""Folder in the store for what launchers and workers leave; results do not depend on it."""


def serve(order: Order, stop: Stop) -> Outcome:
    """Train what is not done and not held by another worker, until all is done or `stop` says."""
    store = Store(order.store)
    packs = plan(order.suite, store, order.pack_size)
    logs = order.store / LOGS / "workers"
    name = f"{socket.gethostname()}-{os.getpid()}"
    log = logs / f"{name}.jsonl"
    outcome = work(store, packs, stop, lambda step: write_line(log, step), every=order.every)
    print(f"{name}: {outcome.left} packs left. {outcome.stopped}", flush=True)
    return outcome


def write_line(log: Path, step: Step) -> None:
    """A log is only a log: if the disk is full, the store will say so, and better."""
    with contextlib.suppress(OSError):
        log.parent.mkdir(parents=True, exist_ok=True)
        with open(log, "a", encoding="utf-8") as file:
            file.write(json.dumps({"time": time.time(), **step.plain()}) + "\n")
