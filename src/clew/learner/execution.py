"""Two ways to train many runs at once, for the two kinds of device there are.

An accelerator takes all runs *together*: one program, vmapped over runs, because the work of one
starves it. On a CPU batching buys nothing: XLA runs such a program on one core, its small products
one after the other. There every core is a *lane*: the program of a single run, compiled once, is
called for run after run from as many threads as there are cores.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from clew.learner.keys import unwrapped, wrapped
from clew.learner.program import Program
from clew.learner.run import EvalPeriod, RunParams, TrainState, init, period

GPU = {
    # Whole loops become CUDA graphs, not only what is inside them: their kernels are so short that
    # launching each from the host takes longer than some of them run.
    "xla_gpu_enable_command_buffer": (
        "FUSION,CUBLAS,CUBLASLT,CUSTOM_CALL,CUDNN,DYNAMIC_SLICE_FUSION,CONDITIONAL,WHILE"
    ),
    # Products of many small matrices are cuBLAS's; tuning Triton for them takes minutes.
    "xla_gpu_enable_triton_gemm": False,
}


class Executor(Protocol):
    """How the runs of a pack are trained."""

    def begin(self, program: Program, runs: RunParams) -> TrainState:
        """Every run before its first step."""
        ...

    def advance(
        self, program: Program, runs: RunParams, state: TrainState
    ) -> tuple[TrainState, EvalPeriod]:
        """One period of every run. `state` is used up by it."""
        ...

    def compile(self, program: Program, runs: RunParams, state: TrainState) -> None:
        """Compile `advance` without running it."""
        ...


class Vmapped:
    """One program, vmapped over runs."""

    def begin(self, program: Program, runs: RunParams) -> TrainState:
        """Every run before its first step."""
        return _init_vmapped()(program, runs)

    def advance(
        self, program: Program, runs: RunParams, state: TrainState
    ) -> tuple[TrainState, EvalPeriod]:
        """One period of every run, in one compiled call."""
        return _train_vmapped()(program, runs, state)

    def compile(self, program: Program, runs: RunParams, state: TrainState) -> None:
        """Compile `advance` without running it."""
        _train_vmapped().lower(program, runs, state).compile()


class PerCore:
    """The program of one run, on every core."""

    def begin(self, program: Program, runs: RunParams) -> TrainState:
        """Every run before its first step."""
        return _on_every_core(_init_one(program), runs)

    def advance(
        self, program: Program, runs: RunParams, state: TrainState
    ) -> tuple[TrainState, EvalPeriod]:
        """One period of every run, as many at a time as there are cores."""
        return _on_every_core(_train_one(program), runs, state)

    def compile(self, program: Program, runs: RunParams, state: TrainState) -> None:
        """Compile `advance` without running it."""
        _train_one(program)


def executor_for(device: str) -> Executor:
    """What suits a kind of device."""
    return PerCore() if device == "cpu" else Vmapped()


def cores() -> int:
    """How many this process may use."""
    mine = getattr(os, "sched_getaffinity", None)
    return len(mine(0)) if mine else os.cpu_count() or 1


def _on_every_core(work: Callable[..., Any], *packed: Any) -> Any:
    """Call `work` on one run of `packed` after the other, and stack what it returns.

    In numpy: as programs, to take a run out and to put it back would take seconds to compile.
    """
    runs = len(jax.tree.leaves(packed)[0])
    host = jax.tree.map(_to_host, packed)

    def alone(i: int) -> Any:
        run = jax.tree.map(lambda like, leaf: wrapped(like, leaf[i]), packed, host)
        return jax.block_until_ready(work(*run))

    with ThreadPoolExecutor(cores()) as cores_in_use:
        done = list(cores_in_use.map(alone, range(runs)))
    return jax.tree.map(
        lambda *leaves: wrapped(leaves[0], jnp.asarray(np.stack([*map(_to_host, leaves)]))), *done
    )


def _to_host(leaf: Any) -> np.ndarray:
    return np.asarray(unwrapped(leaf))


@cache
def _init_one(program: Program) -> Callable[[RunParams], TrainState]:
    return _beginning(partial(init, program)).lower(_like_a_run(program)).compile()


@cache
def _train_one(
    program: Program,
) -> Callable[[RunParams, TrainState], tuple[TrainState, EvalPeriod]]:
    run = _like_a_run(program)
    state = jax.eval_shape(partial(init, program), run)
    program_of_one = jax.jit(partial(period, program), donate_argnums=1).lower(run, state)
    # Beyond the first level LLVM takes a quarter longer, and what it makes is no faster.
    return program_of_one.compile(compiler_options=_effort(1))


def _like_a_run(program: Program) -> RunParams:
    number: Any = jax.ShapeDtypeStruct((), jnp.float32)
    prices: Any = jax.ShapeDtypeStruct((len(program.env.event_names),), jnp.float32)
    seed: Any = jax.ShapeDtypeStruct((), jnp.uint32)
    return RunParams(seed, prices, number, number, number, number)


@cache
def _init_vmapped() -> Callable[[Program, RunParams], TrainState]:
    return _beginning(
        lambda program, runs: jax.vmap(partial(init, program))(runs), static_argnums=0
    )


@cache
def _train_vmapped() -> Any:
    def together(
        program: Program, runs: RunParams, state: TrainState
    ) -> tuple[TrainState, EvalPeriod]:
        return jax.vmap(partial(period, program))(runs, state)

    options = _gpu_options()
    return jax.jit(together, static_argnums=0, donate_argnums=2, compiler_options=options)


def _gpu_options() -> dict[str, Any] | None:
    """Options for the compiler of a GPU, except those that the environment sets itself.

    None for AMD's: there loops as graphs are known to crash.
    """
    if jax.default_backend() != "gpu" or "rocm" in jax.devices()[0].client.platform_version:
        return None
    given = os.environ.get("XLA_FLAGS", "")
    return {name: value for name, value in GPU.items() if name not in given}


def _beginning(function: Callable[..., TrainState], **options: Any) -> Any:
    # It runs once: optimising it takes three times as long as it saves.
    return jax.jit(function, compiler_options=_effort(0), **options)


def _effort(level: int) -> dict[str, Any] | None:
    """For the compiler on a CPU, unless the environment asks for another."""
    option = "xla_backend_optimization_level"
    if jax.default_backend() != "cpu" or option in os.environ.get("XLA_FLAGS", ""):
        return None
    return {option: level}
