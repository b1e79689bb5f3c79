"""Runs of one name that were trained before and after their environment's file was edited."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from clew.store.code import continued, mixed, versions
from tests.suite.declared import SETTINGS

ENVIRONMENT = """
import gymnasium
from gymnasium import spaces

REWARD = 1.0

class Wait(gymnasium.Env):
    observation_space, action_space = spaces.Discrete(2), spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 1, REWARD * int(action), False, False, {"is_success": bool(action)}

def make():
    return Wait()
"""
SUITE = """
[[block]]
environment = "waiting_room:make"
environment_options = { max_episode_steps = 4 }
rewards = ["native"]
architectures = ["Memoryless"]
bonuses = ["none"]
seeds = SEEDS
steps = 768
[settings]
"""
STOPPED = """
import sys
from pathlib import Path
from clew.store import Store
from clew.suite import Stop, find_suite, plan, work
store, suite = Store("results"), find_suite(sys.argv[1])
with Stop() as stop:
    def watch(step):
        if step.period == 3:
            stop._reason = "the test says so"
    work(store, plan(suite, store, 1), stop, watch, checkpoint_every=0)
"""


def python(folder: Path, *words: str) -> str:
    """A process of its own, as a module is imported once in each."""
    quick = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, **quick, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 4), done.stderr
    return " ".join(done.stdout.split())


def suite_of(folder: Path, seeds: int) -> str:
    settings = "\n".join(f"{name} = {value}" for name, value in SETTINGS.items())
    path = folder / f"suite{seeds}.toml"
    path.write_text(SUITE.replace("SEEDS", str(seeds)) + settings)
    return path.name


def test_an_edited_environment_is_told(tmp_path: Path) -> None:
    module = tmp_path / "waiting_room.py"
    module.write_text(ENVIRONMENT)
    one, two, run = suite_of(tmp_path, 1), suite_of(tmp_path, 2), ("-m", "clew", "run")
    assert "was changed" not in python(tmp_path, *run, one)
    assert "was changed" not in python(tmp_path, *run, one)
    python(tmp_path, "-c", STOPPED, two)
    (begun,) = (p for p in tmp_path.glob("results/runs/*-s1-*") if not (p / "result.json").exists())
    assert "waiting_room (sha256 " in (begun / "provenance.json").read_text()

    module.write_text(ENVIRONMENT.replace("REWARD = 1.0", "REWARD = 0.0"))
    said = "waiting_room was changed since 1 finished and 1 unfinished runs began with it (now sha"
    assert said in python(tmp_path, *run, two, "--dry-run")
    told = python(tmp_path, *run, two)
    assert said in told
    assert "use another --store, or delete" in told
    assert "2 finished" in told
    (finished,) = (json.loads(p.read_text())["data"] for p in begun.glob("provenance.json"))
    first, second = finished["from"]["environment"].split(", then ")
    assert first != second

    world = "waiting_room:make[max_episode_steps=4]"
    note = f"Caution: runs of {world} were trained with different code: "
    assert note in python(tmp_path, "-m", "clew", "status")
    report = python(tmp_path, "-m", "clew", "report")
    assert report.index(note) < report.index("report: ")


def test_what_is_known_of_code() -> None:
    a, b = "mine (sha256 aa)", "mine (sha256 bb)"
    assert continued(None, a) == a
    assert continued(a, a) == a
    assert continued(continued(continued(a, b), b), a) == f"{a}, then {b}, then {a}"
    assert versions({"from": {"environment": f"{a}, then {b}", "bonus": "package x 1.0"}}) == {
        "mine": ("(sha256 aa)", "(sha256 bb)"),
        "package x": ("1.0",),
    }
    # older stores, modules without a file, and what is not sound
    for told in (
        {},
        {"from": "a"},
        {"from": {"bonus": 3}},
        {"from": {"bonus": "m (sha256 unknown)"}},
    ):
        assert versions(told) == {}
    same = [("A", {"from": {"environment": a}}), ("B", {"from": {"environment": b}}), ("A", {})]
    assert mixed(same) == []
    assert mixed([*same, ("A", {"from": {"environment": b}})]) == [
        "Caution: runs of A were trained with different code: 1 with mine (sha256 aa), 1 with mine "
        "(sha256 bb); where they are compared, that change may be what differs."
    ]
