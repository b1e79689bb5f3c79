"""Training in a Gymnasium environment beside a peer, in one run: `make bench-gymnasium`.

Both sides step the same environment on the host: CartPole, or a corridor seen through a 3×3 window
(the original MiniGrid-MemoryS13, its view as one-hot numbers); with 1 copy of it, and with 16. Both
play rollouts of 512 steps of every copy, and learn for 4 epochs in 4 minibatches each, without an
early stop; actor and critic each have an encoder of two layers and an LSTM of width 128. Ours cuts
time into chunks of 64, and evaluates an episode in every turn; sb3-contrib's RecurrentPPO does
neither.

The sides take turns, and what counts is the median of their turns. A second of the clock is worth
what else the machine is doing, so steps a second of processor time stand beside it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import gymnasium
import jax

from clew import envs as worlds
from clew.learner import Pack, Settings
from peers import CHUNK, EPOCHS, KNOBS, NO_STOP, STEPS, WIDTH, corridor

MINIBATCHES = 4
ROLLOUTS = {1: 10, 16: 2}
"""Of a turn, by the number of copies."""


def cartpole() -> gymnasium.Env[Any, Any]:
    return gymnasium.make("CartPole-v1")


MADE = {"CartPole-v1": cartpole, "MiniGrid-MemoryS13": corridor}


class Turn(NamedTuple):
    """Environment steps a second: of the clock, and of the processor."""

    clock: float
    processor: float


def settings_for(envs: int) -> Settings:
    """Of both sides."""
    return Settings(
        envs=envs, steps=STEPS, chunk=CHUNK, epochs=EPOCHS, memory_width=WIDTH, eval_episodes=1,
        target_kl=NO_STOP,
        chunks_per_batch=envs * STEPS // CHUNK // MINIBATCHES, eval_every=ROLLOUTS[envs],
    )  # fmt: skip


def ours(name: str, envs: int, architecture: str) -> Iterator[int]:
    """The steps of one period after another."""
    settings = settings_for(envs)
    made = MADE[name]
    world = worlds.make(f"{made.__module__}:{made.__name__}", success_return=0.05)
    pack = Pack.of(world, "native", architecture, knobs=KNOBS, settings=settings)
    state = pack.begin()
    pack.compile(state)
    while True:
        state, record = pack.advance(state)
        jax.block_until_ready(record)
        yield settings.period


def recurrent_ppo(name: str, envs: int) -> Iterator[int]:
    """The steps of as many rollouts."""
    import recurrent_ppo as peer

    model = peer.make(MADE[name], settings_for(envs), KNOBS)
    while True:
        model.learn(envs * STEPS * ROLLOUTS[envs], reset_num_timesteps=False)
        yield envs * STEPS * ROLLOUTS[envs]


def turn(side: Iterator[int]) -> Turn:
    clock, processor = time.perf_counter(), time.process_time()
    steps = next(side)
    return Turn(steps / (time.perf_counter() - clock), steps / (time.process_time() - processor))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--environments", nargs="+", default=list(MADE), choices=list(MADE))
    parser.add_argument("--envs", nargs="+", type=int, default=[*ROLLOUTS], choices=ROLLOUTS)
    parser.add_argument("--architectures", nargs="+", default=["LSTM", "GRU"])
    parser.add_argument("--turns", type=int, default=3)
    args = parser.parse_args()
    print(f"full training; load when begun {os.getloadavg()[0]:.1f}", flush=True)
    for name in args.environments:
        for envs in args.envs:
            sides = {"sb3-contrib RecurrentPPO (LSTM)": recurrent_ppo(name, envs)}
            sides |= {f"clew {each}": ours(name, envs, each) for each in args.architectures}
            for side in sides.values():
                next(side)  # to warm up
            turns = {each: list[Turn]() for each in sides}
            for _ in range(args.turns):
                for each, side in sides.items():
                    turns[each].append(turn(side))
            median = {
                each: Turn(*map(statistics.median, zip(*taken, strict=True)))
                for each, taken in turns.items()
            }
            peer = next(iter(median.values()))
            for each, rate in median.items():
                print(
                    f"{name:<20}{envs:>3} copies  {each:<33}{rate.clock:>8,.0f} steps/s, "
                    f"{rate.clock / peer.clock:.1f}×;{rate.processor:>8,.0f} steps/CPU-s, "
                    f"{rate.processor / peer.processor:.1f}×",
                    flush=True,
                )


if __name__ == "__main__":
    main()
