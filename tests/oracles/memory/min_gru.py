"""minGRU-pytorch's minGRU: over a whole sequence, in logarithms, and one step at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from minGRU_pytorch.minGRU import minGRU

PACKAGES = ("torch", "minGRU-pytorch")
CASES: dict[str, dict[str, Any]] = {
    "mingru": {"reference": "minGRU-pytorch minGRU", "width": 8, "expand": 2}
}
BATCH, TIME = 2, 17


def draw(name: str, config: dict[str, Any], rng: np.random.Generator) -> tuple[dict, dict]:
    width, inner = config["width"], config["expand"] * config["width"]
    weights = {
        "to_hidden_and_gate/weight": 2 * rng.normal(size=(2 * inner, width)) / width**0.5,
        "to_out/weight": rng.normal(size=(width, inner)) / inner**0.5,
    }
    inputs = {
        "xs": rng.normal(size=(BATCH, TIME, width)),
        "initial_h": rng.uniform(0.1, 3.0, size=(BATCH, inner)),
    }
    return weights, inputs


def run(
    name: str, config: dict[str, Any], weights: dict[str, torch.Tensor], a: dict[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    layer = minGRU(config["width"], expansion_factor=config["expand"])
    layer.load_state_dict({key.replace("/", "."): value for key, value in weights.items()})
    h = a["initial_h"][:, None]
    ys, final = layer(a["xs"], h, return_next_prev_hidden=True)
    steps = []
    for x in a["xs"].split(1, dim=1):
        y, h = layer(x, h, return_next_prev_hidden=True)
        steps.append(y)
    return {
        "ys": ys,
        "ys_steps": torch.cat(steps, dim=1),
        "ys_fresh": layer(a["xs"]),
        "final_h": final[:, 0],
        "final_h_steps": h[:, 0],
    }
