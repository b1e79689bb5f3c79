"""What an original package did, in a form that our worlds can replay: no package needed."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

GOLDEN = Path(__file__).parent.parent / "golden"


@dataclasses.dataclass(frozen=True)
class Case:
    """A world, its options, and the prices that the original was told to pay."""

    name: str
    world: str
    options: dict[str, Any]
    prices: dict[str, float]


@dataclasses.dataclass(frozen=True)
class Trace:
    """Episodes of one case. Arrays are [episode, step], padded beyond each episode's length."""

    case: Case
    levels: dict[str, np.ndarray]
    """What decides each episode, by name; one row an episode."""
    actions: np.ndarray
    length: np.ndarray
    obs: np.ndarray
    """A digest of each observation's bytes; one more than there are steps."""
    places: np.ndarray
    """Where the agent was, as one number; one more than there are steps."""
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    success: np.ndarray
    falls: np.ndarray
    """Falls of the whole episode; 0 where nothing can fall."""

    def save(self, path: Path) -> None:
        arrays = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        case, levels = arrays.pop("case"), arrays.pop("levels")
        arrays |= {f"level_{name}": value for name, value in levels.items()}
        header = np.array(json.dumps(dataclasses.asdict(case)))
        path.parent.mkdir(exist_ok=True)
        np.savez_compressed(path, header=header, **arrays)

    @classmethod
    def load(cls, path: Path) -> Trace:
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}
        case = Case(**json.loads(str(arrays.pop("header"))))
        of_level = [name for name in arrays if name.startswith("level_")]
        levels = {name.removeprefix("level_"): arrays.pop(name) for name in of_level}
        return cls(case=case, levels=levels, **arrays)


class Recorder:
    """Collects episodes, step by step."""

    def __init__(self, case: Case):
        self.case = case
        self.episodes: list[dict[str, list[Any]]] = []
        self.levels: list[dict[str, Any]] = []
        self.falls: list[int] = []

    def begin(self, level: dict[str, Any], obs: np.ndarray, place: int) -> None:
        names = ("actions", "reward", "terminated", "truncated", "success")
        self.levels.append(level)
        self.episodes.append(
            {name: [] for name in names} | {"obs": [digest(obs)], "places": [place]}
        )

    def step(self, obs: np.ndarray, place: int, **values: Any) -> None:
        episode = self.episodes[-1]
        episode["obs"].append(digest(obs))
        episode["places"].append(place)
        for name, value in values.items():
            episode[name].append(value)

    def trace(self) -> Trace:
        length = np.array([len(episode["actions"]) for episode in self.episodes])
        types = {"obs": np.uint64, "reward": np.float64, "actions": np.int8, "places": np.int16}
        arrays = {}
        for name in self.episodes[0]:
            rows = [np.array(e[name], types.get(name, np.bool_)) for e in self.episodes]
            width = length.max() + (name in ("obs", "places"))
            arrays[name] = np.stack([np.pad(row, (0, width - len(row))) for row in rows])
        levels = {name: np.array([level[name] for level in self.levels]) for name in self.levels[0]}
        falls = np.array(self.falls or [0] * len(length))
        return Trace(case=self.case, levels=levels, length=length, falls=falls, **arrays)


def digest(obs: np.ndarray) -> int:
    """Eight bytes that stand for the observation's bytes."""
    return int.from_bytes(hashlib.blake2b(obs.tobytes(), digest_size=8).digest(), "little")
