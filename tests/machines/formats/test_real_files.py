"""Published `.POMDP` files, from a folder that CLEW_POMDP_FILES names; skipped without one."""

from __future__ import annotations

import os
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from clew.machines import Pomdp, classify
from clew.machines.certificates.claims import Sparse, Unencodable
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


@pytest.mark.parametrize(
    ("name", "posteriors", "value"),
    [
        ("parr95.95.POMDP", 8, "5212840/723901"),
        ("1d.POMDP", 11, "731/580"),
        ("cheese.95.POMDP", 16, "5274715400/1513024231"),
        ("mini-hall2.POMDP", 18, "46636140391780/17181744386419"),
    ],
)
def test_known_facts(name: str, posteriors: int, value: str) -> None:
    answer = classify(_pomdp(name))
    assert len({cell.posterior for cell in answer.beliefs.cells}) == posteriors
    assert answer.best is not None
    assert answer.best.value == Fraction(value)


@pytest.mark.parametrize(
    ("name", "verdict"),
    [("tiger.95.POMDP", Unencodable), ("shuttle.95.POMDP", Sparse), ("4x3.95.POMDP", Sparse)],
)
def test_where_posteriors_are_not_finite(name: str, verdict: type) -> None:
    answer = classify(_pomdp(name), limit=300)
    assert not answer.beliefs.finite
    assert isinstance(answer.verdict, verdict)
