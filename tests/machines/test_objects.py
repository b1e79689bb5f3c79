"""POMDPs, machines and numbers: what is accepted, and what is said about the rest."""

from __future__ import annotations

import math
from collections.abc import Hashable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.machines import Labelling, Pomdp, PomdpRM, RewardMachine, gallery
from clew.machines.deciding.profile import marginal
from clew.machines.exact.numbers import exact_text, meant_by, rational, simplest
from clew.machines.model.belief import close
from clew.machines.model.reward_machine import check_propositions
from clew.validate import BadInput

HALF = Fraction(1, 2)


def two_states(**changes: object) -> Pomdp:
    parts: dict = {
        "states": ["x", "y"],
        "actions": ["a"],
        "observations": ["o"],
        "p": lambda s, a: {"x": 0.5, "y": "1/2"},
        "omega": lambda s: "o",
        "r": lambda s, a, after: 0.1 if s == "x" else 0,
        "gamma": 0.9,
        "mu": "x",
    }
    return Pomdp.build(**{**parts, **changes})


@given(st.integers(-(10**6), 10**6), st.integers(1, 1000))
def test_floats_become_the_fractions_they_were_meant_to_be(top: int, bottom: int) -> None:
    assert meant_by(top / bottom) == Fraction(top, bottom)
    assert meant_by(0.1 * (top / bottom)) == Fraction(top, 10 * bottom)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_is_read_as_something_next_to_it(value: float) -> None:
    assert math.isclose(float(meant_by(value)), value, rel_tol=1e-14)


@given(st.fractions(0, 9, max_denominator=40), st.fractions(0, 9, max_denominator=40))
def test_the_simplest_fraction_is_inside_and_simplest(one: Fraction, two: Fraction) -> None:
    low, high = min(one, two), max(one, two)
    found = simplest(low, high)
    assert low <= found <= high
    for bottom in range(1, found.denominator):
        assert math.floor(high * bottom) < math.ceil(low * bottom)


@pytest.mark.parametrize(
    "value", [True, "three", "1/0", math.nan, math.inf, None, [], "1e99999", "9" * 5000]
)
def test_what_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(BadInput, match="field"):
        rational("field", value)


def test_what_was_guessed_is_said() -> None:
    pomdp = two_states()
    assert pomdp.discount == Fraction(9, 10)
    assert pomdp.steps[0][0][0].reward == Fraction(1, 10)
    assert any("0.1 as 1/10" in note for note in pomdp.notes)
    assert not two_states(r=lambda s, a, after: 0, gamma="9/10").notes


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gamma": 1}, "one can go on for ever"),
        ({"gamma": "3/2"}, "between 0 and 1"),
        ({"gamma": 0}, "between 0 and 1"),
        ({"mu": {"x": "1/3", "y": "1/3"}}, "sum to 2/3"),
        ({"mu": "z"}, "unknown name in mu 'z'"),
        ({"p": lambda s, a: {"x": 2, "y": -1}}, "negative probability -1; each must be above 0"),
        ({"omega": lambda s: {"o": "1/2"}}, "sum to 1/2"),
        ({"states": ["x", "y", "x"]}, "occur twice"),
        ({"actions": []}, "there are none"),
        ({"terminal": ["x"]}, "begins in 'x', which is terminal"),
        ({"terminal": ["y"]}, "terminal state 'y' is not valid"),
        ({"terminal": ["q"]}, "unknown terminal state"),
        ({"r": lambda s, a, after: "much"}, "write a number"),
    ],
)
def test_mistakes_are_named(changes: dict, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        two_states(**changes)


def test_unreachable_states_are_known() -> None:
    pomdp = two_states(p=lambda s, a: "x")
    assert pomdp.reachable() == {0}


def test_a_machine_stays_and_pays_nothing_where_it_lists_nothing() -> None:
    machine = RewardMachine.build([("u", ["p"], "v", "1/3")], terminal=["v"])
    assert machine.step(0, frozenset(["p"])) == (1, Fraction(1, 3))
    assert machine.step(0, frozenset(["q"])) == (0, 0)
    assert machine.step(1, frozenset(["p"])) == (1, 0)


@pytest.mark.parametrize(
    ("edges", "options", "message"),
    [
        ([("u", ["p"], "u", 1), ("u", ["p"], "v", 2)], {}, "twice"),
        ([("u", ["p"], "u", 1)], {"terminal": ["u"]}, "has edges"),
        ([], {}, "no states"),
        ([("u", [], "u", "x")], {}, "reward of u"),
    ],
)
def test_machines_that_make_no_sense_are_refused(edges: list, options: dict, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        RewardMachine.build(edges, **options)


def test_a_misspelt_proposition_is_noticed() -> None:
    pomdp = gallery.make("Cue")
    labelling = Labelling.of(pomdp, lambda o, a, o2: ["end"] if o2 == "oE" else [])
    check_propositions(RewardMachine.build([("u", ["end"], "u", 1)]), labelling)
    with pytest.raises(BadInput, match="did you mean 'end'"):
        check_propositions(RewardMachine.build([("u", ["ende"], "u", 1)]), labelling)


@pytest.mark.parametrize(("one", "two"), [(1, "1"), (True, 1), ((1,), "(1,)")])
def test_values_of_a_variable_that_print_alike_are_two(one: Hashable, two: Hashable) -> None:
    """The first observation tells x from y for good."""
    pomdp = two_states(
        observations=["x", "y"],
        omega=lambda s: s,
        p=lambda s, a: s,
        mu={"x": "1/2", "y": "1/2"},
        variables={"v": lambda s: one if s == "x" else two},
    )
    beliefs = close(pomdp)
    says = [marginal(beliefs, cell, "v") for cell in beliefs.cells]
    assert len(set(says)) == 2


def test_labels_follow_names() -> None:
    pomdp = gallery.make("MysteryCell")
    labelling = Labelling.of(pomdp, lambda o, a, o2: [f"{o}{a}{o2}"])
    product = PomdpRM(pomdp, labelling, RewardMachine.build([("u", ["oSLoG"], "v", 1)]))
    o, a, o2 = pomdp.observations.index("oS"), pomdp.actions.index("L"), 2
    assert pomdp.observations[o2] == "oG"
    assert product.step(0, o, a, o2) == (1, 1)
    assert product.step(0, o, 1 - a, o2) == (0, 0)


@given(st.integers(-30, 30), st.integers(1, 30), st.integers(0, 20_000))
@settings(max_examples=20)
def test_a_fraction_of_any_length_is_written_out(top: int, bottom: int, zeros: int) -> None:
    value = Fraction(top * 10**zeros + 1, 7**zeros * bottom)
    numerator, _, denominator = exact_text(value).partition("/")

    def read(text: str) -> int:
        """In parts that Python reads."""
        sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
        total = 0
        for start in range(0, len(digits), 4000):
            part = digits[start : start + 4000]
            total = total * 10 ** len(part) + int(part)
        return sign * total

    assert Fraction(read(numerator), read(denominator or "1")) == value
    if value.numerator.bit_length() + value.denominator.bit_length() < 10_000:
        assert exact_text(value) == str(value)
