"""LRU-pytorch's linear recurrent unit, with torch's GELU and gated linear unit after it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from LRU_pytorch import LRU

PACKAGES = ("torch", "LRU-pytorch")
CASES: dict[str, dict[str, Any]] = {
    "lru": {"reference": "LRU-pytorch LRU, torch gelu and glu", "width": 8, "states": 6}
}
BATCH, TIME = 2, 17


def draw(name: str, config: dict[str, Any], rng: np.random.Generator) -> tuple[dict, dict]:
    width, states = config["width"], config["states"]
    size = rng.uniform(0.3, 0.99, states)
    weights = {
        "nu_log": np.log(-np.log(size)),
        "theta_log": np.log(rng.uniform(0.05, 6.2, states)),
        "gamma_log": np.log(rng.uniform(0.3, 1.5, states)),
        "B_re": rng.normal(size=(states, width)) / width**0.5,
        "B_im": rng.normal(size=(states, width)) / width**0.5,
        "C_re": rng.normal(size=(width, states)) / states**0.5,
        "C_im": rng.normal(size=(width, states)) / states**0.5,
        "D": rng.normal(size=width),
        "glu/weight": rng.normal(size=(2 * width, width)) / width**0.5,
        "glu/bias": rng.normal(size=2 * width) / 2,
    }
    state = {f"initial_{part}": rng.normal(size=(BATCH, states)) for part in ("re", "im")}
    return weights, {"xs": rng.normal(size=(BATCH, TIME, width))} | state


def run(
    name: str, config: dict[str, Any], weights: dict[str, torch.Tensor], a: dict[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    w, width, states = weights, config["width"], config["states"]
    c = torch.complex(w["C_re"], w["C_im"])

    def unit(c: torch.Tensor, d: torch.Tensor) -> LRU:
        layer = LRU(width, len(c), states)
        parts = {key: w[key] for key in ("nu_log", "theta_log", "gamma_log")}
        parts |= {"B": torch.complex(w["B_re"], w["B_im"]), "C": c, "D": d}
        layer.load_state_dict(parts)
        return layer

    def over(layer: LRU, state: torch.Tensor) -> torch.Tensor:
        return torch.stack([layer(x, s) for x, s in zip(a["xs"], state, strict=True)])

    # D is a matrix there, and the state is not returned; shown through C = 1 and −i it is.
    layer = unit(c, torch.diag(w["D"]))
    nothing = torch.zeros(states, width)
    eye = torch.eye(states)
    zero = torch.zeros_like(eye)
    shown = unit(torch.complex(eye, zero), nothing), unit(torch.complex(zero, -eye), nothing)
    begun = torch.complex(a["initial_re"], a["initial_im"])
    linear = over(layer, begun)

    def gated(linear: torch.Tensor) -> torch.Tensor:
        o = torch.nn.functional.gelu(linear)
        return torch.nn.functional.glu(o @ w["glu/weight"].T + w["glu/bias"])

    return {
        "ys_linear": linear,
        "ys": gated(linear),
        "ys_fresh": gated(over(layer, torch.zeros_like(begun))),
        "final_re": over(shown[0], begun)[:, -1],
        "final_im": over(shown[1], begun)[:, -1],
    }
