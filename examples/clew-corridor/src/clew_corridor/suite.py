"""A suite: what holds an agent back in the corridor?"""

from __future__ import annotations

from clew.suite import Block, Suite
from clew.suite.registry import register


@register("corridor")
def corridor() -> Suite:
    """What holds an agent back in the corridor: 36 small runs.

    A leaky sum, a GRU and the two controls, without a bonus and with two.
    """
    block = Block(
        environment="Corridor",
        rewards=("sparse",),
        architectures=("Leaky", "GRU", "Memoryless", "Given"),
        bonuses=("none", "change", "e3b"),
        bonus_options={"e3b": {"hidden": 32, "features": 32}},
        seeds=3,
        steps=40_960,
        knobs={"learning_rate": 2e-3},
        settings={
            "envs": 16, "steps": 64, "chunk": 32, "chunks_per_batch": 16, "eval_every": 5,
            "encoder": "mlp", "encoder_width": 32, "encoder_hidden": 32, "memory_width": 32,
        },
    )  # fmt: skip
    return Suite(name="corridor", blocks=[block])
