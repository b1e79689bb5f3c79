"""One small store, trained once for all tests of the commands."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from clew.cli.training import train_here
from clew.suite import Block, Suite
from clew.suite.launchers import WorkerConfig

SMALL: dict[str, Any] = {
    "envs": 8, "steps": 32, "chunk": 16, "chunks_per_batch": 8, "eval_every": 2,
    "encoder_width": 16, "encoder_hidden": 16, "memory_width": 16,
}  # fmt: skip
WORLD: dict[str, Any] = {"environment": "TinyReproduce", "environment_options": {"k": 2, "v": 2}}


def suite(**knobs: Any) -> Suite:
    """Two bonuses and two seeds in one program."""
    block = Block(
        **WORLD,
        rewards=("dense",),
        architectures=("Memoryless",),
        bonuses=("none", "e3b"),
        seeds=2,
        steps=5120,
        knobs={"learning_rate": 3e-3, **knobs},
        settings=SMALL,
    )
    return Suite(name="small", blocks=[block], share=True)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a store that tests may read."""
    folder = tmp_path_factory.mktemp("trained") / "results"
    with redirect_stdout(StringIO()):
        assert train_here(WorkerConfig(suite=suite(), store=folder)) == 0
    return folder
