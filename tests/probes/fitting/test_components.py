"""Principal components of the training rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.probes.fitting import components as module
from clew.probes.fitting.components import RANK, Components, fit_components, release_pages


def turned(features: np.ndarray, rows: np.ndarray) -> Components:
    found = fit_components(features, rows, 0)
    assert isinstance(found, tuple)
    np.testing.assert_allclose(found[1], found[0].transform(features, rows), atol=1e-3)
    return found[0]


@given(st.integers(0, 2**32), st.integers(1, 20), st.integers(30, 60))
def test_distances_between_standardised_rows_stay(seed, size, count) -> None:
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal((count, size)) @ rng.standard_normal((size, size))).astype(np.float32)
    x = 3 * x + 5
    rows = np.arange(count)
    found = turned(x, rows)
    z = found.transform(x, rows)
    standard = (x - x.mean(0)) / x.std(0)
    np.testing.assert_allclose(z @ z.T, standard @ standard.T, atol=2e-2 * size)
    np.testing.assert_allclose(z.T @ z / count, np.diag(found.variance), atol=1e-3 * size)
    assert found.explained == pytest.approx(1, abs=1e-4)


def test_statistics_are_those_of_the_training_rows() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((100, 5)).astype(np.float32)
    train = np.arange(50)
    before = turned(x, train)
    x[50:] += 1e3
    after = turned(x, train)
    np.testing.assert_array_equal(before.projection, after.projection)
    np.testing.assert_array_equal(before.mean, after.mean)


@pytest.mark.parametrize("alike", [1, 3, 8])
def test_participation_counts_directions(alike: int) -> None:
    rng = np.random.default_rng(0)
    latent = np.linalg.qr(rng.standard_normal((400, alike)))[0] * 20
    latent -= latent.mean(0)
    x = np.repeat(latent, 4, 1).astype(np.float32)
    assert turned(x, np.arange(400)).participation_ratio == pytest.approx(alike, rel=0.02)


def test_many_features_are_seen_through_their_largest_components() -> None:
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((900, 40))
    x = (latent @ rng.standard_normal((40, 1000))).astype(np.float16)
    found = turned(x, np.arange(900))
    standard = (x - x.astype(float).mean(0)) / x.astype(float).std(0)
    truth = np.linalg.eigvalsh(standard.T @ standard / 900)[::-1]
    np.testing.assert_allclose(found.variance[:40], truth[:40], rtol=1e-3)
    assert len(found.variance) <= RANK < x.shape[1]
    assert found.explained > 0.999
    assert found.participation_ratio == pytest.approx(1000**2 / (truth**2).sum(), rel=1e-3)


def test_noise_in_many_dimensions_is_reported_as_left_out() -> None:
    x = np.random.default_rng(0).standard_normal((500, 1000)).astype(np.float32)
    found = turned(x, np.arange(500))
    assert 0.3 < found.explained < 0.95
    assert len(found.variance) == RANK


def test_a_file_whose_pages_were_released_reads_the_same(tmp_path) -> None:
    stored = np.memmap(tmp_path / "x", np.float16, "w+", shape=(64, 64))
    stored[:] = np.arange(64)
    release_pages(stored)
    assert (stored == np.arange(64)).all()
    changed = np.memmap(tmp_path / "x", np.float16, "c", shape=(64, 64))
    changed[:] = 0
    release_pages(changed)
    assert (changed == 0).all(), "what is not in the file stays in memory"


def test_blocks_from_a_file_are_the_whole(tmp_path, monkeypatch) -> None:
    x = np.random.default_rng(0).standard_normal((300, 10)).astype(np.float16)
    stored = np.memmap(tmp_path / "x", np.float16, "w+", shape=x.shape)
    stored[:] = x
    rows = np.arange(0, 300, 2)
    whole = turned(x, rows).transform(x, rows)
    monkeypatch.setattr(module, "BLOCK", 7)
    np.testing.assert_allclose(turned(stored, rows).transform(stored, rows), whole, atol=1e-5)


@pytest.mark.parametrize(
    ("features", "word"),
    [
        (np.full((9, 3), 2.5), "constant"),
        (np.zeros((9, 0)), "no features"),
        (np.full((9, 3), np.nan), "finite"),
        (np.diag([np.inf] * 9), "finite"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_what_has_no_components_is_said(features, word) -> None:
    assert word in str(fit_components(features.astype(np.float32), np.arange(9), 0))


def test_a_constant_feature_among_others_counts_for_nothing() -> None:
    x = np.random.default_rng(0).standard_normal((50, 3)).astype(np.float32)
    more = np.hstack((x, np.full((50, 1), 0.1, np.float32)))
    one, other = (turned(each, np.arange(50)) for each in (x, more))
    assert other.total == one.total == 3
    assert (other.projection[-1] == 0).all()
    np.testing.assert_allclose(one.variance, other.variance, rtol=1e-5)
