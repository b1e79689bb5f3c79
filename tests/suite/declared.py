"""A suite small enough to train in tests, one that fills in every field, and both as TOML."""

from __future__ import annotations

import copy
from typing import Any

from clew.suite import Suite
from clew.suite.toml import parse_suite

SETTINGS: dict[str, Any] = {
    "envs": 4, "steps": 16, "chunk": 8, "chunks_per_batch": 4, "epochs": 1, "eval_every": 2,
    "eval_episodes": 4, "encoder_width": 8, "encoder_hidden": 8, "memory_width": 8,
}  # fmt: skip
PERIOD = 4 * 16 * 2
PERIODS = 6
BLOCK: dict[str, Any] = {
    "environment": "TinyReproduce",
    "environment_options": {"k": 2, "v": 2},
    "rewards": ["dense"],
    "architectures": ["Memoryless"],
    "bonuses": ["none"],
    "seeds": 4,
    "steps": PERIOD * PERIODS,
}


def tiny(**changes: Any) -> Suite:
    """One program for all tests, unless a change asks for another."""
    return parse_suite(declared(**changes), "tiny")


def declared(**changes: Any) -> dict[str, Any]:
    block = copy.deepcopy({**BLOCK, **changes})
    return {"settings": copy.deepcopy(SETTINGS), "block": [block]}


def rich() -> dict[str, Any]:
    """Every field of a suite and a block, filled in."""
    first: dict[str, Any] = {
        "environment": "MiniGrid-MemoryS13",
        "environment_options": {"view": 5, "max_steps": 99},
        "rewards": ["sparse", "penalty"],
        "architectures": ["GRU", "RetNet"],
        "architecture_options": {"RetNet": {"heads": 2}},
        "bonuses": ["none", "e3b", "noveld"],
        "bonus_options": {"e3b": {"ridge": 0.5, "normalise": False}, "noveld": {"alpha": 0.25}},
        "seeds": [3, 1],
        "steps": 9000,
        "knobs": {"learning_rate": [1e-3, 3e-4], "gamma": 0.9},
        "settings": {"chunk": [4, 8], "value_coef": 0.5, "truncation": "end"},
    }
    second = {**BLOCK, "seeds": 2}
    return copy.deepcopy(
        {
            "name": "rich",
            "about": "everything",
            "share": True,
            "knobs": {"entropy": 0.01},
            "settings": SETTINGS,
            "block": [first, second],
        }
    )


def as_toml(data: dict[str, Any]) -> str:
    """Plain data as TOML: scalars and lists first, then tables."""
    blocks = data.get("block", [])
    lines = [f"{key} = {value(each)}" for key, each in data.items() if key != "block"]
    for block in blocks:
        lines.append("[[block]]")
        lines += [f"{key} = {value(each)}" for key, each in block.items()]
    return "\n".join(lines) + "\n"


def value(item: Any) -> str:
    if isinstance(item, bool):
        return str(item).lower()
    if isinstance(item, dict):
        return "{" + ", ".join(f"{text(key)} = {value(each)}" for key, each in item.items()) + "}"
    if isinstance(item, list):
        return "[" + ", ".join(map(value, item)) + "]"
    return text(item) if isinstance(item, str) else repr(item)


def text(words: str) -> str:
    inside = "".join(c if c.isalnum() or c in " -_." else f"\\U{ord(c):08x}" for c in words)
    return f'"{inside}"'
