"""A small study for a start."""

from __future__ import annotations

from functools import partial

from clew.suite.registry import register
from clew.suite.suite import Block, Suite


@register("demo")
def demo() -> Suite:
    """A small study for two CPU cores: 80 runs in minutes.

    Three agents and given memory, with and without E3B, five seeds. On the one world they need
    exploration (without a bonus they learn not to move), on the other memory.
    """
    small = {
        "envs": 16, "steps": 64, "chunk": 32, "chunks_per_batch": 16, "eval_every": 5,
        "eval_episodes": 200, "encoder": "mlp", "encoder_width": 32, "encoder_hidden": 16,
        "memory_width": 32,
    }  # fmt: skip
    block = partial(
        Block,
        architectures=("GRU", "RetNet", "Memoryless", "Given"),
        bonuses=("none", "e3b"),
        bonus_options={"e3b": {"hidden": 16, "features": 32}},
        seeds=5,
    )
    # A fall costs 1 / max_steps: short episodes make it dear. Without entropy in the loss, nothing
    # but the bonus keeps an agent exploring once it has learnt to stay where it cannot fall.
    path = block(
        environment="MysteryPath-Grid",
        environment_options={"size": 4, "actions": "cardinal", "max_steps": 8},
        rewards=("penalty",),
        steps=61_440,
        knobs={"learning_rate": 2e-3, "entropy": 0.0, "bonus_coef": 0.1},
        settings=small,
    )
    # five tokens are more than these small memories learn to hold in so few steps
    tiny = block(
        environment="TinyReproduce",
        environment_options={"k": 5, "v": 4},
        rewards=("dense",),
        steps=20_480,
        knobs={"learning_rate": 1.5e-3},
        settings={**small, "encoder_hidden": 64, "chunks_per_batch": 8},
    )
    return Suite(name="demo", blocks=[path, tiny], share=True)
