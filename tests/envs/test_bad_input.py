"""A user's mistake is answered with the field, the bad value and the valid ones."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from clew import envs
from clew.envs.registry import environments
from clew.validate import BadInput


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("MysteryPath", {}, ["'MysteryPath'", "'MysteryPath-Grid'", "did you mean"]),
        ("MysteryPath-Grid", {"size": 2}, ["size=2", "from 3 to 16"]),
        ("MysteryPath-Grid", {"size": 7.0}, ["size=7.0", "whole number"]),
        ("MysteryPath-Grid", {"actions": "polar"}, ["='polar'", "'egocentric' or 'cardinal'"]),
        ("MysteryPath-Grid", {"show_goal": "yes"}, ["show_goal='yes'", "True"]),
        ("MysteryPath-Grid", {"showgoal": True}, ["'showgoal'", "'show_goal'", "'max_steps'"]),
        ("MysteryPath-Grid", {"origin_sides": (4,)}, ["origin_sides=4", "0, 1, 2 or 3"]),
        ("MysteryPath-Grid", {"origin_sides": ()}, ["origin_sides=()", "(0, 1, 2, 3)"]),
        ("MysteryPath-Grid", {"origin_sides": 1}, ["origin_sides=1", "(0, 1, 2, 3)"]),
        ("MysteryPath-Grid", {"origin_sides": (1.0,)}, ["origin_sides=1.0", "0, 1, 2 or 3"]),
        ("MysteryPath-Grid", {"max_steps": 2**31}, ["max_steps=2147483648", "to 1000000"]),
        ("MysteryPath-Grid", {"name": "x"}, ["'name'", "'size'"]),
        ("MiniGrid-MemoryS13", {"view": 3.0}, ["view=3.0", "3, 5 or 7"]),
        ("MiniGrid-MemoryS13", {"view": np.array([3, 5])}, ["view=", "3, 5 or 7"]),
        ("MysteryPath-Grid", {"max_steps": 0}, ["max_steps=0", "from 1"]),
        ("MiniGrid-MemoryS13", {"view": 4}, ["view=4", "3, 5 or 7"]),
        ("MiniGrid-MemoryS13", {"size": 11}, ["size=11", "size=13", "'MiniGrid-MemoryS11'"]),
        ("MiniGrid-MemoryS12", {}, ["'MiniGrid-MemoryS12'", "'MiniGrid-MemoryS13'"]),
        ("TinyReproduce", {"k": 0}, ["k=0", "from 1 to 1000"]),
        ("TinyReproduce", {"v": True}, ["v=True", "whole number"]),
        ("TinyReproduce", {"order": "random"}, ["order='random'", "'reverse'", "'forward'"]),
    ],
)  # fmt: skip
def test_options(name: str, options: dict[str, object], words: list[str]) -> None:
    with pytest.raises(ValueError, match=re.escape(words[0])) as error:
        envs.make(name, **options)
    for word in words:
        assert word in str(error.value)


def test_rewards_and_events() -> None:
    env = envs.make("TinyReproduce")
    with pytest.raises(ValueError, match=r"'aligned'.*'dense' or 'sparse'"):
        env.prices("aligned")
    with pytest.raises(ValueError, match=r"'goal'.*'correct'"):
        env.prices({"goal": 1.0})


@pytest.mark.parametrize("reward", [None, 3, ["goal"], {"goal": "x"}, {"goal": float("nan")}])
def test_prices_that_are_none(reward: Any) -> None:
    with pytest.raises(BadInput, match=r"reward=|price of goal="):
        envs.make("MysteryPath-Grid").prices(reward)


def test_numpys_numbers_are_numbers() -> None:
    env = envs.make("MysteryPath-Grid", size=np.int64(7), show_goal=np.True_)
    assert env == envs.make("MysteryPath-Grid", show_goal=True)
    assert hash(env) == hash(envs.make("MysteryPath-Grid", show_goal=True))


def test_naming_the_worlds_does_not_import_jax() -> None:
    code = "import sys, clew.envs; print(len(clew.envs.names()), 'jax' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(len(envs.names())), "False"]


def test_a_name_cannot_be_registered_twice() -> None:
    with pytest.raises(ValueError, match="'TinyReproduce' is registered twice"):
        environments.add("TinyReproduce", "elsewhere:Other")
