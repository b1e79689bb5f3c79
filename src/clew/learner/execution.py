"""Executors: how a pack's runs are trained at once, for the two kinds of device there are.

(For environments that step on the host there is a third, in `clew.learner.hosted`.)

An accelerator trains all runs in one program, vmapped over runs, because one run alone leaves most
of it idle. On a CPU, vmapping gains nothing: XLA runs such a program on one core, its small matrix
products one after the other. There the program of a single run is compiled once, and called for
several runs at a time.
"""

from __future__ import annotations

import abc
import os
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.stages import Wrapped
from jaxtyping import PyTree

from clew.learner.checkpoint import key_data, wrap_like
from clew.learner.program import Program, RunParams
from clew.learner.program_cache import compile_program
from clew.learner.run import EvalPeriod, TrainState, init, train_period
from clew.learner.settings import Knobs
from clew.learner.traced import compile_traced, description, structure_of

CompilerOptions = dict[str, str | bool]
T = TypeVar("T")

THREADS = 2
"""Of a process, on a CPU. XLA splits long sums and products among its threads, which would be as
many as cores: a run's bytes would depend on the machine, and on how many workers share it. With a
fixed number they do not. One would make all runs of a pack wait for it; more make one run slower,
since there are more and smaller pieces. It counts if jax has not been used before."""
os.environ["NPROC"] = str(THREADS)

GPU: CompilerOptions = {
    # Whole loops become CUDA graphs, not only what is inside them: their kernels are so short that
    # launching each from the host takes longer than some of them run.
    "xla_gpu_enable_command_buffer": (
        "FUSION,CUBLAS,CUBLASLT,CUSTOM_CALL,CUDNN,DYNAMIC_SLICE_FUSION,CONDITIONAL,WHILE"
    ),
    # Products of many small matrices are cuBLAS's; tuning Triton for them takes minutes.
    "xla_gpu_enable_triton_gemm": False,
}


class Executor(abc.ABC):
    """How a pack is trained."""

    def begin(self, program: Program, runs: RunParams) -> TrainState:
        """Every run before its first step."""
        return run_by_run(init_one(program), runs)

    def prepare(self, program: Program, runs: RunParams) -> TrainState:
        """The same, and `advance` compiled."""
        state = self.begin(program, runs)
        self.compile(program, runs, state)
        return state

    @abc.abstractmethod
    def advance(
        self, program: Program, runs: RunParams, state: TrainState
    ) -> tuple[TrainState, EvalPeriod]:
        """One evaluation period of every run. `state` is donated: do not use it afterwards."""

    @abc.abstractmethod
    def compile(self, program: Program, runs: RunParams, state: TrainState) -> None:
        """Compile `advance` without running it."""

    def ahead(self, program: Program, runs: RunParams) -> Callable[[], None] | None:
        """Compiles what `prepare` would, in a thread while another pack trains; None if it should
        not be done, as where all cores are busy."""
        return None

    def close(self) -> None:  # noqa: B027 (most hold nothing)
        """Let go of whatever it holds besides the state."""


class Vmapped(Executor):
    """One program, vmapped over runs."""

    def begin(self, program: Program, runs: RunParams) -> TrainState:
        """Every run before its first step."""
        return _init_vmapped()(program, runs)

    def advance(
        self, program: Program, runs: RunParams, state: TrainState
    ) -> tuple[TrainState, EvalPeriod]:
        """One evaluation period of every run. `state` is donated: do not use it afterwards."""
        return _train_vmapped()(program, runs, state)

    def compile(self, program: Program, runs: RunParams, state: TrainState) -> None:
        """Compile `advance` without running it."""
        compile_program(_train_vmapped().lower(program, runs, state), None)

    def ahead(self, program: Program, runs: RunParams) -> Callable[[], None] | None:
        """Compiles what `prepare` would; None where code is foreign, which may not be made for
        threads."""

        def compiler() -> None:
            # not by `compile_program`, which keeps what the whole process warns of meanwhile
            _init_vmapped().lower(program, runs).compile()
            state = jax.eval_shape(partial(_init_vmapped(), program), runs)
            _train_vmapped().lower(program, runs, state).compile()

        return None if description(program) is None else compiler


class PerCore(Executor):
    """The program of one run, called for as many runs at a time as there are threads."""

    def prepare(self, program: Program, runs: RunParams) -> TrainState:
        """`begin`, while another thread compiles `advance`; not where code is foreign, which may
        not be made for that."""
        if description(program) is None:
            return super().prepare(program, runs)
        with ThreadPoolExecutor(1) as other:
            compiling = other.submit(_train_one, program)
            state = self.begin(program, runs)
            compiling.result()
        return state

    def advance(
        self, program: Program, runs: RunParams, state: TrainState
    ) -> tuple[TrainState, EvalPeriod]:
        """One evaluation period of every run. Do not use `state` afterwards."""
        return run_by_run(_train_one(program), runs, state)

    def compile(self, program: Program, runs: RunParams, state: TrainState) -> None:
        """Compile `advance` without running it."""
        _train_one(program)


def default_executor() -> Executor:
    """The one that suits the device."""
    return PerCore() if jax.default_backend() == "cpu" else Vmapped()


def cores() -> int:
    """How many this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def runs_at_once(workers: int = 1) -> int:
    """How many runs so many workers train at the same time on this CPU."""
    return min(cores(), THREADS * workers)


def run_by_run(function: Callable[..., T], *stacked: PyTree) -> T:
    """Call `function` for every entry of the leading axis of `stacked`, and stack the results.

    In numpy: as jax programs, taking a run out and putting it back would take seconds to compile.
    """
    host = jax.tree.map(_to_host, stacked)

    def call(i: int) -> T:
        arguments = jax.tree.map(lambda like, leaf: wrap_like(like, leaf[i]), stacked, host)
        return jax.block_until_ready(function(*arguments))

    with ThreadPoolExecutor(runs_at_once()) as threads:
        results = list(threads.map(call, range(len(jax.tree.leaves(stacked)[0]))))
    return jax.tree.map(
        lambda *leaves: wrap_like(leaves[0], jnp.asarray(np.stack([*map(_to_host, leaves)]))),
        *results,
    )


def _to_host(leaf: jax.Array) -> np.ndarray:
    return np.asarray(key_data(leaf))


@cache
def init_one(program: Program) -> Callable[[RunParams], TrainState]:
    """Compiled: a run before its first step."""
    run = run_shapes(program)
    state = jax.eval_shape(partial(init, program), run)
    # It runs once: optimising it takes three times as long as it saves.
    return compile_traced(partial(init, program), program, (run,), state, cpu_options(0))


@cache
def _train_one(
    program: Program,
) -> Callable[[RunParams, TrainState], tuple[TrainState, EvalPeriod]]:
    run = run_shapes(program)
    state = jax.eval_shape(partial(init, program), run)
    result = (state, structure_of(EvalPeriod))
    # Beyond the first level LLVM takes a quarter longer, and the program is no faster.
    options = cpu_options(1)
    return compile_traced(
        partial(train_period, program), program, (run, state), result, options, donate=1
    )


def run_shapes(program: Program) -> RunParams:
    """Of one run's numbers."""
    return jax.eval_shape(lambda: RunParams.of(program, 0, {}, Knobs()))


@cache
def _init_vmapped() -> Wrapped:
    def init_runs(program: Program, runs: RunParams) -> TrainState:
        return jax.vmap(partial(init, program))(runs)

    return jax.jit(init_runs, static_argnums=0, compiler_options=cpu_options(0))


@cache
def _train_vmapped() -> Wrapped:
    def train_runs(
        program: Program, runs: RunParams, state: TrainState
    ) -> tuple[TrainState, EvalPeriod]:
        return jax.vmap(partial(train_period, program))(runs, state)

    options = gpu_options()
    return jax.jit(train_runs, static_argnums=0, donate_argnums=2, compiler_options=options)


def gpu_options() -> CompilerOptions | None:
    """Options for the compiler of a GPU, except those that the environment sets itself.

    None for AMD's: there loops as graphs are known to crash.
    """
    if jax.default_backend() != "gpu" or "rocm" in jax.devices()[0].client.platform_version:
        return None
    if under_mps():
        warnings.warn(
            "this GPU is shared by NVIDIA's MPS, under which several processes that trained on "
            "MysteryPath have crashed together; one process with large packs is as fast, and safe "
            "(docs/performance.md)",
            stacklevel=2,
        )
    given = os.environ.get("XLA_FLAGS", "")
    return {name: value for name, value in GPU.items() if name not in given}


def under_mps() -> bool:
    """Whether programs reach the GPU by NVIDIA's multi-process service, as far as can be seen."""
    folder = os.environ.get("CUDA_MPS_PIPE_DIRECTORY", Path("/", "tmp", "nvidia-mps"))
    return Path(folder, "control").exists()


def cpu_options(level: int) -> CompilerOptions | None:
    """The optimisation level for the compiler on a CPU, unless the environment sets one."""
    option = "xla_backend_optimization_level"
    if jax.default_backend() != "cpu" or option in os.environ.get("XLA_FLAGS", ""):
        return None
    return {option: str(level)}
