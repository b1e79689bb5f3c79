"""Qwen3-Next's gated delta rule in `transformers`: its two functions, and the layer around them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from transformers import DynamicCache, Qwen3NextConfig
from transformers.models.qwen3_next.modeling_qwen3_next import (
    Qwen3NextGatedDeltaNet,
    torch_chunk_gated_delta_rule,
    torch_recurrent_gated_delta_rule,
)

RULE = {
    "reference": "transformers torch_{chunk,recurrent}_gated_delta_rule",
    "key_dim": 8,
    "value_dim": 6,
    "l2norm_eps": 1e-6,
}
CASES: dict[str, dict[str, Any]] = {
    # Lengths are no multiple of the chunk.
    "gated-delta-rule": RULE
    | {"batch": 2, "time": 19, "heads": 2, "chunk_size": 8, "repeat_from": None},
    # One key from here on, written with beta near 1: what repeated observations produce. Long
    # enough to break a chunk form that inverts by powers of the strictly lower triangle.
    "gated-delta-rule-repeated": RULE
    | {"batch": 1, "time": 67, "heads": 1, "chunk_size": 64, "repeat_from": 3},
    "gated-delta-net": {
        "reference": "transformers Qwen3NextGatedDeltaNet",
        "batch": 2,
        "time": 19,
        "hidden_size": 16,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 4,
        "linear_key_head_dim": 8,
        "linear_value_head_dim": 6,
        "linear_conv_kernel_dim": 4,
        "rms_norm_eps": 1e-6,
        "hidden_act": "silu",
        "chunk_size": 8,
        "l2norm_eps": 1e-6,
    },
}


def draw(name: str, config: dict[str, Any], rng: np.random.Generator) -> tuple[dict, dict]:
    return _draw_layer(config, rng) if name == "gated-delta-net" else ({}, _draw_rule(config, rng))


def run(
    name: str, config: dict[str, Any], weights: dict[str, torch.Tensor], a: dict[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    return _run_layer(config, weights, a) if name == "gated-delta-net" else _run_rule(config, a)


def _draw_rule(config: dict[str, Any], rng: np.random.Generator) -> dict[str, np.ndarray]:
    batch, time, heads = config["batch"], config["time"], config["heads"]
    lead, state = (batch, time, heads), (batch, heads, config["key_dim"], config["value_dim"])
    inputs = {
        "query": rng.normal(size=(*lead, config["key_dim"])),
        # Norms near 1, so that the rule is stable without its own normalisation too.
        "key": rng.normal(size=(*lead, config["key_dim"])) / config["key_dim"] ** 0.5,
        "value": rng.normal(size=(*lead, config["value_dim"])),
        "g": -rng.exponential(0.3, size=lead),
        "beta": rng.uniform(0.05, 0.95, size=lead),
        "initial_state": rng.normal(size=state),
    }
    start = config["repeat_from"]
    if start is not None:
        inputs["key"][:, start:] = inputs["key"][:, start : start + 1]
        inputs["beta"][:, start:] = rng.uniform(0.98, 1.0, size=(batch, time - start, heads))
        inputs["g"][:, start:] /= 100
    return inputs


def _run_rule(config: dict[str, Any], a: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    rules = {"chunk": torch_chunk_gated_delta_rule, "recurrent": torch_recurrent_gated_delta_rule}
    outputs = {}
    for form, rule in rules.items():
        more = {"chunk_size": config["chunk_size"]} if form == "chunk" else {}
        for suffix, norm in (("", True), ("_raw", False)):
            outputs[f"ys_{form}{suffix}"], outputs[f"final_{form}{suffix}"] = rule(
                **a, **more, output_final_state=True, use_qk_l2norm_in_kernel=norm
            )
    return outputs


def _draw_layer(config: dict[str, Any], rng: np.random.Generator) -> tuple[dict, dict]:
    batch, width, taps = config["batch"], config["hidden_size"], config["linear_conv_kernel_dim"]
    heads, dims = config["linear_num_value_heads"], config["linear_value_head_dim"]
    keys = config["linear_num_key_heads"] * config["linear_key_head_dim"]
    values = heads * dims
    channels = 2 * keys + values
    step = np.exp(rng.uniform(np.log(0.02), np.log(1.0), heads))
    weights = {
        "in_proj_qkvz/weight": rng.normal(size=(2 * keys + 2 * values, width)) / width**0.5,
        "in_proj_ba/weight": rng.normal(size=(2 * heads, width)) / width**0.5,
        "conv1d/weight": rng.normal(size=(channels, 1, taps)) / taps**0.5,
        "dt_bias": np.log(np.expm1(step)),
        "A_log": np.log(rng.uniform(0.2, 3.0, heads)),
        "norm/weight": 1 + rng.normal(size=dims) / 4,
        "out_proj/weight": rng.normal(size=(width, values)) / values**0.5,
    }
    inputs = {
        "xs": rng.normal(size=(batch, config["time"], width)),
        "initial_conv": rng.normal(size=(batch, channels, taps)),
        "initial_state": rng.normal(size=(batch, heads, config["linear_key_head_dim"], dims)),
    }
    return weights, inputs


def _run_layer(
    config: dict[str, Any], weights: dict[str, torch.Tensor], a: dict[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    names = [key for key in config if key.startswith("linear_")]
    options = {key: config[key] for key in (*names, "hidden_size", "rms_norm_eps", "hidden_act")}
    settings = Qwen3NextConfig(num_hidden_layers=1, layer_types=["linear_attention"], **options)
    layer = Qwen3NextGatedDeltaNet(settings, layer_idx=0).eval()
    layer.load_state_dict({key.replace("/", "."): value for key, value in weights.items()})
    chunk = config["chunk_size"]

    def begun() -> DynamicCache:
        cache = DynamicCache(config=settings)
        taps = config["linear_conv_kernel_dim"]
        cache.update_conv_state(a["initial_conv"], 0, conv_kernel_size=taps)
        cache.update_recurrent_state(a["initial_state"], 0)
        return cache

    whole, stepped = begun(), begun()
    ys = layer(a["xs"], cache_params=whole, chunk_size=chunk)
    steps = [layer(x, cache_params=stepped) for x in a["xs"].split(1, dim=1)]
    return {
        "ys": ys,
        "ys_steps": torch.cat(steps, dim=1),
        "ys_fresh": layer(a["xs"], chunk_size=chunk),
        "final_conv": whole.get_conv_state(0),
        "final_state": whole.get_recurrent_state(0),
        "final_conv_steps": stepped.get_conv_state(0),
        "final_state_steps": stepped.get_recurrent_state(0),
    }
