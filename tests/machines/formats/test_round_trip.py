"""Writing a model and reading it back changes nothing."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings

from clew.machines import Pomdp, PomdpRM, RewardMachine
from clew.machines.formats import (
    clew_json,
    machine_text,
    parse_clew_json,
    parse_machine,
    parse_pomdp,
    pomdp_text,
    read,
    write,
)
from clew.machines.model.reward_machine import Edge
from clew.validate import BadInput
from tests.machines.formats.strategies import (
    WORDS,
    cassandra_pomdps,
    machines,
    pomdps,
    products,
)

slow_to_draw = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)


@slow_to_draw
@given(cassandra_pomdps())
def test_pomdp_text(pomdp: Pomdp) -> None:
    again = parse_pomdp(pomdp_text(pomdp))
    assert replace(again, notes=()) == pomdp


@slow_to_draw
@given(pomdps())
def test_pomdp_json(pomdp: Pomdp) -> None:
    assert parse_clew_json(clew_json(pomdp)) == pomdp


@slow_to_draw
@given(machines())
def test_machine_json(machine: RewardMachine) -> None:
    assert parse_clew_json(clew_json(machine)) == machine


@slow_to_draw
@given(products())
def test_product_json(product: PomdpRM) -> None:
    assert parse_clew_json(clew_json(product)) == product


NOTHING = Edge(0, Fraction(0))
ANY = frozenset(), frozenset("A"), frozenset("B"), frozenset("AB")


@slow_to_draw
@given(machines(WORDS.filter(lambda word: word not in ("True", "False")), numbered=True))
@example(RewardMachine(("0", "1"), ({}, dict.fromkeys(ANY, NOTHING))))
@example(RewardMachine(("0", "1"), ({ANY[1]: Edge(1, Fraction(0))}, dict.fromkeys(ANY, NOTHING))))
def test_machine_text(machine: RewardMachine) -> None:
    again = parse_machine(machine_text(machine))
    used = {p for row in machine.edges for label in row for p in label}
    assert (again.initial, again.terminal) == (machine.initial, machine.terminal)
    assert again.states == machine.states
    for u in range(len(machine.states)):
        for label in machine.edges[u].keys() | again.edges[u].keys():
            assert label <= used
            assert again.step(u, label) == machine.step(u, label)


@slow_to_draw
@given(pomdps())
def test_what_the_format_cannot_say_is_refused_and_the_rest_means_the_same(pomdp: Pomdp) -> None:
    try:
        text = pomdp_text(pomdp, rename=True)
    except BadInput as error:
        assert "cannot" in str(error) or "JSON" in str(error)  # noqa: PT017
    else:
        again = parse_pomdp(text)
        for rows, rows_again in zip(pomdp.steps, again.steps, strict=True):
            for row, row_again in zip(rows, rows_again, strict=True):
                assert sum(b.probability * b.reward for b in row) == sum(
                    b.probability * b.reward for b in row_again
                )


@pytest.mark.parametrize("name", ["m.json", "m.txt"])
def test_through_files(tmp_path: Path, name: str) -> None:
    machine = RewardMachine.build([("0", ["goal"], "1", 1)], terminal=["1"], name="m")
    write(machine, tmp_path / name)
    assert read(tmp_path / name) == machine
