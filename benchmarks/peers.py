"""Full training beside peers, in one run: `make bench-peers`.

The task is a corridor seen through a 3×3 window (MiniGrid-MemoryS13); all sides play 16
environments × 512 steps, then learn for 4 epochs in minibatches of 2,048 steps with memories of
width 128, in float32, without an early stop. The peers:

- sb3-contrib's RecurrentPPO, LSTMs, in the original world on the host; actor and critic each have
  an encoder and a memory, like ours.
- Trainers in JAX built as PureJaxRL's and XLand-MiniGrid's are (`jax_peers`), GRUs, in our world;
  actor and critic share one network, which is half the work.

Ours cuts time into chunks of 64 and evaluates after every tenth rollout; the peers do neither.

Each side has a process of its own, with as many threads as it takes by itself. They begin one after
the other, then take turns, and what counts is the median of their turns. A second of the clock is
worth what else the machine is doing, so steps a second of processor time stand beside it, and how
busy other processes were.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import multiprocessing
import os
import platform
import statistics
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import jax
import numpy as np
from minigrid.envs import MemoryEnv
from minigrid.wrappers import OneHotPartialObsWrapper
from rich.console import Console
from rich.table import Table

from clew.learner import Knobs, Settings

# Not `Pack`: it gives XLA one thread, which is our choice and not the peers'.

ENVIRONMENT, REWARD = "MiniGrid-MemoryS13", "sparse"
ENVS, STEPS, BATCH, EPOCHS, WIDTH = 16, 512, 2048, 4, 128
CHUNK, NO_STOP = 64, 1e9
KNOBS = Knobs(learning_rate=3e-4, gamma=0.999)
SETTINGS = Settings(
    envs=ENVS, steps=STEPS, chunk=CHUNK, chunks_per_batch=BATCH // CHUNK, epochs=EPOCHS,
    memory_width=WIDTH, target_kl=NO_STOP,
)  # fmt: skip
UPDATES = 5
"""In one call of a peer's compiled program."""


class Done(NamedTuple):
    """What some training came to."""

    steps: int
    successes: float
    """Of episodes that ended; NaN if that is not known."""


Train = Callable[[], Done]


class Turn(NamedTuple):
    """Environment steps a second, of the clock and of the processor."""

    clock: float
    processor: float
    others: float
    """Cores that other processes kept busy meanwhile."""
    done: Done


class Side(NamedTuple):
    """Something to measure."""

    prepare: Callable[[], Train]
    """Returns when the first step can be taken."""
    networks: str
    peer: bool


def recurrent_ppo() -> Train:
    """sb3-contrib; a call is a rollout."""
    import recurrent_ppo as peer

    model = peer.make(corridor, SETTINGS, KNOBS)

    def train() -> Done:
        model.learn(SETTINGS.rollout, reset_num_timesteps=False)
        return Done(SETTINGS.rollout, math.nan)

    return train


def in_jax(name: str) -> Train:
    """One of `jax_peers`."""
    import jax_peers
    from clew import envs

    kind = getattr(jax_peers, name)
    trainer = jax_peers.Trainer(kind, envs.make(ENVIRONMENT), REWARD, SETTINGS, KNOBS)
    state = jax.jit(trainer.begin)()
    compiled = jax.jit(partial(trainer.train, updates=UPDATES)).lower(state).compile()

    def train() -> Done:
        nonlocal state
        state, told = jax.block_until_ready(compiled(state))
        assert np.isfinite(told.loss).all()
        return Done(UPDATES * SETTINGS.rollout, float(told.successes.sum()))

    return train


def ours(architecture: str, runs: int, shared: bool = False) -> Train:
    """A call is a period of every run, its evaluation included."""
    from clew.learner import Pack

    settings = dataclasses.replace(SETTINGS, shared=shared)
    pack = Pack.of(
        ENVIRONMENT, REWARD, architecture, seeds=range(runs), knobs=KNOBS, settings=settings
    )
    state = pack.begin()
    pack.compile(state)

    def train() -> Done:
        nonlocal state
        state, record = jax.block_until_ready(pack.advance(state))
        return Done(runs * settings.period, float(record.rollouts.successes.sum()))

    return train


SIDES = {
    "sb3-contrib RecurrentPPO, LSTM": Side(recurrent_ppo, "two", peer=True),
    "PureJaxRL-style, GRU": Side(partial(in_jax, "PureJaxRL"), "one, shared", peer=True),
    "XLand-MiniGrid-style, GRU": Side(partial(in_jax, "XLand"), "one, shared", peer=True),
    "clew GRU, one backbone, 1 run": Side(partial(ours, "GRU", 1, True), "one, shared", peer=False),
    "clew GRU, 1 run": Side(partial(ours, "GRU", 1), "two", peer=False),
    "clew GRU, 8 runs": Side(partial(ours, "GRU", 8), "two", peer=False),
    "clew LSTM, 1 run": Side(partial(ours, "LSTM", 1), "two", peer=False),
}


def serve(name: str, seconds: float, pipe: Connection) -> None:
    """A side in its process: says how long it took to begin, then takes a turn when asked to."""
    began = time.perf_counter()
    train = SIDES[name].prepare()
    pipe.send(time.perf_counter() - began)
    while pipe.recv():
        pipe.send(turn(train, seconds))


def turn(train: Train, seconds: float) -> Turn:
    """Train for at least so long."""
    done, began = Done(0, 0), (time.perf_counter(), time.process_time(), busy())
    while done.steps == 0 or time.perf_counter() - began[0] < seconds:
        more = train()
        done = Done(done.steps + more.steps, done.successes + more.successes)
    ended = (time.perf_counter(), time.process_time(), busy())
    clock, processor, all_cores = (b - a for a, b in zip(began, ended, strict=True))
    others = max(0.0, (all_cores - processor) / clock)
    return Turn(done.steps / clock, done.steps / processor, others, done)


def busy() -> float:
    """Seconds that the machine's cores have worked, all together; NaN if it does not say."""
    if not (about := Path("/proc/stat")).exists():
        return math.nan
    user, nice, system, _, _, *interrupts = map(int, about.read_text().split("\n")[0].split()[1:9])
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")


def measure(names: list[str], seconds: float, turns: int) -> dict[str, tuple[float, list[Turn]]]:
    """Of each side the seconds until it could take its first step, and its turns."""
    spawn = multiprocessing.get_context("spawn")
    pipes: dict[str, Connection] = {}
    found: dict[str, tuple[float, list[Turn]]] = {}
    for name in names:
        pipes[name], theirs = spawn.Pipe()
        spawn.Process(target=serve, args=(name, seconds, theirs), daemon=True).start()
        theirs.close()  # so that we hear if it ends
        found[name] = pipes[name].recv(), []
    for _ in range(turns):
        for name in names:
            pipes[name].send(True)
            found[name][1].append(pipes[name].recv())
    for pipe in pipes.values():
        pipe.send(False)
    return found


def corridor() -> gymnasium.Env[Any, Any]:
    """The original world, its 3×3 view as a flat one-hot vector, as ours has it."""
    return Flat(OneHotPartialObsWrapper(MemoryEnv(size=13, agent_view_size=3)))


class Flat(gymnasium.ObservationWrapper[Any, Any, Any]):
    def __init__(self, env: gymnasium.Env[Any, Any]):
        super().__init__(env)
        image: Any = env.observation_space["image"]  # type: ignore[index]
        size = int(np.prod(image.shape))
        self.observation_space = gymnasium.spaces.Box(0, 1, (size,), np.float32)

    def observation(self, observation: Any) -> np.ndarray:
        return observation["image"].reshape(-1).astype(np.float32)


def machine() -> str:
    """Versions and the processor, in a line."""
    packages = ("jax", "torch", "sb3-contrib")
    processor = platform.machine()
    if (about := Path("/proc/cpuinfo")).exists():
        lines = about.read_text(encoding="utf-8", errors="replace").splitlines()
        names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
        processor = next(names, processor)
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    return f"{versions}, Python {platform.python_version()}; {processor}, {os.cpu_count()} cores"


def successes(done: Done) -> str:
    """Per 1,000 steps."""
    return "—" if math.isnan(done.successes) else f"{1000 * done.successes / done.steps:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    usual = [name for name in SIDES if "LSTM, 1 run" not in name]
    parser.add_argument("--sides", nargs="+", default=usual, choices=list(SIDES))
    parser.add_argument("--seconds", type=float, default=10.0, help="of a turn, at least")
    parser.add_argument("--turns", type=int, default=3)
    args = parser.parse_args()
    load = os.getloadavg()[0]
    found = measure(args.sides, args.seconds, args.turns)
    rates = {
        name: [statistics.median(rate) for rate in list(zip(*turns, strict=True))[:3]]
        for name, (_, turns) in found.items()
    }
    fastest = [
        max((rates[name][i] for name in rates if SIDES[name].peer), default=math.nan)
        for i in (0, 1)
    ]
    title = f"steps/s of full training; load when begun {load:.1f}"
    table = Table(title=title, caption=machine())
    table.add_column("")
    table.add_column("networks")
    rate = ("start, s", "steps/s", "ratio", "steps/CPU-s", "ratio")
    for column in (*rate, "others", "successes", "at last"):
        table.add_column(column, justify="right")
    for name, (start, turns) in found.items():
        clock, processor, others = rates[name]
        table.add_row(
            name, SIDES[name].networks, f"{start:.0f}",
            f"{clock:,.0f}", f"{clock / fastest[0]:.2f}×",
            f"{processor:,.0f}", f"{processor / fastest[1]:.2f}×",
            f"{others:.1f}", successes(turns[0].done), successes(turns[-1].done),
        )  # fmt: skip
    console = Console(width=130)
    console.print(table)
    console.print(
        "ratio: to the fastest peer; others: cores that other processes kept busy meanwhile; "
        "successes: per 1,000 steps, in the first turn and in the last"
    )


if __name__ == "__main__":
    main()
