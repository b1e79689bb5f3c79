"""Reward-machine text: what a machine does, and what is refused."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.machines import RewardMachine
from clew.machines.formats import Limits, ParseError, machine_text, parse_machine
from clew.machines.formats.rmtext.formula import formula_text, holds, parse_formula, subsets
from clew.machines.formats.text import Place
from clew.validate import BadInput

OFFICE = """0 # coffee, then the office; a plant ends it
[2]
(0,0,'!c&!p',ConstantRewardFunction(0))
( 0 , 1 , "c&!p" , ConstantRewardFunction( 0 ) )
(1,1,'!o&!p',ConstantRewardFunction(-0.5))
(1,2,'o&!p',ConstantRewardFunction(1/3))  # done
(2,0,'True',ConstantRewardFunction(9))
"""


def test_a_proposition_that_only_keeps_from_paying_is_known() -> None:
    text = "0\n[]\n(0,0,'!p',ConstantRewardFunction(1))\n(0,0,'True',ConstantRewardFunction(0))\n"
    machine = parse_machine(text)
    assert machine.propositions == {"p"}
    assert machine.step(0, frozenset()).reward == 1
    assert machine.step(0, frozenset({"p"})).reward == 0


def test_a_machine() -> None:
    machine = parse_machine(OFFICE)
    assert (machine.states, machine.initial, machine.terminal) == (("0", "1", "2"), 0, {2})
    assert machine.step(0, frozenset("c")) == (1, 0)
    assert machine.step(0, frozenset("o")) == (0, 0)
    assert machine.step(0, frozenset("cp")) == (2, 0)  # no formula: the episode is over
    assert machine.step(1, frozenset()) == (1, Fraction(-1, 2))
    assert machine.step(1, frozenset("oc")) == (2, Fraction(1, 3))
    assert not machine.edges[2]


def test_without_terminal_states_falling_off_makes_one() -> None:
    machine = parse_machine("0\n[]\n(0,0,'a',ConstantRewardFunction(1))\n")
    assert machine.states == ("-1", "0")
    assert machine.step(1, frozenset()) == (0, 0)
    stays = parse_machine("0\n[]\n(0,0,'True',ConstantRewardFunction(1))\n")
    assert (stays.states, stays.terminal) == (("0",), frozenset())


def test_the_first_formula_that_is_true_counts() -> None:
    rules = ["(0,1,'a',ConstantRewardFunction(1))", "(0,2,'b',ConstantRewardFunction(2))"]
    both = frozenset("ab")
    for order, reward in ((rules, 1), (rules[::-1], 2)):
        assert parse_machine("\n".join(["0", "[]", *order])).step(1, both).reward == reward


@pytest.mark.parametrize(
    ("line", "text", "column", "expected"),
    [
        (1, "zero", 1, "a whole number"),
        (2, "2", 1, "[2] or []"),
        (2, "[1 2]", 1, "[2] or []"),
        (3, "(0,1,'a',RewardControl())", 10, "a simulator"),
        (3, "(0,1,'a',ConstantRewardFunction())", 10, "a simulator"),
        (3, "(0,1,'a',__import__('os').system('ls'))", 1, "(from, to, 'formula'"),
        (3, "(0,1,'a')", 1, "(from, to, 'formula'"),
        (3, " (0,1,a,ConstantRewardFunction(1))", 2, "(from, to, 'formula'"),
        (3, "(0,1,'a&',ConstantRewardFunction(1))", 9, "a proposition"),
        (3, "(0,1,'a|b c',ConstantRewardFunction(1))", 9, "a proposition"),
        (3, "(0,1,'',ConstantRewardFunction(1))", 7, "a proposition"),
        (3, "(0,1,'(a)',ConstantRewardFunction(1))", 7, "a proposition"),
        (3, "(0,1,'a',ConstantRewardFunction(1/0))", 33, "another number"),
        (3, "(0,1,'a',ConstantRewardFunction(1e99))", 33, "an exponent"),
        (4, "(0,2,'!c&!p',ConstantRewardFunction(0))", 1, ""),
    ],
)
def test_mistakes(line: int, text: str, column: int, expected: str) -> None:
    lines: list[str] = [*OFFICE.splitlines()]
    lines[line - 1] = text
    with pytest.raises(ParseError) as caught:
        parse_machine("\n".join(lines))
    assert (caught.value.line, caught.value.column) == (line, column)
    assert expected in caught.value.expected


@pytest.mark.parametrize("text", ["", "0", "0\n", "\n[1]"])
def test_two_lines_are_needed(text: str) -> None:
    with pytest.raises(ParseError, match="line is the"):
        parse_machine(text)


def test_too_many_propositions_are_refused_with_their_number() -> None:
    formula = "&".join(f"p{i}" for i in range(40))
    text = f"0\n[1]\n(0,1,'{formula}',ConstantRewardFunction(1))"
    with pytest.raises(ParseError, match="40 propositions"):
        parse_machine(text, limits=Limits())
    machine = RewardMachine.build([("0", [f"p{i}" for i in range(11)], "1", 1)])
    with pytest.raises(BadInput, match="number of propositions=11"):
        machine_text(machine)


@pytest.mark.parametrize("name", ["a b", "a&b", "!a", "it's", "True", ""])
def test_propositions_that_formulas_cannot_name(name: str) -> None:
    with pytest.raises(BadInput, match="cannot be written in a formula"):
        machine_text(RewardMachine.build([("0", [name], "1", 1)]))


@given(st.sets(st.frozensets(st.sampled_from("abcd"))))
def test_formulas_say_what_they_are_for(labels: set[frozenset[str]]) -> None:
    text = formula_text(labels, "abcd")
    formula = parse_formula(text, Place(1, 1))
    assert {label for label in subsets("abcd") if holds(formula, label)} == labels


def test_formulas_are_short() -> None:
    everything = list(subsets("abc"))
    assert formula_text(everything, "abc") == "True"
    assert formula_text([], "abc") == "False"
    assert formula_text([x for x in everything if "a" in x or "b" not in x], "abc") == "a|!b"


@pytest.mark.parametrize(
    ("text", "true"), [("!!a", "a"), ("a&True", "a"), ("False|a", "a"), (" a & !b ", "a")]
)
def test_formulas_as_people_write_them(text: str, true: str) -> None:
    formula = parse_formula(text, Place(1, 1))
    assert holds(formula, frozenset(true))
    assert not holds(formula, frozenset())
