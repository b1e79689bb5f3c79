"""How fast training is, roughly, where nothing was measured: a guess from a few measurements.

On a CPU it is core-time a step, measured at the sizes of the demo and of the study; between them it
grows with the number of weights (`python benchmarks/rates.py`). On a GPU it is the speed of a large
pack, measured at the study's size (`docs/performance.md`), and less the fewer runs there are to
fill the device. What an environment on the host takes for a step is measured, by a few.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from clew.envs import Environment
from clew.learner import Program
from clew.learner.encoders import choose_encoder
from clew.learner.execution import cores, runs_at_once

MEASURED_ON = {"cpu": "two x86 cores", "gpu": "an NVIDIA H200"}
CPU_MICROSECONDS = {
    "GRU": (24.0, 106.0),
    "LSTM": (26.0, 137.0),
    "RetNet": (26.0, 91.0),
    "GatedDeltaNet": (49.0, 110.0),
    "Mamba-2": (69.0, 235.0),
    "Memoryless": (7.0, 53.0),
}
"""Of one core for an environment step: at the demo's size, and at the study's."""
CPU_IMAGES = {"cnn": 75.0, "small-cnn": 75.0, "mlp": 350.0}
"""What images add to it, by encoder; small-cnn is not measured, and taken to be as cnn."""
CPU_PERIOD = 6_000.0
"""Microseconds for an evaluation period of a run beside its steps; much for a very short one."""
IMAGE = 1000
"""An observation of so many numbers is one."""
GPU_RUNS = 180
GPU_STEPS = {
    "GRU": (2.5e6, 20), "LSTM": (2.0e6, 16), "GatedDeltaNet": (2.9e6, 24), "RetNet": (4.3e6, 45),
    "Mamba-2": (2.2e6, 14), "Memoryless": (9.5e6, 100),
}  # fmt: skip
"""Environment steps a second of a pack of `GPU_RUNS`, in float32, and how many runs are half as
fast as the largest pack would be."""
GPU_IMAGES = 0.27
"""Microseconds that images add to an environment step on a GPU."""
TF32 = 1.22
"""A GPU's speed in TF32, beside that in float32."""
BONUS = 0.08
"""What every bonus beyond the first adds to a program's time: NovelD beside E3B added 1 to 7% to
packs of 60 on a GPU."""
COMPILE = {"cpu": 15.0, "gpu": 100.0}
"""Seconds for a program."""
PER_PACK = 0.5
"""Seconds for beginning a pack and writing what came of it."""


class Rate(NamedTuple):
    """How long a pack takes: what it adds to the time of all packs."""

    seconds_per_step: float
    """For one environment step of each of its runs."""
    compile: float
    """Seconds, once for a program."""


def guess(program: Program, runs: int, platform: str, workers: int = 1, bonuses: int = 1) -> Rate:
    """For a pack of so many runs, while each of the workers trains such a pack.

    `bonuses` are those that the program computes for every run.
    """
    rate = _guess(program, runs, platform, workers)
    more = 1 + BONUS * max(0, bonuses - 1)
    rate = rate._replace(seconds_per_step=rate.seconds_per_step * more)
    env = program.observations.env
    if not env.hosted:
        return rate
    # environments on the host step one after the other, in each worker
    stepping = runs * _step_seconds(env) / min(workers, cores())
    return rate._replace(seconds_per_step=rate.seconds_per_step + stepping)


@cache
def _step_seconds(env: Environment) -> float:
    from clew.envs.hosted.copies import step_seconds
    from clew.envs.hosted.environment import HostedEnvironment

    assert isinstance(env, HostedEnvironment)
    return step_seconds(env)


def _guess(program: Program, runs: int, platform: str, workers: int) -> Rate:
    s = program.settings
    images = program.observations.size >= IMAGE
    encoder = choose_encoder(s.encoder, program.observations)
    size = s.memory_width * (s.memory_width + s.encoder_width) / (128 * 256)
    if platform == "cpu":
        small, large = CPU_MICROSECONDS.get(program.architecture, CPU_MICROSECONDS["LSTM"])
        # a step's share of an update is done `epochs` times; the demo's size is a sixteenth
        core = small + (large - small) * (size - 1 / 16) / (15 / 16)
        core = max(core, small / 2) * (0.1 + 0.9 * s.epochs / 4)
        core += (CPU_IMAGES[encoder] if images else 0) + CPU_PERIOD / s.period
        turns = -(-runs * workers // runs_at_once(workers))
        return Rate(core * 1e-6 * turns / workers, COMPILE["cpu"])
    steps, half = GPU_STEPS.get(program.architecture, GPU_STEPS["LSTM"])
    speed = steps * (1 + half / GPU_RUNS) * runs / (runs + half)
    seconds = max(1.0, size * s.epochs / 4) / speed + (GPU_IMAGES * 1e-6 if images else 0)
    return Rate(runs * seconds / (1 if s.precision == "highest" else TF32), COMPILE["gpu"])
