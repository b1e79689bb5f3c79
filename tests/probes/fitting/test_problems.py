"""Problems: few shapes, bounded memory, nothing left out."""

from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.probes.fitting import Dataset, components, problems
from clew.probes.fitting.problems import (
    ROWS,
    SHUFFLES,
    WIDTHS,
    FeatureSet,
    ReducedFeatures,
    SplitDataset,
    feature_sets,
    reduce_features,
    split_dataset,
    targets_of,
)
from tests.probes.fitting import examples


class Watched(np.memmap):
    """Features on disk, and how many numbers were read from them at once."""

    read: ClassVar[list[int]] = []

    def __getitem__(self, key):
        found = super().__getitem__(key)
        Watched.read.append(np.size(found))
        return found


def test_features_on_disk_are_never_held_whole(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(problems, "MAX_NUMBERS", 100 * examples.SIZE)
    monkeypatch.setattr(components, "BLOCK", 50)
    data = examples.noise(0)
    stored = Watched(tmp_path / "memory", np.float16, "w+", shape=(800, examples.SIZE))
    stored[:] = data.features["memory"]
    Watched.read.clear()
    only = Dataset(data.labels, data.episode, data.since, {"memory": stored})
    (of,) = feature_sets(split_dataset(only, 0), 0)
    ready = reduce_features(of, 0)
    assert isinstance(ready, ReducedFeatures)
    assert len(of.rows["train"]) == 100, "subsampled"
    assert len(of.rows["validation"]) == 25
    assert len(ready.x["test"]) == 120, "every test row counts"
    assert max(Watched.read) == 100 * examples.SIZE


@given(st.integers(1, 60), st.integers(4, 300), st.integers(2, 5), st.integers(0, 2**32))
def test_problems_have_few_shapes_and_hold_every_row(rows, size, labels, seed) -> None:
    rng = np.random.default_rng(seed)
    size = min(size, 256)
    columns = rng.integers(0, 2, (rows, labels))
    ready = prepared(rng.standard_normal((rows, size)), columns)
    *found, _ = targets_of(ready)
    assert len(found) == labels
    for target, column in zip(found, columns.T, strict=True):
        x, y, count = target.problem()
        assert len(x) == ROWS
        assert size <= x.shape[1] - 1 in WIDTHS
        assert count == rows
        assert np.array_equal(ready.unpad(x)[:rows], ready.x["train"])
        assert np.array_equal(y[:rows], column)
        assert not x[rows:].any()
        # the padding is 0
        assert np.count_nonzero(x) == np.count_nonzero(ready.x["train"])


def prepared(train: np.ndarray, labels: np.ndarray) -> ReducedFeatures:
    """Every row is for training; the labels beyond the first are shuffled ones."""
    rows = np.arange(len(train))
    first, *shuffled = labels.T.astype(np.uint8)
    data = Dataset(first, rows, rows, {"memory": train.astype(np.float32)})
    of = FeatureSet(SplitDataset(data, {}, shuffled, ""), "memory", {"train": rows})
    variance = np.ones(train.shape[1])
    turn = components.Components(np.zeros(1), np.zeros((1, 1)), variance, 1)
    x = np.pad(train.astype(np.float32), ((0, 0), (0, 1)), constant_values=1)
    return ReducedFeatures(
        of, turn, {"train": x}, np.append(problems.planted_signal(variance, 0), 0)
    )


def test_large_features_are_fitted_to_fewer_rows() -> None:
    count = 3 * ROWS
    column = np.zeros(count, np.int32)
    features = np.broadcast_to(np.float32(0), (count, 20_000))
    data = Dataset(column, column, column, {"memory": features, "observation": features[:, :9]})
    rows = {name: np.arange(count) for name in ("train", "validation", "test")}
    split = SplitDataset(data, rows, [column], "")
    found = {one.name: one for one in feature_sets(split, 0)}
    assert len(found["observation"].rows["train"]) == ROWS
    assert len(found["memory"].rows["train"]) * 20_000 <= problems.MAX_NUMBERS
    for one in found.values():
        assert len(one.rows["validation"]) == len(one.rows["train"]) // 4


@pytest.mark.parametrize("name", ["memory", "observation"])
def test_only_the_memory_is_probed_for_shuffled_labels(name: str) -> None:
    data = examples.noise(0)
    found = {one.name: one for one in feature_sets(split_dataset(data, 0), 0)}
    reduced = reduce_features(found[name], 0)
    assert isinstance(reduced, ReducedFeatures)
    labels, *others = targets_of(reduced)
    assert len(others) == (SHUFFLES + 1) * (name == "memory")
    np.testing.assert_array_equal(labels.labels, data.labels)
    assert all((other.labels != data.labels).any() for other in others)


@given(st.integers(2, 200), st.integers(1, 40), st.integers(0, 2**32))
def test_a_signal_is_planted_in_the_rows_labelled_one_and_is_of_the_size_that_is_said(
    rows, size, seed
) -> None:
    rng = np.random.default_rng(seed)
    variance = np.exp(3 * rng.standard_normal(size))
    step = problems.planted_signal(variance, seed)
    assert np.linalg.norm(step / np.sqrt(variance)) == pytest.approx(problems.DISTANCE)
    labels = rng.integers(0, 2, (rows, 2))
    ready = prepared(rng.standard_normal((rows, size)), labels)
    *others, planted = targets_of(ready)
    train = ready.x["train"]
    assert all(target.x("train") is train for target in others)
    added = planted.x("train") - train
    np.testing.assert_allclose(added, np.outer(labels[:, 1], ready.signal), atol=1e-5)
    assert not added[:, -1].any(), "the last column is the intercept's"
    x, y, _ = planted.problem()
    np.testing.assert_array_equal(ready.unpad(x)[:rows], planted.x("train"))
    np.testing.assert_array_equal(y[:rows], labels[:, 1])
