"""How many kernels the loops of a GPU's program start, counted on a machine without a GPU.

In an environment that has `jax[cuda12]` beside Clew:

    python benchmarks/compiled.py TinyReproduce GRU none e3b noveld --runs 60

XLA compiles the program for an H200 that is only described to it (without trying out which kernels
are fastest), and what it compiled is read. Every loop is a line: what it is for, how often it goes
round, and how many kernels (and loops) it starts each time. It says nothing of how long they take.
"""

from __future__ import annotations

import argparse
import os
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any
from unittest import mock

os.environ |= {"JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1", "JAX_PLATFORMS": "cpu"}

import jax
from jax.experimental import topologies
from jax.sharding import AbstractDevice, AbstractMesh, AxisType, SingleDeviceSharding

from clew import bonuses, envs, kernels
from clew.bonuses import OneOf
from clew.learner import Knobs, Pack, Program, Settings
from clew.learner.execution import GPU
from clew.learner.run import init, train_period
from clew.suite.library.paper import BONUS_OPTIONS, SETTINGS

H200 = """
gpu_device_info {
  threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152
  shared_memory_per_core: 233472 threads_per_core_limit: 2048 core_count: 132 fpus_per_core: 128
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  memory_bandwidth: 4800000000000 l2_cache_size: 52428800 clock_rate_ghz: 1.98
  device_memory_size: 150000000000 shared_memory_per_block_optin: 232448
  cuda_compute_capability { major: 9 minor: 0 }
  registers_per_core_limit: 65536 registers_per_block_limit: 65536
}
platform_name: "CUDA" dnn_version_info { major: 9 minor: 10 } device_description_str: "NVIDIA H200"
"""
PARTS = ("rollout", "bonus", "values", "update", "evaluation")
NO_KERNEL = {"parameter", "get-tuple-element", "tuple", "bitcast", "constant", "fusion-done"}


def compiled(pack: Pack) -> str:
    """The program of a pack, as XLA would hand it to the GPU."""
    program = pack.program
    described = {"topology": "1x1x1", "target_config": H200}
    (device,) = topologies.get_topology_desc("x", "cuda", **described).devices
    mesh = AbstractMesh(
        (1,), ("x",), (AxisType.Auto,), abstract_device=AbstractDevice("NVIDIA H200", None, "cuda")
    )

    def there(tree: Any) -> Any:
        place = SingleDeviceSharding(device)
        return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=place), tree)

    def train_runs(runs: Any, state: Any) -> Any:
        return jax.vmap(partial(train_period, program))(runs, state)

    with (
        mock.patch.object(jax, "default_backend", return_value="gpu"),
        mock.patch.object(kernels, "on_nvidia", return_value=True),
        mock.patch.object(kernels, "compiles", return_value=True),
        jax.sharding.use_abstract_mesh(mesh),
    ):
        state = jax.eval_shape(jax.vmap(partial(init, program)), pack.runs)
        options = {**GPU, "xla_gpu_autotune_level": 0}
        train = jax.jit(train_runs, donate_argnums=1, compiler_options=options)
        traced = train.trace(there(pack.runs), there(state))
        return traced.lower(lowering_platforms=("cuda",)).compile().as_text()


def computations(text: str) -> dict[str, list[str]]:
    """The lines of each."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if begins := re.match(r"(?:ENTRY )?%?([\w.\-]+) \(.*\) -> .* \{", line):
            lines = found.setdefault(begins[1], [])
        elif " = " in line:
            lines.append(line)
    return found


def loops(text: str) -> Iterator[tuple[str, str, Counter[str]]]:
    """Of every loop: its part, its rounds, and what it starts in a round."""
    found = computations(text)
    for line in (line for lines in found.values() for line in lines):
        if not (body := re.search(r" while\(.*body=%?([\w.\-]+)", line)):
            continue
        rounds = re.search(r'known_trip_count":\{"n":"(\d+)"', line)
        started, parts = Counter[str](), Counter[str]()
        for each in found[body[1]]:
            kind = re.search(r" ([\w\-]+)\(", each.split(" = ", 1)[1])
            if kind is None or kind[1] in NO_KERNEL:
                continue
            started["loops" if kind[1] == "while" else "kernels"] += 1
            names = re.split("[/()]", "".join(re.findall('op_name="([^"]*)"', each)))
            parts.update(part for part in PARTS if part in names)
        part = parts.most_common(1)[0][0] if parts else "else"
        yield part, rounds[1] if rounds else "some", started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("environment")
    parser.add_argument("architecture")
    parser.add_argument("bonuses", nargs="*", default=["none"])
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--chunk", type=int, default=64)
    args = parser.parse_args()
    env = envs.make(args.environment)
    names = {name: bonuses.make(name, **BONUS_OPTIONS.get(name, {})) for name in args.bonuses}
    settings = Settings(**SETTINGS, chunk=args.chunk, eval_every=1)
    program = Program.of(env, args.architecture, OneOf.of(names), settings)
    reward = next(iter(env.reward_variants()))
    runs = [
        Pack.single(program, seed, reward, Knobs(), args.bonuses[seed % len(names)])
        for seed in range(args.runs)
    ]
    for part, rounds, started in sorted(loops(compiled(Pack.join(runs))), key=lambda x: x[:2]):
        print(f"{part:10s} {rounds:>5s} rounds of", *(f"{n} {what}" for what, n in started.items()))


if __name__ == "__main__":
    main()
