"""Episodes of a trained agent, as a GIF."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clew.envs import Environment
from clew.envs.canvas import GREEN, PAPER, RED, Colour, write_gif
from clew.learner.playing import Episode, actor_from_arrays, play_episodes
from clew.store.canonical import JsonObject
from clew.suite import from_config

STEP, PAUSE = 15, 120
"""Hundredths of a second that a step and the end of an episode are shown for."""
FRAMES = 300
"""Most pictures of an episode; of a longer one, some steps are left out."""
WIDTH, BORDER = 200, 6
"""Smaller pictures are enlarged; around the last one the border is green for success, else red."""


class RecordedEpisodes(NamedTuple):
    """How the episodes in a GIF went."""

    successes: list[bool]
    lengths: list[int]


def write_episodes(
    path: Path,
    config: JsonObject,
    weights: Mapping[str, np.ndarray],
    episodes: int,
    seed: int = 0,
) -> RecordedEpisodes:
    """Play episodes with the agent of a run, which takes the likeliest actions, and draw them."""
    program = from_config(config).program()
    agent = actor_from_arrays(program, weights)
    frames: list[np.ndarray] = []
    delays: list[int] = []
    recorded = RecordedEpisodes([], [])
    for episode in play_episodes(program, agent, seed, episodes):
        shown = pictures(program.env, episode)
        frames += shown
        delays += [STEP] * (len(shown) - 1) + [PAUSE]
        recorded.successes.append(episode.success)
        recorded.lengths.append(len(episode.actions))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_gif(path, frames, delays)
    return recorded


def pictures(env: Environment, episode: Episode) -> list[np.ndarray]:
    """One for each state, framed; the last one in the colour of the outcome."""
    every = -(-len(episode.states) // FRAMES)
    shown = [env.picture(state) for state in episode.states[-1::-every]][::-1]
    colours = [*[PAPER] * (len(shown) - 1), GREEN if episode.success else RED]
    return [_framed(picture, colour) for picture, colour in zip(shown, colours, strict=True)]


def _framed(picture: np.ndarray, colour: Colour) -> np.ndarray:
    times = -(-WIDTH // picture.shape[1])
    large = picture.repeat(times, 0).repeat(times, 1)
    height, width = large.shape[:2]
    framed = np.empty((height + 2 * BORDER, width + 2 * BORDER, 3), np.uint8)
    framed[:] = colour
    framed[BORDER:-BORDER, BORDER:-BORDER] = large
    return framed
