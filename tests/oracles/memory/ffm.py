"""The authors' own FFM in torch: over a whole sequence, and one step at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from ffm import FFM

PACKAGES = ("torch", "ffm_torch")
CASES: dict[str, dict[str, Any]] = {
    "ffm": {
        "reference": "github.com/proroklab/ffm, b3f94d2, standalone FFM",
        "width": 8,
        "out": 10,
        "memory_size": 5,
        "context_size": 3,
        "layer_norm_eps": 1e-5,
    }
}
BATCH, TIME = 2, 17


def draw(name: str, config: dict[str, Any], rng: np.random.Generator) -> tuple[dict, dict]:
    width, out = config["width"], config["out"]
    m, c = config["memory_size"], config["context_size"]
    weights = {
        "pre/weight": rng.normal(size=(2 * m + 2 * out, width)) / width**0.5,
        "pre/bias": rng.normal(size=2 * m + 2 * out) / 2,
        "ffa/a": -rng.uniform(0.01, 0.6, size=(1, 1, m)),
        "ffa/b": rng.uniform(0.1, 6.2, size=(1, 1, c)),
        "mix/weight": rng.normal(size=(out, 2 * m * c)) / (2 * m * c) ** 0.5,
        "mix/bias": rng.normal(size=out) / 2,
    }
    state = {f"initial_{part}": rng.normal(size=(BATCH, m, c)) for part in ("re", "im")}
    return weights, {"xs": rng.normal(size=(BATCH, TIME, width))} | state


def run(
    name: str, config: dict[str, Any], weights: dict[str, torch.Tensor], a: dict[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    sizes = (config["memory_size"], config["context_size"], config["out"])
    layer = FFM(config["width"], config["width"], *sizes)
    buffers = {key: value for key, value in layer.state_dict().items() if "ffa." in key}
    given = {key.replace("/", "."): value for key, value in weights.items()}
    layer.load_state_dict(buffers | given)
    state = torch.complex(a["initial_re"], a["initial_im"])[:, None]
    ys, states = layer(a["xs"], state)
    steps = []
    for x in a["xs"].split(1, dim=1):
        y, state = layer(x, state)
        steps.append(y)
    return {
        "ys": ys,
        "ys_steps": torch.cat(steps, dim=1),
        "ys_fresh": layer(a["xs"])[0],
        "final_re": states[:, -1].real.contiguous(),
        "final_im": states[:, -1].imag.contiguous(),
    }
