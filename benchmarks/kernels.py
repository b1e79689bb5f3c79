"""Where the time of training goes on an accelerator: device time by kernel, for one pack.

For example `python benchmarks/kernels.py TinyReproduce GRU none --runs 180`. One rollout, its
update and an evaluation are traced; kernels are added up by name, with how often each ran.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import re
import tempfile
import time
from collections import defaultdict
from pathlib import Path

# a trace does not look into the graphs that loops become
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_gpu_enable_command_buffer="

import jax

from clew import envs
from clew.learner import Pack, Settings, TrainState


def kernels(folder: str) -> dict[str, list[float]]:
    """Duration in milliseconds of every kernel of the trace, by name."""
    (file,) = Path(folder).rglob("*.xplane.pb")
    found: dict[str, list[float]] = defaultdict(list)
    for plane in jax.profiler.ProfileData.from_file(str(file)).planes:
        if not plane.name.startswith("/device:"):
            continue
        for line in plane.lines:
            if line.name.startswith("Stream"):
                for event in line.events:
                    found[re.sub(r"[_.]\d+", "", event.name)].append(event.duration_ns / 1e6)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("environment")
    parser.add_argument("architecture")
    parser.add_argument("bonus", nargs="?", default="none")
    parser.add_argument("--reward")
    parser.add_argument("--runs", type=int, default=180)
    parser.add_argument("--chunk", type=int, default=64)
    parser.add_argument("--precision", default="default")
    parser.add_argument("--top", type=int, default=25)
    parser.add_argument("--lock", help="a file that one process at a time may measure with")
    args = parser.parse_args()
    settings = Settings(chunk=args.chunk, precision=args.precision, eval_every=1)
    reward = args.reward or next(iter(envs.make(args.environment).reward_variants()))
    pack = Pack.of(
        args.environment,
        reward,
        args.architecture,
        args.bonus,
        seeds=range(args.runs),
        settings=settings,
    )
    began = time.perf_counter()
    state = pack.begin()
    pack.compile(state)
    compiled = time.perf_counter() - began
    with contextlib.ExitStack() as held:
        if args.lock:
            fcntl.flock(held.enter_context(open(args.lock, "w")), fcntl.LOCK_EX)
        measure(args, pack, state, compiled)


def measure(args: argparse.Namespace, pack: Pack, state: TrainState, compiled: float) -> None:
    spent = []
    for _ in range(4):
        began = time.perf_counter()
        state, record = pack.advance(state)
        jax.block_until_ready(record)
        spent.append(time.perf_counter() - began)
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            state, record = pack.advance(state)
            jax.block_until_ready(record)
        found = kernels(folder)
    update = min(spent[1:])
    steps = args.runs * pack.program.settings.period / update
    held = (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use", 0) / 1e9
    print(
        f"== {args.environment} {args.architecture} {args.bonus} x{args.runs}: "
        f"{update * 1e3:.0f} ms an update, {steps / 1e6:.2f} M steps/s, "
        f"compiled in {compiled:.0f} s, {held:.1f} GB; "
        f"ratio error {float(record.rollouts.report.first_ratio_error.max()):.1e}"
    )
    total = sum(map(sum, found.values()))
    print(f"   {total:.0f} ms in {sum(map(len, found.values()))} kernels")
    for name, times in sorted(found.items(), key=lambda item: -sum(item[1]))[: args.top]:
        mean = 1e3 * sum(times) / len(times)
        print(f"   {sum(times):8.1f} ms {len(times):7d} x {mean:7.1f} us  {name[:110]}")


if __name__ == "__main__":
    main()
