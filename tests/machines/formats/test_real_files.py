"""Published `.POMDP` files, from a folder that CLEW_POMDP_FILES names; skipped without one."""

from __future__ import annotations

import os
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from clew.machines import Pomdp
from clew.machines.formats import clew_json, parse_clew_json, parse_pomdp, pomdp_text, read

FOLDER = os.environ.get("CLEW_POMDP_FILES")
FILES = sorted(Path(FOLDER).glob("*.POMDP")) if FOLDER else []
pytestmark = pytest.mark.skipif(not FILES, reason="CLEW_POMDP_FILES names no folder with files")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_file_is_read_and_comes_back(file: Path) -> None:
    pomdp = read(file)
    assert isinstance(pomdp, Pomdp)
    again = parse_pomdp(pomdp_text(pomdp), pomdp.name)
    assert replace(again, notes=pomdp.notes) == pomdp
    assert parse_clew_json(clew_json(pomdp)) == pomdp


def _pomdp(name: str) -> Pomdp:
    found = [file for file in FILES if file.name == name]
    if not found:
        pytest.skip(f"there is no {name}")
    pomdp = read(found[0])
    assert isinstance(pomdp, Pomdp)
    return pomdp


@pytest.mark.parametrize(
    ("name", "share"), [("hallway.POMDP", 56), ("mini-hall2.POMDP", 12), ("4x3.95.POMDP", 9)]
)
def test_rounded_starts_are_uniform(name: str, share: int) -> None:
    pomdp = _pomdp(name)
    assert [begin.probability for begin in pomdp.start] == [Fraction(1, share)] * share
    assert any(f"was read as 1/{share}" in note for note in pomdp.notes)


def test_tiger() -> None:
    tiger = _pomdp("tiger.95.POMDP")
    listen = tiger.steps[0][tiger.actions.index("listen")]
    assert {(b.state, b.observation): b.probability for b in listen} == {
        (0, 0): Fraction(17, 20),
        (0, 1): Fraction(3, 20),
    }
    assert {b.reward for b in tiger.steps[0][tiger.actions.index("open-right")]} == {10}
