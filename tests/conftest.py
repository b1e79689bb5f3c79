"""Fixtures for all tests."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

# The tests are about results, not devices.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
# They compile much and compute little, so the compiler does not optimise, writes LLVM's code
# itself instead of by MLIR, which takes four times as long, and each program in one piece.
# (`make test-slow`, which trains, sets this to nothing.)
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0"
    " --xla_backend_extra_options=xla_cpu_disable_new_fusion_emitters"
    " --xla_cpu_parallel_codegen_split_count=1",
)
# Every test process and its children share what they have compiled, also with the next run.
os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parent.parent / ".pytest_cache" / "jax")
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

import gc
from collections.abc import Iterator

import jax
import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

from clew import envs

settings.register_profile("clew", deadline=None, max_examples=40)
settings.load_profile("clew")

LONGEST = (
    "tests/memory/test_laws.py",
    "tests/test_docs.py",
    "tests/learner",
    "tests/test_extending.py",
    "tests/probes",
    "tests/envs",
    "tests/suite",
)
"""They begin first, so that no worker is left with a long file at the end."""
TOGETHER = ("tests/probes/test_probing",)
"""Files whose names begin like this go to one worker, which makes once what they share."""
MOST_MAPS = 8_000
"""Linux allows a process 65,530 memory maps."""


class ByFile(LoadFileScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return next((start for start in TOGETHER if nodeid.startswith(start)), None) or (
            super()._split_scope(nodeid)
        )


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile | None:
    return ByFile(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_finish() -> None:
    """What is imported by now stays: no need to look for garbage in it after every few tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        at = (i for i, start in enumerate(LONGEST) if item.nodeid.startswith(start))
        return next(at, len(LONGEST))

    items.sort(key=place)


@pytest.fixture(params=envs.names())
def env(request: pytest.FixtureRequest) -> envs.Environment:
    """Every registered world, as its name makes it."""
    return envs.make(request.param)


@pytest.fixture(scope="module", autouse=True)
def flags() -> Iterator[None]:
    """What a command asks of XLA for a process of its own, as `clew probe` does, is too late for
    this one, but not for its children: they would compute other bits than it."""
    before = os.environ["XLA_FLAGS"]
    yield
    os.environ["XLA_FLAGS"] = before


@pytest.fixture(scope="module", autouse=True)
def compiled_programs() -> Iterator[None]:
    """Forget programs after a file, if they are thousands: they use up a process's memory maps."""
    yield
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_bytes().count(b"\n") < MOST_MAPS:
        return
    from clew.learner import execution, host_actor, hosted

    caches = (
        hosted._begin_rollout,
        hosted._learn,
        host_actor.compiled_table,
        host_actor.compiled_sample,
        host_actor.compiled_choose,
        execution.init_one,
        execution._train_one,
        execution._init_vmapped,
        execution._train_vmapped,
    )
    for kept in caches:
        kept.cache_clear()
    jax.clear_caches()
    gc.collect()
