"""Progress of a suite, live: every pack's bar, and one for the whole.

Whoever trains or watches calls it with the same steps: a worker in this process, a team of them,
or what a cluster's workers leave in the store.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from clew.suite import PackProgress
from clew.suite.progress import OVER

WIDE = 130
"""Columns of a terminal from which on there is room for whole names and long bars."""
NAME, BAR = 24, 10
"""Columns for each where there is not."""
BESIDE = NAME + BAR + 16
SAID = {"split": "out of memory; its runs go on in smaller packs"}
SAY_EVERY = 60.0
"""Seconds between two lines about the whole, where there is no terminal to draw bars on."""


class Display:
    """Bars on a terminal; a line of JSON a step for a script; else a line a pack, or a minute."""

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
            TextColumn("{task.fields[told]}"),
            console=console,
            disable=as_json or self._lines,
        )
        self._whole = Whole(periods)
        self._whole_bar = self._bars.add_task("all packs", total=periods, told="")
        self._packs: dict[str, TaskID] = {}
        self._said = clock()

    def expect(self, periods: int | None) -> None:
        """So many periods there are in all, if that was not known before."""
        self._whole.periods = periods
        self._bars.update(self._whole_bar, total=periods)

    def __enter__(self) -> Display:
        self._bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bars.stop()

    def __call__(self, step: PackProgress) -> None:
        """Show where a pack stands."""
        if self.as_json:
            print(json.dumps(step.plain()), flush=True)
            return
        self._whole.add(step)
        told = self._whole.words()
        self._bars.update(self._whole_bar, completed=self._whole.done, told=self._fitting(told))
        if step.what == "found":
            return
        self._show(step)
        if step.what in ("finished", "stopped", "failed", "split"):
            words = ", ".join(filter(None, (SAID.get(step.what, step.what), in_words(step))))
            self.console.print(f"{step.name}: {words}", highlight=False, soft_wrap=True)
        elif self._lines and self._clock() - self._said >= SAY_EVERY:
            self._said = self._clock()
            line = f"all packs: {self._whole.done}/{self._whole.periods} periods, {told}"
            self.console.print(line, highlight=False, soft_wrap=True)

    def _show(self, step: PackProgress) -> None:
        if step.name not in self._packs:
            name = step.name if self.console.width >= WIDE else ending(step.name)
            self._packs[step.name] = self._bars.add_task(name, total=step.periods, told="")
        self._bars.update(
            self._packs[step.name],
            completed=step.period,
            told=self._fitting(in_words(step)),
            visible=step.what in ("compiling", "training"),
        )

    def _fitting(self, told: str) -> str:
        """As many words as there is room for beside a name, a bar and a count."""
        words = told.split(", ")
        while len(words) > 1 and len(", ".join(words)) > self.console.width - BESIDE:
            words.pop()
        return ", ".join(words)


class Whole:
    """All packs together."""

    def __init__(self, periods: int | None) -> None:
        self.periods = periods
        self._last: dict[str, PackProgress] = {}
        self._pace: dict[str, float] = {}
        """Seconds for a period."""

    @property
    def done(self) -> int:
        """Periods."""
        return sum(step.period for step in self._last.values())

    def add(self, step: PackProgress) -> None:
        """A step of any pack."""
        if step.what == "split":
            self._last.pop(step.name, None)
            self._pace.pop(step.name, None)
            return
        self._last[step.name] = step
        if step.period < step.periods and not math.isnan(step.left):
            self._pace[step.name] = step.left / (step.periods - step.period)

    def left(self) -> float:
        """Seconds until the end, if all go on as those that were seen; NaN if none was.

        As many packs as are at work now share the work; what nobody has begun is compiled first.
        """
        if self.periods is None or not self._pace:
            return float("nan")
        seen, pace = self._last.values(), _mean(self._pace.values())
        compiled = _mean(self._last[name].compiled for name in self._pace)
        at_work = [
            (step.periods - step.period) * self._pace.get(step.name, pace)
            + (compiled if step.what == "compiling" else 0.0)
            for step in seen
            if step.what in ("compiling", "training")
        ]
        waiting = [step.periods - step.period for step in seen if step.what == "stopped"]
        others = self.periods - sum(step.periods for step in seen)
        rest = (others + sum(waiting)) * pace
        rest += (others / _mean(step.periods for step in seen) + len(waiting)) * compiled
        return max([*at_work, (sum(at_work) + rest) / max(1, len(at_work))])

    def words(self) -> str:
        """Time left, packs done, speed."""
        steps = self._last.values()
        at_work = [step for step in steps if step.what == "training" and step.seconds]
        speed = sum(step.steps / step.seconds for step in at_work)
        words = [f"{duration(left)} left"] if not math.isnan(left := self.left()) else []
        words.append(f"{sum(step.what in OVER for step in steps)} packs done")
        words += [f"{speed:,.0f} steps/s"] if speed else []
        return ", ".join(words)


def _mean(values: Iterable[float]) -> float:
    every = list(values)
    return sum(every) / len(every)


def in_words(step: PackProgress) -> str:
    """Time left, success so far, speed; and compilation, apart. What matters most stands first."""
    if step.what == "compiling":
        return "compiling"
    words = []
    if step.what == "training" and not math.isnan(step.left):
        words.append(f"{duration(step.left)} left")
    if not math.isnan(step.success):
        words.append(f"success {step.success:.2f}")
    if step.seconds:
        words.append(f"{step.steps / step.seconds:,.0f} steps/s")
    if step.compiled >= 1:
        words.append(f"compiled in {duration(step.compiled)}")
    return ", ".join(words)


def ending(name: str, width: int = NAME) -> str:
    """Of a long name the part in which packs differ."""
    return name if len(name) <= width else "…" + name[1 - width :]


def duration(seconds: float) -> str:
    """`42 s`, `7 min`, `3.5 h`, `2.1 days`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} days"


def console_for(as_json: bool) -> Console:
    """Words go to stderr when a script reads stdout."""
    return Console(file=sys.stderr if as_json else sys.stdout)
