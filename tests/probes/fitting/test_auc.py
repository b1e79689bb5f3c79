"""The area under the curve, against the definition and against scikit-learn."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from clew.probes.fitting.auc import auc, auc_by_delay

rows = st.lists(
    st.tuples(st.booleans(), st.sampled_from([-1.5, 0.0, 1e-9, 1.0]) | st.floats(-9, 9)),
    min_size=1, max_size=60,
)  # fmt: skip


@given(rows)
def test_agrees_with_scikit_learn_with_and_without_ties(rows) -> None:
    labels, scores = np.array([y for y, _ in rows]), np.array([s for _, s in rows])
    if labels.all() or not labels.any():
        assert math.isnan(auc(labels, scores))
    else:
        assert math.isclose(auc(labels, scores), roc_auc_score(labels, scores), abs_tol=1e-12)


@given(rows)
def test_turning_the_labels_round_turns_the_area_round(rows) -> None:
    labels, scores = np.array([y for y, _ in rows]), np.array([s for _, s in rows])
    there, back = auc(labels, scores), auc(~labels, scores)
    assert math.isnan(there) == math.isnan(back)
    assert math.isnan(there) or there + back == 1


@given(rows, st.integers(0, 2**32))
def test_delays_are_binned_by_powers_of_two(rows, seed) -> None:
    labels, scores = np.array([y for y, _ in rows]), np.array([s for _, s in rows])
    rng = np.random.default_rng(seed)
    since, episode = rng.integers(-1, 40, len(rows)), rng.integers(0, 5, len(rows))
    bins = auc_by_delay(labels, episode, since, {"memory": scores})
    assert sum(each.rows for each in bins) == (since >= 0).sum()
    for each in bins:
        here = (since >= each.low) & (since <= each.high)
        assert each.rows == here.sum() > 0
        assert each.episodes == len(set(episode[here]))
        np.testing.assert_equal(each.auc["memory"], auc(labels[here], scores[here]))
        assert (each.low, each.high) == (0, 0) or each.high + 1 == 2 * each.low
