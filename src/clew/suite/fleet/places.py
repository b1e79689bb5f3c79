"""The places that a suite can be sent to, by name. Each needs an extra that is asked for here."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any, Protocol

from clew.suite.fleet.order import Order, Resources
from clew.suite.stop import Stop
from clew.validate import BadInput, one_of

NEEDS = {"slurm": "submitit", "ray": "ray"}
NAMES = tuple(NEEDS)


class Launcher(Protocol):
    """Starts workers, and comes back when none is left, with a sentence for each that failed."""

    def __call__(
        self, order: Order, resources: Resources, stop: Stop, tell: Callable[[str], None]
    ) -> list[str]:
        """`tell` gets news, and is called every few seconds with an empty line if there is none.

        The launcher enters `stop`, after what it uses has set signal handlers of its own.
        """
        ...


def launcher(place: str) -> Launcher:
    """The launcher of a place, if what it needs is installed."""
    one_of("on", place, NAMES)
    if importlib.util.find_spec(NEEDS[place]) is None:
        raise BadInput(
            f"on={place!r} needs {NEEDS[place]}, which is not installed: "
            f"pip install 'clew[{place}]'"
        )
    module: Any = importlib.import_module(f"clew.suite.fleet.{place}")
    return module.launch
