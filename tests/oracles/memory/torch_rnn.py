"""torch.nn.GRU and torch.nn.LSTM: one layer, with biases, from a state that is not zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

CASES: dict[str, dict[str, Any]] = {
    cell: {"reference": f"torch.nn.{cell.upper()}", "width": 8, "hidden": 16, "bias": True}
    for cell in ("gru", "lstm")
}
GATES = {"gru": 3, "lstm": 4}
BATCH, TIME = 2, 16


def draw(name: str, config: dict[str, Any], rng: np.random.Generator) -> tuple[dict, dict]:
    width, hidden = config["width"], config["hidden"]
    rows = GATES[name] * hidden
    weights = {
        "weight_ih": 2 * rng.normal(size=(rows, width)) / width**0.5,
        "weight_hh": 2 * rng.normal(size=(rows, hidden)) / hidden**0.5,
        "bias_ih": rng.normal(size=rows) / 2,
        "bias_hh": rng.normal(size=rows) / 2,
    }
    states = ("initial_h",) if name == "gru" else ("initial_h", "initial_c")
    inputs = {"xs": rng.normal(size=(BATCH, TIME, width))}
    inputs |= {state: rng.normal(size=(BATCH, hidden)) / 2 for state in states}
    return weights, inputs


def run(
    name: str, config: dict[str, Any], weights: dict[str, torch.Tensor], a: dict[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    cell = {"gru": torch.nn.GRU, "lstm": torch.nn.LSTM}[name]
    layer = cell(config["width"], config["hidden"], batch_first=True)
    layer.load_state_dict({f"{key}_l0": value for key, value in weights.items()})
    if name == "gru":
        ys, h = layer(a["xs"], a["initial_h"][None])
        return {"ys": ys, "final_h": h[0]}
    ys, (h, c) = layer(a["xs"], (a["initial_h"][None], a["initial_c"][None]))
    return {"ys": ys, "final_h": h[0], "final_c": c[0]}
