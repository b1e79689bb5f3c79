"""From Gymnasium's spaces to arrays, against arrays laid out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.envs.hosted.spaces import action_layout, misshapen, observation_layout, outside
from clew.validate import BadInput

PIXELS = spaces.Box(0, 255, (40, 50, 3), np.uint8)
CASES: list[tuple[spaces.Space[Any], tuple[int, ...], float]] = [
    (spaces.Box(-np.inf, np.inf, (4,), np.float64), (4,), 1),
    (spaces.Box(-1, 1, (), np.float32), (1,), 1),
    (spaces.Box(-7, 3, (2, 2), np.int64), (2, 2), 7),
    (spaces.Box(-(2**63), 2**63 - 1, (2,), np.int64), (2,), 1),
    (PIXELS, (40, 50, 3), 255),
    (spaces.Box(0, 255, (3, 40, 50), np.uint8), (40, 50, 3), 255),
    (spaces.Box(0, 255, (4, 40, 50), np.uint8), (40, 50, 4), 255),
    (spaces.Box(0, 255, (40, 50), np.uint8), (40, 50, 1), 255),
    (spaces.Box(0, 10, (3, 7, 7), np.uint8), (3, 7, 7), 10),
    (spaces.MultiDiscrete([2, 3, 4]), (9,), 1),
    (spaces.MultiDiscrete(np.array([[2, 3], [2, 2]])), (9,), 1),
    (spaces.MultiDiscrete([2, 3], start=[5, -1]), (5,), 1),
    (spaces.MultiBinary(6), (6,), 1),
    (spaces.MultiBinary([2, 3]), (2, 3), 1),
    (spaces.Discrete(6, start=2), (6,), 1),
    (spaces.Dict({"a": spaces.Discrete(3), "b": PIXELS}), (3 + 40 * 50 * 3,), 1),
    (spaces.Dict({"only": PIXELS}), (40, 50, 3), 255),
    (spaces.Dict({"a": spaces.Dict({"x": spaces.Discrete(2)}), "b": spaces.Discrete(2)}), (4,), 1),
]  # fmt: skip


def batched(space: spaces.Space[Any], n: int) -> tuple[list[Any], Any]:
    """Some observations, one by one and as a vector hands them out."""
    space.seed(1)
    samples = [space.sample() for _ in range(n)]
    batch = concatenate(space, samples, create_empty_array(space, n))
    assert batch_space(space, n).contains(batch)
    return samples, batch


def by_hand(space: spaces.Space[Any], sample: Any) -> np.ndarray:
    """Flat numbers as the table in `clew.envs.hosted.spaces` says."""
    if isinstance(space, spaces.Dict):
        return np.concatenate([by_hand(space[key], sample[key]) for key in space])
    if isinstance(space, spaces.Discrete):
        return np.eye(int(space.n))[sample - space.start]
    if isinstance(space, spaces.MultiDiscrete):
        numbers = zip(space.nvec.flat, (sample - space.start).flat, strict=True)
        return np.concatenate([np.eye(int(n))[i] for n, i in numbers])
    if isinstance(space, spaces.MultiBinary):
        return sample.reshape(-1)
    assert isinstance(space, spaces.Box)
    if space.dtype == np.uint8:
        if len(space.shape) == 3 and space.shape[0] in (3, 4) and space.shape[1] > 30:
            sample = np.transpose(sample, (1, 2, 0))
        return sample.reshape(-1) / space.high.max()
    if space.dtype == np.int64 and space.high.max() < 2**62:
        return sample.reshape(-1) / 7
    return sample.reshape(-1)


@pytest.mark.parametrize("space", [space for space, *_ in CASES], ids=str)
def test_no_sample_of_a_space_is_outside_of_it(space: spaces.Space[Any]) -> None:
    samples, batch = batched(space, 20)
    assert not any(misshapen(space, sample) for sample in samples)
    assert not outside(space, batch)
    assert not outside(space, batch, floats=True)


@pytest.mark.parametrize(("space", "shape", "scale"), CASES, ids=lambda x: str(x)[:40])
def test_observations_are_laid_out_as_the_table_says(
    space: spaces.Space[Any], shape: tuple[int, ...], scale: float
) -> None:
    layout = observation_layout("it", space, (), None)
    samples, batch = batched(space, 3)
    array = layout.array(batch)
    assert (layout.shape, layout.scale, array.dtype) == (shape, scale, layout.dtype)
    assert array.shape == ((3,) if layout.symbols else (3, *shape))
    expected = np.stack([by_hand(space, sample) for sample in samples])
    np.testing.assert_allclose(layout.flat(batch), expected, rtol=1e-6)


def test_keys_of_a_dict() -> None:
    space = spaces.Dict({"a": spaces.Discrete(3), "b": PIXELS, "words": spaces.Text(5)})
    assert observation_layout("it", space, ("b", "a"), None).size == 6003
    assert observation_layout("it", space, ("b", "a"), "a").shape == (40, 50, 3)
    for keys, apart, said in (
        ((), None, "observations of it under 'words' are Text; Clew reads Box, Discrete,"),
        (("c",), None, "unknown key of the observations of it 'c'"),
        (("a",), "a", "no key of the observations of it is left beside knowledge='a'"),
    ):
        with pytest.raises(BadInput, match=said):
            observation_layout("it", space, keys, apart)
    for given_keys, apart in ((("a",), None), ((), "a")):
        with pytest.raises(BadInput, match="only those of a Dict have keys"):
            observation_layout("it", PIXELS, given_keys, apart)
    with pytest.raises(BadInput, match="observations of it are Tuple"):
        observation_layout("it", spaces.Tuple([PIXELS]), (), None)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.integers(-3, 3))
def test_every_combination_of_actions_has_one_number(sizes: list[int], start: int) -> None:
    space = spaces.MultiDiscrete(sizes, start=[start] * len(sizes))
    if np.prod(sizes) > 1000:
        with pytest.raises(BadInput, match="combinations"):
            action_layout("it", space)
        return
    actions = action_layout("it", space)
    every = actions.taken(np.arange(len(actions.names)))
    assert len({tuple(row) for row in every.tolist()}) == len(every) == np.prod(sizes)
    assert all(space.contains(row) for row in every)
    assert [tuple(map(int, name.split(","))) for name in actions.names] == [*map(tuple, every)]


def test_actions_that_cannot_be_chosen_are_refused() -> None:
    assert action_layout("it", spaces.Discrete(2, start=4)).taken(np.array([0, 1])).tolist() == [
        4,
        5,
    ]
    for space in (
        spaces.Box(0, 1, (2,)),
        spaces.MultiBinary(3),
        spaces.MultiDiscrete(np.array([[2, 2]])),
    ):
        with pytest.raises(BadInput, match=r"actions of it are .*Discrete or MultiDiscrete"):
            action_layout("it", space)
