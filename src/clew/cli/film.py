"""Episodes of trained agents as a GIF: one agent, or several side by side in the same levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from clew.envs import Environment
from clew.envs.canvas import GREEN, INK, PAPER, RED, write_gif
from clew.labels import GIVEN, MEMORYLESS, NONE, bonus_label
from clew.learner.playing import Episode, actor_from_arrays, play_episodes
from clew.store.canonical import JsonObject
from clew.suite import from_config
from clew.validate import printable

STEP, PAUSE = 15, 120
"""Hundredths of a second that a step and the end of an episode are shown for."""
FRAMES = 300
"""Most pictures of an episode; of a longer one, some steps are left out."""
WIDTH, BORDER = 200, 6
"""Smaller pictures are enlarged; where an episode has ended, the border is green or red."""
TEXT, LINE, MARGIN = 14, 20, 6
"""Size of the letters, height of a line, and space left of it."""
MEMORY = {MEMORYLESS: "no memory", GIVEN: "given a perfect memory"}


class Agent(NamedTuple):
    """Who plays."""

    config: JsonObject
    """Of its run."""
    weights: Mapping[str, np.ndarray]

    @property
    def caption(self) -> tuple[str, str]:
        """Its architecture and bonus, and what that means for its memory."""
        name, bonus = self.config["architecture"], self.config["bonus"]
        with_bonus = "" if bonus == NONE else f" + {bonus_label(bonus)}"
        return printable(f"{name}{with_bonus}"), MEMORY.get(name, "a memory of its own")


class Played(NamedTuple):
    """How the episodes of one agent went."""

    successes: list[bool]
    lengths: list[int]


def write_film(path: Path, agents: Sequence[Agent], episodes: int, seed: int = 0) -> list[Played]:
    """Draw episodes in which all agents meet the same levels and take the likeliest actions."""
    frames: list[np.ndarray] = []
    delays: list[int] = []
    played = [Played([], []) for _ in agents]
    plays = [_plays(agent, episodes, seed) for agent in agents]
    for together in zip(*plays, strict=True):
        panels: list[list[np.ndarray]] = []
        longest = max(len(episode.states) for _, episode in together)
        for agent, record, (env, episode) in zip(agents, played, together, strict=True):
            record.successes.append(episode.success)
            record.lengths.append(len(episode.actions))
            panels.append(list(_panels(agent, record, env, episode, longest)))
        frames += [_beside(row) for row in zip(*panels, strict=True)]
        delays += [STEP] * (len(panels[0]) - 1) + [PAUSE]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_gif(path, frames, delays)
    return played


def _plays(agent: Agent, episodes: int, seed: int) -> Iterator[tuple[Environment, Episode]]:
    program = from_config(agent.config).program()
    actor = actor_from_arrays(program, agent.weights)
    for episode in play_episodes(program, actor, seed, episodes):
        yield program.env, episode


def _panels(
    agent: Agent, record: Played, env: Environment, episode: Episode, longest: int
) -> Iterator[np.ndarray]:
    """An agent's part of each frame; after its end it waits for the others."""
    every = -(-longest // FRAMES)
    last = len(episode.states) - 1
    before = Played(record.successes[:-1], record.lengths[:-1])
    drawn, picture = -1, np.empty(0)
    for time in range((longest - 1) % every, longest, every):
        step = min(time, last)
        if step != drawn:
            drawn, picture = step, env.picture(episode.states[step])
        ended = step == last
        told = record if ended else before
        outcome = "success" if episode.success else "failure"
        count = f"{outcome}, {step} steps" if ended else f"step {step}"
        score = f"{sum(told.successes)} of {len(told.successes)} solved" if told.successes else ""
        colour = PAPER if not ended else GREEN if episode.success else RED
        yield _panel(picture, agent.caption, (count, score), colour)


def _panel(
    picture: np.ndarray,
    above: tuple[str, str],
    below: tuple[str, str],
    colour: tuple[int, int, int],
) -> np.ndarray:
    """The picture with two lines above it, one below, and a border."""
    times = -(-WIDTH // picture.shape[1])
    large = picture.repeat(times, 0).repeat(times, 1)
    height, width = large.shape[:2]
    image = Image.new("RGB", (width + 2 * BORDER, height + 3 * LINE + 2 * BORDER), colour)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(TEXT)
    draw.rectangle((BORDER, BORDER, width + BORDER - 1, height + 3 * LINE + BORDER - 1), PAPER)
    image.paste(Image.fromarray(large), (BORDER, BORDER + 2 * LINE))
    left, foot = BORDER + MARGIN, BORDER + 2 * LINE + height
    for row, text in enumerate(above):
        draw.text((left, BORDER + row * LINE), text, INK, font, stroke_width=0.3 * (row == 0))
    draw.text((left, foot), below[0], INK, font)
    draw.text((BORDER + width - MARGIN, foot), below[1], INK, font, anchor="ra")
    return np.asarray(image)


def _beside(panels: Sequence[np.ndarray]) -> np.ndarray:
    height = max(panel.shape[0] for panel in panels)
    filled = (
        np.pad(panel, ((0, height - len(panel)), (0, 0), (0, 0)), constant_values=PAPER[0])
        for panel in panels
    )
    return np.concatenate(list(filled), axis=1)
