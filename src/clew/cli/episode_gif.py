"""A trained agent at play, as a GIF."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from clew.envs import Environment
from clew.envs.canvas import GREEN, PAPER, RED, Colour, write_gif
from clew.learner.playing import Episode, actor_from_arrays, play_episodes
from clew.suite import from_config

STEP, PAUSE = 15, 120
"""Hundredths of a second that a step is shown, and the end of an episode."""
FRAMES = 300
"""Of an episode at most; of a longer one, every so many steps are shown."""
WIDTH, BORDER = 200, 6
"""Smaller pictures are enlarged; around the last one the border is green for success, else red."""


class Played(NamedTuple):
    """How the filmed episodes went."""

    successes: list[bool]
    lengths: list[int]


def write_film(
    path: Path,
    config: Mapping[str, Any],
    weights: Mapping[str, np.ndarray],
    episodes: int,
    seed: int = 0,
) -> Played:
    """Let the agent of a run play, taking the likeliest actions, and write what is seen."""
    program = from_config(config).program()
    agent = actor_from_arrays(program, weights)
    frames: list[np.ndarray] = []
    delays: list[int] = []
    played = Played([], [])
    for episode in play_episodes(program, agent, seed, episodes):
        shown = pictures(program.env, episode)
        frames += shown
        delays += [STEP] * (len(shown) - 1) + [PAUSE]
        played.successes.append(episode.success)
        played.lengths.append(len(episode.actions))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_gif(path, frames, delays)
    return played


def pictures(env: Environment, episode: Episode) -> list[np.ndarray]:
    """Of its states, the last one framed in the colour of its outcome."""
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
