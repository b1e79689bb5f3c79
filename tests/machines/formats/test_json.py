"""Our own JSON: what a file looks like, and mistakes in it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.machines import Labelling, Pomdp, PomdpRM, RewardMachine
from clew.machines.formats import Limits, ParseError, clew_json, parse_clew_json
from clew.machines.formats.clewjson.values import items, members, parse_json
from clew.validate import BadInput

POMDP = Pomdp.build(
    states=("a", "b"),
    actions=("go",),
    observations=("dark",),
    p=lambda s, a: {"a": "1/3", "b": "2/3"} if s == "a" else "b",
    omega=lambda s: "dark",
    r=lambda s, a, s2: 1 if s == "a" else 0,
    gamma="9/10",
    mu="a",
    terminal=["b"],
    variables={"where": lambda s: s},
)
MACHINE = RewardMachine.build([("u", ["seen"], "v", "1/2")], terminal=["v"])
PRODUCT = PomdpRM(POMDP, Labelling({(0, 0, 0): frozenset({"seen"})}), MACHINE)
TEXT = clew_json(PRODUCT)


def test_a_file_is_plain_json() -> None:
    plain = json.loads(TEXT)
    assert (plain["format"], plain["version"]) == ("clew.machines", 1)
    assert plain["pomdp"]["steps"][0] == ["a", "go", "a", "dark", "1/3", "1"]
    assert plain["machine"]["edges"] == [["u", ["seen"], "v", "1/2"]]
    assert plain["labelling"] == [["dark", "go", "dark", ["seen"]]]


def _line_of(part: str) -> int:
    return TEXT[: TEXT.index(part)].count("\n") + 1


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"clew.machines"', '"other"', "'clew.machines'"),
        ('"version": 1', '"version": 2', "1"),
        ('"version": 1', '"version": true', "a whole number"),
        ('"kind": "pomdp with reward machine"', '"kind": "dfa"', "'reward machine'"),
        ('"9/10"', '"3/2"', "between 0 and 1"),
        ('"9/10"', '"0.9"', 'text such as "3/8"'),
        ('"9/10"', '"9/0"', 'text such as "3/8"'),
        ('"9/10"', "null", "a string"),
        ('"2/3"', '"1/3"', "exactly 1"),
        ('"2/3"', '"-2/3"', "above 0 and at most 1"),
        ('["a", "go", "a", "dark", "1/3", "1"]', '["a", "go", "a", "dark", "1/3"]', "6: state"),
        ('["a", "go", "a"', '["a", "stop", "a"', "names declared"),
        ('["a", "b"]', '["a", "a"]', "a new name"),
        ('["go"]', "[]", "an array of names"),
        ('["go"]', '"go"', "an array"),
        ('"terminal": ["b"]', '"terminal": ["a"]', "to terminal states only"),
        ('"where": ["a", "b"]', '"where": ["a"]', "one value for each state"),
        ('"where": ["a", "b"]', '"where": ["a", 0.5]', "a whole number"),
        ('"variables"', '"variable"', "one of"),
        ('["seen"], "v"', '["seen", "seen"], "v"', "distinct propositions"),
        ('["u", ["seen"], "v", "1/2"]', '["v", ["seen"], "v", "1/2"]', "not terminal"),
        ('"initial": "u"', '"initial": "w"', "names declared"),
    ],
)
def test_mistakes_in_what_it_says(old: str, new: str, expected: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_clew_json(TEXT.replace(old, new, 1))
    assert expected in caught.value.expected
    assert caught.value.line == _line_of(old)


def test_a_missing_field_is_named() -> None:
    plain = json.loads(TEXT)
    del plain["labelling"]
    with pytest.raises(ParseError, match="'labelling' is missing"):
        parse_clew_json(json.dumps(plain))


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("", 1, 1),
        ("{", 1, 2),
        ('{"a" 1}', 1, 6),
        ('{"a": 1,}', 1, 9),
        ("[1 2]", 1, 4),
        ("[1,\n 2,\r\n tru]", 3, 2),
        ("[01]", 1, 3),
        ("[1.]", 1, 3),
        ('["a\nb"]', 1, 4),
        ('["\\x"]', 1, 3),
        ("[] []", 1, 4),
        ("[" * 100_000, 1, 33),
        ('{"a":' * 100_000, 1, 161),
    ],
)
def test_mistakes_in_the_json(text: str, line: int, column: int) -> None:
    with pytest.raises(ParseError) as caught:
        parse_json(text)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("NaN", "NaN is no number"),
        ("1e999999999", "too long"),
        ("0." + "3" * 100, "too long"),
        ("9" * 10_000, "too long"),
        (r'"\ud800"', "half of a surrogate pair"),
        ('{"fraction": "1/2", "fraction": "1/3"}', "'fraction' stands twice"),
        ("[" * 40 + "]" * 40, "more than 32 deep"),
    ],
)
def test_values_that_are_refused(value: str, message: str) -> None:
    old = '"where": ["a", "b"]'
    with pytest.raises(ParseError, match=message) as caught:
        parse_clew_json(TEXT.replace(old, f'"where": ["a", {value}]'))
    assert caught.value.line == _line_of(old)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(VALUES, st.sampled_from([None, 1]), st.booleans())
def test_every_value_knows_its_place(value: object, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    lines = text.split("\n")
    todo = [parse_json(text)]
    while todo:
        node = todo.pop()
        line, column = node.place
        rest = "\n".join([lines[line - 1][column - 1 :], *lines[line:]])
        assert json.JSONDecoder().raw_decode(rest)[0] == node.value
        if isinstance(node.value, dict):
            todo += members(node).values()
        elif isinstance(node.value, list):
            todo += items(node)


def test_too_many_rows_are_refused_with_their_number() -> None:
    with pytest.raises(ParseError, match="2 states, 1 actions"):
        parse_clew_json(TEXT, Limits(rows=3))


def test_values_that_cannot_be_written_are_named() -> None:
    odd = Pomdp(**{**POMDP.__dict__, "variables": {"x": (0.5, 0.5)}})
    with pytest.raises(BadInput, match=r"variable 'x' has the value 0\.5"):
        clew_json(odd)
