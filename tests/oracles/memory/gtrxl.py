"""DI-engine's GTrXL layer: over a whole segment, and one step at a time from the last inputs."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

# Of DI-engine two files are run; its packages' own __init__ would import the rest of it.
_spec = find_spec("ding")
assert _spec is not None
assert _spec.origin is not None
for _name in ("ding", "ding.torch_utils", "ding.torch_utils.network"):
    _package = sys.modules.setdefault(_name, ModuleType(_name))
    _package.__path__ = [str(Path(_spec.origin).parent.joinpath(*_name.split(".")[1:]))]

from ding.torch_utils.network.gtrxl import (  # noqa: E402
    GatedTransformerXLLayer,
    PositionalEmbedding,
)

PACKAGES = ("torch", "DI-engine")
CASES: dict[str, dict[str, Any]] = {
    "gtrxl": {
        "reference": "DI-engine GatedTransformerXLLayer, its queries normalised",
        "width": 16,
        "heads": 4,
        "window": 5,
        "layer_norm_eps": 1e-5,
    }
}
# Longer than the window, so that it slides.
BATCH, TIME = 2, 13
GATES = ("Wr", "Ur", "Wz", "Uz", "Wg", "Ug")


def draw(name: str, config: dict[str, Any], rng: np.random.Generator) -> tuple[dict, dict]:
    width, heads = config["width"], config["heads"]

    def matrix(rows: int = width) -> np.ndarray:
        return 1.5 * rng.normal(size=(rows, width)) / width**0.5

    weights = {
        "attention.attention_q.0.weight": matrix(),
        "attention.attention_kv.0.weight": matrix(2 * width),
        "attention.project.0.weight": matrix(),
        "attention.project_pos.0.weight": matrix(),
        "mlp.0.0.weight": matrix(),
        "mlp.0.0.bias": rng.normal(size=width) / 2,
        "mlp.2.0.weight": matrix(),
        "mlp.2.0.bias": rng.normal(size=width) / 2,
    }
    for gate in ("gate1", "gate2"):
        weights |= {f"{gate}.{part}.weight": matrix() for part in GATES}
        weights[f"{gate}.bg"] = rng.normal(size=width)
    for norm in ("layernorm1", "layernorm2"):
        weights[f"{norm}.weight"] = 1 + rng.normal(size=width) / 4
        weights[f"{norm}.bias"] = rng.normal(size=width) / 4
    weights |= {key: rng.normal(size=(heads, width // heads)) for key in ("u", "v")}
    inputs = {
        "xs": rng.normal(size=(BATCH, TIME, width)),
        "initial_inputs": rng.normal(size=(BATCH, config["window"], width)),
    }
    return weights, inputs


def run(
    name: str, config: dict[str, Any], weights: dict[str, torch.Tensor], a: dict[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    width, heads, window = config["width"], config["heads"], config["window"]
    identity = torch.nn.Identity()
    layer = GatedTransformerXLLayer(
        width, width // heads, width, heads, 2, identity, torch.nn.ReLU()
    )
    u, v = weights["u"], weights["v"]
    known = {key: value for key, value in weights.items() if key not in "uv"}
    missing, unknown = layer.load_state_dict(known, strict=False)
    assert not unknown
    assert all(key.startswith("attention.") and key.endswith("bias") for key in missing), missing
    for key in missing:  # the paper's projections have none
        layer.get_parameter(key).zero_()
    # The paper normalises what queries are made of too; DI-engine what keys and values are.
    attention = layer.attention
    attention.attention_q = torch.nn.Sequential(layer.layernorm1, attention.attention_q)
    embed = PositionalEmbedding(width)

    def over(past: torch.Tensor, xs: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        """Of [time, batch, width]; `hidden` says which of the past no step may see."""
        steps, whole = len(xs), len(past) + len(xs)
        ago = len(past) + torch.arange(steps)[:, None] - torch.arange(whole)
        mask = (ago < 0) | (ago > window)
        mask[:, : len(past)] |= hidden
        positions = embed(torch.arange(whole - 1, -1, -1.0))
        return layer(xs, positions, u, v, past, mask=mask[..., None])

    past, xs = (a[key].transpose(0, 1) for key in ("initial_inputs", "xs"))
    none, all_ = torch.zeros(window, dtype=torch.bool), torch.ones(window, dtype=torch.bool)
    joined = torch.cat((past, xs))
    steps = [over(joined[t : t + window], xs[t : t + 1], none) for t in range(len(xs))]
    outputs = {
        "ys": over(past, xs, none),
        "ys_steps": torch.cat(steps),
        "ys_fresh": over(torch.zeros_like(past), xs, all_),
    }
    return {key: value.transpose(0, 1) for key, value in outputs.items()}
