"""Progress of a suite while it trains: a bar for every pack, and one for all of them.

Each `PackProgress` comes from a worker in this process, from worker processes of this machine, or
from what the workers of a cluster write into the store.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from statistics import fmean

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from clew.cli.output import counted, print_json, say
from clew.suite.progress import OVER, REPLACED, PackProgress

WIDE = 130
"""Columns of a terminal from which on there is room for long names and bars."""
NAME, BAR = 24, 10
"""Columns for each on a narrower one."""
BESIDE = NAME + BAR + 16
OUTCOMES = {
    "finished": "finished",
    "diverged": "diverged, every run of it",
    "stopped": "stopped",
    "failed": "failed",
    "split": "out of memory; its runs go on in smaller packs",
    "separated": "failed; its runs are tried again in a program for each bonus",
}
LINE_EVERY = 60.0
"""Seconds between two lines about all packs, where there is no terminal to draw bars on."""


class ProgressBars:
    """Bars on a terminal; a line of JSON for each update; else a line for each pack and minute."""

    def __init__(
        self,
        console: Console,
        periods: int | None,
        as_json: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.console, self.as_json, self._clock = console, as_json, clock
        self._lines = not as_json and not console.is_terminal
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(40 if console.width >= WIDE else BAR),
            MofNCompleteColumn(),
            TextColumn("{task.fields[text]}"),
            console=console,
            disable=as_json or self._lines,
        )
        self._suite = SuiteProgress(periods)
        self._suite_bar = self._bars.add_task("all packs", total=periods, text="")
        self._pack_bars: dict[str, TaskID] = {}
        self._last_line = clock()

    def expect(self, periods: int | None) -> None:
        """There are so many periods in all, if that was not known before."""
        self._suite.periods = periods
        self._bars.update(self._suite_bar, total=periods)

    def __enter__(self) -> ProgressBars:
        self._bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bars.stop()

    def __call__(self, pack: PackProgress) -> None:
        """Show how far a pack is."""
        if self.as_json:
            print_json(json.dumps(pack.plain()))
            return
        if pack.what == "waiting":
            say(self.console, f"{pack.name}: waiting for {pack.holder}, who has it")
            return
        self._suite.add(pack)
        text = self._suite.text()
        self._bars.update(self._suite_bar, completed=self._suite.done, text=self._fitting(text))
        if pack.what == "found":
            return
        self._show(pack)
        if pack.what in OUTCOMES:
            outcome = ", ".join(filter(None, (OUTCOMES[pack.what], progress_text(pack))))
            say(self.console, f"{pack.name}: {outcome}")
        elif self._lines and self._clock() - self._last_line >= LINE_EVERY:
            self._last_line = self._clock()
            say(
                self.console, f"all packs: {self._suite.done}/{self._suite.periods} periods, {text}"
            )

    def _show(self, pack: PackProgress) -> None:
        if pack.name not in self._pack_bars:
            wide = self.console.width >= WIDE or len(pack.name) <= NAME
            # packs differ in the ends of their names
            name = pack.name if wide else "…" + pack.name[1 - NAME :]
            self._pack_bars[pack.name] = self._bars.add_task(name, total=pack.periods, text="")
        self._bars.update(
            self._pack_bars[pack.name],
            completed=pack.period,
            text=self._fitting(progress_text(pack)),
            visible=pack.what in ("compiling", "training"),
        )

    def _fitting(self, text: str) -> str:
        """As many of the phrases as there is room for beside a name, a bar and a count."""
        phrases = text.split(", ")
        while len(phrases) > 1 and len(", ".join(phrases)) > self.console.width - BESIDE:
            phrases.pop()
        return ", ".join(phrases)


class SuiteProgress:
    """All packs together."""

    def __init__(self, periods: int | None) -> None:
        self.periods = periods
        self._packs: dict[str, PackProgress] = {}
        """The last that is known of each."""
        self._pace: dict[str, float] = {}
        """Seconds for a period."""

    @property
    def done(self) -> int:
        """Periods."""
        return sum(pack.period for pack in self._packs.values())

    def add(self, pack: PackProgress) -> None:
        """Take in how far a pack is."""
        if pack.what in REPLACED:
            self._packs.pop(pack.name, None)
            self._pace.pop(pack.name, None)
            return
        self._packs[pack.name] = pack
        if pack.period < pack.periods and not math.isnan(pack.left):
            self._pace[pack.name] = pack.left / (pack.periods - pack.period)

    def left(self) -> float:
        """Seconds until the end, if the others go on as those that were seen; NaN if none was.

        As many packs as are trained now share the rest; those not begun are compiled first.
        """
        if self.periods is None or not self._pace:
            return float("nan")
        packs, pace = self._packs.values(), fmean(self._pace.values())
        compiled = fmean(self._packs[name].compiled for name in self._pace)
        running = [
            (pack.periods - pack.period) * self._pace.get(pack.name, pace)
            + (compiled if pack.what == "compiling" else 0.0)
            for pack in packs
            if pack.what in ("compiling", "training")
        ]
        waiting = [pack.periods - pack.period for pack in packs if pack.what == "stopped"]
        others = self.periods - sum(pack.periods for pack in packs)
        rest = (others + sum(waiting)) * pace
        rest += (others / fmean(pack.periods for pack in packs) + len(waiting)) * compiled
        return max([*running, (sum(running) + rest) / max(1, len(running))])

    def text(self) -> str:
        """Time left, packs done, speed."""
        packs = self._packs.values()
        running = [pack for pack in packs if pack.what == "training" and pack.seconds]
        speed = sum(pack.steps / pack.seconds for pack in running)
        phrases = [f"{duration(left)} left"] if not math.isnan(left := self.left()) else []
        phrases.append(f"{counted(sum(pack.what in OVER for pack in packs), 'pack')} done")
        phrases += [f"{speed:,.0f} steps/s"] if speed else []
        return ", ".join(phrases)


def progress_text(pack: PackProgress) -> str:
    """Time left, success so far, speed; then compilation. What matters most stands first."""
    if pack.what == "compiling":
        return "compiling"
    phrases = []
    if pack.what == "training" and not math.isnan(pack.left):
        phrases.append(f"{duration(pack.left)} left")
    if not math.isnan(pack.success):
        phrases.append(f"success {pack.success:.2f}")
    if pack.seconds:
        phrases.append(f"{pack.steps / pack.seconds:,.0f} steps/s")
    if pack.compiled >= 1:
        phrases.append(f"compiled in {duration(pack.compiled)}")
    return ", ".join(phrases)


def duration(seconds: float) -> str:
    """`42 s`, `7 min`, `3.5 h`, `2.1 days`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} days"
