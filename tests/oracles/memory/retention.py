"""torchscale's MultiScaleRetention in its three forms, which are not quite the same function."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import torch

# torchscale imports these at the top of its RetNet and calls none of them in a retention layer.
UNUSED = {"fairscale.nn": ("checkpoint_wrapper", "wrap"), "timm.models.layers": ("drop_path",)}
for _path, _names in UNUSED.items():
    _parts = _path.split(".")
    for _depth in range(1, len(_parts) + 1):
        _stub = sys.modules.setdefault(".".join(_parts[:_depth]), ModuleType(_parts[_depth - 1]))
    for _name in _names:
        setattr(_stub, _name, None)

from torchscale.architecture.config import RetNetConfig  # noqa: E402
from torchscale.architecture.retnet import RetNetRelPos  # noqa: E402
from torchscale.component.multiscale_retention import MultiScaleRetention  # noqa: E402

SIZES = {
    "reference": "torchscale MultiScaleRetention with RetNetRelPos",
    "embed_dim": 24,
    "value_dim": 32,
    "num_heads": 4,
    "chunk_size": 6,
    "layernorm_eps": 1e-6,
    "gate_fn": "swish",
    # Where a run that begins from initial_kv stands in time, for the rotation.
    "resumed_at": 5,
}
CASES: dict[str, dict[str, Any]] = {
    # Weights so large that the epsilon of the norm does not show.
    "retention": SIZES | {"weights_drawn": "normal"},
    # torchscale's own initialisation, where it does.
    "retention-default": SIZES | {"weights_drawn": "xavier, gain 2**-2.5"},
}
BATCH, TIME = 2, 18


def draw(name: str, config: dict[str, Any], rng: np.random.Generator) -> tuple[dict, dict]:
    width, values, heads = config["embed_dim"], config["value_dim"], config["num_heads"]
    shapes = {
        "q_proj/weight": (width, width),
        "k_proj/weight": (width, width),
        "v_proj/weight": (values, width),
        "g_proj/weight": (values, width),
        "out_proj/weight": (width, values),
    }
    weights = {}
    for key, (rows, columns) in shapes.items():
        gain = 1.0 if key.startswith("out") else 2**-2.5
        bound = gain * (6 / (rows + columns)) ** 0.5
        if name == "retention":
            weights[key] = rng.normal(size=(rows, columns)) * (2 / columns) ** 0.5
        else:
            weights[key] = rng.uniform(-bound, bound, size=(rows, columns))
    state = (BATCH, heads, values // heads, width // heads)
    inputs = {
        "xs": rng.normal(size=(BATCH, TIME, width)),
        "initial_kv": rng.normal(size=state) * (1.0 if name == "retention" else 0.02),
        "initial_scale": rng.uniform(2.0, 5.0, size=heads),
    }
    return weights, inputs


def run(
    name: str, config: dict[str, Any], weights: dict[str, torch.Tensor], a: dict[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    settings = RetNetConfig(
        decoder_embed_dim=config["embed_dim"],
        decoder_value_embed_dim=config["value_dim"],
        decoder_retention_heads=config["num_heads"],
        recurrent_chunk_size=config["chunk_size"],
        layernorm_eps=config["layernorm_eps"],
    )
    positions = RetNetRelPos(settings)
    sizes = (config["embed_dim"], config["value_dim"], config["num_heads"])
    layer = MultiScaleRetention(settings, *sizes, gate_fn=config["gate_fn"])
    layer.load_state_dict({key.replace("/", "."): value for key, value in weights.items()})
    xs = a["xs"]
    length = xs.shape[1]

    def recurrent(state: dict[str, torch.Tensor], start: int) -> torch.Tensor:
        steps = []
        for t in range(length):
            here = positions(start + t + 1, activate_recurrent=True)
            steps.append(layer(xs[:, t : t + 1], here, incremental_state=state))
        return torch.cat(steps, dim=1)

    fresh: dict[str, torch.Tensor] = {}
    resumed = {"prev_key_value": a["initial_kv"], "scale": a["initial_scale"]}
    chunkwise = positions(length, chunkwise_recurrent=True)
    return {
        "angle": positions.angle,
        "decay": positions.decay,
        "ys": layer(xs, positions(length)),
        "ys_chunkwise": layer(xs, chunkwise, chunkwise_recurrent=True),
        "ys_recurrent": recurrent(fresh, 0),
        "final_kv": fresh["prev_key_value"],
        "final_scale": fresh["scale"],
        "ys_resumed": recurrent(resumed, config["resumed_at"]),
        "final_kv_resumed": resumed["prev_key_value"],
        "final_scale_resumed": resumed["scale"],
    }
