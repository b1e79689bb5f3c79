"""Every form that the `.POMDP` grammar has, against the same model written out."""

from __future__ import annotations

from fractions import Fraction

import pytest

from clew.machines import Pomdp
from clew.machines.formats import FIRST, parse_pomdp

HEAD = """discount: 0.9
values: reward
states: left middle right
actions: stay go
observations: dark light
"""
T = "T: * identity\n"
O = "O: * uniform\n"  # noqa: E741 (the format's own letter)


def read(*parts: str, head: str = HEAD) -> Pomdp:
    return parse_pomdp(head + "".join(parts))


def moves(pomdp: Pomdp, s: int, a: int) -> dict[int, Fraction]:
    """The law of the next state."""
    law = dict.fromkeys(range(len(pomdp.states)), Fraction(0))
    for branch in pomdp.steps[s][a]:
        law[branch.state] += branch.probability
    return {state: p for state, p in law.items() if p}


def sights(pomdp: Pomdp, s: int, a: int) -> dict[int, Fraction]:
    """The law of the next observation."""
    law = dict.fromkeys(range(len(pomdp.observations)), Fraction(0))
    for branch in pomdp.steps[s][a]:
        law[branch.observation] += branch.probability
    return {o: p for o, p in law.items() if p}


def rewards(pomdp: Pomdp) -> dict[tuple[int, int, int, int], Fraction]:
    """What pays: by action, state, next state and observation."""
    return {
        (a, s, b.state, b.observation): b.reward
        for s, rows in enumerate(pomdp.steps)
        for a, row in enumerate(rows)
        for b in row
        if b.reward
    }


def test_the_first_observation_comes_after_the_first_action() -> None:
    pomdp = read(T, O)
    assert pomdp.observations == ("dark", "light", FIRST)
    assert {begin.observation for begin in pomdp.start} == {2}
    assert all(b.observation < 2 for rows in pomdp.steps for row in rows for b in row)


@pytest.mark.parametrize(
    ("start", "belief"),
    [
        ("", [(0, 3), (1, 3), (2, 3)]),
        ("start: uniform\n", [(0, 3), (1, 3), (2, 3)]),
        ("start: 0.5 0.0 0.5\n", [(0, 2), (2, 2)]),
        ("start: 0.333333 0.333333 0.333334\n", [(0, 3), (1, 3), (2, 3)]),
        ("start: 1\n", [(1, 1)]),
        ("start: middle\n", [(1, 1)]),
        ("start include: left 2\n", [(0, 2), (2, 2)]),
        ("start include: left left 0\n", [(0, 1)]),
        ("start exclude: left\n", [(1, 2), (2, 2)]),
        ("start exclude: 0 middle\n", [(2, 1)]),
    ],
)
def test_start(start: str, belief: list[tuple[int, int]]) -> None:
    found = [(b.state, b.probability) for b in read(start, T, O).start]
    assert found == [(state, Fraction(1, n)) for state, n in belief]


def test_start_of_one_state_is_that_state_either_way() -> None:
    head = "discount: 0.9 values: reward states: 1 actions: 1 observations: 1\n"
    for start in ("0", "1", "1.0", "uniform"):
        assert read(f"start: {start}\n", T, O, head=head).start[0].probability == 1


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("T: go : left : right 1.0\nT: go : left : left 0", {2: 1}),
        ("T: go : left\n0.25 0.25 0.5", {0: "1/4", 1: "1/4", 2: "1/2"}),
        ("T: go : left uniform", {0: "1/3", 1: "1/3", 2: "1/3"}),
        ("T: go\n0 1 0\n 1 0 0 0 0 1", {1: 1}),
        ("T: go identity", {0: 1}),
        ("T: go uniform", {0: "1/3", 1: "1/3", 2: "1/3"}),
        ("T: go : left reset", {1: "1/2", 2: "1/2"}),
        ("T: go reset", {1: "1/2", 2: "1/2"}),
        ("T: * : left uniform", {0: "1/3", 1: "1/3", 2: "1/3"}),
        ("T: 1 : 0 : 0 0.0\nT: 1 : 0 : 1 1.", {1: 1}),
        ("T: * : * : * 0\nT: * : * : 1 1e0", {1: 1}),
        ("T: go uniform\nT: go : left\n0 0 1", {2: 1}),
    ],
)
def test_transitions(text: str, law: dict[int, str | int]) -> None:
    pomdp = read("start exclude: left\n", T, text, "\n", O)
    assert moves(pomdp, 0, 1) == {s: Fraction(p) for s, p in law.items()}


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("O: go : left : light 0.75\nO: go : left : dark 0.25", {0: "1/4", 1: "3/4"}),
        ("O: go : left\n0.1 0.9", {0: "1/10", 1: "9/10"}),
        ("O: go : left uniform", {0: "1/2", 1: "1/2"}),
        ("O: go\n1 0 0 1 0 1", {0: 1}),
        ("O: go uniform", {0: "1/2", 1: "1/2"}),
        ("O: * : * : dark 1\nO: * : * : light 0", {0: 1}),
    ],
)
def test_observations(text: str, law: dict[int, str | int]) -> None:
    pomdp = read(T, O, text)
    assert sights(pomdp, 0, 1) == {o: Fraction(p) for o, p in law.items()}


def test_observations_may_depend_on_the_action() -> None:
    pomdp = read(T, "O: stay : * : dark 1\nO: go : * : light 1\n")
    assert (sights(pomdp, 0, 0), sights(pomdp, 0, 1)) == ({0: 1}, {1: 1})


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("R: go : left : left : dark 5", {(1, 0, 0, 0): 5}),
        ("R: go : left : left\n- 5 +7", {(1, 0, 0, 0): -5, (1, 0, 0, 1): 7}),
        ("R: go : left\n1 2 3 4 5 6", {(1, 0, 0, 0): 1, (1, 0, 0, 1): 2}),
        ("R: go : * : * : light 1.5", {(1, s, s, 1): Fraction(3, 2) for s in range(3)}),
        (
            "R: * : * : * : * 1\nR: * : * : *\n0 0\nR: * : 2 : * : 0 -1e-1",
            {(a, 2, 2, 0): Fraction(-1, 10) for a in range(2)},
        ),
        ("R: go : left : left : dark 5\nR: * : * : * : * 0", {}),
        ("R: go : right\n1 1 1 1 0.333333 0", {(1, 2, 2, 0): Fraction(1, 3)}),
    ],
)
def test_rewards(text: str, cells: dict[tuple[int, int, int, int], Fraction]) -> None:
    assert rewards(read(T, O, text)) == cells


def test_costs_are_negative_rewards() -> None:
    pomdp = read(T, O, "R: go : left : * : * 5", head=HEAD.replace("reward", "cost"))
    assert set(rewards(pomdp).values()) == {-5}


def test_preamble_in_any_order_comments_anywhere() -> None:
    text = """# a comment
    observations: dark light # 1.0 0.0
    start: left   # before the rest of the preamble
    actions:
      stay
      go
    discount: 0.9 values:reward\tstates: left middle right
    """
    mixed = parse_pomdp(text + T + O)
    assert mixed == read("start: left\n", T, O)


def test_line_ends_do_not_matter() -> None:
    text = HEAD + "# a comment\n" + T + O
    assert parse_pomdp(text) == parse_pomdp(text.replace("\n", "\r\n"))
    assert parse_pomdp(text) == parse_pomdp(text.replace("\n", "\r"))


def test_what_was_read_as_a_fraction_is_noted() -> None:
    pomdp = read("T: * : *\n0.333334 0.333333 0.333333\n", O, "R: * : * : * : * 0.0666667")
    assert pomdp.notes == (
        "0.333334 was read as 1/3 (once, first at line 7, column 1)",
        "0.333333 was read as 1/3 (2 times, first at line 7, column 10)",
        "0.0666667 was read as 1/15 (once, first at line 9, column 18)",
    )
    assert not read(T, O).notes
