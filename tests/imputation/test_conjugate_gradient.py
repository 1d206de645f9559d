"""Conjugate gradients agree with factorisations."""

from __future__ import annotations

import numpy as np
import pytest

import fost
from fost.imputation import Gaussian, Mixture, conditioning, fit_mixture
from fost.imputation import mixture as mixture_module
from fost.imputation.conditioning import condition, fill_iteratively, is_cheaper


def spectra(n: int) -> dict[str, np.ndarray]:
    k = np.arange(1.0, n + 1)
    return {
        "walk": k**-2,
        "smooth": k**-4 + 1e-6,
        "rough": 1 / k,
        "band": np.exp(-(((k / n - 0.2) / 0.1) ** 2)) + 1e-4,
        "white": np.ones(n),
    }


def missing_pattern(kind: str, count: int, n: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    missing = np.zeros((count, n), bool)
    if kind in ("runs", "both"):
        for row in missing:
            for start in rng.integers(0, n - n // 16, 3):
                row[start : start + n // 16] = True
    if kind in ("isolated", "both"):
        missing |= rng.random(missing.shape) < 0.3
    missing[0], missing[1] = False, True  # no entry and all entries are missing
    return missing


def drawn(gaussian: Gaussian, count: int) -> np.ndarray:
    noise = np.random.default_rng(2).standard_normal((count, gaussian.n_features))
    return gaussian.mean + gaussian.transform.inverse(np.sqrt(gaussian.variances) * noise)


@pytest.mark.parametrize("spectrum", spectra(8))
@pytest.mark.parametrize("kind", ["isolated", "runs", "both"])
@pytest.mark.parametrize("scale", [1e-120, 1.0, 1e120])
def test_conditional_means_agree_with_factorisation(spectrum: str, kind: str, scale: float) -> None:
    n = 200
    variances = scale**2 * spectra(n)[spectrum]
    gaussian = Gaussian(scale * np.linspace(-1, 1, n), fost.DCT(n), variances)
    Y, missing = drawn(gaussian, 12), missing_pattern(kind, 12, n)
    found = fill_iteratively(gaussian, np.where(missing, np.nan, Y), missing)
    expected = condition(gaussian, Y, missing).filled
    assert (found[~missing] == Y[~missing]).all()
    # Residuals fall by 1e-10; condition numbers are up to 1e4.
    np.testing.assert_allclose(found / scale, expected / scale, atol=1e-6 * np.std(Y / scale))


@pytest.mark.parametrize("transform", [fost.Hadamard(128), fost.Wavelet(128, "db4")], ids=str)
def test_transforms_that_are_not_of_frequencies(transform: fost.Transform) -> None:
    gaussian = Gaussian(np.zeros(128), transform, spectra(128)["rough"])
    Y, missing = drawn(gaussian, 10), missing_pattern("both", 10, 128)
    expected = condition(gaussian, Y, missing).filled
    np.testing.assert_allclose(fill_iteratively(gaussian, Y, missing), expected, atol=1e-7)


def test_signals_that_do_not_converge_are_solved_by_factorisation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(conditioning, "_EXTRA_ITERATIONS", 3 - 64)  # three iterations
    gaussian = Gaussian(np.zeros(64), fost.DCT(64), spectra(64)["walk"])
    Y, missing = drawn(gaussian, 10), missing_pattern("both", 10, 64)
    expected = condition(gaussian, Y, missing).filled
    np.testing.assert_allclose(fill_iteratively(gaussian, Y, missing), expected, atol=1e-9)


def test_cost_model_prefers_conjugate_gradients_for_long_signals() -> None:
    def cheaper(n: int, count: int = 4, same: bool = False, inverted: bool = True) -> bool:
        gaussian = Gaussian(np.zeros(n), fost.DCT(n), np.ones(n))
        if inverted:
            gaussian._inverse = np.empty((0, 0)), 0.0
        missing = np.random.default_rng(0).random((count, n)) < 0.3
        return is_cheaper(gaussian, np.repeat(missing[:1], count, axis=0) if same else missing)

    assert not cheaper(64)
    assert not cheaper(256)
    assert cheaper(4096)
    assert cheaper(1024, inverted=False)
    assert not cheaper(2048, 4000, same=True)  # all signals share one factor
    covariance = Gaussian._from_covariance(np.zeros(2), np.eye(2))
    assert not is_cheaper(covariance, np.zeros((1, 2), bool))


def test_fill_of_long_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    """No n x n matrix is computed; deviations are those of the factorisation."""
    n = 1024
    gaussian = Gaussian(np.zeros(n), fost.DCT(n), spectra(n)["smooth"])
    Y, missing = drawn(gaussian, 3), missing_pattern("isolated", 3, n)
    mixture = Mixture([gaussian])
    filled = mixture.fill(Y, missing)
    assert gaussian._covariance is None
    assert not gaussian.has_precision
    again, std = mixture.fill(Y, missing, return_std=True)
    np.testing.assert_allclose(filled, again, atol=1e-8)
    expected = condition(gaussian, Y, missing, variances=True).variances
    assert expected is not None
    np.testing.assert_allclose(std, np.sqrt(expected), atol=1e-12)
    monkeypatch.setattr(mixture_module, "is_cheaper", lambda *_: False)
    np.testing.assert_allclose(filled, mixture.fill(Y, missing), atol=1e-8)


def test_results_are_bit_identical_for_any_number_of_threads() -> None:
    gaussian = Gaussian(np.zeros(256), fost.DCT(256), spectra(256)["rough"])
    Y, missing = drawn(gaussian, 40), missing_pattern("both", 40, 256)
    before, found = fost.get_num_threads(), []
    try:
        for threads in (1, 3):
            fost.set_num_threads(threads)
            found.append(fill_iteratively(gaussian, Y, missing))
    finally:
        fost.set_num_threads(before)
    assert np.array_equal(*found)


def test_members_of_a_fitted_mixture_keep_the_transform() -> None:
    """So conjugate gradients can fill signals under them."""
    rng = np.random.default_rng(0)
    Y = np.cumsum(rng.standard_normal((60, 40)), axis=1)
    X = np.where(rng.random(Y.shape) < 0.2, np.nan, Y)
    (member,) = fit_mixture(X, coder=fost.DCT(40)).members
    assert member.has_transform
    missing = np.isnan(X)
    expected = condition(member, np.nan_to_num(X), missing).filled
    np.testing.assert_allclose(fill_iteratively(member, X, missing), expected, atol=1e-6)
