"""Logistic regression, against scikit-learn on the same data with the same penalty."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from clew.probes.fitting import logistic, mlp
from clew.probes.fitting.components import fit_components
from clew.probes.fitting.logistic import (
    PENALTIES,
    TOLERANCE,
    Problem,
    RegularisationPath,
    solve,
)

ROWS, SIZE, PADDED = 300, 12, 2 * logistic.BLOCK


def solved(z: np.ndarray, y: np.ndarray) -> RegularisationPath:
    """With padding, whose content must not matter."""
    x = np.full((PADDED, SIZE + 1), 7.0, np.float32)
    x[: len(z)] = 0
    x[: len(z), : z.shape[1]], x[: len(z), -1] = z, 1
    labels = np.ones(PADDED, np.float32)
    labels[: len(z)] = y
    return solve([(Problem(x, labels, np.array(len(z), np.int32)),)])[0]


def mixed(seed: int, rows: int, uneven: float) -> tuple[np.ndarray, np.ndarray]:
    """Features that depend on each other, and the same standardised."""
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((SIZE, SIZE)) * np.exp(uneven * rng.standard_normal(SIZE))
    x = (rng.standard_normal((rows, SIZE)) @ mixing + 3).astype(np.float32)
    return x, (x - x.mean(0, dtype=float)) / x.std(0, dtype=float)


@settings(max_examples=5)
@given(
    st.integers(0, 2**32), st.sampled_from([0.0, 0.3, 3.0]), st.floats(0, 2), st.integers(20, ROWS)
)
def test_agrees_with_scikit_learn(seed: int, noise: float, uneven: float, rows: int) -> None:
    x, standard = mixed(seed, rows, uneven)
    rng = np.random.default_rng([seed, 1])
    y = standard @ rng.standard_normal(SIZE) + noise * rng.logistic(size=rows) > 0.3
    assume(y.any() and not y.all())
    found = fit_components(x, np.arange(rows), 0)
    assert isinstance(found, tuple)
    z = found[1]
    ours = solved(z, y)
    for l2, w, decrement in zip(PENALTIES, *ours, strict=True):
        assert decrement < TOLERANCE
        theirs = LogisticRegression(C=1 / (rows * l2), tol=1e-9, max_iter=100_000)
        expected = theirs.fit(standard, y).decision_function(standard)
        logits = z @ w[: z.shape[1]] + w[-1]
        assert np.abs(logits - expected).max() < 5e-3 * (1 + np.abs(expected).max())


@settings(max_examples=10)
@given(st.integers(0, 2**32), st.floats(-6, 6), st.integers(2, 40), st.booleans())
def test_every_fit_converges(seed: int, scale: float, rows: int, separable: bool) -> None:
    # as few rows as a small replay has, and features of any size: all of it is separable
    rng = np.random.default_rng(seed)
    z = np.exp(scale) * rng.standard_normal((rows, SIZE))
    y = z[:, 0] > 0 if separable else rng.integers(0, 2, rows)
    ours = solved(z.astype(np.float32), y)
    assert np.isfinite(ours.w).all()
    assert (ours.decrement < TOLERANCE).all()


def test_a_stronger_penalty_gives_smaller_weights() -> None:
    z = np.random.default_rng(0).standard_normal((ROWS, SIZE))
    lengths = np.linalg.norm(solved(z, z[:, 0] > 0).w[:, :-1], axis=1)
    assert (np.diff(lengths) > 0).all(), "the penalties fall"


@pytest.mark.parametrize("ones", [0.0, 1.0])
def test_one_class_alone_does_not_run_away(ones: float) -> None:
    z = np.random.default_rng(0).standard_normal((ROWS, SIZE))
    assert np.isfinite(solved(z, np.full(ROWS, ones)).w).all()


def test_the_better_stage_is_chosen_and_the_earliest_of_equals() -> None:
    x = np.array([[-1.0, 1], [0, 1], [1, 1]])
    labels = np.array([1, 0, 1])
    nothing, bend = np.zeros((2, 2)), np.array([[1.0, -1], [0, 0]])
    stages = mlp.MlpProbe(
        linear=np.zeros((3, 2)),
        hidden=np.stack((nothing, bend, 2 * bend)),
        out=np.array([[0.0, 0], [1, 1], [1, 1]]),
    )
    best = mlp.choose(np.zeros(2), stages, x, labels)
    np.testing.assert_array_equal(best.hidden, bend)
    line = mlp.choose(np.array([1.0, 0]), stages, x, np.array([0, 1, 1]))
    assert not line.hidden.any(), "a line is enough"
