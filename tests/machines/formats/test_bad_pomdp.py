"""Mistakes in `.POMDP` files: where, what stands there, what should."""

from __future__ import annotations

import time

import pytest

from clew.machines.formats import Limits, ParseError, parse_pomdp

GOOD = """discount: 0.9
values: reward
states: a b
actions: x y
observations: p q
start: uniform
T: * identity
O: * uniform
R: * : a : * : * 1.0
"""


@pytest.mark.parametrize(
    ("old", "new", "place", "token", "expected"),
    [
        ("0.9", "nine", (1, 11), "nine", "a number between 0 and 1"),
        ("0.9", "1.0", (1, 11), "1.0", "below 1"),
        ("discount: 0.9", "discount 0.9", (1, 10), "0.9", "':'"),
        ("discount", "discont", (1, 1), "discont", "discount:"),
        ("reward", "rewards", (2, 9), "rewards", "'reward' or 'cost'"),
        ("states: a b", "states: a a", (3, 11), "a", ""),
        ("states: a b", "states:", (4, 1), "actions", "how many there are, or their names"),
        ("states: a b", "states: 0", (3, 9), "0", "1 or more"),
        ("states: a b", "states: 2.5", (3, 9), "2.5", "a whole number"),
        ("states: a b", "states: a reset", (3, 11), "reset", "a name"),
        ("states: a b", "states: a@b", (3, 9), "a@b", "a name"),
        ("observations: p q\n", "", (9, 1), "", "'observations:'"),
        ("actions: x y", "actions: x y\nactions: x y", (5, 1), "actions", ""),
        ("uniform\nT", "0.5 0.25\nT", (6, 1), None, "exactly 1"),
        ("uniform\nT", "0.5 0.25 0.25\nT", (6, 17), "0.25", "the next statement"),
        ("uniform\nT", "7\nT", (6, 8), "7", "one state from 0 to 1, or 2 probabilities"),
        ("uniform\nT", "c\nT", (6, 8), "c", "a name that 'states:' lists"),
        ("start: uniform", "start exclude: a b", (6, 1), "start", "a state left"),
        ("start: uniform", "start include:", (7, 1), "T", "states"),
        ("T: * identity", "T: * identiti", (7, 6), "identiti", "a number"),
        ("T: * identity", "T: z identity", (7, 4), "z", "a name that 'actions:' lists"),
        ("T: * identity", "T: 2 identity", (7, 4), "2", "a number from 0 to 1"),
        ("T: * identity", "T: * : a identity", (7, 10), "identity", "'uniform' or 'reset'"),
        ("T: * identity", "T: * : a : b uniform", (7, 14), "uniform", "one probability"),
        ("T: * identity", "T: *\n1 0 0", (8, 5), "0", "4 numbers"),
        ("T: * identity", "T: *\n1 0 0 1 0", (8, 9), "0", "the next statement"),
        ("T: * identity", "T: *\n1 0 -1 1", (8, 5), "-", "0 to 1"),
        ("T: * identity", "T: *\n1 0 2 1", (8, 5), "2", "0 to 1"),
        ("T: * identity", "T: *\n1 0 0.5 0.4", (7, 1), None, "exactly 1"),
        ("T: * identity", "T: *\n1 0 0.0.1 1", (8, 5), "0.0.1", "a number"),
        ("T: * identity", "T: x identity", (10, 1), None, "exactly 1"),
        ("T: * identity", "T: * : * : * : * 1", (7, 16), "*", "a number"),
        ("O: * uniform", "O: * identity", (8, 6), "identity", "numbers or 'uniform'"),
        ("O: * uniform", "O: * : a", (9, 1), "R", "a number"),
        ("R: *", "R: x 1 2 3 4 R: *", (9, 4), "x", "R: action : state"),
        ("R: * : a : * : * 1.0", "R: * : a : * uniform", (9, 14), "uniform", "R: action : state"),
        ("R: * : a : * : * 1.0", "R: * : a : * : * one", (9, 18), "one", "a number"),
        ("R: * : a : * : * 1.0", "R: * : a : * : * 1.0 2", (9, 22), "2", "the next statement"),
        ("R: * : a : * : * 1.0", "R: * : : * : * 1.0", (9, 8), ":", "a name, its number or '*'"),
        ("R: * : a : * : * 1.0", "states: 3", (9, 1), "states", "T:, O: or R:"),
    ],
)  # fmt: skip
def test_mistakes(
    old: str, new: str, place: tuple[int, int], token: str | None, expected: str
) -> None:
    assert GOOD.count(old) >= 1
    with pytest.raises(ParseError) as caught:
        parse_pomdp(GOOD.replace(old, new, 1))
    error = caught.value
    assert (error.line, error.column, error.token) == (*place, token)
    assert expected in error.expected
    assert f"line {place[0]}, column {place[1]}" in str(error)


def test_the_good_one_is_good() -> None:
    assert len(parse_pomdp(GOOD).states) == 2


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (GOOD.replace("states: a b", "states: 999999999999"), "999,999,999,999 states"),
        (GOOD.replace("observations: p q", "observations: 99999999"), "99,999,999 observations"),
        (GOOD.replace("a b", "900").replace("x y", "900").replace(": a :", ": 0 :"), "cells"),
        (GOOD + "T: * uniform\n" * 9_000, "cells"),
    ],
    ids=["states", "observations", "cells", "work"],
)
def test_too_large_is_refused_with_its_size_at_once(text: str, size: str) -> None:
    began = time.process_time()  # the clock also counts what else the machine does
    with pytest.raises(ParseError, match=size):
        parse_pomdp(text, limits=Limits(cells=30_000))
    assert time.process_time() - began < 2


def test_too_many_ways_are_refused() -> None:
    text = GOOD.replace("identity", "uniform")
    with pytest.raises(ParseError, match="16 branches"):
        parse_pomdp(text, limits=Limits(branches=15))
