"""Pictures of reward machines: complete, legible, and safe whatever the names are."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings

from clew.machines import RewardMachine
from clew.machines.draw import to_dot, to_pdf, to_svg
from clew.machines.draw.picture import Picture, picture
from clew.machines.draw.scene import scene
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


@cache
def drawing(name: str) -> Picture:
    return picture(MACHINES[name])


def texts(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    return ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]


@each
def test_nothing_lies_on_anything(name: str) -> None:
    drawn = drawing(name)
    boxes = [outline.box for outline in drawn.outlines]
    for i, box in enumerate(drawn.labels):
        assert not any(box.overlap(other) for other in (*drawn.labels[:i], *boxes))
        for curve in drawn.curves:
            assert not any(map(box.holds, curve.samples(40)))
    for arrow, curve in zip(drawn.scene.arrows, drawn.curves, strict=True):
        for u, outline in enumerate(drawn.outlines):
            if u not in (arrow.source, arrow.target):
                assert min(map(outline.distance, curve.samples(40))) > 3
    for i, outline in enumerate(drawn.outlines):
        assert all(not outline.box.overlap(other) for other in boxes[:i])


@each
def test_the_frame_holds_everything(name: str) -> None:
    drawn = drawing(name)
    for box in (*drawn.labels, *(outline.box for outline in drawn.outlines)):
        assert abs(drawn.frame.overlap(box) - box.overlap(box)) < 1e-6
    for curve in (*drawn.curves, drawn.entry):
        assert all(map(drawn.frame.holds, curve.samples(40)))


@each
def test_arrows_join_their_states(name: str) -> None:
    drawn = drawing(name)
    for arrow, curve in zip(drawn.scene.arrows, drawn.curves, strict=True):
        source, target = drawn.outlines[arrow.source], drawn.outlines[arrow.target]
        assert abs(source.distance(curve.at(0.0))) < 1
        assert 1 < target.distance(curve.at(1.0)) < 12  # the head bridges the rest


def test_every_state_and_reward_is_written() -> None:
    written = texts(to_svg(CUE))
    assert {"u0", "uA", "uB", "uf"} <= set(written)
    for label in ("⟨cue A, 0⟩", "⟨match A ∨ match B, 1/2⟩", "⟨match A, 1⟩", "⟨match B, 0⟩"):
        assert label in written
    assert written.count("⟨o/w, 0⟩") == 3


def test_the_picture_in_the_docs_is_this_one() -> None:
    docs = Path(__file__).parents[2] / "docs" / "images" / "reward-machine.svg"
    assert docs.read_text() == to_svg(replace(CUE, name="memory"))


def test_terminal_states_have_two_outlines() -> None:
    assert to_svg(GOAL).count('stroke-width="1.3"') == 3


def test_formulas_where_they_are_shorter_than_sets() -> None:
    labels = {
        "".join(run.text for run in line)
        for a in scene(MACHINES["office"]).arrows
        for line in a.lines
    }
    assert {"⟨c ∧ ¬p, 0⟩", "⟨p, 0⟩", "⟨o ∧ ¬p, 1/3⟩"} <= labels


def test_without_other_labels_there_is_no_otherwise() -> None:
    machine = RewardMachine.build([("a", [], "b", 1), ("a", ["p"], "b", 2)])
    assert texts(to_svg(machine)).count("⟨o/w, 0⟩") == 1  # of b


def test_names_that_would_look_the_same_stay_as_they_are() -> None:
    machine = RewardMachine.build([("u0", ["p"], "u_0", 1)])
    assert {"u0", "u_0"} <= set(texts(to_svg(machine)))


def test_many_labels_are_counted() -> None:
    edges = [("a", [f"label {i}"], "b", 1) for i in range(30)]
    svg = to_svg(RewardMachine.build(edges))
    assert any("… (30)" in text for text in texts(svg))
    assert "label 29" in svg  # where the pointer rests on it


@settings(max_examples=25, deadline=None)
@given(machines())
def test_any_machine_makes_well_formed_files(machine: RewardMachine) -> None:
    svg = to_svg(machine)
    tags = {node.tag.rpartition("}")[2] for node in ElementTree.fromstring(svg).iter()}
    assert tags <= {"svg", "title", "path", "rect", "text", "tspan", "g"}
    assert len(texts(svg)) >= len(machine.states)
    dot = to_dot(machine)
    assert dot.count("->") == len(scene(machine).arrows) + 1 + sum(
        part.count("->") for part in _quoted(dot)
    )


def _quoted(dot: str) -> Iterable[str]:
    """What stands between quotes, by Graphviz's rule."""
    parts = dot.replace("\\\\", "").replace('\\"', "").split('"')
    return parts[1::2]


def test_names_are_escaped() -> None:
    evil = '<script>alert("&")</script>'
    machine = RewardMachine.build([(evil, [evil], "b\\", 1)], name=evil)
    svg, dot = to_svg(machine), to_dot(machine)
    assert "<script" not in svg
    assert evil in texts(svg)
    assert 'alert(\\"&\\")' in dot
    assert '"b\\\\"' in dot


def test_pdf(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for nth, machine in enumerate((CUE, RewardMachine.build([("$a_b$", ["100% — é ∂"], "b", 1)]))):
        file = tmp_path / f"{nth}.pdf"
        to_pdf(machine, file)
        data = file.read_bytes()
        assert data.startswith(b"%PDF-")
        assert b"FontFile2" in data  # the fonts are inside


def test_pdf_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "clew.machines.draw.pdf", raising=False)
    with pytest.raises(BadInput, match=r"install clew\[draw\], or write SVG"):
        to_pdf(GOAL, tmp_path / "no.pdf")
