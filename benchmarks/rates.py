"""Core-time of an environment step on a CPU, for the guesses of `clew run --dry-run`.

`python benchmarks/rates.py` trains each architecture at the demo's size and at the study's, two
runs at a time, and prints microseconds of CPU time for an environment step; then the same with
images. CPU time hardly depends on what else the machine does. The table is in `clew.suite.rates`.
"""

from __future__ import annotations

import dataclasses
import time

import jax

from clew import memory
from clew.learner import Pack, Settings
from clew.suite import find_suite

RUNS, SECONDS = 2, 3.0
DEMO = find_suite("demo").runs()[-1].settings
STUDY = Settings(eval_every=1)


def microseconds(environment: str, architecture: str, settings: Settings) -> tuple[float, float]:
    """Of CPU time for an environment step; and seconds of it for the compilation."""
    reward = "dense" if environment == "TinyReproduce" else "sparse"
    pack = Pack.of(environment, reward, architecture, seeds=range(RUNS), settings=settings)
    began = time.process_time()
    state = pack.begin()
    pack.compile(state)
    compiled = time.process_time() - began
    state, _ = pack.advance(state)
    periods, began, since = 0, time.process_time(), time.perf_counter()
    while time.perf_counter() - since < SECONDS:
        state, record = pack.advance(state)
        jax.block_until_ready(record)
        periods += 1
    return 1e6 * (time.process_time() - began) / (periods * RUNS * settings.period), compiled


if __name__ == "__main__":
    for name in memory.names():
        for size, settings in (("demo", DEMO), ("study", STUDY)):
            step, compiled = microseconds("TinyReproduce", name, settings)
            print(f"{name:14s} {size:6s} {step:7.1f} µs, compiled in {compiled:.0f} s", flush=True)
    for size, settings in (("demo", DEMO), ("study", STUDY)):
        for name, encoder in (("GRU", "cnn"), ("Memoryless", "cnn"), ("GRU", "mlp")):
            chosen = dataclasses.replace(settings, encoder=encoder)
            step, _ = microseconds("MysteryPath-Grid", name, chosen)
            print(f"{name:14s} {size:6s} {step:7.1f} µs, images, {encoder}", flush=True)
