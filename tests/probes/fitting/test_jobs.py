"""Jobs: few shapes, bounded memory, nothing left out."""

from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.probes.fitting import Dataset, jobs, rotation
from clew.probes.fitting.jobs import ROWS, SHUFFLES, WIDTHS, Prepared, jobs_of, plan, prepare
from tests.probes.fitting import examples


class Watched(np.memmap):
    """Features on disk, and how many numbers were read from them at once."""

    read: ClassVar[list[int]] = []

    def __getitem__(self, key):
        found = super().__getitem__(key)
        Watched.read.append(np.size(found))
        return found


def test_features_on_disk_are_never_held_whole(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(jobs, "MOST", 100 * examples.SIZE)
    monkeypatch.setattr(rotation, "BLOCK", 50)
    data = examples.noise(0)
    stored = Watched(tmp_path / "memory", np.float16, "w+", shape=(800, examples.SIZE))
    stored[:] = data.features["memory"]
    Watched.read.clear()
    (job,) = jobs_of(plan(Dataset(data.labels, data.episode, data.since, {"memory": stored}), 0), 0)
    ready = prepare(job, 0)
    assert isinstance(ready, Prepared)
    assert len(job.train) == 100, "thinned"
    assert len(job.validation) == 25
    assert len(ready.test) == 120, "every test row counts"
    assert max(Watched.read) == 100 * examples.SIZE


@given(st.integers(1, 60), st.integers(4, 300), st.integers(1, 5), st.integers(0, 2**32))
def test_problems_have_few_shapes_and_hold_every_row(rows, size, labels, seed) -> None:
    rng = np.random.default_rng(seed)
    ready = prepared(
        rng.standard_normal((rows, min(size, 256))), rng.integers(0, 2, (rows, labels))
    )
    assert ready.width in WIDTHS
    assert ready.width >= min(size, 256)
    *problems, last = ready.problems()
    if labels == 1:
        problems = [last]  # without a null nothing is planted
    assert len(problems) == labels
    for number, (x, y, count) in enumerate(problems):
        assert x.shape == (ROWS, ready.width + 1)
        assert count == rows
        assert np.array_equal(ready.trimmed(x)[:rows], ready.train)
        assert np.array_equal(y[:rows], ready.job.labels[:, number])
        assert not x[rows:].any()
        # the room that nothing fills is empty
        assert np.count_nonzero(x) == np.count_nonzero(ready.train)


def prepared(train: np.ndarray, labels: np.ndarray) -> Prepared:
    """Every row trains; the labels beyond the first are the null's."""
    rows = np.arange(len(train))
    column = labels[:, 0].astype(np.uint8)
    data = Dataset(column, rows, rows, {"memory": train.astype(np.float32)})
    job = jobs.Job(jobs.Plan(data, {}, labels[:, 1:].astype(np.uint8), ""), "memory", rows, rows)
    turn = rotation.Rotation(np.zeros(1), np.zeros((1, 1)), np.ones(1), 1)
    x = np.pad(train.astype(np.float32), ((0, 0), (0, 1)), constant_values=1)
    return Prepared(job, turn, x, x, x, np.append(jobs.planted(np.ones(train.shape[1]), 0), 0))


def test_no_more_rows_than_there_is_room_for() -> None:
    count = 3 * ROWS
    column = np.zeros(count, np.int32)
    features = np.broadcast_to(np.float32(0), (count, 20_000))
    data = Dataset(column, column, column, {"memory": features, "observation": features[:, :9]})
    rows = {name: np.arange(count) for name in ("train", "validation", "test")}
    found = {job.name: job for job in jobs_of(jobs.Plan(data, rows, column[:, None], ""), 0)}
    assert len(found["observation"].train) == ROWS
    assert len(found["memory"].train) * 20_000 <= jobs.MOST
    for job in found.values():
        assert len(job.validation) == len(job.train) // 4


@pytest.mark.parametrize("name", ["memory", "observation"])
def test_only_the_memory_is_asked_about_swapped_labels(name: str) -> None:
    data = examples.noise(0)
    found = {job.name: job for job in jobs_of(plan(data, 0), 0)}
    labels = found[name].labels
    assert labels.shape == (800, 1 + (SHUFFLES + 1) * (name == "memory"))
    np.testing.assert_array_equal(labels[:, 0], data.labels)
    assert all((labels[:, 0] != other).any() for other in labels.T[1:])


@given(st.integers(2, 200), st.integers(1, 40), st.integers(0, 2**32))
def test_a_signal_is_planted_in_the_rows_labelled_one_and_is_of_the_size_that_is_said(
    rows, size, seed
) -> None:
    rng = np.random.default_rng(seed)
    variance = np.exp(3 * rng.standard_normal(size))
    step = jobs.planted(variance, seed)
    assert np.linalg.norm(step / np.sqrt(variance)) == pytest.approx(jobs.DISTANCE)
    labels = rng.integers(0, 2, (rows, 2))
    ready = prepared(rng.standard_normal((rows, size)), labels)
    for number in (0, 1):
        assert ready.seen("train", number) is ready.train
    assert ready.job.planted == 2
    added = ready.seen("train", 2) - ready.train
    np.testing.assert_allclose(added, np.outer(labels[:, 1], ready.signal), atol=1e-5)
    assert not added[:, -1].any(), "the last column is the intercept's"
    x, y, _ = ready.problems()[-1]
    np.testing.assert_array_equal(ready.trimmed(x)[:rows], ready.seen("train", 2))
    np.testing.assert_array_equal(y[:rows], labels[:, 1])
