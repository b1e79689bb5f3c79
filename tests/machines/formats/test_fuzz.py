"""Broken files: an error with line and column, or the model that the file says. Nothing else.

What is accepted is read a second time, by other code, and has to be the same model.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from clew.machines import Pomdp, RewardMachine
from clew.machines.formats import FIRST, Limits, Model, ParseError, clew_json, parse
from tests.machines.formats.mutants import mutants
from tests.machines.formats.plain import arrays
from tests.machines.formats.test_bad_pomdp import GOOD
from tests.machines.formats.test_json import MACHINE, POMDP, PRODUCT
from tests.machines.formats.test_rmtext import OFFICE

MAZE = """# a corridor
values: cost
discount: 0.75
states: west mid east
actions: left right
observations: 3
start include: west 1
T: left
0.9 0.1 0.0
0.333333 0.333333 0.333334
0 0.5 0.5
T: right : * reset
T: right : east : east 1.0
T: right : east : mid 0.0
T: right : east : west 0.0
O: * uniform
O: left : mid
0.25 0.25 0.5
R: left : west : *
1 -2.5 3
R: * : mid
1 2 3
4 5 6
7 8 9
R: right : * : east : 1 -10
"""
POMDP_FILES = [GOOD.encode(), MAZE.encode()]
JSON_FILES = [clew_json(model).encode() for model in (POMDP, MACHINE, PRODUCT)]
SECONDS = 5
"""No file of a few hundred bytes takes this long, even on a busy machine."""


def fuzz(
    files: list[bytes], count: int, seed: int, check: Callable[[bytes, Model], None]
) -> Counter[str]:
    """Read `count` broken files; count what became of them."""
    outcomes: Counter[str] = Counter()
    for data in mutants(files, count, seed):
        began = time.perf_counter()
        try:
            model = parse(data, limits=Limits(cells=100_000, rows=10_000))
        except ParseError as error:
            points_into(data, error)
            outcomes["refused"] += 1
        else:
            check(data, model)
            outcomes["read"] += 1
        assert time.perf_counter() - began < SECONDS, data
    return outcomes


def points_into(data: bytes, error: ParseError) -> None:
    """Line and column lie in the file, or just behind it, and the message begins with them."""
    lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    assert 1 <= error.line <= max(len(lines), 2)
    assert 1 <= error.column <= max(map(len, lines)) + 1
    assert str(error).startswith(f"line {error.line}, column {error.column}: ")


def same_as_plain(data: bytes, model: Model) -> None:
    """A `.POMDP` file: the same as the second reader's arrays, as far as rounding goes."""
    assert isinstance(model, Pomdp)
    plain = arrays(data.decode("latin-1"))
    n, k, m = len(model.states), len(model.actions), len(model.observations) - 1
    joint, pays = np.zeros((k, n, n, m)), np.zeros((k, n, n, m))
    for s, rows in enumerate(model.steps):
        for a, row in enumerate(rows):
            for b in row:
                joint[a, s, b.state, b.observation] += float(b.probability)
                pays[a, s, b.state, b.observation] = float(b.reward)
    start = np.zeros(n)
    for begin in model.start:
        start[begin.state] += float(begin.probability)
    written = np.einsum("ast,ato->asto", plain["T"], plain["O"])
    assert model.observations[-1] == FIRST
    np.testing.assert_allclose(joint, written, atol=0.01)
    np.testing.assert_array_equal(joint > 0, written > 0)
    np.testing.assert_allclose(pays, np.where(joint > 0, plain["R"], 0), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(start, plain["start"], atol=0.01)
    assert abs(float(model.discount) - plain["discount"]) < 1e-4


def same_as_json(data: bytes, model: Model) -> None:
    """A JSON file: what the standard library reads has to hold every part of the model."""
    plain = json.loads(data.removeprefix(b"\xef\xbb\xbf"), parse_float=Fraction)
    if isinstance(model, Pomdp):
        _same_pomdp(plain, model)
    elif isinstance(model, RewardMachine):
        _same_machine(plain, model)
    else:
        _same_pomdp(plain["pomdp"], model.pomdp)
        _same_machine(plain["machine"], model.machine)
        assert len(plain["labelling"]) == len(model.labelling.table)


def _same_pomdp(plain: dict, pomdp: Pomdp) -> None:
    for kind in ("states", "actions", "observations"):
        assert tuple(plain[kind]) == getattr(pomdp, kind)
    assert Fraction(plain["discount"]) == pomdp.discount
    names, seen = pomdp.states, pomdp.observations
    steps = [
        (names[s], action, names[b.state], seen[b.observation], b.probability, b.reward)
        for s, rows in enumerate(pomdp.steps)
        for action, row in zip(pomdp.actions, rows, strict=True)
        for b in row
    ]
    listed = [(*step[:4], Fraction(step[4]), Fraction(step[5])) for step in plain["steps"]]
    assert sorted(steps) == sorted(listed)
    assert {pomdp.states[s] for s in pomdp.terminal} == set(plain.get("terminal", []))


def _same_machine(plain: dict, machine: RewardMachine) -> None:
    assert tuple(plain["states"]) == machine.states
    assert plain["initial"] == machine.states[machine.initial]
    edges = [
        (machine.states[u], sorted(label), machine.states[edge.state], edge.reward)
        for u, row in enumerate(machine.edges) for label, edge in row.items()
    ]  # fmt: skip
    listed = [(u, sorted(label), v, Fraction(reward)) for u, label, v, reward in plain["edges"]]
    assert sorted(edges) == sorted(listed)


def any_model(data: bytes, model: Model) -> None:
    """Only that it is one: for files that may turn into those of another format."""
    assert data
    assert isinstance(model, Pomdp | RewardMachine)


KINDS = [
    pytest.param(POMDP_FILES, same_as_plain, id="pomdp"),
    pytest.param(JSON_FILES, same_as_json, id="json"),
    pytest.param([OFFICE.encode()], any_model, id="machine"),
]


@pytest.mark.parametrize(("files", "check"), KINDS)
def test_a_few_hundred(files: list[bytes], check: Callable[[bytes, Model], None]) -> None:
    outcomes = fuzz(files, 500, seed=6, check=check)
    assert outcomes["refused"] > 100
    assert outcomes["read"] > 10


@pytest.mark.slow
@pytest.mark.parametrize(("files", "check"), KINDS)
def test_ten_thousand(files: list[bytes], check: Callable[[bytes, Model], None]) -> None:
    outcomes = fuzz(files, 10_000, seed=60, check=check)
    print(dict(outcomes))
    assert outcomes["read"] > 200


@pytest.mark.parametrize("files", [POMDP_FILES])
def test_the_second_reader_agrees_on_good_files(files: list[bytes]) -> None:
    for data in files:
        same_as_plain(data, parse(data))
