"""How environments are shown: chosen in their folders, or by whoever brings one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from clew import envs
from clew.envs import registry


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    before = dict(registry._displays)
    yield
    registry._displays.clear()
    registry._displays.update(before)


def test_the_worlds_of_the_study_come_first_in_its_order() -> None:
    labels = [envs.display(name).label for name in envs.shown_first()]
    assert labels == ["MPG", "S13", "S13 7×7", "Tiny"]


def test_others_are_shown_under_their_own_name() -> None:
    assert envs.display("Mine[k=3]") == envs.Display("Mine[k=3]", threshold=0.5)
    assert "Mine[k=3]" not in envs.shown_first()


def test_a_display_from_elsewhere() -> None:
    envs.show_as("Mine", envs.Display("M", threshold=0.9))
    assert envs.display("Mine").label == "M"
    assert "Mine" not in envs.shown_first()
    envs.show_as("Mine", envs.Display("M", order=0))
    assert envs.shown_first()[0] == "Mine"


def test_displays_need_no_jax() -> None:
    code = (
        "import sys; from clew import envs; assert envs.display('TinyReproduce').label == 'Tiny'; "
        "sys.exit('jax' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
