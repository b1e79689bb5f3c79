"""Two ways to solve many problems, for two kinds of device: the results must be the same."""

import os
import time

import jax
import numpy as np
import pytest
from threadpoolctl import threadpool_info

from clew.probes.fitting import Dataset, fit, measure, parallel
from tests.probes.fitting import examples

BATCH = 5


@pytest.fixture
def accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done on an accelerator, on this CPU."""
    for module in (parallel, fit):
        monkeypatch.setattr(module, "on_cpu", lambda: False)
    monkeypatch.setattr(parallel, "BATCH", BATCH)


def test_problems_of_several_shapes_keep_their_order(accelerator: None) -> None:
    total = parallel.Batched(lambda x: x.sum())
    given_ = [(np.full(1 + i % 2, i, np.float32),) for i in range(2 * BATCH + 3)]
    assert [float(one) for one in total(given_)] == [i * (1 + i % 2) for i in range(len(given_))]


@pytest.mark.parametrize("problems", [1, 3, BATCH + 1])
def test_a_batch_gives_what_one_by_one_gives(request: pytest.FixtureRequest, problems: int) -> None:
    rng = np.random.default_rng(0)
    double = parallel.Batched(lambda x, n: {"sum": x.sum() * n})
    given_ = [(rng.standard_normal(4).astype(np.float32), np.int32(i)) for i in range(problems)]
    alone = double(given_)
    request.getfixturevalue("accelerator")
    together = double(given_)
    assert len(alone) == len(together) == problems
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), alone, together)


def of_two_widths(data: Dataset) -> Dataset:
    """A memory with more features than the smallest problem has room for, and one control."""
    memory = data.features["memory"]
    more = np.random.default_rng(0).standard_normal((len(memory), 24), np.float32)
    features = {"memory": np.hstack((memory, more)), "untrained": memory}
    return Dataset(data.labels, data.episode, data.since, features)


def test_an_accelerator_finds_what_a_cpu_finds(request: pytest.FixtureRequest) -> None:
    broken = examples.with_memory(examples.noise(3), np.full((800, 2), 3.0))
    data = [of_two_widths(examples.planted(0, 2.0)), of_two_widths(examples.noise(1)), broken]
    alone = measure(data, 0)
    request.getfixturevalue("accelerator")
    together = measure(data, 0)
    assert [one.reason for one in alone] == [one.reason for one in together]
    for one, other in zip(alone, together, strict=True):
        assert one.probes.keys() == other.probes.keys()
        for name in one.probes:
            a, b = one.probes[name], other.probes[name]
            assert (a.size, a.fitted, a.unconverged) == (b.size, b.fitted, b.unconverged)
            # of 120 test rows, those change places whose scores are nearly the same
            np.testing.assert_allclose([a.linear, a.mlp], [b.linear, b.mlp], atol=0.01)


def test_an_accelerator_has_one_call_at_a_time(
    accelerator: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "cores", lambda: 4)
    same = parallel.Batched(lambda x: x)
    inside, seen = [], []

    def slow(x: np.ndarray) -> np.ndarray:
        inside.append(x)
        time.sleep(0.01)
        seen.append(len(inside))
        inside.pop()
        return x

    monkeypatch.setattr(same, "_batch", slow)
    found = list(parallel.parallel_map(lambda number: same([(np.float32(number),)]), range(8)))
    assert found == [[number] for number in range(8)]
    assert seen == [1] * 8


def test_products_in_a_thread_use_no_other_core() -> None:
    def threads(_: int) -> list[int]:
        blas = [one for one in threadpool_info() if one["user_api"] == "blas"]
        return [one["num_threads"] for one in blas]

    list(parallel.parallel_map(threads, [0]))  # what is not loaded yet is loaded now
    before = threads(0)
    for inside in parallel.parallel_map(threads, range(3)):
        assert inside == [1] * len(before) != []
    assert threads(0) == before


def test_the_flag_of_the_compiler_is_added_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--other=1")
    parallel.single_threaded_xla()
    parallel.single_threaded_xla()
    assert os.environ["XLA_FLAGS"] == "--other=1 --xla_cpu_multi_thread_eigen=false"
