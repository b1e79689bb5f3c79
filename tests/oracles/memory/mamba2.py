"""The Mamba-2 mixer of `transformers`, without kernels: whole sequences and through its cache."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from transformers import DynamicCache, Mamba2Config
from transformers.models.mamba2.modeling_mamba2 import Mamba2Mixer

SIZES = {
    "hidden_size": 16,
    "expand": 2,
    "num_heads": 4,
    "head_dim": 8,
    "state_size": 6,
    "conv_kernel": 4,
    "chunk_size": 8,
    "layer_norm_epsilon": 1e-5,
    "hidden_act": "silu",
    "use_conv_bias": True,
}
REFERENCE = {"reference": "transformers Mamba2Mixer", "time_step_limit": None}
CASES: dict[str, dict[str, Any]] = {
    "mamba2": REFERENCE | SIZES | {"n_groups": 1, "use_bias": False},
    "mamba2-grouped": REFERENCE | SIZES | {"n_groups": 2, "use_bias": True},
}
# The length is no multiple of the chunk.
BATCH, TIME = 2, 19


def draw(name: str, config: dict[str, Any], rng: np.random.Generator) -> tuple[dict, dict]:
    width, heads, state = config["hidden_size"], config["num_heads"], config["state_size"]
    inner, taps = heads * config["head_dim"], config["conv_kernel"]
    channels = inner + 2 * config["n_groups"] * state
    step = np.exp(rng.uniform(np.log(0.02), np.log(1.0), heads))
    weights = {
        "in_proj/weight": rng.normal(size=(inner + channels + heads, width)) / width**0.5,
        "conv1d/weight": rng.normal(size=(channels, 1, taps)) / taps**0.5,
        "conv1d/bias": rng.normal(size=channels) / 3,
        "dt_bias": np.log(np.expm1(step)),
        "A_log": np.log(rng.uniform(0.2, 3.0, heads)),
        "D": 1 + rng.normal(size=heads) / 2,
        "norm/weight": 1 + rng.normal(size=inner) / 4,
        "out_proj/weight": rng.normal(size=(width, inner)) / inner**0.5,
    }
    if config["use_bias"]:
        weights["in_proj/bias"] = rng.normal(size=inner + channels + heads) / 3
        weights["out_proj/bias"] = rng.normal(size=width) / 3
    inputs = {
        "xs": rng.normal(size=(BATCH, TIME, width)),
        "initial_conv": rng.normal(size=(BATCH, channels, taps)),
        "initial_ssm": rng.normal(size=(BATCH, heads, config["head_dim"], state)),
    }
    return weights, inputs


def run(
    name: str, config: dict[str, Any], weights: dict[str, torch.Tensor], a: dict[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    options = {key: config[key] for key in (*SIZES, "n_groups", "use_bias")}
    settings = Mamba2Config(num_hidden_layers=1, **options)
    mixer = Mamba2Mixer(settings, layer_idx=0).eval()
    mixer.load_state_dict({key.replace("/", "."): value for key, value in weights.items()})

    def begun() -> DynamicCache:
        cache = DynamicCache(config=settings)
        cache.update_conv_state(a["initial_conv"], 0, conv_kernel_size=config["conv_kernel"])
        cache.update_recurrent_state(a["initial_ssm"], 0)
        return cache

    whole, stepped = begun(), begun()
    ys = mixer(a["xs"], cache_params=whole)
    steps = [mixer(x, cache_params=stepped) for x in a["xs"].split(1, dim=1)]
    return {
        "ys": ys,
        "ys_steps": torch.cat(steps, dim=1),
        "ys_fresh": mixer(a["xs"]),
        "final_conv": whole.get_conv_state(0),
        "final_ssm": whole.get_recurrent_state(0),
        "final_conv_steps": stepped.get_conv_state(0),
        "final_ssm_steps": stepped.get_recurrent_state(0),
    }
