"""Forward and backward through one chunk: `unroll` against a loop over `step`, alone and packed.

A chunk is 32 environments × 64 steps at width 128, as one minibatch of the study has it; a pack is
64 runs with weights of their own. On a GPU, cuDNN's LSTM is measured beside ours.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from rich.console import Console
from rich.table import Table

from clew import kernels, memory
from clew.learner.execution import gpu_options
from clew.memory import diagonal, state_gradients
from clew.memory.architectures import gated_delta_net, gru, lstm

WIDTH, ENVS, STEPS = 128, 32, 64
VARIANTS: dict[str, dict[str, Any]] = {
    **{name: {} for name in memory.names()},
    "GRU, plain": {"norm": False},
    "LSTM, plain": {"norm": False},
    "RetNet, full block": {"full_block": True},
    "GatedDeltaNet, full block": {"full_block": True},
}

RECURRENCES: dict[str, tuple[Any, int]] = {
    "GRU": (gru, 3), "LSTM": (lstm, 4), "GatedDeltaNet": (gated_delta_net, 1)
}  # fmt: skip
"""Where each is, and how many widths its input has."""


def pack_of(variant: str, runs: int) -> Any:
    """The weights of `runs` runs, stacked."""
    name = variant.partition(",")[0]
    keys = jax.random.split(jax.random.key(0), runs)
    build = eqx.filter_vmap(lambda key: memory.make(name, key=key, **VARIANTS[variant]))
    return build(keys)


def chunk_of(runs: int) -> tuple[jax.Array, jax.Array]:
    """Inputs and resets of a chunk, one a run."""
    key = jax.random.key(1)
    xs = jax.random.normal(key, (runs, ENVS, STEPS, WIDTH))
    return xs, jax.random.bernoulli(key, 0.05, (runs, ENVS, STEPS))


def gradient(run: Callable[..., Any]) -> Callable[..., Any]:
    """Value and gradient of a scalar of all outputs, for a pack."""

    def loss(cell: Any, xs: jax.Array, resets: jax.Array) -> jax.Array:
        start = jax.tree.map(lambda x: jnp.zeros((ENVS, *x.shape)), cell.initial_state())
        return jnp.sin(run(cell, start, cell.read(xs), resets)[1]).sum()

    return eqx.filter_jit(eqx.filter_vmap(eqx.filter_value_and_grad(loss)))


def by_step(cell: Any, states: Any, inputs: Any, resets: jax.Array) -> Any:
    def one(state: Any, inputs: Any, resets: jax.Array) -> Any:
        return jax.lax.scan(lambda carry, now: cell.step(carry, *now), state, (inputs, resets))

    return jax.vmap(one)(states, inputs, resets)


def by_unroll(cell: Any, states: Any, inputs: Any, resets: jax.Array) -> Any:
    return cell.unroll_batch(states, inputs, resets)


def keep_memory() -> None:
    """What a call has used stays with the process (glibc), as within one long program of training.

    Otherwise calls that use more than 32 MB are slower by the time in which the system hands it
    out, page by page.
    """
    with contextlib.suppress(AttributeError, OSError):
        libc = ctypes.CDLL(None)
        mappings, trim_above = -4, -1  # M_MMAP_MAX, M_TRIM_THRESHOLD
        libc.mallopt(mappings, 0)
        libc.mallopt(trim_above, 2**31 - 1)


def measure(call: Callable[[], Any], seconds: float) -> float:
    """Median milliseconds of a call, after one to compile."""
    jax.block_until_ready(call())
    times = []
    while sum(times) < seconds or len(times) < 3:
        began = time.perf_counter()
        jax.block_until_ready(call())
        times.append(time.perf_counter() - began)
    return 1e3 * statistics.median(times)


def diagonal_ways(channels: int, seconds: float) -> dict[str, float]:
    """A diagonal recurrence by loop and by associative scan (`clew.memory.diagonal`)."""
    keys = jax.random.split(jax.random.key(0), 3)
    decay, drive = jax.random.uniform(keys[0], (2, ENVS, STEPS, channels))
    state = jnp.zeros((ENVS, channels))
    resets = jax.random.bernoulli(keys[1], 0.05, (ENVS, STEPS))
    found = {}
    for way in (diagonal.by_loop, diagonal.by_associative_scan):

        def loss(decay: jax.Array, drive: jax.Array, way: Any = way) -> jax.Array:
            return jnp.sin(jax.vmap(way)(decay, drive, state, resets)).sum()

        step = jax.jit(jax.value_and_grad(loss, argnums=(0, 1)))
        found[way.__name__] = measure(partial(step, decay, drive), seconds)
    return found


def recurrence_ways(name: str, networks: int, seconds: float) -> dict[str, float]:
    """What a memory cannot do for all steps at once, as loops and as kernels of an NVIDIA GPU."""
    module, columns = RECURRENCES[name]
    cells = pack_of(name, networks)
    weights = cells.of_state.weight if name == "GatedDeltaNet" else cells.of_state
    inputs, resets = chunk_of(networks)
    inputs = jnp.tile(inputs, columns)
    leaf = jnp.zeros((networks, ENVS, WIDTH))
    state = module.LSTMState(leaf, leaf) if name == "LSTM" else leaf
    found = {}
    for fused in (False, True) if kernels.on_nvidia() else (False,):

        def loss(weights: Any, state: Any, inputs: Any, resets: Any, fused: bool = fused) -> Any:
            if fused:
                states = state_gradients.kernels_with_state_gradients(
                    module._step, weights, state, inputs, resets
                )
            else:
                loop = partial(state_gradients.scan_with_state_gradients, module._step, weights)
                states = jax.vmap(loop)(state, inputs, resets)
            return jnp.sin(jax.tree.leaves(states)[0]).sum()

        gradients = jax.vmap(jax.value_and_grad(loss, argnums=(0, 1, 2)))
        step = jax.jit(gradients, compiler_options=gpu_options())
        call = partial(step, weights, state, inputs, resets)
        found["kernels" if fused else "loops"] = measure(call, seconds)
    return found


def cudnn_lstm(runs: int, seconds: float) -> float | None:
    """cuDNN's LSTM, plain, without resets; runs side by side share its weights."""
    try:
        from jax.experimental import rnn

        batch = runs * ENVS
        weights = rnn.init_lstm_weight(jax.random.key(0), WIDTH, WIDTH, 1, False)
        xs = jax.random.normal(jax.random.key(1), (batch, STEPS, WIDTH))
        zeros, lengths = jnp.zeros((1, batch, WIDTH)), jnp.full((batch,), STEPS, jnp.int32)

        def loss(weights: Any, xs: jax.Array) -> jax.Array:
            ys = rnn.lstm(xs, zeros, zeros, weights, lengths, WIDTH, WIDTH, 1, 0.0, False)[0]
            return jnp.sin(ys).sum()

        step = jax.jit(jax.value_and_grad(loss, argnums=(0, 1)))
        return measure(partial(step, weights, xs), seconds)
    except Exception as reason:  # a missing reference is reported, and is no error
        print(f"cuDNN's LSTM is not available here: {type(reason).__name__}: {reason}"[:300])
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, nargs="+", default=[1, 64])
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--only", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--precision", default="default", help="of matrix products")
    parser.add_argument("--diagonal", action="store_true", help="only the two ways of these")
    parser.add_argument(
        "--recurrences", action="store_true", help="only these, as loops and kernels"
    )
    args = parser.parse_args()
    keep_memory()
    if args.precision != "default":
        jax.config.update("jax_default_matmul_precision", args.precision)
    device = jax.devices()[0].device_kind
    if args.diagonal:
        for channels in (WIDTH, 2 * WIDTH):
            print(device, channels, "channels, ms:", diagonal_ways(channels, args.seconds))
        return
    if args.recurrences:
        for name in RECURRENCES:
            for runs in args.runs:
                found = recurrence_ways(name, runs, args.seconds)
                print(device, name, runs, "networks, ms:", found, flush=True)
        return
    table = Table(title=f"milliseconds forward + backward, {device}, {args.precision} precision")
    table.add_column("architecture")
    for runs in args.runs:
        for column in (f"step ×{runs}", f"unroll ×{runs}", "ratio"):
            table.add_column(column, justify="right")
    for variant in args.only:
        cells = []
        for runs in args.runs:
            arguments = (pack_of(variant, runs), *chunk_of(runs))
            slow, fast = (
                measure(partial(gradient(form), *arguments), args.seconds)
                for form in (by_step, by_unroll)
            )
            cells += [f"{slow:.2f}", f"{fast:.2f}", f"{slow / fast:.1f}×"]
            print(f"  {variant} ×{runs}: {slow:.3f} {fast:.3f}", flush=True)
        table.add_row(variant, *cells)
    if jax.default_backend() == "gpu":
        cells = []
        for runs in args.runs:
            took = cudnn_lstm(runs, args.seconds)
            cells += ["—", f"{took:.2f}" if took else "—", "—"]
        table.add_row("LSTM, cuDNN", *cells)
    Console(width=120).print(table)
    print(f"jax {jax.__version__}")


if __name__ == "__main__":
    main()
