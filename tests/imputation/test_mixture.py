"""Gaussians, mixtures, and imputation by them."""

from __future__ import annotations

import numpy as np
import pytest

import fost
from fost.imputation import Gaussian, Mixture
from tests import reference


def test_gaussians_of_a_transform_and_of_its_covariance_agree() -> None:
    rng = np.random.default_rng(0)
    variances = rng.random(8) + 0.1
    gaussian = Gaussian(rng.standard_normal(8), fost.DCT(8), variances)
    U = fost.DCT(8).matrix
    np.testing.assert_allclose(gaussian.covariance, U @ np.diag(variances) @ U.T, atol=1e-13)
    again = Gaussian._from_covariance(gaussian.mean, gaussian.covariance)
    np.testing.assert_allclose(again.precision, gaussian.precision, atol=1e-11)
    np.testing.assert_allclose(again.log_determinant, gaussian.log_determinant, atol=1e-11)
    np.testing.assert_allclose(again.variances, np.sort(variances)[::-1], atol=1e-12)
    back = again.transform.matrix @ again.transform.inverse(np.diag(again.variances))
    np.testing.assert_allclose(back, gaussian.covariance, atol=1e-12)
    np.testing.assert_allclose(again.in_domain(fost.DCT(8)).variances, variances, atol=1e-12)


def smooth_and_rough() -> Mixture:
    smooth = Gaussian(np.full(12, 1.0), fost.DCT(12), 2.0 ** -np.arange(12))
    rough = Gaussian(np.full(12, -1.0), fost.DCT(12), 2.0 ** -np.arange(12)[::-1])
    return Mixture([smooth, rough], [3, 1])


def sample(mixture: Mixture, count: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    labels = rng.choice(len(mixture.members), count, p=mixture.weights)
    rows = [
        rng.multivariate_normal(mixture.members[k].mean, mixture.members[k].covariance)
        for k in labels
    ]
    return np.array(rows)


def test_fill_returns_posterior_means_and_standard_deviations() -> None:
    mixture = smooth_and_rough()
    Y = sample(mixture, 50)
    missing = np.random.default_rng(1).random(Y.shape) < 0.4
    filled, std = mixture.fill(np.where(missing, np.nan, Y), return_std=True)
    for y, mask, row, deviation in zip(Y, missing, filled, std, strict=True):
        found = [reference.condition(g.mean, g.covariance, y, mask) for g in mixture.members]
        likely = mixture.weights * np.exp([one[1] for one in found])
        likely /= likely.sum()
        means = np.array([one[0] for one in found])
        mean = likely @ means
        second = likely @ np.array([np.diag(one[2]) + one[0] ** 2 for one in found])
        np.testing.assert_allclose(row, mean, atol=1e-9)
        np.testing.assert_allclose(deviation[mask] ** 2, (second - mean**2)[mask], atol=1e-8)
    assert (std[~missing] == 0).all()
    assert np.array_equal(mixture.fill(Y, missing), filled)


def test_standard_deviations_are_calibrated() -> None:
    mixture = smooth_and_rough()
    Y = sample(mixture, 4000)
    missing = np.random.default_rng(1).random(Y.shape) < 0.3
    filled, std = mixture.fill(Y, missing, return_std=True)
    ratio = np.mean((filled - Y)[missing] ** 2) / np.mean(std[missing] ** 2)
    assert 0.9 < ratio < 1.1  # 14,000 entries: five standard errors are 0.06


def test_only_the_likeliest_of_many_members_count() -> None:
    """More members than candidates; all but two are far from all signals."""
    mixture = smooth_and_rough()
    far = [Gaussian(np.full(12, 1e3 * k), fost.DCT(12), np.ones(12)) for k in range(2, 12)]
    many = Mixture([*far[:5], *mixture.members, *far[5:]], [*[1e-3] * 5, 3, 1, *[1e-3] * 5])
    Y = sample(mixture, 200)
    missing = np.random.default_rng(1).random(Y.shape) < 0.4
    np.testing.assert_allclose(many.fill(Y, missing), mixture.fill(Y, missing), atol=1e-9)


def test_members_that_overflow_single_precision_are_ranked_last() -> None:
    wide = [Gaussian(np.full(3, float(k)), fost.DCT(3), np.ones(3)) for k in range(3)]
    narrow = Gaussian(np.zeros(3), fost.DCT(3), np.full(3, 1e-42))  # 1e42 overflows float32
    mixture = Mixture([*wide, narrow], [1, 1, 1, 1])

    chosen = mixture.likeliest(np.array([[0.0, 0.1, 0.2], [1.9, 2.0, 2.1]]), margin=7.0)

    assert chosen.tolist() == [[True, True, False, False], [False, True, True, False]]


def test_types_and_memory_layouts() -> None:
    mixture = smooth_and_rough()
    Y = sample(mixture, 40).astype(np.float32)
    Y[np.random.default_rng(1).random(Y.shape) < 0.4] = np.nan
    filled = mixture.fill(Y)
    assert filled.dtype == np.float32
    seen = ~np.isnan(Y)
    assert (filled[seen] == Y[seen]).all()
    assert np.isfinite(filled).all()
    np.testing.assert_allclose(mixture.fill(np.asfortranarray(Y)), filled)
    whole = mixture.fill(np.full((1, 12), np.nan))
    np.testing.assert_allclose(whole[0], mixture.mean)


def test_masks_of_bytes_other_than_one() -> None:
    mixture = smooth_and_rough()
    Y, missing = sample(mixture, 40), np.random.default_rng(1).random((40, 12)) < 0.4
    other = (np.uint8(255) * missing).view(bool)
    np.testing.assert_array_equal(mixture.fill(Y, other), mixture.fill(Y, missing))


def test_errors_name_the_argument() -> None:
    mixture, Y = smooth_and_rough(), np.zeros((3, 12))
    with pytest.raises(ValueError, match="missing must have the shape of Y"):
        mixture.fill(Y, np.zeros((3, 11), bool))
    with pytest.raises(TypeError, match="missing must be boolean"):
        mixture.fill(Y, np.zeros((3, 12)))
    with pytest.raises(ValueError, match="Y contains NaN or infinity where it is not missing"):
        mixture.fill(np.full((3, 12), np.nan), np.zeros((3, 12), bool))
    with pytest.raises(ValueError, match="Y contains infinity"):
        mixture.fill(np.full((3, 12), np.inf))
    with pytest.raises(ValueError, match="Y has 5 features"):
        mixture.fill(np.zeros((3, 5)))
    with pytest.raises(ValueError, match="weights must be positive"):
        Mixture(mixture.members, [1, 0])
    with pytest.raises(TypeError, match="members must be Gaussians, got int"):
        Mixture([3])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="variances must not be negative"):
        Gaussian(np.zeros(4), fost.DCT(4), [1, 1, 1, -1])
    with pytest.raises(TypeError, match="transform must be a transform"):
        Gaussian(np.zeros(4), np.eye(4), np.ones(4))  # type: ignore[arg-type]
