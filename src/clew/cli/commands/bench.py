"""`clew bench`: how fast is it here?"""

from __future__ import annotations

import time
from json import dumps
from typing import Literal, NamedTuple

import jax
from rich.console import Console
from rich.table import Table

from clew import bonuses, envs, memory
from clew.cli.registry import register
from clew.learner import Knobs, Pack, Settings
from clew.validate import known_names, positive_number, whole_number

WORLDS = ("TinyReproduce", "MiniGrid-MemoryS13", "MysteryPath-Grid")


class Measured(NamedTuple):
    """One row of the table."""

    environment: str
    architecture: str
    bonus: str
    runs: int
    compile_seconds: float
    steps_per_second: float
    gigabytes: float | None
    """The most that the device held; None where it does not say."""


@register("bench")
def bench(
    what: Literal["train"],
    /,
    environments: tuple[str, ...] = WORLDS,
    architectures: tuple[str, ...] = memory.names(),
    bonus: tuple[str, ...] = bonuses.names(),
    runs: int = 1,
    seconds: float = 5.0,
    chunk: int = 64,
    precision: Literal["highest", "default"] = "highest",
    json: bool = False,
) -> None:
    """Measure full training: rollouts, bonus, updates and evaluations, compilation apart.

    Args:
        what: Training is what there is to measure.
        environments: Worlds to train on.
        architectures: Memories to train.
        bonus: Bonuses to train with.
        runs: Runs in a pack.
        seconds: Measure each at least so long, in whole periods of ten rollouts and an evaluation.
        chunk: Steps of truncated backpropagation; 64 is the study's default, 32 its MemoryS13.
        precision: Of matrix products; `default` is TF32 on a GPU.
        json: Print one JSON object a line instead of a table.
    """
    known_names("environment", environments, envs.names())
    known_names("architecture", architectures, memory.names())
    known_names("bonus", bonus, bonuses.names())
    whole_number("runs", runs, 1)
    positive_number("seconds", seconds)
    settings = Settings(chunk=chunk, precision=precision)
    console = Console(stderr=json)
    table = Table(
        title=f"environment steps a second, {jax.devices()[0].device_kind}, jax {jax.__version__}"
    )
    for column in ("environment", "architecture", "bonus", "runs", "compile, s", "steps/s", "GB"):
        table.add_column(column)
    for environment in environments:
        for architecture in architectures:
            for name in bonus:
                row = measure(environment, architecture, name, runs, seconds, settings)
                gigabytes = "" if row.gigabytes is None else f"{row.gigabytes:.1f}"
                cells = (f"{row.compile_seconds:.1f}", f"{row.steps_per_second:,.0f}", gigabytes)
                table.add_row(environment, architecture, name, str(runs), *cells)
                console.print(environment, architecture, name, *cells, highlight=False)
                if json:
                    print(dumps(row._asdict()), flush=True)
    if not json:
        console.print(table)


def measure(
    environment: str, architecture: str, bonus: str, runs: int, seconds: float, settings: Settings
) -> Measured:
    """Train one pack for a while."""
    env = envs.make(environment)
    reward = next(iter(env.reward_variants()))
    pack = Pack.of(
        env, reward, architecture, bonus, seeds=range(runs), knobs=Knobs(), settings=settings
    )
    began = time.perf_counter()
    state = pack.begin()
    pack.compile(state)
    state, record = pack.advance(state)
    jax.block_until_ready(record)
    warm = time.perf_counter() - began
    periods, spent = 0, 0.0
    while spent < seconds:
        began = time.perf_counter()
        state, record = pack.advance(state)
        jax.block_until_ready(record)
        spent += time.perf_counter() - began
        periods += 1
    held = (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use")
    return Measured(
        environment,
        architecture,
        bonus,
        runs,
        warm - spent / periods,
        periods * runs * settings.period / spent,
        None if held is None else held / 1e9,
    )
