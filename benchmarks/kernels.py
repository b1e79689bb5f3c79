"""Where the time of training goes on an accelerator: device time of a pack, by part and kernel.

For example `python benchmarks/kernels.py MysteryPath-Grid RetNet none e3b noveld --runs 60`: all
these bonuses in one program, with the options of the suite `paper`. One rollout, its update and an
evaluation are traced; a part is one of `PARTS`, which are `jax.named_scope`s of the learner, and
kernels are added up by part and name, with how often each ran.
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
from collections.abc import Iterator
from pathlib import Path

# a trace does not look into the graphs that loops become
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_gpu_enable_command_buffer="

import jax

from clew import bonuses, envs
from clew.bonuses import OneOf
from clew.learner import Knobs, Pack, Program, Settings, TrainState
from clew.suite.library.paper import BONUS_OPTIONS, SETTINGS

PARTS = ("rollout", "bonus", "values", "update", "evaluation")


def kernels(folder: str) -> Iterator[tuple[str, str, float]]:
    """Part, name and milliseconds of every kernel of the trace."""
    (file,) = Path(folder).rglob("*.xplane.pb")
    for plane in jax.profiler.ProfileData.from_file(str(file)).planes:
        if not plane.name.startswith("/device:"):
            continue
        for line in plane.lines:
            if line.name.startswith("Stream"):
                for event in line.events:
                    paths = [value for _, value in event.stats if "train_runs" in str(value)]
                    names = re.split("[/()]", "/".join(map(str, paths)))
                    part = next((part for part in PARTS if part in names), "else")
                    yield part, re.sub(r"[_.]\d+", "", event.name), event.duration_ns / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("environment")
    parser.add_argument("architecture")
    parser.add_argument("bonuses", nargs="*", default=["none"])
    parser.add_argument("--reward")
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--chunk", type=int, default=64)
    parser.add_argument("--precision", default="highest")
    parser.add_argument("--top", type=int, default=25)
    parser.add_argument("--lock", help="a file that one process at a time may measure with")
    args = parser.parse_args()
    env = envs.make(args.environment)
    program = Program.of(
        env,
        args.architecture,
        OneOf.of({b: bonuses.make(b, **BONUS_OPTIONS.get(b, {})) for b in args.bonuses}),
        Settings(**SETTINGS, chunk=args.chunk, precision=args.precision, eval_every=1),
    )
    reward = args.reward or next(iter(env.reward_variants()))
    every = [args.bonuses[seed % len(args.bonuses)] for seed in range(args.runs)]
    pack = Pack.join(
        [Pack.single(program, seed, reward, Knobs(), bonus) for seed, bonus in enumerate(every)]
    )
    began = time.perf_counter()
    state = pack.prepare()
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
        found: dict[tuple[str, str], list[float]] = defaultdict(list)
        for part, name, spent_ms in kernels(folder):
            found[part, name].append(spent_ms)
    update = min(spent[1:])
    steps = args.runs * pack.program.settings.period / update
    held = (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use", 0) / 1e9
    print(
        f"== {args.environment} {args.architecture} {args.bonuses} x{args.runs} {args.precision}: "
        f"{update * 1e3:.0f} ms an update, {steps / 1e6:.2f} M steps/s, "
        f"compiled in {compiled:.0f} s, {held:.1f} GB; "
        f"ratio error {float(record.rollouts.report.first_ratio_error.max()):.1e}"
    )
    total = sum(map(sum, found.values()))
    print(f"   {total:.0f} ms in {sum(map(len, found.values()))} kernels")
    for part in (*PARTS, "else"):
        mine = [times for (where, _), times in found.items() if where == part]
        print(f"   {sum(map(sum, mine)):8.1f} ms {sum(map(len, mine)):7d} kernels  {part}")
    for (part, name), times in sorted(found.items(), key=lambda item: -sum(item[1]))[: args.top]:
        mean = 1e3 * sum(times) / len(times)
        print(f"   {sum(times):8.1f} ms {len(times):7d} x {mean:7.1f} us  {part}: {name[:100]}")


if __name__ == "__main__":
    main()
