"""The mLSTM layer of `transformers`' xLSTM, without kernels: in chunks, and one step at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from transformers import xLSTMConfig
from transformers.models.xlstm.modeling_xlstm import xLSTMLayer

PACKAGES = ("torch", "transformers")
CASES: dict[str, dict[str, Any]] = {
    "mlstm": {
        "reference": "transformers xLSTMLayer",
        "hidden_size": 16,
        "num_heads": 4,
        "chunk_size": 16,
        "norm_eps": 1e-6,
        "gate_soft_cap": 15.0,
        # Added to a divisor that a running maximum has scaled: as shipped, and left out.
        "eps": 1e-6,
    }
}
# One chunk, and a remainder.
BATCH, TIME = 2, 21


def draw(name: str, config: dict[str, Any], rng: np.random.Generator) -> tuple[dict, dict]:
    width, heads = config["hidden_size"], config["num_heads"]
    size = width // heads
    square = ("q", "k", "v", "ogate_preact", "out_proj")
    weights = {
        f"{part}/weight": 1.5 * rng.normal(size=(width, width)) / width**0.5 for part in square
    }
    for gate, middle in (("igate_preact", 0.0), ("fgate_preact", 1.0)):
        weights[f"{gate}/weight"] = 2 * rng.normal(size=(heads, width)) / width**0.5
        weights[f"{gate}/bias"] = middle + rng.normal(size=heads)
    weights["multihead_norm/weight"] = 1 + rng.normal(size=width) / 4
    inputs = {
        "xs": rng.normal(size=(BATCH, TIME, width)),
        "initial_c": rng.normal(size=(BATCH, heads, size, size)),
        "initial_n": rng.normal(size=(BATCH, heads, size)),
        "initial_m": rng.normal(size=(BATCH, heads, 1)),
    }
    return weights, inputs


def run(
    name: str, config: dict[str, Any], weights: dict[str, torch.Tensor], a: dict[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    def layer(eps: float) -> xLSTMLayer:
        same = ("hidden_size", "num_heads", "chunk_size", "norm_eps", "gate_soft_cap")
        settings = xLSTMConfig(
            **{key: config[key] for key in same},
            num_hidden_layers=1,
            qk_dim_factor=1.0,
            v_dim_factor=1.0,
            use_bias=False,
            eps=eps,
            autocast_kernel_dtype="float32",
            inference_state_dtype="float32",
        )
        made = xLSTMLayer(settings).eval()
        made.load_state_dict({key.replace("/", "."): value for key, value in weights.items()})
        return made

    exact, shipped = layer(0.0), layer(config["eps"])
    begun = tuple(a[f"initial_{part}"] for part in "cnm")
    ys, (c, n, m) = exact(a["xs"], begun)
    steps, state = [], begun
    for x in a["xs"].split(1, dim=1):
        y, state = exact(x, state)
        steps.append(y)
    return {
        "ys": ys,
        "ys_steps": torch.cat(steps, dim=1),
        "ys_fresh": exact(a["xs"])[0],
        "ys_shipped": shipped(a["xs"], begun)[0],
        "final_c": c,
        "final_n": n,
        "final_m": m,
    }
