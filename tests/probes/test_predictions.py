"""Predictions as data: what they may say, their digests, and the study's own."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.probes.predictions import Contrast, Prediction, Unless, read_predictions, study
from clew.probes.predictions.prediction import FIELDS, QUANTITIES
from clew.validate import BadInput

words = st.text("abcé→ ", min_size=1, max_size=8).filter(str.strip)
bounds = st.floats(-1, 1)
values = st.lists(words | st.integers(0, 9), min_size=1, max_size=3, unique_by=str).map(tuple)


@st.composite
def predictions(draw) -> Prediction:
    fields = draw(st.permutations(FIELDS))
    contrasts = tuple(
        Contrast(name, "with", draw(values).__add__((0,)))
        for name in fields[: draw(st.integers(0, 2))]
    )
    return Prediction(
        name=draw(words),
        statement=draw(words),
        quantity=draw(st.sampled_from(QUANTITIES)),
        above=draw(bounds),
        below=draw(st.none() | bounds),
        where={name: draw(values) for name in fields[2 : draw(st.integers(2, 4))]},
        each=tuple(fields[4 : draw(st.integers(4, 6))]),
        contrasts=contrasts,
        unless=tuple(
            Unless(quantity, above=draw(bounds))
            for quantity in draw(st.lists(st.sampled_from(QUANTITIES), max_size=2))
        ),
    )


@given(predictions())
def test_a_prediction_survives_json_with_its_digest(one: Prediction) -> None:
    back = Prediction.from_json(one.to_json())
    assert back == one
    assert back.digest == one.digest


@given(predictions(), predictions())
def test_only_equal_predictions_have_equal_digests(one: Prediction, other: Prediction) -> None:
    assert (one.digest == other.digest) == (one.to_json() == other.to_json())


@given(predictions(), st.sampled_from(["name", "statement", "above"]))
def test_any_change_changes_the_digest(one: Prediction, field: str) -> None:
    data = one.to_json()
    data[field] = data[field] + 0.001 if field == "above" else data[field] + "."
    assert Prediction.from_json(data).digest != one.digest


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"quantity": "aux"}, "did you mean 'auc'"),
        ({"above": None}, "neither above nor below"),
        ({"above": "much"}, "above='much' is not valid; it must be a number"),
        ({"above": float("nan")}, "finite number"),
        ({"where": {"world": "x"}}, "unknown field in where 'world'"),
        ({"where": {"bonus": []}}, "where.bonus"),
        ({"where": 3}, "must be a table"),
        ({"each": ["colour"]}, "colour"),
        ({"each": "bonus"}, "must be a list"),
        ({"name": " "}, "needs a name"),
        ({"statement": 3}, "must be text"),
        ({"contrasts": [{"field": "bonus", "of": "e3b"}]}, r"contrasts\[0\].minus is missing"),
        ({"contrasts": [{"field": "bonus", "of": "a", "minus": "a"}]}, "must be another"),
        ({"contrasts": [{"field": "bonus", "of": "a", "minus": "b"}], "each": ["bonus"]}, "contr"),
        ({"contrasts": [{"field": "bonus", "of": "a", "minus": "b"}] * 2}, "two contrasts"),
        ({"contrasts": [{"field": "bonus", "of": "a", "minus": "b"}], "correlates": "auc"}, "both"),
        ({"within": ["bonus"]}, "belongs to"),
        ({"unless": [{"quantity": "auc"}]}, "neither above nor below"),
        ({"threshold": 1}, "unknown field of prediction 'threshold'"),
    ],
)  # fmt: skip
def test_mistakes_are_explained(change, word) -> None:
    sound = {"name": "A", "statement": "More.", "quantity": "auc", "above": 0.5}
    Prediction.from_json(sound)
    with pytest.raises(BadInput, match=word):
        Prediction.from_json({**sound, **change})


def test_the_studys_six_predictions_are_shipped() -> None:
    shipped = {each.name: each for each in study()}
    assert list(shipped) == ["P1", "P2", "P3", "P4", "P5", "P6"]
    assert shipped["P4"].unless[0].quantity == "untrained_auc"
    assert len({each.digest for each in shipped.values()}) == 6


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "prediction is missing"),
        ("[[prediction]]\nname = 'A'", "prediction 1: statement is missing"),
        ("[[forecast]]\n", "unknown field 'forecast'"),
        ("prediction = 3", "prediction is missing"),
        ("=", "Invalid"),
        ("[[prediction]]\nname = 2020-01-01", "date"),
    ],
)
def test_a_file_that_is_wrong_is_named_with_what_is_wrong(tmp_path, text, word) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(BadInput, match=word) as refused:
        read_predictions(path)
    assert "mine.toml" in str(refused.value)


def test_a_file_of_ones_own_is_read(tmp_path) -> None:
    path = tmp_path / "mine.toml"
    table = "[[prediction]]\nname = '{}'\nstatement = 'High.'\nquantity = 'auc'\nabove = 0.9\n"
    path.write_text(table.format("A") + table.format("B"))
    assert [each.name for each in read_predictions(path)] == ["A", "B"]
    path.write_text(table.format("A") * 2)
    with pytest.raises(BadInput, match="twice"):
        read_predictions(path)
    with pytest.raises(BadInput, match="cannot be read"):
        read_predictions(tmp_path / "none.toml")


def test_reading_and_grading_do_not_load_jax() -> None:
    code = "import clew.probes.predictions, sys; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
