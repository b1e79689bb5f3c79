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

from clew.cli.classification_text import about_bonus
from clew.cli.commands import classify as command
from clew.machines import Pomdp, classify, gallery
from clew.machines.certificates.claims import Undecided
from clew.machines.deciding.classify import summary
from clew.machines.deciding.examine import examine
from clew.machines.formats import parse_pomdp, write
from clew.machines.model.reward_machine import RewardMachine
from clew.validate import BadInput
from tests.machines.known_machines import cue_machine


def test_a_name_is_no_pomdp() -> None:
    name: Any = "TMaze"
    with pytest.raises(BadInput, match=r"pomdp is of type str, and must be a Pomdp: write cl"):
        classify(name)


def test_fractions_are_written_out_where_they_are_short(capsys: Any) -> None:
    for name, values in (("CheeseMaze", ["≈ 3.48621"]), ("Cue", ["9801/10000", "24651/40000"])):
        command.classify(name)
        told = " ".join(capsys.readouterr().out.split())
        assert all(value in told for value in values), told


@pytest.mark.parametrize("name", gallery.names())
def test_the_whole_gallery_can_be_classified(name: str) -> None:
    answer = classify(gallery.make(name), limit=300)
    plain = summary(answer)
    assert json.loads(json.dumps(plain)) == plain
    console = Console(record=True, width=100)
    command.report(console, answer)
    words = console.export_text()
    effect = answer.diagnosis.outcome
    assert ("bonus: not decided" if effect == "undecided" else effect.upper()) in words
    assert plain["verdict"].upper() in words
    assert repr(answer).startswith(f"<{answer.pomdp.name}: {plain['verdict']}, {effect}; ")
    assert max(len(repr(answer)), len(repr(answer.pomdp))) < 250


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
    command.classify("Cue", options=("gamma=9/10",), json=True, draw=(picture,))
    plain = json.loads(capsys.readouterr().out)
    assert plain["verdict"] == "dense"
    assert plain["optimal_return"] == "81/100"
    assert picture.read_text(encoding="utf-8").lstrip().startswith(("<svg", "<?xml"))
    command.classify("Cue", options=("gamma=9/10",), json=True, draw=(tmp_path / "cue.pdf",))
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
    assert "own ENCODES the reward: it pays the same return under every policy. Verified." in words
    assert "It is perfect (" in words
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
    assert "It is not perfect (it forgets something that matters" in words
    assert "own confuses these two histories, after which" in words
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
        (("Tiger",), {"draw": (Path("x.svg"),), "limit": 50}, "no machine to draw"),
        (("Cue",), {"draw": (Path("x.jpg"),)}, "'.png', '.gif', '.svg', '.pdf' or '.dot'"),
        (("MysteryCell",), {"draw": (Path("x.svg"), Path("y.jpeg"))}, "ending='.jpeg'"),
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


def test_the_verdict_comes_first_and_says_what_to_do(capsys: Any) -> None:
    command.classify("Cue")
    verdict, *rest = capsys.readouterr().out.splitlines()
    assert verdict == "A bonus may help; train with and without it, and compare."
    words = " ".join(" ".join(rest).split())
    assert words.startswith(
        "Expected effect of a bonus: EQUALISE, it brings memories closer together (an expectation, "
        "not a theorem). The reward supervises memory of the cue (no machine that pays"
    )
    assert "end=stops: the step that ends an episode pays last" in words
    assert "An encoder of 3 states is known; no encoder is smaller." in words
    assert "A: oS → peek → oCA → peek → oJ (best now: pickA)" in words
    assert "B: oS → peek → oCB → peek → oJ (best now: pickB)" in words


def test_only_a_theorem_is_an_order() -> None:
    """What is proved is what a reward supervises; what a bonus then does is an expectation."""
    orders = ("use ", "leave ", "choose ")
    for name in gallery.names():
        said = classify(gallery.make(name), limit=300).diagnosis
        assert said.todo.startswith(orders) == (said.certainty == "a theorem"), name


def test_misranking_alone_says_little_about_a_bonus() -> None:
    """Of a line that is fully observed: reward comes late there, as almost everywhere."""
    places = ["0", "1", "2", "3"]
    line = Pomdp.build(
        states=places,
        actions=["back", "on"],
        observations=places,
        p=lambda s, a: s if s == "3" else str(int(s) + 1) if a == "on" else "0",
        omega=lambda s: s,
        r=lambda s, a, after: int(s < after == "3"),
        gamma="9/10",
        mu="0",
        terminal=["3"],
    )
    answer = classify(line)
    assert answer.diagnosis.outcome == "equalise"
    words = about_bonus(answer)
    assert "(a weak expectation, not a theorem)" in words
    assert "says little about a bonus; only an experiment decides." in words


@pytest.mark.parametrize("name", ["Tiger", "Shuttle"])
def test_an_open_effect_does_not_make_a_decided_reward_look_undecided(
    name: str, capsys: Any
) -> None:
    command.classify(name)
    first, *rest = capsys.readouterr().out.splitlines()
    words = " ".join(" ".join(rest).split())
    assert first == "Train with and without a bonus, and compare."
    assert "UNDECIDED" not in words
    assert "Expected effect of a bonus: not decided. It depends on what good play has to" in words
    assert "The reward is structurally SPARSE: " in words
    assert ("the reward supervises no memory" in words) == (name == "Shuttle")
    assert "every machine that encodes it" not in words  # of Tiger's reward, none does


@pytest.mark.parametrize("end", ["stops", "absorbing", "hidden"])
def test_the_convention_of_the_end_is_in_every_answer(end: Any, capsys: Any) -> None:
    command.classify("Dictation-dense", options=("positions=true",), end=end, json=True)
    plain = json.loads(capsys.readouterr().out)
    assert plain["end"] == end
    assert any(note.startswith(f"end={end}: ") for note in plain["notes"])
    assert plain["verdict"] == ("sparse" if end == "stops" else "dense")


def test_no_bound_is_given_where_no_machine_encodes(capsys: Any) -> None:
    command.classify("Coin", limit=60, json=True)
    plain = json.loads(capsys.readouterr().out)
    assert "encoder_states_at_least" not in plain
    assert plain["witness"]["no_machine_encodes"]


def test_only_redundancy_is_a_theorem() -> None:
    """Dense and well ranked, yet a bonus for what is new is best earned by leaving."""
    assert summary(classify(gallery.make("Dictation-dense")))["theorem"]
    leaving = Pomdp.build(
        states=["home", "away"],
        actions=["stay", "leave"],
        observations=["home", "away"],
        p=lambda s, a: "home" if s == "away" or a == "stay" else "away",
        omega=lambda s: s,
        r=lambda s, a, after: int(s == "home" and a == "stay"),
        gamma="9/10",
        mu="home",
    )
    null = summary(classify(leaving))
    assert (null["verdict"], null["misranked"]) == ("dense", False)
    assert (null["expected_effect_of_a_bonus"], null["theorem"]) == ("null", False)
    # whoever gets 2 for each visit away prefers to leave
    assert 2 / (1 - 0.9**2) > 1 / (1 - 0.9)
    assert any("only null by redundancy is a theorem" in limit for limit in null["limits"])


def test_nothing_is_called_proved_of_sampled_levels() -> None:
    pomdp = dataclasses.replace(gallery.make("MysteryCell"), draws=500)
    console = Console(record=True, width=100)
    command.report(console, classify(pomdp))
    words = " ".join(console.export_text().split())
    assert "Checked on probabilities from 500 draws." in words
    for word in ("proved", "verified", "exact"):
        assert word not in words.lower()


def test_one_state_is_tried_before_pairs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["clew.machines.deciding.classify"], "PAIRS", 1)
    answer = classify(gallery.make("CheeseMaze"))
    plain = summary(answer)
    assert (plain["verdict"], plain["encoder_states"]) == ("sparse", 1)
    assert plain["profile"] is None
    assert "pairs of posteriors; at most 1 are counted" in plain["reasons"][0]


def test_what_was_not_tried_is_not_called_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    density = sys.modules["clew.machines.deciding.density"]
    monkeypatch.setattr(density, "MANY", 3)
    monkeypatch.setattr(density, "unencodable", lambda beliefs: None)  # as if no word was found
    answer = classify(gallery.make("4x3"), limit=50)
    assert isinstance(answer.verdict, Undecided)
    assert "one-state machine was not tried on more than 3 states" in answer.verdict.reason


OFF = """discount: 0.9
values: reward
states: 2
actions: 1
observations: 2
T: 0
0.12345 0.87654
0 1
O: * identity
R: * : 0 : * : * 1
"""


def test_files_have_no_options_and_are_renormalised_on_request(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "off.POMDP"
    file.write_text(OFF.replace("O: * identity", "O: *\n1 0\n0 1"), encoding="utf-8")
    with pytest.raises(BadInput, match=r"0.99999.*--renormalise"):
        command.classify(str(file))
    with pytest.raises(BadInput, match="leave out --options"):
        command.classify(str(file), options=("k=3",))
    with pytest.raises(BadInput, match="--renormalise is for files"):
        command.classify("Cue", renormalise=True)
    command.classify(str(file), renormalise=True, json=True)
    plain = json.loads(capsys.readouterr().out)
    assert any("adds up to 0.99999 was read as 1" in note for note in plain["notes"])


def test_sizes_are_counted_before_memory_is_spent() -> None:
    with pytest.raises(BadInput, match="268,435,457 states; at most 200,000"):
        gallery.make("Dictation-sparse", k=8, v=8)
    text = OFF.replace("states: 2", "states: 3000").replace(OFF[OFF.index("T: 0") :], "")
    with pytest.raises(BadInput, match="9,000,000 branches"):
        parse_pomdp(text + "T: * uniform\nO: * uniform\n")
    ends = OFF.replace("0.12345 0.87654", "0.5 0.5").replace("0.9", "1.0\nstart: 0", 1)
    pomdp = parse_pomdp(ends.replace("O: * identity", "O: * uniform"))
    assert (pomdp.discount, pomdp.terminal) == (1, {1})
