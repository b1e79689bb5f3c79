"""One small store, trained and probed once for all tests of the probes."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from clew.cli import main
from clew.cli.training import train_here
from clew.suite import Suite
from clew.suite.launchers import WorkerConfig
from clew.suite.toml import read_suite

EPISODES = 40
MLP_STEPS = 5
"""Of 50: what is tested is what becomes of the numbers, not how good they are."""
TOML = """
name = "small"

[settings]
envs = 8
steps = 32
chunk = 16
chunks_per_batch = 8
eval_every = 2
encoder_width = 16
encoder_hidden = 16
memory_width = 16

[knobs]
learning_rate = 3e-3

[[block]]
environment = "TinyReproduce"
environment_options = { k = 3, v = 2 }
rewards = ["dense"]
architectures = ["GRU"]
bonuses = ["none"]
seeds = 3
steps = 10240
"""


@pytest.fixture(scope="session")
def suite_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("suite") / "small.toml"
    path.write_text(TOML, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def small(suite_file: Path) -> Suite:
    return read_suite(suite_file)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory, small: Suite) -> Path:
    """A store that tests may copy; nothing in it is probed."""
    folder = tmp_path_factory.mktemp("trained") / "results"
    with redirect_stdout(StringIO()):
        assert train_here(WorkerConfig(suite=small, store=folder)) == 0
    return folder


@contextmanager
def fitted_quickly() -> Iterator[None]:
    from clew.probes.fitting import mlp

    # a program that is compiled keeps the number that it was compiled with
    train: Any = mlp.train._one
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mlp, "STEPS", MLP_STEPS)
        train.clear_cache()
        yield
    train.clear_cache()


@pytest.fixture(scope="module")
def quick_fits() -> Iterator[None]:
    """For files whose tests probe as `probed` is."""
    with fitted_quickly():
        yield


@pytest.fixture(scope="session")
def probed(tmp_path_factory: pytest.TempPathFactory, trained: Path, small: Suite) -> Path:
    """A store whose runs are probed; tests may copy it too."""
    from clew.probes.probing import Protocol, probe_runs
    from clew.store import Store

    folder = tmp_path_factory.mktemp("probed") / "results"
    shutil.copytree(trained, folder)
    with fitted_quickly():
        probe_runs(Store(folder), small.runs(), Protocol(EPISODES))
    return folder


@pytest.fixture
def clew(monkeypatch: pytest.MonkeyPatch):
    """The command, in this process, which has compiled everything already."""

    def command(*words: object) -> int:
        monkeypatch.setattr(sys, "argv", ["clew", *map(str, words)])
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0)
        return 0

    return command


def copied(store: Path, to: Path) -> Path:
    shutil.copytree(store, to)
    return to


def without_time(document: Any) -> Any:
    return {name: value for name, value in document.items() if name != "when"}
