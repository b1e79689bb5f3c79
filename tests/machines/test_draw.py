"""Pictures of reward machines: complete, and safe whatever the names are."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings

from clew.machines import RewardMachine
from clew.machines.draw import to_dot, to_file, to_svg
from clew.machines.formats import parse_machine
from clew.validate import BadInput
from tests.machines.formats.strategies import machines
from tests.machines.formats.test_rmtext import OFFICE

GOAL = RewardMachine.build([("u0", ["goal"], "u_f", 1)], terminal=["u_f"], name="MysteryPath")
CUE = RewardMachine.build(
    [
        ("u0", ["cue A"], "u_A", 0),
        ("u0", ["cue B"], "u_B", 0),
        ("u0", ["match A"], "u_f", "1/2"),
        ("u0", ["match B"], "u_f", "1/2"),
        *((f"u_{cue}", [f"match {x}"], "u_f", int(cue == x)) for cue in "AB" for x in "AB"),
    ],
    terminal=["u_f"],
    name="MemoryS13",
)


def sequence() -> RewardMachine:
    """The machine of TinyReproduce with two tokens of two."""
    edges: list[tuple[str, list[str], str, int]] = []
    for x in "01":
        edges.append(("w", [x], f"u_{x}", 0))
        for y in "01":
            edges.append((f"u_{x}", [y], f"u_{x}{y}", 0))
            edges.append((f"u_{x}{y}", [f"play {y}"], f"v_{x}", 0))
            edges.append((f"u_{x}{y}", [f"play {1 - int(y)}"], "u_f", 0))
        edges.append((f"v_{x}", [f"play {x}"], "u_f", 1))
        edges.append((f"v_{x}", [f"play {1 - int(x)}"], "u_f", 0))
    return RewardMachine.build(edges, terminal=["u_f"])


def ring(n: int) -> RewardMachine:
    edges = [(f"u{i}", [way], f"u{(i + by) % n}", i) for i in range(n) for way, by in WAYS]
    return RewardMachine.build(edges)


WAYS = (("go", 1), ("back", -1))
LONG = RewardMachine.build(
    [("waiting for the key", ["sees it · forward · holds it"], "carrying the key", "-1/845")]
)
MACHINES = {
    "goal": GOAL,
    "cue": CUE,
    "sequence": sequence(),
    "office": parse_machine(OFFICE),
    "ring of 5": ring(5),
    "ring of 2": ring(2),
    "long names": LONG,
    "alone": RewardMachine(("u0",), ({},)),
}
each = pytest.mark.parametrize("name", MACHINES)


SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    """What is written in a picture, line by line."""
    return ["".join(node.itertext()) for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def arrows(svg: str) -> int:
    """Edges, but the one that points at the initial state."""
    return sum(node.get("class") == "edge" for node in ElementTree.fromstring(svg).iter()) - 1


@each
def test_every_state_and_edge_is_drawn(name: str) -> None:
    machine = MACHINES[name]
    svg = to_svg(machine)
    assert set(machine.states) <= set(texts(svg))
    leads = {(u, e.state) for u, row in enumerate(machine.edges) for e in row.values()}
    stays = {(u, u) for u in range(len(machine.states))}
    assert len(leads) <= arrows(svg) <= len(leads | stays)


def test_every_label_and_reward_is_written() -> None:
    written = texts(to_svg(CUE))
    for label in ("⟨cue A, 0⟩", "⟨match A ∨ match B, 1/2⟩", "⟨match A, 1⟩", "⟨match B, 0⟩"):
        assert label in written
    assert written.count("⟨o/w, 0⟩") == 3


def test_the_picture_in_the_docs_is_this_one() -> None:
    """Places depend on the fonts of a machine; what is drawn does not."""
    docs = (Path(__file__).parents[2] / "docs" / "images" / "reward-machine.svg").read_text()
    now = to_svg(replace(CUE, name="memory"))
    assert (sorted(texts(docs)), arrows(docs)) == (sorted(texts(now)), arrows(now))


def test_terminal_states_have_two_outlines() -> None:
    assert to_svg(GOAL).count("<ellipse") == 3


def test_formulas_where_they_are_shorter_than_sets() -> None:
    written = texts(to_svg(MACHINES["office"]))
    assert {"⟨c ∧ ¬p, 0⟩", "⟨p, 0⟩", "⟨o ∧ ¬p, 1/3⟩"} <= set(written)


def test_without_other_labels_there_is_no_otherwise() -> None:
    machine = RewardMachine.build([("a", [], "b", 1), ("a", ["p"], "b", 2)])
    assert texts(to_svg(machine)).count("⟨o/w, 0⟩") == 1  # of b


def test_many_labels_are_counted() -> None:
    edges = [("a", [f"label {i}"], "b", 1) for i in range(30)]
    svg = to_svg(RewardMachine.build(edges))
    assert any("… (30)" in text for text in texts(svg))
    assert "label 29" in svg  # where the pointer rests on it


@settings(max_examples=25, deadline=None)
@given(machines())
def test_any_machine_makes_well_formed_files(machine: RewardMachine) -> None:
    svg = to_svg(machine)
    tags = {node.tag.removeprefix(SVG) for node in ElementTree.fromstring(svg).iter()}
    assert tags <= {"svg", "title", "path", "polygon", "polyline", "ellipse", "text", "g", "a"}
    assert len(texts(svg)) >= len(machine.states)
    assert "href=" not in svg


@pytest.mark.parametrize("name", ['<script>alert("&")</script>', "&lt; &amp;", "a\\N\\n", "🙂 é"])
def test_names_are_written_as_they_are(name: str) -> None:
    machine = RewardMachine.build([(name, [name], "b\\", 1)], name=name)
    svg = to_svg(machine)
    assert "<script" not in svg
    assert {name, "b\\", f"⟨{name}, 1⟩"} <= set(texts(svg))


def test_line_ends_in_names_are_replaced() -> None:
    machine = RewardMachine.build([("first", ["\n"], "\nsecond", 1)], name="\n")
    assert {"first", "�second", "⟨�, 1⟩"} <= set(texts(to_svg(machine)))


def test_dot_needs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    to_file(CUE, tmp_path / "cue.dot")
    assert (tmp_path / "cue.dot").read_text("utf-8") == to_dot(CUE)
    with pytest.raises(BadInput, match=r"needs pygraphviz.*pip install 'clew\[draw\]'"):
        to_svg(CUE)


@pytest.mark.parametrize(
    ("ending", "begins"), [(".svg", b"<?xml"), (".pdf", b"%PDF-"), (".png", b"\x89PNG\r\n")]
)
def test_files(ending: str, begins: bytes, tmp_path: Path) -> None:
    to_file(CUE, tmp_path / f"cue{ending}")
    assert (tmp_path / f"cue{ending}").read_bytes().startswith(begins)
    with pytest.raises(BadInput, match=r"choose '\.svg', '\.pdf', '\.png' or '\.dot'"):
        to_file(CUE, tmp_path / "cue.gif")
