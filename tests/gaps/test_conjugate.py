"""Gaps of long signals, filled by conjugate gradients as by factors."""

from __future__ import annotations

import numpy as np
import pytest

import fost
from fost import gaps
from fost.gaps import Gaussian, Mixture
from fost.gaps import mixture as mixtures
from fost.gaps.conditioning import condition
from fost.gaps.conjugate import conjugate, is_cheaper


def spectra(n: int) -> dict[str, np.ndarray]:
    k = np.arange(1.0, n + 1)
    return {
        "walk": k**-2,
        "smooth": k**-4 + 1e-6,
        "rough": 1 / k,
        "band": np.exp(-(((k / n - 0.2) / 0.1) ** 2)) + 1e-4,
        "white": np.ones(n),
    }


def holes(kind: str, count: int, n: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    missing = np.zeros((count, n), bool)
    if kind in ("runs", "both"):
        for row in missing:
            for start in rng.integers(0, n - n // 16, 3):
                row[start : start + n // 16] = True
    if kind in ("scattered", "both"):
        missing |= rng.random(missing.shape) < 0.3
    missing[0], missing[1] = False, True  # nothing is missing, and everything
    return missing


def drawn(gaussian: Gaussian, count: int) -> np.ndarray:
    noise = np.random.default_rng(2).standard_normal((count, gaussian.n_features))
    return gaussian.mean + gaussian.transform.inverse(np.sqrt(gaussian.variances) * noise)


@pytest.mark.parametrize("spectrum", spectra(8))
@pytest.mark.parametrize("kind", ["scattered", "runs", "both"])
@pytest.mark.parametrize("scale", [1e-120, 1.0, 1e120])
def test_it_is_what_factors_give(spectrum: str, kind: str, scale: float) -> None:
    n = 200
    variances = scale**2 * spectra(n)[spectrum]
    gaussian = Gaussian(scale * np.linspace(-1, 1, n), fost.DCT(n), variances)
    Y, missing = drawn(gaussian, 12), holes(kind, 12, n)
    found = conjugate(gaussian, np.where(missing, np.nan, Y), missing)
    expected = condition(gaussian, Y, missing).rows
    assert (found[~missing] == Y[~missing]).all()
    # Residuals are 1e-10 of what they were; conditions are up to 1e4.
    np.testing.assert_allclose(found / scale, expected / scale, atol=1e-6 * np.std(Y / scale))


@pytest.mark.parametrize("transform", [fost.Hadamard(128), fost.Wavelet(128, "db4")], ids=str)
def test_other_transforms_do_too(transform: fost.Transform) -> None:
    gaussian = Gaussian(np.zeros(128), transform, spectra(128)["rough"])
    Y, missing = drawn(gaussian, 10), holes("both", 10, 128)
    expected = condition(gaussian, Y, missing).rows
    np.testing.assert_allclose(conjugate(gaussian, Y, missing), expected, atol=1e-7)


def test_what_does_not_come_down_is_solved_by_factors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fost.gaps.conjugate._MOST_MORE", 3 - 64)  # three steps
    gaussian = Gaussian(np.zeros(64), fost.DCT(64), spectra(64)["walk"])
    Y, missing = drawn(gaussian, 10), holes("both", 10, 64)
    expected = condition(gaussian, Y, missing).rows
    np.testing.assert_allclose(conjugate(gaussian, Y, missing), expected, atol=1e-9)


def test_long_signals_take_the_cheaper_way() -> None:
    def cheaper(n: int, count: int = 4, same: bool = False, made: bool = True) -> bool:
        gaussian = Gaussian(np.zeros(n), fost.DCT(n), np.ones(n))
        if made:
            gaussian.__dict__["precision"] = np.empty((0, 0))
        missing = np.random.default_rng(0).random((count, n)) < 0.3
        return is_cheaper(gaussian, np.repeat(missing[:1], count, axis=0) if same else missing)

    assert not cheaper(64)
    assert not cheaper(256)
    assert cheaper(4096)
    assert cheaper(1024, made=False)
    assert not cheaper(2048, 4000, same=True)  # one factor for all of them
    covariance = Gaussian.of_covariance(np.zeros(2), np.eye(2))
    assert not is_cheaper(covariance, np.zeros((1, 2), bool))


def test_fill_of_long_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    """No n x n matrix is made; error bars come from factors, and are those of the same Gaussian."""
    n = 1024
    gaussian = Gaussian(np.zeros(n), fost.DCT(n), spectra(n)["smooth"])
    Y, missing = drawn(gaussian, 3), holes("scattered", 3, n)
    mixture = Mixture([gaussian])
    filled = mixture.fill(Y, missing)
    assert "covariance" not in gaussian.__dict__
    again, bars = mixture.fill(Y, missing, return_std=True)
    np.testing.assert_allclose(filled, again, atol=1e-8)
    expected = condition(gaussian, Y, missing, variances=True).variances
    assert expected is not None
    np.testing.assert_allclose(bars, np.sqrt(expected), atol=1e-12)
    monkeypatch.setattr(mixtures, "is_cheaper", lambda *_: False)
    np.testing.assert_allclose(filled, mixture.fill(Y, missing), atol=1e-8)


def test_threads_change_no_bit() -> None:
    gaussian = Gaussian(np.zeros(256), fost.DCT(256), spectra(256)["rough"])
    Y, missing = drawn(gaussian, 40), holes("both", 40, 256)
    before, found = fost.get_num_threads(), []
    try:
        for threads in (1, 3):
            fost.set_num_threads(threads)
            found.append(conjugate(gaussian, Y, missing))
    finally:
        fost.set_num_threads(before)
    assert np.array_equal(*found)


def test_signals_of_a_learned_domain_may_be_long() -> None:
    """A mixture with a coder keeps its transform, and fills by it."""
    rng = np.random.default_rng(0)
    Y = np.cumsum(rng.standard_normal((60, 40)), axis=1)
    X = np.where(rng.random(Y.shape) < 0.2, np.nan, Y)
    (member,) = gaps.learn(X, coder=fost.DCT(40)).members
    assert member.has_transform
    missing = np.isnan(X)
    expected = condition(member, np.nan_to_num(X), missing).rows
    np.testing.assert_allclose(conjugate(member, X, missing), expected, atol=1e-6)
