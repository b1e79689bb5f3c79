"""Logistic regression, against scikit-learn on the same data with the same penalty."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from clew.probes.fitting import logistic, mlp
from clew.probes.fitting.fit import GRID
from clew.probes.fitting.rotation import rotation

ROWS, SIZE, ROOM = 300, 12, 400


def problem(z: np.ndarray, variance: np.ndarray, y: np.ndarray) -> logistic.Problem:
    """All penalties, in a shape with room to spare whose filling must not matter."""
    x = np.full((ROOM, SIZE + 1), 7.0, np.float32)
    x[: len(z)] = 0
    x[: len(z), : z.shape[1]], x[: len(z), -1] = z, 1
    mass = np.where(np.arange(ROOM) < len(z), 1 / len(z), 0)
    labels = np.ones((ROOM, len(GRID)))
    labels[: len(z)] = y[:, None]
    spread = np.zeros(SIZE + 1)
    spread[: len(variance)], spread[-1] = variance, 1
    whole = (x, mass, labels, np.array(GRID), spread)
    return logistic.Problem(*(each.astype(np.float32)[None] for each in whole))


@settings(max_examples=6)
@given(st.integers(0, 2**32), st.floats(0.0, 3.0), st.floats(0, 2))
def test_agrees_with_scikit_learn(seed: int, noise: float, uneven: float) -> None:
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((SIZE, SIZE)) * np.exp(uneven * rng.standard_normal(SIZE))
    x = (rng.standard_normal((ROWS, SIZE)) @ mixing + 3).astype(np.float32)
    standard = (x - x.mean(0, dtype=float)) / x.std(0, dtype=float)
    y = standard @ rng.standard_normal(SIZE) + noise * rng.logistic(size=ROWS) > 0.3
    found = rotation(x, np.arange(ROWS), 0)
    assert isinstance(found, tuple)
    turn, z = found
    solved = logistic.solve(problem(z, turn.variance, y))
    assert (np.asarray(solved.slope) < 1e-4).all()
    for number, l2 in enumerate(GRID):
        theirs = LogisticRegression(C=1 / (ROWS * l2), tol=1e-9, max_iter=10_000).fit(standard, y)
        w = np.asarray(solved.w)[0, :, number]
        logits = z @ w[: z.shape[1]] + w[-1]
        expected = theirs.decision_function(standard)
        assert np.abs(logits - expected).max() < 5e-3 * (1 + np.abs(expected).max())


def test_a_stronger_penalty_gives_smaller_weights() -> None:
    rng = np.random.default_rng(0)
    z = rng.standard_normal((ROWS, SIZE))
    solved = logistic.solve(problem(z, (z**2).mean(0), z[:, 0] > 0))
    lengths = np.linalg.norm(np.asarray(solved.w)[0, :-1], axis=0)
    assert (np.diff(lengths) > 0).all(), "the grid falls"


@pytest.mark.parametrize("ones", [0.0, 1.0])
def test_one_class_alone_does_not_run_away(ones: float) -> None:
    z = np.random.default_rng(0).standard_normal((ROWS, SIZE))
    solved = logistic.solve(problem(z, (z**2).mean(0), np.full(ROWS, ones)))
    assert np.isfinite(np.asarray(solved.w)).all()


def test_the_better_stage_is_chosen_and_the_earliest_of_equals() -> None:
    x = np.array([[-1.0, 1], [0, 1], [1, 1]])
    labels = np.array([1, 0, 1])
    nothing, bend = np.zeros((2, 2)), np.array([[1.0, -1], [0, 0]])
    stages = mlp.Mlp(
        w=np.zeros((3, 2)),
        first=np.stack((nothing, bend, 2 * bend)),
        last=np.array([[0.0, 0], [1, 1], [1, 1]]),
    )
    best = mlp.choose(np.zeros(2), stages, x, labels)
    np.testing.assert_array_equal(best.first, bend)
    lines = mlp.choose(np.array([1.0, 0]), stages, x, np.array([0, 1, 1]))
    assert not lines.first.any(), "a line is enough"
