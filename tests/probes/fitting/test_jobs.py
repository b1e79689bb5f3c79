"""Jobs: few shapes, bounded memory, nothing left out."""

from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.probes.fitting import Dataset, jobs, rotation
from clew.probes.fitting.jobs import SHUFFLES, Prepared, batches, jobs_of, plan, prepare
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


@given(st.integers(1, 300_000), st.integers(0, 5_000))
def test_shapes_are_few_and_large_enough(rows: int, size: int) -> None:
    job = shaped(rows, size)
    room, width, labels = job.shape
    assert rows <= room <= max(256, 1.5 * rows)
    assert min(size, rotation.RANK) <= width <= max(16, 1.5 * size)
    assert width <= rotation.RANK
    assert room * 4 % 2 ** (room.bit_length() - 1) == 0, "a power of two, or one and a half"
    assert labels == 1 + SHUFFLES


@given(st.lists(st.tuples(st.integers(1, 2**20), st.sampled_from([0, 30, 256, 4096])), max_size=40))
def test_a_batch_has_one_shape_and_a_bounded_size(sizes) -> None:
    given_jobs = [shaped(*each) for each in sizes]
    found = list(batches(given_jobs))
    assert sorted(id(job) for batch in found for job in batch) == sorted(map(id, given_jobs))
    for batch in found:
        (shape,) = {job.shape for job in batch}
        assert len(batch) == 1 or len(batch) * shape[0] * shape[1] <= jobs.TOGETHER
    for shape in {batch[0].shape for batch in found}:
        lengths = {len(batch) for batch in found if batch[0].shape == shape}
        assert len(lengths) <= 2, "each is a program to compile"


def shaped(rows: int, size: int) -> jobs.Job:
    """A job of that many training rows and features; all zeros, which take no memory."""
    column = np.broadcast_to(np.uint8(0), rows)
    features = np.broadcast_to(np.float32(0), (rows, size))
    data = Dataset(column, column, column, {"memory": features})
    whole = jobs.Plan(data, {}, np.broadcast_to(np.uint8(0), (rows, SHUFFLES)), "")
    return jobs.Job(whole, "memory", np.broadcast_to(np.int64(0), rows), np.zeros(0, int))


@pytest.mark.parametrize("name", ["memory", "observation"])
def test_only_the_memory_is_asked_about_swapped_labels(name: str) -> None:
    data = examples.noise(0)
    found = {job.name: job for job in jobs_of(plan(data, 0), 0)}
    labels = found[name].labels
    assert labels.shape == (800, 1 + SHUFFLES * (name == "memory"))
    np.testing.assert_array_equal(labels[:, 0], data.labels)
    assert found[name].shape[2] == labels.shape[1]
    assert all((labels[:, 0] != other).any() for other in labels.T[1:])
