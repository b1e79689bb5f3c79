"""One function for many small problems: two ways to run it, for the two kinds of device there are.

An accelerator takes them together, as one vmapped program. On a CPU that would only make every
problem last as long as the slowest, on one core: there the program of a single problem is called
for one after the other, from as many threads as there are cores.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from threading import Lock
from typing import Any, TypeVar

import jax
import numpy as np

from clew.learner.execution import cores

TOGETHER = 32
"""Problems in one call on an accelerator; a last call that has fewer is filled up."""
LANES = 4
"""Threads at most: each holds a set of features."""
ACCELERATOR = Lock()
"""It takes one call at a time: several would only share its memory. Other lanes prepare theirs."""
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
            with ACCELERATOR:
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
    with no_threads_of_its_own():
        try:
            yield from pool.map(work, items)
        finally:
            # whoever stops listening, by Ctrl-C say, does not wait for the rest
            pool.shutdown(cancel_futures=True)


def no_threads_of_its_own() -> AbstractContextManager[Any]:
    """Keep numpy's products to the core of their lane too, where the means for it is installed.

    Otherwise the BLAS of every lane asks for every core, and lanes wait for each other, spinning:
    the fits of a suite take twice as long.
    """
    if find_spec("threadpoolctl") is None:
        return nullcontext()
    # XLA borrows scipy's for its Cholesky, and only what is loaded can be told
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1, user_api="blas")
