"""What an uninterrupted run on this machine finds, and a place for compiled programs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.clusters.things import Command, results


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compiled")


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Mapping[str, bytes]:
    command = Command(tmp_path_factory.mktemp("undisturbed"), cache, "store")
    assert command.ends() == 0, command.said()
    return results(command.store)
