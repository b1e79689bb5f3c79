"""Short names for tasks, with what they leave out in footnotes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from clew.analysis.formatting import listed
from clew.envs import display

ROOM = 14
"""Characters of options that fit beside a name."""
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class TaskNames:
    """Names for the tasks of one page, by (environment, reward)."""

    def __init__(self, tasks: Iterable[tuple[str, str]]) -> None:
        self.short: dict[tuple[str, str], str] = {}
        self.notes: list[str] = []
        """The footnotes, each with its number."""
        numbers: dict[str, int] = {}
        for environment, reward in tasks:
            name, options = split(environment)
            if options and environment not in numbers:
                numbers[environment] = len(numbers) + 1
                chosen = ", ".join(f"{k}={v}" for k, v in options.items())
                raised = str(numbers[environment]).translate(RAISED)
                self.notes.append(f"{raised} {name} with {chosen}.")
            mark = str(numbers.get(environment, "")).translate(RAISED)
            self.short[environment, reward] = f"{name}{_beside(options)}{mark} / {reward}"
        labels = {e: display(e).label for e, _ in self.short}
        called = [f"{label} for {name}" for name, label in labels.items() if label != name]
        if called:
            self.notes.append(f"Tables say {listed(called)}.")

    def __getitem__(self, task: tuple[str, str]) -> str:
        return self.short[task]


def split(environment: str) -> tuple[str, dict[str, str]]:
    """`World[size=4,view=3]` into its name and its options."""
    name, bracket, inside = environment.partition("[")
    if not bracket or not inside.endswith("]"):
        return environment, {}
    # the comma of a list is followed by no name
    pairs = (part.partition("=") for part in re.split(r",(?=\w+=)", inside[:-1]))
    return name, {key: value for key, _, value in pairs}


def _beside(options: Mapping[str, str]) -> str:
    """The options that are short enough to stand beside the name: numbers, first of all."""
    numbers = {k: v for k, v in options.items() if v.lstrip("-").isdigit()}
    for chosen in (options, numbers):
        said = ", ".join(f"{k} {v}" for k, v in chosen.items())
        if said and len(said) <= ROOM:
            return f" ({said})"
    return ""
