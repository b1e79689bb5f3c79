"""`clew bench`: how fast is training here?"""

from __future__ import annotations

import itertools
import time
from json import dumps
from typing import Annotated, Literal, NamedTuple

from rich.table import Table
from tyro.conf import arg

from clew import bonuses, envs, memory
from clew.cli.output import console_for, say
from clew.cli.registry import register
from clew.learner import Settings
from clew.validate import known_names, positive_number, whole_number

What = Annotated[Literal["train"], arg(metavar="{train}")]
WORLDS = ("TinyReproduce", "MiniGrid-MemoryS13", "MysteryPath-Grid")


class Speed(NamedTuple):
    """One row of the table."""

    environment: str
    architecture: str
    bonus: str
    runs: int
    compile_seconds: float
    steps_per_second: float
    gigabytes: float | None
    """The most memory that was used on the device; None where it does not say."""


@register("bench")
def bench(
    what: What,
    /,
    environments: tuple[str, ...] = WORLDS,
    architectures: tuple[str, ...] = (),
    bonus: tuple[str, ...] = (),
    runs: int = 1,
    seconds: float = 5.0,
    chunk: int = 64,
    precision: Literal["highest", "default"] = "highest",
    json: bool = False,
) -> None:
    """Measure the speed of training: rollouts, bonus, updates and evaluations, once compiled.

    Args:
        what: What to measure; `train` is the only choice.
        environments: Environments to train in.
        architectures: Architectures to train; all if not given.
        bonus: Bonuses to train with; all if not given.
        runs: Number of runs in a pack.
        seconds: Least time to measure each; only whole evaluation periods count.
        chunk: Steps of truncated backpropagation. The study has 64, and 32 in MiniGrid-MemoryS13.
        precision: Precision of matrix products; `default` is TF32 on a GPU.
        json: Print one JSON object a line instead of a table.
    """
    import jax

    architectures, bonus = architectures or memory.names(), bonus or bonuses.names()
    known_names("environment", environments, envs.names())
    known_names("architecture", architectures, memory.names())
    known_names("bonus", bonus, bonuses.names())
    whole_number("runs", runs, 1)
    positive_number("seconds", seconds)
    settings = Settings(chunk=chunk, precision=precision)
    console, device = console_for(json), jax.devices()[0].device_kind
    table = Table(
        "environment", "architecture", "bonus", "runs", "compile, s", "steps/s", "GB",
        title=f"environment steps a second, {device}, jax {jax.__version__}",
    )  # fmt: skip
    for arm in itertools.product(environments, architectures, bonus):
        row = measure(*arm, runs, seconds, settings)
        gigabytes = "" if row.gigabytes is None else f"{row.gigabytes:.1f}"
        cells = (f"{row.compile_seconds:.1f}", f"{row.steps_per_second:,.0f}", gigabytes)
        table.add_row(*arm, str(runs), *cells)
        say(console, " ".join((*arm, *cells)))
        if json:
            print(dumps(row._asdict()), flush=True)
    if not json:
        console.print(table)


def measure(
    environment: str, architecture: str, bonus: str, runs: int, seconds: float, settings: Settings
) -> Speed:
    """Train one pack for a while."""
    import jax

    from clew.learner import Knobs, Pack

    env = envs.make(environment)
    reward = next(iter(env.reward_variants()))
    pack = Pack.of(
        env, reward, architecture, bonus, seeds=range(runs), knobs=Knobs(), settings=settings
    )
    began = time.perf_counter()
    state = pack.prepare()
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
    return Speed(
        environment,
        architecture,
        bonus,
        runs,
        compile_seconds=warm - spent / periods,
        steps_per_second=periods * runs * settings.period / spent,
        gigabytes=None if held is None else held / 1e9,
    )
