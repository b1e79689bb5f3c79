"""Records what training of a few small packs comes to: `python -m tests.oracles.training`.

`tests/learner/test_golden_training.py` trains them again: with arms as arguments, what they come to
is printed. Record anew only when a change of the numbers is meant.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")

import numpy as np

from clew import envs
from clew.learner import Knobs, Pack, Settings, train
from tests.oracles.traces import GOLDEN

FILE = GOLDEN / "training.json"
FLAGS = "--xla_backend_optimization_level=0"
"""Rounding depends on how the compiler is set, and an action that is drawn on rounding."""
PERIODS = 2
SETTINGS = Settings(
    envs=4,
    steps=16,
    chunk=8,
    chunks_per_batch=4,
    epochs=2,
    encoder_width=8,
    encoder_hidden=8,
    memory_width=8,
    eval_every=2,
    eval_episodes=4,
)
ARMS = {
    "symbols, dense, GRU, e3b": ("TinyReproduce", {"k": 3, "v": 2}, "dense", "GRU", "e3b"),
    "arrays, penalty, Mamba-2, noveld": (
        "MiniGrid-MemoryS7", {"max_steps": 20}, "penalty", "Mamba-2", "noveld"
    ),
    "images, penalty, RetNet, e3b": (
        "MysteryPath-Grid", {"size": 3, "max_steps": 20}, "penalty", "RetNet", "e3b"
    ),
    "shared backbone, sparse, LSTM, none": (
        "TinyReproduce", {"k": 3, "v": 2}, "sparse", "LSTM", "none"
    ),
}  # fmt: skip


def numbers(name: str) -> dict[str, list[float]]:
    """Everything that one run of an arm records, by name, flat."""
    environment, options, reward, architecture, bonus = ARMS[name]
    pack = Pack.of(
        envs.make(environment, **options),
        reward,
        architecture,
        bonus,
        seeds=[3],
        knobs=Knobs(learning_rate=3e-3),
        settings=dataclasses.replace(SETTINGS, shared=name.startswith("shared")),
    )
    history = train(pack, PERIODS * SETTINGS.period)
    found = {"first_success": history.first_success, "diverged": history.diverged}
    found |= {name: array[0] for name, array in history.arrays.items()}
    return {name: np.asarray(array, float).ravel().tolist() for name, array in found.items()}


def main() -> None:
    if arms := sys.argv[1:]:
        print(json.dumps({name: numbers(name) for name in arms}))
        return
    recorded = {name: numbers(name) for name in ARMS}
    text = json.dumps(recorded).replace("], ", "],\n ").replace(": {", ": {\n ")  # a name a line
    FILE.write_text(text.replace("}, ", "},\n") + "\n")


if __name__ == "__main__":
    main()
