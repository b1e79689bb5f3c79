"""All answers together, and the command that prints them."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from clew.cli import classify as command
from clew.machines import classify, gallery
from clew.machines.deciding.classify import summary
from clew.machines.deciding.examine import examine
from clew.machines.formats import write
from clew.machines.model.reward_machine import RewardMachine
from clew.machines.worlds.library.cue import cue_machine
from clew.validate import BadInput


@pytest.mark.parametrize("name", gallery.names())
def test_the_whole_gallery_can_be_classified(name: str) -> None:
    answer = classify(gallery.make(name), limit=300)
    plain = summary(answer)
    assert json.loads(json.dumps(plain)) == plain
    console = Console(record=True, width=100)
    command.report(console, answer)
    words = console.export_text()
    assert answer.diagnosis.outcome.upper() in words
    assert plain["verdict"].upper() in words


@pytest.mark.parametrize(
    ("name", "verdict", "outcome"),
    [
        ("Cue", "dense", "equalise"),
        ("MysteryCell", "sparse", "amplify"),
        ("Dictation-dense", "sparse", "null"),
        ("Dictation-sparse", "sparse", "null"),
        ("TMaze", "sparse", "equalise"),
        ("CheeseMaze", "sparse", "amplify"),
        ("Tiger", "sparse", "undecided"),
        ("Coin", "sparse", "undecided"),
    ],
)
def test_what_a_bonus_is_expected_to_do(name: str, verdict: str, outcome: str) -> None:
    plain = summary(classify(gallery.make(name), limit=300))
    assert plain["verdict"] == verdict
    assert plain["expected_effect_of_a_bonus"] == outcome
    assert plain["reasons"]
    assert plain["limits"]


def test_too_many_pairs_are_refused_with_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["clew.machines.deciding.classify"], "PAIRS", 41)
    with pytest.raises(BadInput, match="15 posteriors and 42 pairs of them"):
        classify(gallery.make("Dictation-dense"))


def test_the_command_prints_json_and_draws(tmp_path: Path, capsys: Any) -> None:
    picture = tmp_path / "cue.svg"
    command.classify("Cue", options=("gamma=9/10",), json=True, draw=picture)
    plain = json.loads(capsys.readouterr().out)
    assert plain["verdict"] == "dense"
    assert plain["optimal_return"] == "81/100"
    assert picture.read_text(encoding="utf-8").lstrip().startswith(("<svg", "<?xml"))
    command.classify("Cue", options=("gamma=9/10",), json=True, draw=tmp_path / "cue.pdf")
    assert (tmp_path / "cue.pdf").read_bytes().startswith(b"%PDF")


def test_a_machine_in_a_file_is_examined(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "cue.json"
    write(cue_machine(gallery.make("Cue")), file)
    command.classify(str(file))
    words = " ".join(capsys.readouterr().out.split())
    assert "cue machine ENCODES the reward" in words
    assert "does not reproduce the reward step by step" in words
    assert "potentially sparse" in words


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("Tigr",), {}, "did you mean 'Tiger'"),
        (("Cue",), {"options": ("gamma",)}, "NAME=VALUE"),
        (("Cue",), {"options": ("speed=3",)}, "unknown option of Cue 'speed'"),
        (("Cue",), {"limit": 0}, "limit=0"),
        (("Tiger",), {"draw": Path("x.svg"), "limit": 50}, "no machine to draw"),
        (("Cue",), {"draw": Path("x.png")}, "'.svg' or '.pdf'"),
    ],
)
def test_mistakes_are_sentences(arguments: tuple, options: dict, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        command.classify(*arguments, **options)


def test_machines_do_not_need_jax() -> None:
    code = (
        "import sys; import clew.machines.deciding.classify, clew.machines.worlds.gallery as g; "
        "g.make('Cue'); sys.exit('jax' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_misspelt_proposition_is_refused_by_name() -> None:
    product = cue_machine(gallery.make("Cue"))
    misspelt = RewardMachine.build(
        [("u0", ["machA"], "u_f", 1)], initial="u0", terminal=["u_f"], name="misspelt"
    )
    with pytest.raises(BadInput, match=r"unknown proposition 'machA'.*did you mean 'match"):
        examine(dataclasses.replace(product, machine=misspelt))
