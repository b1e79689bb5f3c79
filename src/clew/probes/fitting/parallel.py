"""Many small problems of one shape: two ways to run them, for the two kinds of device.

An accelerator solves a batch of them in one vmapped program. On a CPU that would only make every
problem take as long as the slowest, on one core: there the program for a single problem is called
once for each, from as many threads as there are cores.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from threading import Lock
from typing import Generic, TypeVar, TypeVarTuple

import jax
import numpy as np

from clew.learner.execution import cores

BATCH = 32
"""Problems in one call on an accelerator; a smaller last batch is padded."""
MAX_THREADS = 4
"""Each thread holds one set of features in memory."""
ACCELERATOR = Lock()
"""Held during a call: two calls at once would only share the memory of the accelerator."""
XLA_THREADS = "xla_cpu_multi_thread_eigen"
T = TypeVar("T")
R = TypeVar("R")
Args = TypeVarTuple("Args")


class Batched(Generic[R, *Args]):
    """A function of one problem, to be called with a list of problems of a few shapes."""

    def __init__(self, function: Callable[[*Args], R]) -> None:
        self._one = jax.jit(function)
        self._batch = jax.jit(jax.vmap(function))

    def __call__(self, problems: Sequence[tuple[*Args]]) -> list[R]:
        """The function's result for each problem, as numpy arrays."""
        if on_cpu():
            return [jax.device_get(self._one(*problem)) for problem in problems]
        alike: dict[str, list[int]] = {}
        for number, problem in enumerate(problems):
            alike.setdefault(str(jax.tree.map(np.shape, problem)), []).append(number)
        found: dict[int, R] = {}
        for numbers in alike.values():
            for start in range(0, len(numbers), BATCH):
                some = numbers[start : start + BATCH]
                padded = [problems[i] for i in [*some, *[some[-1]] * (BATCH - len(some))]]
                stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *padded)
                with ACCELERATOR:
                    results = jax.device_get(self._batch(*stacked))
                found |= {
                    number: jax.tree.map(lambda leaf, i=i: leaf[i], results)
                    for i, number in enumerate(some)
                }
        return [found[number] for number in range(len(problems))]


def on_cpu() -> bool:
    """Whether there is no accelerator."""
    return jax.default_backend() == "cpu"


def parallel_map(work: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
    """`work` of each item, in order, computed by several threads."""
    pool = ThreadPoolExecutor(min(MAX_THREADS, cores()))
    with _single_threaded_blas():
        try:
            yield from pool.map(work, items)
        finally:
            # after Ctrl-C, do not wait for the rest
            pool.shutdown(cancel_futures=True)


def single_threaded_xla() -> None:
    """Make XLA use one thread for each product: `parallel_map` already uses every core.

    Call it at the start of a program: XLA reads its flags once.
    """
    flags = os.environ.get("XLA_FLAGS", "")
    if XLA_THREADS not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} --{XLA_THREADS}=false".strip()


def _single_threaded_blas() -> AbstractContextManager[object]:
    """The same for numpy's products, where threadpoolctl is installed.

    Otherwise the BLAS of every thread asks for every core, the threads wait for each other, and
    the fits of a suite take twice as long.
    """
    if find_spec("threadpoolctl") is None:
        return nullcontext()
    # XLA uses scipy's BLAS for its Cholesky, and only a loaded library can be limited
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1, user_api="blas")
