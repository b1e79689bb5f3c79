"""What training a suite would take, before it is trained: runs, packs, programs, time, disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median
from typing import NamedTuple

import jax

from clew.learner.execution import cores
from clew.store import ENDED, CannotRead, Damaged, RunState, Store, scan, world_name
from clew.store.canonical import canonical
from clew.suite.footprint import footprint
from clew.suite.packs import PackSpec, program_key
from clew.suite.planning import preview
from clew.suite.provenance import provenance
from clew.suite.rates import PER_PACK, Rate, guess
from clew.suite.sharing import computed
from clew.suite.spec import NONE
from clew.suite.suite import Suite

SPEED = (
    "environment", "environment_options", "architecture", "architecture_options", "settings",
)  # fmt: skip
"""What of a configuration decides how fast it trains, the bonus apart: that costs little."""


class TaskForecast(NamedTuple):
    """What is to be done in one environment."""

    task: str
    runs: int
    finished: int
    failed: int
    """Or diverged."""
    todo: int
    packs: int
    """That are to be trained."""
    programs: int
    """That are to be compiled."""
    steps: int
    """Environment steps of all runs that are to be trained."""
    seconds: float
    """On this machine."""
    bytes: int
    """That are to be written."""


class Forecast(NamedTuple):
    """What a suite would take here."""

    tasks: list[TaskForecast]
    platform: str
    device: str
    cores: int
    measured: int
    """Finished runs of the store that the time rests on."""
    guessed: bool
    """Whether some of it rests on a guess."""
    checkpoints: int
    """Bytes of checkpoints while it trains, if every worker holds the largest pack."""

    @property
    def total(self) -> TaskForecast:
        """Of all environments together."""
        _, *columns = zip(*self.tasks, strict=True)
        return TaskForecast("in all", *map(sum, columns))


class _PackForecast(NamedTuple):
    statuses: list[str]
    program: object = None
    """None if there is nothing to train."""
    steps: int = 0
    """That its runs have yet to take, all together."""
    seconds: float = 0.0
    """Without compilation."""
    compile: float = 0.0
    bytes: int = 0
    checkpoints: int = 0


def forecast(
    suite: Suite,
    store: Store | None,
    pack_size: int | None = None,
    retry: bool = False,
    workers: int = 1,
) -> Forecast:
    """Nothing is compiled, trained or written. With `retry`, what failed is to be done too."""
    known = {row.identity: row for row in scan(store)} if store else {}
    ended = ("finished",) if retry else ENDED
    device = jax.local_devices()[0]
    pace = _Pace(store, known.values(), workers)
    packs: list[tuple[str, _PackForecast]] = []
    for pack in preview(suite, store, pack_size):
        rows = (known.get(run.identity) for run in pack.runs) if known else [None] * len(pack.runs)
        statuses = [row.status if row else "absent" for row in rows]
        if all(status in ended for status in statuses):
            found = _PackForecast(statuses)
        else:
            left = sum(status not in ended for status in statuses)
            found = _foreseen(pack, statuses, left, pace, store)
        packs.append((world_name(pack.runs[0].config), found))
    if device.platform != "cpu":
        packs = _waiting(packs, workers)
    tasks: dict[str, list[_PackForecast]] = {}
    for task, found in packs:
        tasks.setdefault(task, []).append(found)
    return Forecast(
        [_sum(name, packs, ended, workers, device.platform) for name, packs in tasks.items()],
        device.platform,
        device.device_kind,
        cores(),
        len(pace.used),
        pace.guessed,
        workers * max(pack.checkpoints for packs in tasks.values() for pack in packs),
    )


def _foreseen(
    pack: PackSpec, statuses: list[str], runs: int, pace: _Pace, store: Store | None
) -> _PackForecast:
    run = pack.runs[0]
    newest = pack.folder(store).checkpoints.paths()[:1] if store else []
    done = int(newest[0].stem.rpartition("-")[2]) if newest else 0
    steps = (pack.periods - done) * run.settings.period
    rate = pace.of(pack, runs)
    each = footprint(run)
    return _PackForecast(
        statuses,
        (program_key(run), pack.bonuses),
        steps * runs,
        PER_PACK + steps * rate.seconds_per_step,
        rate.compile,
        runs * each.result,
        runs * each.checkpoints,
    )


def _sum(
    task: str, packs: list[_PackForecast], ended: Iterable[str], workers: int, platform: str
) -> TaskForecast:
    statuses = [status for pack in packs for status in pack.statuses]
    todo = [pack for pack in packs if pack.program is not None]
    of_program: dict[object, list[_PackForecast]] = {}
    for pack in todo:
        of_program.setdefault(pack.program, []).append(pack)
    if platform == "cpu":  # every worker compiles what it trains
        compiled = sum(
            max(pack.compile for pack in same) * min(workers, len(same)) / workers
            for same in of_program.values()
        )
    else:
        compiled = sum(pack.compile for pack in todo)
    return TaskForecast(
        task,
        runs=len(statuses),
        finished=statuses.count("finished"),
        failed=statuses.count("failed") + statuses.count("diverged"),
        todo=sum(status not in ended for status in statuses),
        packs=len(todo),
        programs=len(of_program),
        steps=sum(pack.steps for pack in todo),
        seconds=compiled + sum(pack.seconds for pack in todo),
        bytes=sum(pack.bytes for pack in todo),
    )


def _waiting(
    packs: list[tuple[str, _PackForecast]], workers: int
) -> list[tuple[str, _PackForecast]]:
    """The same on an accelerator, where `compile` is what is waited for: for the first program,
    and for another as much longer as it takes than the pack before (`clew.suite.ahead`)."""
    found, before = [], None
    for task, pack in packs:
        wait = pack.compile
        if before is not None and pack.program is not None:
            longer = max(0.0, pack.compile - before.seconds) / workers
            wait = longer if pack.program != before.program else 0.0
        before = before if pack.program is None else pack
        found.append((task, pack._replace(compile=wait)))
    return found


class _Pace:
    """How fast packs train: as the store's own runs did on this kind of device, else a guess."""

    def __init__(self, store: Store | None, rows: Iterable[RunState], workers: int) -> None:
        self.used: set[str] = set()
        """Identities of the runs that something rests on."""
        self.guessed = False
        self._store, self._workers = store, workers
        self._rows: dict[str, list[RunState]] = {}
        for row in rows:
            if row.status == "finished" and {*SPEED, "steps"} <= row.config.keys():
                self._rows.setdefault(_speed_key(row.config), []).append(row)
        self._found: dict[str, Rate | None] = {}

    def of(self, pack: PackSpec, runs: int) -> Rate:
        key = _speed_key(pack.runs[0].config)
        if key not in self._found:
            self._found[key] = self._measured(self._rows.get(key, []))
        device = jax.local_devices()[0]
        program, bonuses = pack.runs[0].program(NONE), computed(pack.bonuses)
        rate = guess(program, runs, device.platform, self._workers, bonuses)
        if (found := self._found[key]) is None:
            self.guessed = True
            return rate
        return Rate(found.seconds_per_step * runs, found.compile or rate.compile)

    def _measured(self, rows: list[RunState]) -> Rate | None:
        """Of one run, by the median; None if there is none of this device."""
        steps, compiled = [], [0.0]
        for row in rows:
            assert self._store is not None
            try:
                made = self._store.run(row.config).provenance()
            except (Damaged, CannotRead, FileNotFoundError):
                continue
            seconds, taken = made.get("seconds"), made.get("compiled", 0.0)
            numbers = type(seconds) in (int, float) and type(taken) in (int, float)
            if made.get("device") == provenance()["device"] and numbers and seconds:
                steps.append(seconds / row.config["steps"])
                compiled.append(taken)
                self.used.add(str(row.identity))
        return Rate(median(steps), max(compiled)) if steps else None


def _speed_key(config: Mapping[str, object]) -> str:
    return canonical({name: config[name] for name in SPEED})
