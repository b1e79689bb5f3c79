"""All answers together, and the command that prints them."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from clew.cli.commands import classify as command
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
    monkeypatch.setattr(sys.modules["clew.machines.deciding.classify"], "PAIRS", 10)
    with pytest.raises(BadInput, match="14 posteriors and 34 pairs of them"):
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


OWN = """0
[3]
(0,1,'oCA',ConstantRewardFunction(0))
(0,2,'oCB',ConstantRewardFunction(0))
(0,3,'oE',ConstantRewardFunction(1/2))
(0,0,'True',ConstantRewardFunction(0))
(1,3,'oE',ConstantRewardFunction(0))
(1,1,'True',ConstantRewardFunction(0))
(2,3,'oE',ConstantRewardFunction(0))
(2,2,'True',ConstantRewardFunction(0))
"""
"""A machine for Cue that stores the cue and pays nothing for the right pick."""
RIGHT = OWN.replace("(1,3,'oE',", "(1,3,'oE&pickA',ConstantRewardFunction(1))\n(1,3,'oE',").replace(
    "(2,3,'oE',", "(2,3,'oE&action:pickB',ConstantRewardFunction(1))\n(2,3,'after:oE',"
)


def own(text: str, tmp_path: Path, capsys: Any, task: str = "Cue") -> tuple[str, dict]:
    """What the command says about a machine, in words and as JSON."""
    file = tmp_path / "own.txt"
    file.write_text(text, encoding="utf-8")
    command.classify(task, machine=file)
    words = " ".join(capsys.readouterr().out.split())
    command.classify(task, machine=file, json=True)
    return words, json.loads(capsys.readouterr().out)["machine"]


def test_a_users_own_machine_that_encodes(tmp_path: Path, capsys: Any) -> None:
    words, plain = own(RIGHT, tmp_path, capsys)
    assert "own ENCODES the reward. Verified." in words
    assert "It is perfect." in words
    assert (plain["encodes"], plain["perfect"]) == (True, True)
    assert (plain["differs"], plain["confuses"]) == (None, None)


def test_a_users_own_machine_that_does_not_encode(tmp_path: Path, capsys: Any) -> None:
    words, plain = own(OWN, tmp_path, capsys)
    assert "own does NOT encode the reward. Expected returns that show it" in words
    assert (plain["encodes"], plain["other_rewards_encode"]) == (False, False)
    returns = plain["differs"]["returns"].values()
    assert any(both["pomdp"] != both["machine"] for both in returns)


def test_a_users_own_machine_that_confuses_histories(tmp_path: Path, capsys: Any) -> None:
    text = "0\n[]\n(0,0,'oG',ConstantRewardFunction(1))\n(0,0,'True',ConstantRewardFunction(0))\n"
    words, plain = own(text, tmp_path, capsys, "MysteryCell")
    assert (plain["encodes"], plain["step_by_step"], plain["perfect"]) == (True, True, False)
    assert "It is not perfect: it confuses these two histories" in words
    for history in plain["confuses"]["histories"]:
        assert history in words


def test_a_proposition_that_is_only_denied_counts(tmp_path: Path, capsys: Any) -> None:
    text = "0\n[]\n(0,0,'!oG',ConstantRewardFunction(1))\n(0,0,'True',ConstantRewardFunction(0))\n"
    _, plain = own(text, tmp_path, capsys, "MysteryCell")
    returns = plain["differs"]["returns"].values()
    assert all(Fraction(both["machine"]) < 100 for both in returns)  # not 1 in every step


@pytest.mark.parametrize(
    ("task", "text", "message"),
    [
        ("Cue", OWN.replace("oCA", "oCX"), r"'oCX' names nothing in cue.*did you mean 'oC"),
        ("Dictation-dense", OWN.replace("oCA", "0"), "'0' can mean 'action:0' or 'after:0'"),
        ("Cue", "0\n[", "line 2, column 1"),
        ("Cue", "discount: 0.9", "the file does not say values"),
    ],
)
def test_mistakes_in_a_users_own_machine(
    task: str, text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "own.txt").write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=message):
        command.classify(task, machine=tmp_path / "own.txt")


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("Tigr",), {}, "did you mean 'Tiger'"),
        (("Cue",), {"options": ("gamma",)}, "NAME=VALUE"),
        (("Cue",), {"options": ("speed=3",)}, "unknown option of Cue 'speed'"),
        (("Cue",), {"limit": 0}, "limit=0"),
        (("Tiger",), {"draw": Path("x.svg"), "limit": 50}, "no machine to draw"),
        (("Cue",), {"draw": Path("x.gif")}, "'.svg', '.pdf', '.png' or '.dot'"),
    ],
)
def test_mistakes_are_sentences(arguments: tuple, options: dict, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        command.classify(*arguments, **options)


def test_machines_do_not_need_jax() -> None:
    code = (
        "import sys; from clew.machines import classify, gallery as g; "
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
