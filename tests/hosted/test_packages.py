"""Agents learn in packages that are not ours: `make test-packages`.

Each is trained as a user would, and must do better at its end than at its beginning, by far.
"""

from __future__ import annotations

from typing import Any

import pytest

from clew import envs
from clew.learner import Knobs, Pack, Settings, train

pytestmark = pytest.mark.packages

SETTINGS: dict[str, Any] = {
    "envs": 8,
    "steps": 64,
    "chunk": 32,
    "chunks_per_batch": 8,
    "encoder_width": 32,
    "encoder_hidden": 64,
    "memory_width": 32,
    "eval_every": 10,
    "eval_episodes": 20,
}
PIXELS = {**SETTINGS, "envs": 16, "steps": 128, "chunks_per_batch": 16, "encoder_width": 64}


def curve(name: str, architecture: str, steps: int, knobs: Knobs, more: Any, **options: Any) -> Any:
    env = envs.make(name, **options)
    settings = Settings(**{**SETTINGS, **more})
    pack = Pack.of(env, "native", architecture, knobs=knobs, settings=settings)
    return train(pack, steps)


def test_minigrid() -> None:
    """Walk to the goal of a small room, from what lies ahead, one-hot, and the heading."""
    history = curve(
        "gymnasium:minigrid:MiniGrid-Empty-Random-5x5-v0",
        "GRU",
        40_960,
        Knobs(learning_rate=1e-3, gamma=0.99, entropy=0.01),
        {},
        wrappers=["minigrid.wrappers:OneHotPartialObsWrapper"],
        keys=["image", "direction"],
        success_return=0.05,
    )
    success = history.evaluations.success[0]
    assert success[0] < 0.5
    assert history.tail_mean[0] > 0.9


@pytest.mark.parametrize("architecture", ["GRU", "Memoryless"])
def test_popgym(architecture: str) -> None:
    """Say again and again what was shown first: only with a memory."""
    history = curve(
        "gymnasium:popgym:popgym-RepeatFirstEasy-v0",
        architecture,
        81_920,
        Knobs(learning_rate=1e-3, gamma=0.98),
        {},
        success_return=0.8,
    )
    assert history.evaluations.success[0][0] < 0.6
    if architecture == "GRU":
        assert history.tail_mean[0] > 0.9
    else:
        assert history.tail_mean[0] < 0.6


def test_pixels() -> None:
    """Breakout from pictures, one ball: hit it back."""
    history = curve(
        "tests.hosted.breakout:one_life",
        "GRU",
        122_880,
        Knobs(learning_rate=5e-4, gamma=0.99, entropy=0.01),
        PIXELS,
        max_episode_steps=300,
        success_return=3,
    )
    returns = history.rollouts.reward[0] / (history.rollouts.episodes[0] / (16 * 128))
    assert returns[:5].mean() < 0.5
    assert returns[-10:].mean() > 0.8
