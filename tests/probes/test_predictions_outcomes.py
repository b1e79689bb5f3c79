"""Hit, miss, not evaluable; and whether it was a prediction at all."""

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.probes.predictions import (
    Contrast,
    Measurement,
    Prediction,
    PredictionOutcome,
    Registration,
    Registrations,
    Unless,
    evaluate_predictions,
    first_results_about,
    study,
)
from clew.probes.results import ProbeScores, QuestionResult

BEFORE, FIT, AFTER = (f"2026-01-0{day}T00:00:00+00:00" for day in (1, 2, 3))
PATH, CUE = "MysteryPath-Grid", "MiniGrid-MemoryS13"

# The study's tables: gain in AUC by task and architecture, and its controls.
GAINS = {
    (PATH, "sparse"): {"GRU": -0.031, "LSTM": -0.051, "GatedDeltaNet": 0.016},
    (PATH, "aligned"): {"GRU": 0.003, "LSTM": 0.001, "GatedDeltaNet": -0.020},
    (CUE, "sparse"): {"GRU": 0.048, "LSTM": 0.086, "GatedDeltaNet": 0.000},
}
WITHOUT = {PATH: {"GRU": 0.6, "LSTM": 0.6, "GatedDeltaNet": 0.6},
           CUE: {"GRU": 0.928, "LSTM": 0.876, "GatedDeltaNet": 0.99}}  # fmt: skip
CONTROLS = {PATH: {"observation_auc": 0.58, "untrained_auc": 0.58},
            CUE: {"observation_auc": 0.53, "untrained_auc": 0.96}}  # fmt: skip
SUCCESS = {PATH: {"none": 0.15, "e3b": 0.33}, CUE: {"none": 0.55, "e3b": 0.97}}


def seen(auc: float, when: str = FIT, **fields: Any) -> Measurement:
    quantities = {"auc": auc, "success": fields.pop("success", math.nan)}
    quantities |= {name: fields.pop(name) for name in list(fields) if name.endswith("_auc")}
    return Measurement({"environment": "E", "reward": "sparse", **fields}, quantities, when)


def published(options: str = "") -> list[Measurement]:
    return [
        seen(
            WITHOUT[env][architecture] + gain * (bonus == "e3b") + wobble,
            environment=env + options, reward=reward, architecture=architecture, bonus=bonus,
            seed=seed, success=SUCCESS[env][bonus], when=FIT, **CONTROLS[env],
        )
        for (env, reward), gains in GAINS.items()
        for architecture, gain in gains.items()
        for bonus in ("none", "e3b")
        for seed, wobble in enumerate((-0.001, 0.001))
    ]  # fmt: skip


def evaluated(
    predictions, observed, registered: str = BEFORE, first_results=None
) -> list[PredictionOutcome]:
    made = Registration(1, tuple(predictions), registered, "", first_results or {})
    return evaluate_predictions(Registrations((made,)), observed)


@pytest.mark.parametrize("options", ["", "[show_goal=True]"])
def test_the_studys_predictions_meet_the_fate_that_the_study_reports(options) -> None:
    found = {each.prediction.name: each for each in evaluated(study(), published(options))}
    assert {name: each.verdict for name, each in found.items()} == {
        "P1": "miss",
        "P2": "hit",
        "P3": "hit",
        "P4": "not evaluable",
        "P5": "miss",
        "P6": "not evaluable",
    }
    assert {part.label: part.verdict for part in found["P5"].parts} == {PATH: "miss", CUE: "hit"}
    gains = {part.label: part.value for part in found["P1"].parts}
    assert gains == pytest.approx(GAINS[PATH, "sparse"])
    assert "untrained_auc is 0.960" in found["P4"].reason
    assert found["P6"].parts[0].numbers["pooled"] > 0.3 > found["P6"].parts[0].numbers["within"]
    assert not any(each.late for each in found.values())


def test_an_environment_with_options_is_that_variant_only() -> None:
    where = {"environment": ("E[view=7]",)}
    observed = [seen(0.2), seen(0.4, environment="E[view=5]"), seen(0.9, environment="E[view=7]")]
    (found,) = evaluated([Prediction("A", "High.", "auc", above=0.5, where=where)], observed)
    assert (found.verdict, found.parts[0].runs) == ("hit", 1)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6), st.floats(0.05, 0.95))
def test_a_mean_is_compared_with_the_bounds(aucs, bound) -> None:
    observed = [seen(auc, architecture="GRU", seed=seed) for seed, auc in enumerate(aucs)]
    (high,) = evaluated([Prediction("A", "High.", "auc", above=bound)], observed)
    (low,) = evaluated([Prediction("A", "Low.", "auc", below=bound)], observed)
    assert (high.verdict == "hit") == (np.mean(aucs) > bound)
    assert (low.verdict == "hit") == (np.mean(aucs) < bound)
    assert high.parts[0].value == pytest.approx(np.mean(aucs))
    assert high.parts[0].runs == len(aucs)


@given(st.permutations(range(8)), st.integers(1, 7))
def test_arms_have_equal_weight_however_many_seeds_they_have(order, seeds) -> None:
    arm = [seen(0.9, architecture="GRU", seed=seed, latent="x") for seed in range(seeds)]
    others = [seen(0.5, architecture="LSTM", seed=0, latent=f"{i}") for i in range(8 - seeds)]
    observed = [(arm + others)[i] for i in order]
    (found,) = evaluated([Prediction("A", "High.", "auc", above=0)], observed)
    assert found.parts[0].value == pytest.approx(0.7)


@given(st.lists(st.floats(0, 1), min_size=8, max_size=8))
def test_two_contrasts_are_a_difference_of_differences(aucs) -> None:
    arms = list(itertools.product(("a", "b"), ("none", "e3b"), (0, 1)))
    observed = [
        seen(auc, architecture=one, bonus=bonus, seed=seed)
        for auc, (one, bonus, seed) in zip(aucs, arms, strict=True)
    ]
    both = (Contrast("bonus", "e3b", ("none",)), Contrast("architecture", "a", ("b",)))
    (found,) = evaluated([Prediction("A", "More.", "auc", above=0, contrasts=both)], observed)
    table = np.reshape(aucs, (2, 2, 2)).mean(-1)
    gains = table[:, 1] - table[:, 0]
    assert found.parts[0].value == pytest.approx(gains[0] - gains[1])
    assert found.parts[0].numbers == pytest.approx({"a": gains[0], "b": gains[1]})


@pytest.mark.parametrize(
    ("observed", "word"),
    [
        ([], "nothing was measured"),
        ([seen(0.9, bonus="e3b")], "auc of none is not known"),
        ([seen(0.9, bonus="e3b"), seen(math.nan, bonus="none")], "auc of none is not known"),
        (
            [seen(0.9, bonus=b, untrained_auc=0.95) for b in ("e3b", "none")],
            "untrained_auc is 0.950, above 0.9",
        ),
    ],
)
def test_what_cannot_be_evaluated_is_not(observed, word) -> None:
    prediction = Prediction(
        "A", "More.", "auc", above=0, contrasts=(Contrast("bonus", "e3b", ("none",)),),
        unless=(Unless("untrained_auc", above=0.9),),
    )  # fmt: skip
    (found,) = evaluated([prediction], observed)
    assert found.verdict == "not evaluable"
    assert word in found.reason


def test_values_that_are_written_alike_are_two_sides() -> None:
    contrast = Contrast("seed", 1, ("1",))
    prediction = Prediction("A", "More.", "auc", above=0, contrasts=(contrast,))
    (found,) = evaluated([prediction], [seen(0.9, seed=1), seen(0.6, seed="1")])
    assert found.parts[0].value == pytest.approx(0.3)


def test_a_part_that_cannot_be_evaluated_leaves_no_hit_but_a_miss_is_a_miss() -> None:
    prediction = Prediction("A", "High.", "auc", above=0.6, each=("architecture",))
    good, unknown, bad = (
        seen(auc, architecture=name)
        for name, auc in {"GRU": 0.9, "LSTM": math.nan, "RetNet": 0.1}.items()
    )
    assert evaluated([prediction], [good])[0].verdict == "hit"
    assert evaluated([prediction], [good, unknown])[0].verdict == "not evaluable"
    assert evaluated([prediction], [good, unknown, bad])[0].verdict == "miss"


def test_a_correlation_needs_arms_that_differ() -> None:
    prediction = Prediction("A", "Together.", "auc", above=0.5, correlates="success")
    arms = [seen(0.5 + i / 10, architecture=str(i), success=i / 10) for i in range(4)]
    assert evaluated([prediction], arms)[0].parts[0].value == pytest.approx(1)
    assert "too few" in evaluated([prediction], arms[:2])[0].reason
    flat = [replace(each, quantities={"auc": 0.7, "success": 0.5}) for each in arms]
    assert "the same everywhere" in evaluated([prediction], flat)[0].reason


@given(st.sampled_from([BEFORE, FIT, AFTER]), st.booleans())
def test_registered_after_the_results_is_marked(registered, told) -> None:
    """Whether the results' own dates say it or the register does."""
    prediction = Prediction("A", "High.", "auc", above=0.6)
    dated = seen(0.9, when="" if told else FIT)
    (found,) = evaluated([prediction], [dated], registered, {"A": FIT} if told else {})
    assert found.late == (registered != BEFORE)
    assert ("after the results" in found.reason) == found.late
    assert found.verdict == "hit"


def test_results_of_other_arms_do_not_make_a_prediction_late() -> None:
    prediction = Prediction("A", "High.", "auc", above=0.6, where={"environment": ("E",)})
    other = seen(0.9, when=BEFORE, environment="F")
    observed = [seen(0.9, when=AFTER), other]
    wider = replace(prediction, name="B", where={})
    firsts = first_results_about([prediction, wider], observed)
    assert firsts == {"A": AFTER, "B": BEFORE}
    assert first_results_about([prediction], [other]) == {}
    assert [each.late for each in evaluated([prediction, wider], observed, FIT)] == [False, True]


def test_each_prediction_of_a_registration_is_late_by_its_own_results() -> None:
    # the register knows of an early result about B; since then it was measured anew
    early = Prediction("A", "High.", "auc", above=0.6, where={"environment": ("E",)})
    late = replace(early, name="B", where={"environment": ("F",)})
    observed = [seen(0.9, when=AFTER), seen(0.9, when=AFTER, environment="F")]
    found = evaluated([early, late], observed, FIT, {"B": BEFORE})
    assert {each.prediction.name: each.late for each in found} == {"A": False, "B": True}


def test_a_changed_text_is_evaluated_beside_the_first_one() -> None:
    first = Prediction("A", "High.", "auc", above=0.6)
    after = replace(first, statement="Low.", above=0.1)
    other = replace(first, name="B")
    made = (
        Registration(1, (first, other), BEFORE, "", {}),
        Registration(2, (after, other), AFTER, "", {"A": FIT}),
    )
    outcomes = evaluate_predictions(Registrations(made), [seen(0.3)])
    told = [(each.prediction.name, each.verdict, each.late, each.revises) for each in outcomes]
    assert told == [
        ("A", "miss", False, ""),
        ("A", "hit", True, BEFORE),
        ("B", "miss", False, ""),
    ]


def test_what_was_measured_becomes_quantities() -> None:
    probes = {"memory": ProbeScores(linear=0.9, mlp=0.95), "untrained": ProbeScores(linear=0.6)}
    measured = QuestionResult(probes=probes, selectivity=0.3, effective_dimension=4.0)
    made = Measurement.of({"bonus": "e3b", "steps": 5}, measured, success=0.7, when=FIT)
    assert made.fields == {"bonus": "e3b"}
    known = {name: value for name, value in made.quantities.items() if not math.isnan(value)}
    assert known == {
        "auc": 0.9, "mlp_auc": 0.95, "untrained_auc": 0.6, "selectivity": 0.3,
        "effective_dimension": 4.0, "success": 0.7,
    }  # fmt: skip
