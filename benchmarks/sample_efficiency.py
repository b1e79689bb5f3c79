"""Is our learner as sample-efficient as a known one? Learning curves beside sb3-contrib's.

    .venv-peers/bin/python benchmarks/sample_efficiency.py train curves.csv --tasks TinyReproduce
    .venv-peers/bin/python benchmarks/sample_efficiency.py table curves.csv

Both sides play the same world with the same settings: sb3-contrib's RecurrentPPO in the Gymnasium
form of it, ours directly. Actor and critic each have an encoder (256, then 128; sb3's convolutions
for images) and an LSTM of width 128. What is compared is the share of training episodes that
succeeded, rollout by rollout, with actions sampled: both sides have that. Curves go to a file, a
line a rollout as it ends, which a second call adds to; `table` prints, over the steps that every
run of a task has made, means over seeds and the steps until success stays at .5 and at .9.
"""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from clew import envs
from clew.analysis.stats.intervals import mean_interval, welch
from clew.learner import History, Knobs, Pack, Settings, periods

SETTINGS = Settings(eval_episodes=1)
COLUMNS = ("task", "side", "seed", "steps", "episodes", "successes")
THREADS = int(os.environ.get("OMP_NUM_THREADS", "1"))
SUSTAINED = 10
"""Rollouts over which success must stay."""


class Setup(NamedTuple):
    """A world, and how both sides train in it."""

    environment: str
    options: dict[str, Any]
    reward: str
    knobs: Knobs
    steps: int


TASKS = {
    "TinyReproduce": Setup(
        "TinyReproduce", {"k": 5, "v": 3}, "dense", Knobs(learning_rate=1e-3), 400_000
    ),
    "MemoryS7": Setup(
        "MiniGrid-MemoryS7", {}, "sparse", Knobs(learning_rate=3e-4, gamma=0.99), 800_000
    ),
    "MysteryPath 4×4": Setup(
        "MysteryPath-Grid", {"size": 4, "show_goal": True}, "aligned", Knobs(), 800_000
    ),
}
Write = Callable[[int, int, int], None]
"""Of a rollout: environment steps so far, episodes that ended in it, successes among them."""


def ours(task: Setup, seed: int, steps: int, write: Write) -> None:
    """Our learner's rollouts."""
    world = envs.make(task.environment, **task.options)
    pack = Pack.of(world, task.reward, "LSTM", seeds=[seed], knobs=task.knobs, settings=SETTINGS)
    history = History(SETTINGS)
    for now in periods(pack, steps):
        history.add(now)
    found = history.rollouts
    for i, (episodes, successes) in enumerate(
        zip(found.episodes[0], found.successes[0], strict=True)
    ):
        write((i + 1) * SETTINGS.envs * SETTINGS.steps, int(episodes), int(successes))


def recurrent_ppo(task: Setup, seed: int, steps: int, write: Write) -> None:
    """sb3-contrib's, with our settings under its names."""
    import gymnasium
    import torch
    from stable_baselines3.common.callbacks import BaseCallback

    import recurrent_ppo as peer

    torch.set_num_threads(THREADS)

    class Count(BaseCallback):
        episodes = successes = 0

        def _on_step(self) -> bool:
            for done, info in zip(self.locals["dones"], self.locals["infos"], strict=True):
                self.episodes += int(done)
                self.successes += int(done and info["is_success"])
            return True

        def _on_rollout_end(self) -> None:
            write(self.num_timesteps, self.episodes, self.successes)
            self.episodes = self.successes = 0

    def make() -> gymnasium.Env[Any, Any]:
        return gymnasium.make(f"clew/{task.environment}-v0", reward=task.reward, **task.options)

    model = peer.make(make, SETTINGS, task.knobs, seed)
    model.learn(steps, callback=Count())


SIDES = {"clew": ours, "sb3-contrib": recurrent_ppo}


def train(args: argparse.Namespace) -> None:
    """Add curves to the file."""
    new = not args.file.exists()
    with args.file.open("a", newline="") as file:
        writer = csv.writer(file)
        if new:
            writer.writerow(COLUMNS)
        for task in args.tasks:
            for side in args.sides:
                for seed in range(args.first_seed, args.first_seed + args.seeds):

                    def write(*rollout: int, about: tuple = (task, side, seed)) -> None:
                        writer.writerow((*about, *rollout))
                        file.flush()

                    setup = TASKS[task]
                    SIDES[side](setup, seed, args.steps or setup.steps, write)
                    print(task, side, seed, "done", flush=True)


def table(args: argparse.Namespace) -> None:
    """Success by quarter of training, and the steps until it stays."""
    curves = pd.read_csv(args.file)
    curves["success"] = curves.successes / curves.episodes.clip(lower=1)
    print("| task | side | n | success by quarter of training, mean [95%] | stays at .5 | at .9 |")
    print("|---|---|---:|---|---:|---:|")
    for task, of_task in curves.groupby("task", sort=False):
        common = of_task.groupby(["side", "seed"]).steps.max().min()
        of_task = of_task[of_task.steps <= common]
        areas: dict[str, np.ndarray] = {}
        for side, mine in of_task.groupby("side", sort=False):
            by_seed = mine.pivot_table(index="seed", columns="steps", values="success").to_numpy()
            steps = np.unique(mine.steps)
            quarters = [mean_interval(q.mean(1)) for q in np.array_split(by_seed, 4, axis=1)]
            shown = ", ".join(f"{q.estimate:.2f} [{q.low:.2f}, {q.high:.2f}]" for q in quarters)
            stays = [stays_at(by_seed, steps, level) for level in (0.5, 0.9)]
            print(f"| {task} | {side} | {len(by_seed)} | {shown} | {stays[0]} | {stays[1]} |")
            areas[str(side)] = by_seed.mean(1)
        if len(areas) == 2:
            gap = welch(areas["clew"], areas["sb3-contrib"]).interval
            mean = f"{gap.estimate:+.2f} [{gap.low:+.2f}, {gap.high:+.2f}]"
            print(f"| {task} | clew − sb3-contrib | | over all of training {mean} | | |")


def stays_at(by_seed: np.ndarray, steps: np.ndarray, level: float) -> str:
    """Median over seeds of the steps from which the mean of ten rollouts is at the level."""
    window = np.ones(SUSTAINED) / SUSTAINED
    first: list[float] = []
    for curve in by_seed:
        smooth = np.convolve(curve, window, "valid")
        below = np.flatnonzero(smooth < level)
        begins = below[-1] + 1 if len(below) else 0
        if begins < len(smooth):
            first.append(float(steps[begins]))
    if 2 * len(first) <= len(by_seed):
        return f"never ({len(first)}/{len(by_seed)})"
    return f"{np.median(first) / 1e6:.2f} M ({len(first)}/{len(by_seed)})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("train", "table"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=TASKS)
    parser.add_argument("--sides", nargs="+", default=list(SIDES), choices=SIDES)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--steps", type=int, help="instead of the task's")
    args = parser.parse_args()
    {"train": train, "table": table}[args.action](args)


if __name__ == "__main__":
    main()
