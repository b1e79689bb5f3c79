"""A probe finds what is there, and nothing where nothing is."""

import json
import math

import numpy as np
import pytest
from scipy.stats import norm

from clew.probes.fitting import Dataset, fit, logistic, measure
from clew.probes.fitting.dataset import split_by_episode
from clew.probes.fitting.parallel import Batched
from clew.probes.fitting.problems import DISTANCE, SHUFFLES
from clew.probes.results import CONTROLS, PLANTED, QuestionResult
from clew.validate import BadInput
from tests.probes.fitting import examples

SEED, MANY = 0, 8
RISK = 1e-6
"""How likely a sound probe may be to fail one of the tests below."""


@pytest.fixture(scope="module")
def found() -> dict[str, list[QuestionResult]]:
    """Every kind of example, `MANY` times; all in one call, which compiles each shape once."""
    strangers = [examples.familiar(seed) for seed in range(MANY)]
    kinds = {
        "noise": [examples.noise(seed) for seed in range(MANY)],
        "planted": [examples.planted(seed) for seed in range(4)],
        "parity": [examples.parity(seed) for seed in range(2)],
        "fading": [examples.fading(seed) for seed in range(2)],
        "strangers": strangers,
        "by step": [examples.by_step(each) for each in strangers],
    }
    measured = iter(measure([each for kind in kinds.values() for each in kind], SEED))
    return {kind: [next(measured) for _ in each] for kind, each in kinds.items()}


def bound(independent: list[np.ndarray]) -> float:
    """How far the mean of AUCs may be from 0.5 if the scores know nothing of the labels.

    The variance of one is (m + n + 1) / 12mn with m labels of one kind and n of the other, all
    independent; the mean of several is normal enough for the tail.
    """
    counts = [(int(labels.sum()), int((1 - labels).sum())) for labels in independent]
    variance = sum((m + n + 1) / (12 * m * n) for m, n in counts) / len(counts) ** 2
    return float(norm.isf(RISK / 2) * math.sqrt(variance))


def labels_of_the_test_episodes(data: Dataset) -> np.ndarray:
    return data.labels.astype(int)[split_by_episode(data.episode, SEED)["test"]]


def test_noise_is_at_chance_for_every_probe_and_control(found) -> None:
    data = [examples.noise(seed) for seed in range(MANY)]
    tested = [
        each.labels.astype(int)[split_by_episode(each.episode, SEED)["test"]] for each in data
    ]
    for name in ("memory", *CONTROLS):
        for kind in ("linear", "mlp"):
            mean = np.mean([getattr(each.probes[name], kind) for each in found["noise"]])
            assert abs(mean - 0.5) < bound(tested) < 0.1, (name, kind)


def test_a_planted_signal_is_found_in_the_memory_and_not_in_the_controls(found) -> None:
    for each in found["planted"]:
        assert each.evaluable
        assert min(each.probes["memory"].linear, each.probes["memory"].mlp) > 0.99
        assert max(each.probes[name].linear for name in CONTROLS) < 0.8
        strongest = max(0.5, *(each.probes[name].linear for name in CONTROLS))
        assert each.selectivity == each.probes["memory"].linear - strongest
        assert each.strongest == "chance" or each.probes[each.strongest].linear == strongest


def test_a_signal_is_planted_in_every_memory_and_found(found) -> None:
    ideal = norm.cdf(DISTANCE / math.sqrt(2))
    for kind in ("noise", "planted", "parity"):
        # 560 rows for 16 features: close to what a reader would tell who knew where to look
        aucs = [each.probes[PLANTED].linear for each in found[kind]]
        assert ideal - 0.05 < np.mean(aucs) < ideal + 0.05, kind
        assert min(each.probes[PLANTED].mlp for each in found[kind]) > 0.8, kind
    for each in found["planted"]:
        assert each.strongest != PLANTED, "it is no control"


def test_what_no_line_can_tell_the_mlp_finds(found) -> None:
    for each in found["parity"]:
        assert each.probes["memory"].linear < 0.7
        assert each.probes["memory"].mlp > 0.9
        assert each.mlp_selectivity > 0.2


def test_a_fading_memory_is_seen_to_fade(found) -> None:
    for each in found["fading"]:
        ages = {(one.low, one.high): one for one in each.by_since}
        assert list(ages) == [(0, 0), (1, 1), (2, 3)]
        assert ages[0, 0].auc["memory"] > 0.95
        assert ages[1, 1].auc["memory"] > 0.95
        assert ages[2, 3].auc["memory"] < 0.85
        assert ages[2, 3].rows == 2 * ages[0, 0].rows == 2 * ages[0, 0].episodes


def test_splitting_by_step_leaks_and_splitting_by_episode_does_not(found) -> None:
    data = [examples.familiar(seed) for seed in range(MANY)]
    # the answer is drawn once an episode: so many are independent, and no more
    tested = [labels_of_the_test_episodes(each)[:: examples.STEPS] for each in data]
    honest, leaking = (
        {kind: mean(found[name], kind) for kind in ("linear", "mlp")}
        for name in ("strangers", "by step")
    )
    for kind in ("linear", "mlp"):
        assert abs(honest[kind] - 0.5) < bound(tested) < 0.25, kind
        assert leaking[kind] > honest[kind] + 0.05, kind
    assert leaking["mlp"] > 0.9 > 0.5 + bound(tested)


def mean(measured: list[QuestionResult], kind: str) -> float:
    return float(np.mean([getattr(each.probes["memory"], kind) for each in measured]))


def test_rows_episodes_and_sizes_are_recorded(found) -> None:
    for each in found["noise"]:
        assert each.episodes == {"train": 140, "validation": 30, "test": 30}
        assert each.rows == {name: 4 * count for name, count in each.episodes.items()}
        assert each.probes["memory"].fitted == each.rows["train"]
        assert each.probes["memory"].size == examples.SIZE
        assert each.probes["memory"].kept == pytest.approx(1)
        assert 0.9 * examples.SIZE < each.effective_dimension <= examples.SIZE


def test_what_does_not_converge_is_counted(found, monkeypatch) -> None:
    assert {
        p.unconverged for kind in found.values() for one in kind for p in one.probes.values()
    } == {0}
    monkeypatch.setattr(logistic, "STEPS", 0)
    monkeypatch.setattr(
        fit, "solve", Batched(lambda problem: logistic.regularisation_path(problem))
    )
    (one,) = measure([examples.planted(0)], SEED)
    assert one.evaluable
    assert one.probes["memory"].unconverged == len(logistic.PENALTIES)
    assert one.probes["shuffled"].unconverged == SHUFFLES * len(logistic.PENALTIES)
    assert QuestionResult.from_json(json.loads(written(one))).probes == one.probes


def test_the_same_seed_gives_the_same_bytes_whoever_else_is_measured(found) -> None:
    heard = []
    data = [examples.noise(seed) for seed in range(MANY)]
    again = measure(data, SEED, lambda done, total: heard.append((done, total)))
    assert [written(each) for each in again] == [written(each) for each in found["noise"]]
    assert heard == [(number, 24) for number in range(25)]


def test_features_may_have_rows_that_belong_to_other_questions(found) -> None:
    data = examples.noise(0)
    features = {
        name: np.stack((np.full_like(one, np.nan), one), 1).reshape(-1, one.shape[1])
        for name, one in data.features.items()
    }
    every_second = 1 + 2 * np.arange(len(data.labels))
    shared = Dataset(data.labels, data.episode, data.since, features, every_second)
    assert written(measure([shared], SEED)[0]) == written(found["noise"][0])


def test_what_was_measured_survives_json(found) -> None:
    for each in [one for kind in found.values() for one in kind]:
        back = QuestionResult.from_json(json.loads(written(each)))
        assert written(back) == written(each)
        assert back.probes["memory"] == each.probes["memory"]
        assert back.by_since == each.by_since


def written(measured: QuestionResult) -> str:
    return json.dumps(measured.to_json(), allow_nan=False)


def broken() -> dict[str, Dataset]:
    data = examples.noise(0)
    gap = data.features["memory"].copy()
    gap[split_by_episode(data.episode, SEED)["test"][0]] = np.nan
    few = data.episode < 2
    return {
        "every label": examples.noise(0, labels=np.ones(len(data.labels))),
        "constant": examples.with_memory(data, np.full_like(gap, 3)),
        "no features": examples.with_memory(data, gap[:, :0]),
        "finite": examples.with_memory(data, gap),
        "too few": Dataset(
            data.labels[few], data.episode[few], data.since[few],
            {name: each[few] for name, each in data.features.items()},
        ),
    }  # fmt: skip


@pytest.mark.filterwarnings("error")
def test_what_cannot_be_probed_is_answered_with_the_reason() -> None:
    cases = {
        name: Dataset(
            each.labels, each.episode, each.since, {"memory": each.features["memory"]}
        )
        for name, each in broken().items()
    }  # fmt: skip
    for name, each in zip(cases, measure(list(cases.values()), SEED), strict=True):
        assert name in each.reason
        assert not each.evaluable
        assert math.isnan(each.selectivity)
        assert QuestionResult.from_json(json.loads(written(each))).reason == each.reason


@pytest.mark.parametrize(
    ("field", "value", "word"),
    [
        ("labels", np.full(6, 2, np.uint8), "choose 0 or 1"),
        ("labels", np.zeros(6), "whole numbers"),
        ("episode", np.zeros(5, np.int32), "episode"),
        ("features", {"memory": np.zeros((5, 2), np.float32)}, "memory"),
        ("features", {"memory": np.zeros((6, 2), np.int32)}, "floats"),
        ("features", {}, "memory"),
        ("feature_rows", np.arange(1, 7), "memory"),
    ],
)
def test_a_dataset_that_does_not_fit_together_is_refused(field, value, word) -> None:
    sound = {
        "labels": np.zeros(6, np.uint8),
        "episode": np.zeros(6, np.int32),
        "since": np.zeros(6, np.int32),
        "features": {"memory": np.zeros((6, 2), np.float32)},
    }
    with pytest.raises(BadInput, match=word):
        Dataset(**{**sound, field: value})
