"""Splits by episode, subsamples, and shuffled labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.probes.fitting.dataset import (
    shuffle_labels,
    split_by_episode,
    subsample,
    why_unfit,
)

lengths = st.lists(st.integers(1, 9), min_size=3, max_size=60)
seeds = st.integers(0, 2**32)


@given(lengths, seeds)
def test_every_row_is_in_one_split_with_its_whole_episode(lengths, seed) -> None:
    episode = np.repeat(np.arange(len(lengths)) * 7, lengths)
    rows = split_by_episode(episode, seed)
    assert sorted(np.concatenate(list(rows.values()))) == list(range(len(episode)))
    kinds = [set(episode[each]) for each in rows.values()]
    assert not kinds[0] & kinds[1]
    assert not kinds[1] & kinds[2]
    assert not kinds[0] & kinds[2]
    assert all(kinds)
    for held in kinds[1:]:
        assert abs(len(held) - 0.15 * len(lengths)) <= 1


@given(lengths, lengths, seeds)
def test_an_episode_is_in_the_same_split_however_long_it_takes(some, others, seed) -> None:
    count = min(len(some), len(others))
    one, other = (np.repeat(np.arange(count), each[:count]) for each in (some, others))
    for name, rows in split_by_episode(one, seed).items():
        assert set(one[rows]) == set(other[split_by_episode(other, seed)[name]])


@given(st.integers(1, 500), st.integers(1, 100), seeds)
def test_a_subsample_has_one_row_of_each_stretch(count, most, seed) -> None:
    rows = np.arange(count) * 3
    left = subsample(rows, most, seed)
    assert len(left) == min(count, most)
    assert (np.diff(left) > 0).all()
    assert set(left) <= set(rows)
    if count > most:
        stretch = -(-count // most)
        assert np.diff(left).max(initial=0) <= 3 * 2 * stretch


def test_a_subsample_does_not_follow_the_period_of_a_task() -> None:
    left = subsample(np.arange(8000), 1000, seed=0)
    phases = np.bincount(left % 8, minlength=8)
    # each phase has 125 on average, with a deviation of sqrt(1000 · 1/8 · 7/8) = 10.5
    assert (np.abs(phases - 125) < 5 * 10.5).all()


@given(lengths, seeds)
def test_swapped_labels_stay_in_their_split_step_for_step(lengths, seed) -> None:
    episode = np.repeat(np.arange(len(lengths)), lengths)
    rng = np.random.default_rng(seed)
    # labels that name their episode: where does each come from?
    names = episode.astype(np.int64)
    rows = split_by_episode(episode, seed)
    new = shuffle_labels(names, episode, rows.values(), rng)
    for inside in rows.values():
        assert set(new[inside]) <= set(episode[inside])
        givers = [set(new[inside][episode[inside] == e]) for e in set(episode[inside])]
        assert all(len(giver) == 1 for giver in givers)
        assert len(set.union(*givers)) == len(givers), "each gives once"
        if len(givers) > 1:
            assert (new[inside] != episode[inside]).all(), "nobody keeps their own"


def test_a_step_keeps_its_place_and_a_short_sequence_begins_again() -> None:
    episode, steps = np.array([0, 0, 1, 1, 1]), np.array([0, 1, 0, 1, 2])
    new = shuffle_labels(steps, episode, [np.arange(5)], np.random.default_rng(0))
    assert new.tolist() == [0, 1, 0, 1, 0]


@pytest.mark.parametrize(
    ("labels", "episode", "word"),
    [
        ([0, 1], [0, 1], "2 episodes"),
        ([], [], "0 episodes"),
        ([1] * 9, list(range(9)), "every label"),
    ],
)
def test_what_cannot_be_split_is_said(labels, episode, word) -> None:
    labels, episode = np.array(labels, np.uint8), np.array(episode, np.int32)
    assert word in why_unfit(labels, episode, split_by_episode(episode, 0))
