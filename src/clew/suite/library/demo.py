"""A small study for a start."""

from __future__ import annotations

from functools import partial

from clew.suite.registry import register
from clew.suite.suite import Block, Suite


@register("demo")
def demo() -> Suite:
    """A small study for two CPU cores: 60 runs in minutes.

    Two small worlds, three architectures, with and without E3B, five seeds.
    """
    small = {
        "envs": 16, "steps": 64, "chunk": 32, "chunks_per_batch": 16, "eval_every": 5,
        "eval_episodes": 40, "encoder": "mlp", "encoder_width": 32, "encoder_hidden": 16,
        "memory_width": 32,
    }  # fmt: skip
    block = partial(
        Block,
        architectures=("GRU", "RetNet", "Memoryless"),
        bonuses=("none", "e3b"),
        bonus_options={"e3b": {"hidden": 16, "features": 32}},
        seeds=5,
    )
    # falls are penalised: an agent that only avoids them never finds the goal
    path = block(
        environment="MysteryPath-Grid",
        environment_options={"size": 4, "actions": "cardinal"},
        rewards=("penalty",),
        steps=81_920,
        knobs={"learning_rate": 2e-3},
        settings=small,
    )
    tiny = block(
        environment="TinyReproduce",
        environment_options={"k": 3, "v": 2},
        rewards=("dense",),
        steps=40_960,
        knobs={"learning_rate": 1.5e-3},
        settings={**small, "encoder_hidden": 64, "chunks_per_batch": 8},
    )
    return Suite(name="demo", blocks=[path, tiny], share=True)
