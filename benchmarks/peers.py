"""Full training beside a peer, in one run: `make bench-peers`.

The task is a corridor seen through a 3×3 window (MiniGrid-MemoryS13); both sides play 16
environments × 512 steps, then learn for 4 epochs in minibatches of 2,048 steps, actor and critic
each with an encoder of two layers and a recurrent memory of width 128, without an early stop. Ours
cuts time into chunks of 64 and evaluates after every tenth rollout; sb3-contrib's RecurrentPPO has
LSTMs only, does not cut, and does not evaluate.

A second of the clock is worth what else the machine is doing, so steps a second of processor time
stand beside it, and the load when the measurement began.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium
import jax
import numpy as np
from minigrid.envs import MemoryEnv
from minigrid.wrappers import OneHotPartialObsWrapper
from rich.console import Console
from rich.table import Table

from clew.learner import Knobs, Pack, Settings

ENVS, STEPS, BATCH, EPOCHS, WIDTH = 16, 512, 2048, 4, 128
CHUNK, NO_STOP = 64, 1e9
KNOBS = Knobs(learning_rate=3e-4, gamma=0.999)
SETTINGS = Settings(
    envs=ENVS, steps=STEPS, chunk=CHUNK, chunks_per_batch=BATCH // CHUNK, epochs=EPOCHS,
    memory_width=WIDTH, target_kl=NO_STOP,
)  # fmt: skip


class Rate(NamedTuple):
    """Environment steps a second, of the clock and of the processor; seconds until it started."""

    clock: float
    processor: float
    start: float


def measured(rollouts: Callable[[], int], seconds: float, start: float) -> Rate:
    """Call `rollouts`, which says how many it has done, for at least so long."""
    done, clock, processor = 0, time.perf_counter(), time.process_time()
    while done == 0 or time.perf_counter() - clock < seconds:
        done += rollouts() * ENVS * STEPS
    return Rate(
        done / (time.perf_counter() - clock), done / (time.process_time() - processor), start
    )


def ours(architecture: str, seconds: float) -> Rate:
    """One run, evaluations included."""
    began = time.perf_counter()
    pack = Pack.of("MiniGrid-MemoryS13", "sparse", architecture, knobs=KNOBS, settings=SETTINGS)
    state = pack.begin()
    pack.compile(state)
    start = time.perf_counter() - began

    def period() -> int:
        nonlocal state
        state, record = pack.advance(state)
        jax.block_until_ready(record)
        return SETTINGS.eval_every

    return measured(period, seconds, start)


def recurrent_ppo(seconds: float) -> Rate:
    """sb3-contrib, after one rollout to warm up."""
    import recurrent_ppo as peer

    began = time.perf_counter()
    model = peer.make(corridor, SETTINGS, KNOBS)

    def rollout() -> int:
        model.learn(ENVS * STEPS, reset_num_timesteps=False)
        return 1

    rollout()
    return measured(rollout, seconds, time.perf_counter() - began)


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--architectures", nargs="+", default=["GRU", "LSTM"])
    parser.add_argument("--seconds", type=float, default=20.0, help="for each, at least")
    args = parser.parse_args()
    load = os.getloadavg()[0]
    rates = {"sb3-contrib RecurrentPPO (LSTM)": recurrent_ppo(args.seconds)}
    rates |= {f"clew {name}": ours(name, args.seconds) for name in args.architectures}
    peer = next(iter(rates.values()))
    table = Table(title=f"steps/s of full training; load when begun {load:.1f}")
    for column in ("", "start, s", "steps/s", "ratio", "steps/CPU-s", "ratio"):
        table.add_column(column, justify="right")
    for name, rate in rates.items():
        by_clock, by_processor = rate.clock / peer.clock, rate.processor / peer.processor
        table.add_row(
            name, f"{rate.start:.0f}", f"{rate.clock:,.0f}", f"{by_clock:.1f}×",
            f"{rate.processor:,.0f}", f"{by_processor:.1f}×",
        )  # fmt: skip
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
