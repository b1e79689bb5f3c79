"""What a uniformly random policy meets in the three worlds, with a picture of each.

python benchmarks/worlds.py --out docs/images
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np
import tyro
from PIL import Image
from rich.console import Console
from rich.progress import track
from rich.table import Table

from clew import envs
from clew.envs.canvas import WHITE
from clew.validate import whole_number

WORLDS = ("MysteryPath-Grid", "MiniGrid-MemoryS13", "TinyReproduce")
FRAMES, COLUMNS = 12, 4


def roll(out: Path = Path("out"), episodes: int = 4096, seed: int = 0) -> None:
    """Roll the three worlds with a random policy and draw a picture of each.

    Args:
        out: Folder for the pictures.
        episodes: Episodes a world for the figures in the table.
        seed: Seed of everything random.
    """
    whole_number("episodes", episodes, 1)
    whole_number("seed", seed, 0, 2**32 - 1)
    out.mkdir(parents=True, exist_ok=True)
    console = Console()
    table = Table(title="What a uniformly random policy meets")
    table.add_column("world", no_wrap=True)
    for column in ("symbols", "success", "length"):
        table.add_column(column, justify="right")
    table.add_column("events in an episode, on average")
    for name in track(WORLDS, description="rolling the worlds", console=console):
        env = envs.make(name)
        played = envs.random_episodes(env, jax.random.key(seed), episodes)
        totals = zip(env.event_names, np.asarray(played.events).mean(0), strict=True)
        table.add_row(
            name,
            "many" if env.alphabet is None else str(len(env.alphabet)),
            f"{float(played.success.mean()):.4f}",
            f"{float(played.length.mean()):.1f}",
            ", ".join(f"{event} {mean:.3g}" for event, mean in totals if event != "step"),
        )
        Image.fromarray(film_strip(env, seed)).save(out / f"{name}.png")
    console.print(table)
    console.print(f"{episodes} episodes a world, seed {seed}. Pictures:")
    for name in WORLDS:
        console.print(f"  {out / name}.png", highlight=False)


def film_strip(env: envs.Environment, seed: int) -> np.ndarray:
    """Frames spread over one random episode, the last one included."""
    states = _random_states(env, jax.random.key(seed))
    chosen = np.unique(np.linspace(0, len(states) - 1, FRAMES).round().astype(int))
    return sheet([env.picture(states[index]) for index in chosen], COLUMNS)


def sheet(frames: list[np.ndarray], columns: int, gap: int = 8) -> np.ndarray:
    """Lay frames of one size out in rows."""
    height, width = frames[0].shape[:2]
    rows = -(-len(frames) // columns)
    full = (rows * (height + gap) + gap, columns * (width + gap) + gap, 3)
    paper = np.full(full, WHITE, np.uint8)
    for index, frame in enumerate(frames):
        row, column = divmod(index, columns)
        y, x = gap + row * (height + gap), gap + column * (width + gap)
        paper[y : y + height, x : x + width] = frame
    return paper


def _random_states(env: envs.Environment, key: jax.Array) -> list[Any]:
    reset_key, action_key = jax.random.split(key)
    step = jax.jit(env.step)
    states = [jax.jit(env.reset)(reset_key)[0]]
    actions = jax.random.randint(action_key, (env.horizon,), 0, len(env.action_names))
    for action in np.asarray(actions):
        state, result = step(states[-1], int(action), key)
        states.append(state)
        if result.terminated or result.truncated:
            break
    return states


if __name__ == "__main__":
    tyro.cli(roll)
