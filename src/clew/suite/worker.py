"""A worker, wherever it runs: claim a pack that nobody has, train it, claim the next."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import gc
import itertools
import json
import os
import socket
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from clew.learner.program_cache import use_program_cache
from clew.plugins import UserModule, modules_in_use, use_again
from clew.store import LEFT_ALONE, Claims, Conflict, Lease, LeaseLost, PackFolder, Store
from clew.store.code import known_provenance
from clew.suite.ahead import SOON, Ahead
from clew.suite.logs import Kind
from clew.suite.packs import PackSpec
from clew.suite.planning import SuitePlan, plan
from clew.suite.progress import OnProgress, PackProgress, ended, publishing
from clew.suite.provenance import provenance
from clew.suite.stop import Stop
from clew.suite.suite import Suite
from clew.suite.training import CHECKPOINT_EVERY, train_pack
from clew.validate import BadInput, whole_number

LOGS = "logs"
"""Folder in the store for what launchers and workers leave; results do not depend on it."""
POLL = 2.0
"""Seconds between two looks at packs that others hold."""
SAY_AFTER = 10.0
"""Seconds of waiting before it is said for whom."""
TOO_LARGE = (
    "out of memory with a single run: give it less to hold (smaller envs, steps, chunks_per_batch "
    "or memory_width), fewer workers on this device, or a device with more memory"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class WorkerConfig:
    """What a worker is told, the same for all. It is sent to other machines: paths are absolute."""

    suite: Suite
    store: Path
    pack_size: int | None = None
    """Chosen by the first worker for its device, if not given here."""
    time_limit: float | None = None
    """Seconds that a worker works for."""
    checkpoint_every: float = CHECKPOINT_EVERY
    """Seconds between checkpoints."""
    logs: tuple[Kind, ...] = ()
    """Logs to write while training: for TensorBoard, Weights & Biases, or both."""
    modules: tuple[UserModule, ...] = dataclasses.field(default_factory=modules_in_use)
    """To be imported first: they register what the suite names."""
    cache: bool = True
    """Keep compiled programs on disk, for the next worker."""

    def __post_init__(self) -> None:
        if self.pack_size is not None:
            whole_number("pack_size", self.pack_size, 1)
        object.__setattr__(self, "store", Path(self.store).absolute())


class Outcome(NamedTuple):
    """How it ended, for this worker."""

    finished: int
    """Packs that have come to an end, whoever trained them."""
    left: int
    """Packs that have not."""
    stopped: str
    """Why it ended early; empty if it did not."""


def run_worker(config: WorkerConfig, stop: Stop, watch: OnProgress | None = None) -> Outcome:
    """Train what is not done and not held by another worker, until all is done or `stop` says.

    Where nobody watches, progress goes into a log in the store.
    """
    use_again(config.modules)
    if config.cache:
        use_program_cache()
    name = f"{socket.gethostname()}-{os.getpid()}"
    log = config.store / LOGS / "workers" / f"{name}.jsonl"
    store, watched = Store(config.store), watch or functools.partial(write_line, log)
    packs = plan(config.suite, store, config.pack_size)
    outcome = work(
        store, packs, stop, watched, checkpoint_every=config.checkpoint_every, logs=config.logs
    )
    if watch is None:
        print(f"{name}: {outcome.left} packs left. {outcome.stopped}", flush=True)
    return outcome


def work(
    store: Store,
    packs: SuitePlan,
    stop: Stop,
    watch: OnProgress,
    *,
    wait: bool = True,
    checkpoint_every: float = CHECKPOINT_EVERY,
    logs: Sequence[Kind] = (),
) -> Outcome:
    """Train whatever is not done yet. With `wait`, stay until packs that others hold are done."""
    provenance()  # of now: a checkout may be changed while it trains
    worker = _Worker(store, packs, store.claims(), stop, watch, checkpoint_every, logs)
    waited = 0.0
    while (todo := worker.todo()) and not stop.reason:
        if worker.go_through(todo):
            waited = 0.0
        elif worker.todo():
            if not wait:
                break
            if waited >= SAY_AFTER:
                worker.say_whom_it_waits_for()
            time.sleep(POLL)
            waited += POLL
    left = sum(not _over(folder) for _, folder in worker.todo())
    packs.clear_superseded()
    return Outcome(len(packs.packs) - left, left, stop.reason if left else "")


@dataclasses.dataclass
class _Worker:
    store: Store
    plan: SuitePlan
    claims: Claims
    stop: Stop
    watch: OnProgress
    checkpoint_every: float
    logs: Sequence[Kind]
    revision: int = 0
    left: list[tuple[PackSpec, PackFolder]] = dataclasses.field(default_factory=list)
    """Packs that have not ended, as far as this worker has seen."""
    seen: set[str] = dataclasses.field(default_factory=set)
    """Names of the packs that it has seen ended."""
    waits: dict[str, str] = dataclasses.field(default_factory=dict)
    """Whom it has said that it waits for, by pack."""
    ahead: Ahead = dataclasses.field(default_factory=Ahead)

    def todo(self) -> list[tuple[PackSpec, PackFolder]]:
        """The packs of the newest revision of the plan that have not ended."""
        self.store.require_present()
        self.plan.refresh()
        if self.revision != self.plan.revision:
            self.revision = self.plan.revision
            self.left = [(pack, pack.folder(self.store)) for pack in self.plan.packs]
        self.left = [pair for pair in self.left if pair[1].name not in self.seen]
        return self.left

    def go_through(self, todo: Sequence[tuple[PackSpec, PackFolder]]) -> bool:
        """Train every pack that is free, one after the other; False if none was."""
        busy = False
        for pack, folder in todo:
            self.store.require_present()
            lease = None if _over(folder) else self.claims.take(folder.name)
            if lease is not None:
                busy = True
                # whoever is told that another has it leaves it to them
                with lease, contextlib.suppress(LeaseLost):
                    # it is ours; but somebody may have put others in its place before
                    if self.plan.refresh() and pack not in self.plan.packs:
                        break
                    self.settle(pack, folder, lease)
            if _over(folder):
                self.seen.add(folder.name)
                if lease is None:
                    self.watch(ended(folder.name, "found", pack.periods))
            if self.stop.reason or self.plan.revision != self.revision:
                break
        return busy

    def compile_next(self, pack: PackSpec) -> None:
        """The program of the pack that this worker will train after this one, as it seems now."""
        later = itertools.dropwhile(lambda pair: pair[0] != pack, self.left)
        for other, folder in itertools.islice(later, 1, None):
            if not _over(folder) and self.claims.holder(folder.name) is None:
                if not pack.same_program(other):
                    self.ahead.compile(other)
                return

    def say_whom_it_waits_for(self) -> None:
        """Once for every pack and holder."""
        for pack, folder in self.left:
            owner = self.claims.holder(folder.name)
            unknown = f"a worker that is replaced after {self.claims.stale:g} s of silence"
            holder = str(owner or unknown)
            if self.waits.get(folder.name) != holder:
                self.waits[folder.name] = holder
                self.watch(PackProgress(folder.name, "waiting", 0, pack.periods, holder=holder))

    def settle(self, pack: PackSpec, folder: PackFolder, lease: Lease) -> None:
        """Bring a pack to its end, good or bad, unless there is a reason to stop."""
        if _over(folder):
            return  # somebody was quicker
        folder.sweep()
        if self.plan.regroup(pack):
            publishing(lease, lambda _: None)(ended(folder.name, "split", pack.periods))
            return
        tell = publishing(lease, self.watch, [run.name for run in folder.runs])

        looked = False

        def watch(progress: PackProgress) -> None:
            nonlocal looked
            tell(progress)
            soon = progress.what == "training" and progress.left < SOON
            if soon and not looked and not self.stop.reason:
                looked = True
                with contextlib.suppress(Exception):  # this pack is sound, whatever the next one is
                    self.compile_next(pack)

        if self.ahead.is_compiling(pack):
            tell(PackProgress(folder.name, "compiling", 0, pack.periods))
            self.ahead.wait()
        try:
            train_pack(pack, folder, lease, self.stop, watch, self.checkpoint_every, self.logs)
            return
        except (LeaseLost, BadInput, OSError):
            raise  # not the run's fault: another worker, a full disk, a wrong checkpoint
        except Exception as error:
            if self.stop.reason and isinstance(error.__cause__, (ConnectionError, EOFError)):
                return  # what stops this process has ended one that an environment steps in
            beside_compiler = self.ahead.busy
            reason = storable(f"{type(error).__name__}: {error}".splitlines()[0][:500])
            told = storable("".join(traceback.format_exception(error)))
            too_large = is_out_of_memory(error)
        gc.collect()  # outside `except`: the error no longer keeps arrays on the device alive
        if too_large and beside_compiler:
            # compiling takes memory too: it is tried again, without, before it is split
            self.ahead.wait()
            return
        if too_large and len(pack.runs) > 1:
            lease.confirm()
            self.plan.split(pack)
            watch(ended(folder.name, "split", pack.periods))
            return
        if not too_large and pack.joint:
            # one of its bonuses may be to blame, and the others not
            lease.confirm()
            self.plan.separate(pack)
            watch(ended(folder.name, "separated", pack.periods))
            return
        # one pack's failure is recorded, and the others go on
        _fail(folder, lease, f"{TOO_LARGE} ({reason})" if too_large else reason, told)
        watch(ended(folder.name, "failed", pack.periods))


def storable(text: str) -> str:
    """What JSON can hold: the name of a file, in an error, need not be Unicode."""
    return text.encode("utf-8", "backslashreplace").decode()


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a device or the machine had no memory left; jax has no class of its own for it."""
    from_jax = type(error).__name__ in ("XlaRuntimeError", "JaxRuntimeError")
    # the second is how a CPU says it from within a program
    said = any(words in str(error) for words in ("RESOURCE_EXHAUSTED", "Out of memory allocating"))
    return isinstance(error, MemoryError) or (from_jax and said)


def _fail(folder: PackFolder, lease: Lease, reason: str, told: str) -> None:
    about = {**provenance(), "pack": folder.name, "traceback": told}
    for run in folder.runs:
        if not run.finished():
            made = known_provenance(run).get("from")
            brought = {"from": made} if made else {}
            with contextlib.suppress(Conflict):  # another suite has finished it just now
                run.write_failed(reason, provenance={**about, **brought}, lease=lease)


def _over(folder: PackFolder) -> bool:
    """Whether no run is to be trained: there is a result, the record of a failure, or files that
    cannot be judged and stay (`RunState.stuck`)."""
    return all(run.status in LEFT_ALONE for run in folder.runs)


def write_line(log: Path, progress: PackProgress) -> None:
    """Add a line to the log. A full disk is no error here: the store will report it."""
    with contextlib.suppress(OSError):
        for folder in (log.parent.parent, log.parent):  # not the store itself, if it is gone
            folder.mkdir(exist_ok=True)
        with open(log, "a", encoding="utf-8") as file:
            file.write(json.dumps({"time": time.time(), **progress.plain()}) + "\n")
