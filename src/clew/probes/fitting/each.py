"""One function for many small problems: two ways to run it, for the two kinds of device there are.

An accelerator takes them together, as one vmapped program. On a CPU that would only make every
problem last as long as the slowest, on one core: there the program of a single problem is called
for one after the other, from as many threads as there are cores.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import jax
import numpy as np

from clew.learner.lanes import cores

TOGETHER = 32
"""Problems in one call on an accelerator; a last call that has fewer is filled up."""
LANES = 4
"""Threads at most: each holds a set of features."""
ONE_CORE = "xla_cpu_multi_thread_eigen"
T = TypeVar("T")
R = TypeVar("R")


class Each:
    """A function of one problem, for a list of them that have one shape."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._alone = jax.jit(function)
        self._together = jax.jit(jax.vmap(function))

    def __call__(self, problems: Sequence[tuple[Any, ...]]) -> list[Any]:
        """What it makes of each, on the host."""
        if on_a_cpu():
            return [jax.device_get(self._alone(*each)) for each in problems]
        found = []
        for start in range(0, len(problems), TOGETHER):
            some = problems[start : start + TOGETHER]
            filled = [*some, *[some[-1]] * (TOGETHER - len(some))]
            stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *filled)
            done = jax.device_get(self._together(*stacked))
            found += [jax.tree.map(lambda leaf, i=i: leaf[i], done) for i in range(len(some))]
        return found


def a_core_each() -> None:
    """Let no product be shared out between cores: every lane has one, and would wait for others.

    For the start of a program: once XLA has begun, it takes no more advice.
    """
    flags = os.environ.get("XLA_FLAGS", "")
    if ONE_CORE not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} --{ONE_CORE}=false".strip()


def on_a_cpu() -> bool:
    """Whether that is all there is."""
    return jax.default_backend() == "cpu"


def in_lanes(work: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
    """What `work` makes of each item, in order, from several threads."""
    pool = ThreadPoolExecutor(min(LANES, cores()))
    try:
        yield from pool.map(work, items)
    finally:
        # whoever stops listening, by Ctrl-C say, does not wait for the rest
        pool.shutdown(cancel_futures=True)
