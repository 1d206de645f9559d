"""The conditioning kernels agree with their NumPy twins and do not depend on threads."""

from __future__ import annotations

import numpy as np
import pytest

import fost
from fost import _core
from fost.imputation import Gaussian, Mixture
from fost.imputation.conditioning import (
    condition,
    condition_members,
    conditional_covariances,
    keep_observed,
    zero_missing,
)
from fost.imputation.gaussian import invert_covariances
from tests import reference


def some_gaussian(n: int, seed: int = 0) -> Gaussian:
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((n, n))
    covariance = factor @ factor.T / n + 0.1 * np.eye(n)  # condition number below 1e2
    return Gaussian._from_covariance(rng.standard_normal(n), covariance)


@pytest.mark.parametrize("isa", _core.available_isas())
@pytest.mark.parametrize("n", [1, 2, 5, 16, 33])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.9, 1.0])
def test_kernel_agrees_with_numpy_twin(isa: str, n: int, share: float) -> None:
    rng = np.random.default_rng(1)
    gaussian = some_gaussian(n)
    Y = rng.standard_normal((70, n))
    missing = rng.random(Y.shape) < share
    missing[::3] = missing[0]  # a pattern that several signals share
    weights = rng.random(70)
    before = _core.get_isa()
    _core.set_isa(isa)
    try:
        found = condition(gaussian, Y, missing, log_densities=True, variances=True, weights=weights)
    finally:
        _core.set_isa(before)
    known = gaussian.mean, gaussian.covariance
    twins = [reference.condition(*known, *row) for row in zip(Y, missing, strict=True)]
    assert found.log_densities is not None
    assert found.variances is not None
    # Condition numbers below 1e2 and sums of 33 terms leave more than ten correct digits.
    np.testing.assert_allclose(found.filled, [t[0] for t in twins], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.log_densities, [t[1] for t in twins], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.variances, [np.diag(t[2]) for t in twins], atol=1e-9)
    total = sum(w * t[2] for w, t in zip(weights, twins, strict=True))
    np.testing.assert_allclose(found.covariance, total, atol=1e-9)
    assert (found.filled[~missing] == Y[~missing]).all()


@pytest.mark.parametrize("isa", _core.available_isas())
@pytest.mark.parametrize("scale", [1e-120, 1.0, 1e120])
def test_batched_signals_with_different_numbers_of_missing_entries(isa: str, scale: float) -> None:
    """From no to all entries missing; determinants overflow and underflow."""
    n = 19
    some = some_gaussian(n)
    gaussian = Gaussian._from_covariance(scale * some.mean, scale**2 * some.covariance)
    rng = np.random.default_rng(3)
    Y = rng.standard_normal((11, n))
    missing = (
        np.array([0, 1, 1, 2, 18, 18, 9, 19, 3, 19, 10])[:, None]
        > rng.random((n, 11)).argsort(axis=0).T
    )
    before = _core.get_isa()
    _core.set_isa(isa)
    try:
        found = condition(gaussian, scale * Y, missing, log_densities=True, variances=True)
    finally:
        _core.set_isa(before)
    twins = [
        reference.condition(some.mean, some.covariance, *row)
        for row in zip(Y, missing, strict=True)
    ]
    np.testing.assert_allclose(found.filled / scale, [t[0] for t in twins], rtol=1e-9, atol=1e-9)
    variances = [np.diag(t[2]) for t in twins]
    assert found.variances is not None
    np.testing.assert_allclose(found.variances / scale / scale, variances, atol=1e-9)
    # The density is divided by the scale for each observed entry.
    expected = [t[1] - (~g).sum() * np.log(scale) for t, g in zip(twins, missing, strict=True)]
    np.testing.assert_allclose(found.log_densities, expected, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("isa", _core.available_isas())
@pytest.mark.parametrize("n", [4, 7, 16, 19, 40, 64])
def test_batches_of_signals_with_all_and_few_entries_missing(isa: str, n: int) -> None:
    """Sizes that are not multiples of the block size: matrix rows must not overlap."""
    rng = np.random.default_rng(6)
    gaussian = some_gaussian(n)
    Y = rng.standard_normal((6, n))
    missing = rng.random(Y.shape) < 0.3
    missing[::2] = True
    before = _core.get_isa()
    _core.set_isa(isa)
    try:
        for first in range(len(Y) - 1):
            found = condition(
                gaussian, Y[first:], missing[first:], variances=True, weights=np.ones(6 - first)
            )
            known = gaussian.mean, gaussian.covariance
            twins = [
                reference.condition(*known, *row)
                for row in zip(Y[first:], missing[first:], strict=True)
            ]
            np.testing.assert_allclose(found.filled, [t[0] for t in twins], rtol=1e-9, atol=1e-9)
            variances = [np.diag(t[2]) for t in twins]
            np.testing.assert_allclose(found.variances, variances, atol=1e-9)
            np.testing.assert_allclose(found.covariance, sum(t[2] for t in twins), atol=1e-9)
    finally:
        _core.set_isa(before)


@pytest.mark.parametrize("isa", _core.available_isas())
@pytest.mark.parametrize("most", [33, 40, 41, 63])
def test_conditional_covariances_of_few_and_many_missing_entries(isa: str, most: int) -> None:
    """On both sides of the count, 40 of 64, at which the kernel changes its method."""
    n, gaussian = 64, some_gaussian(64)
    rng = np.random.default_rng(5)
    counts = np.array([2, 5, 10, 20, 30, 32, 33, most] * 2)
    Y = rng.standard_normal((len(counts), n))
    missing = counts[:, None] > rng.random((n, len(counts))).argsort(axis=0).T
    weights = rng.random(len(counts))
    before = _core.get_isa()
    _core.set_isa(isa)
    try:
        found = condition(gaussian, Y, missing, log_densities=True, weights=weights)
    finally:
        _core.set_isa(before)
    known = gaussian.mean, gaussian.covariance
    twins = [reference.condition(*known, *row) for row in zip(Y, missing, strict=True)]
    # Condition numbers below 1e2 leave more than ten correct digits.
    np.testing.assert_allclose(found.filled, [t[0] for t in twins], rtol=1e-9, atol=1e-9)
    assert found.log_densities is not None
    np.testing.assert_allclose(found.log_densities, [t[1] for t in twins], rtol=1e-9, atol=1e-9)
    total = sum(w * t[2] for w, t in zip(weights, twins, strict=True))
    np.testing.assert_allclose(found.covariance, total, atol=1e-9)


def test_results_are_bit_identical_for_any_number_of_threads() -> None:
    rng = np.random.default_rng(2)
    gaussian = some_gaussian(24)
    Y = rng.standard_normal((3000, 24))
    missing = rng.random(Y.shape) < 0.4
    before, results = fost.get_num_threads(), []
    try:
        for threads in (1, 2, 5):
            fost.set_num_threads(threads)
            results.append(
                condition(gaussian, Y, missing, log_densities=True, weights=np.ones(len(Y)))
            )
    finally:
        fost.set_num_threads(before)
    for other in results[1:]:
        assert np.array_equal(results[0].filled, other.filled)
        assert np.array_equal(results[0].log_densities, other.log_densities)  # type: ignore[arg-type]
        assert np.array_equal(results[0].covariance, other.covariance)  # type: ignore[arg-type]


@pytest.mark.parametrize("isa", _core.available_isas())
@pytest.mark.parametrize("every", [2, 3, 100])
def test_conditional_covariances_of_a_subset_are_scaled_to_all(isa: str, every: int) -> None:
    """The subset is taken in groups of eight signals, sorted by their missing entries."""
    rng = np.random.default_rng(4)
    gaussian, n = some_gaussian(12), 12
    Y, weights = rng.standard_normal((100, n)), rng.random(100)
    missing = rng.random(Y.shape) < 0.4
    before = _core.get_isa()
    _core.set_isa(isa)
    try:
        found = condition(gaussian, Y, missing, weights=weights, every=every)
        filled = condition(gaussian, Y, missing).filled
    finally:
        _core.set_isa(before)
    # The kernel factors other matrices if it needs covariances, so bits differ.
    np.testing.assert_allclose(found.filled, filled, rtol=1e-9, atol=1e-9)
    masks = missing @ (1 << np.arange(n)[::-1])
    order = np.lexsort((masks, missing.sum(axis=1)))
    counted = order[np.arange(100) // 8 % every == 0]
    known = gaussian.mean, gaussian.covariance
    total = sum(weights[k] * reference.condition(*known, Y[k], missing[k])[2] for k in counted)
    total = total * (weights.sum() / weights[counted].sum())
    np.testing.assert_allclose(found.covariance, total, atol=1e-9)


def some_members(n: int, count: int) -> list[Gaussian]:
    return [some_gaussian(n, seed) for seed in range(count)]


@pytest.mark.parametrize("isa", _core.available_isas())
@pytest.mark.parametrize("n", [1, 5, 8, 19, 64])
@pytest.mark.parametrize("count", [1, 3, 9])
def test_several_gaussians_at_once_are_bit_identical_to_one_by_one(
    isa: str, n: int, count: int
) -> None:
    rng = np.random.default_rng(7)
    members = some_members(n, count)
    Y = rng.standard_normal((90, n))
    missing = rng.random(Y.shape) < 0.5
    rows = [np.flatnonzero(rng.random(90) < 0.6) for _ in members]
    rows[-1] = rows[-1][: 90 * (count > 1)]  # a member without signals
    weights = [rng.random(len(own)) for own in rows]
    before = _core.get_isa()
    _core.set_isa(isa)
    try:
        found = condition_members(members, Y, missing, rows, variances=True)
        sums = conditional_covariances(members, missing, rows, weights)
        for k, (member, own) in enumerate(zip(members, rows, strict=True)):
            alone = condition(member, Y, missing, own, log_densities=True, variances=True)
            assert np.array_equal(alone.filled, found[k].filled)
            assert np.array_equal(alone.log_densities, found[k].log_densities)  # type: ignore[arg-type]
            assert np.array_equal(alone.variances, found[k].variances)  # type: ignore[arg-type]
            total = condition(member, Y, missing, own, weights=weights[k]).covariance
            assert np.array_equal(total, sums[k])  # type: ignore[arg-type]
    finally:
        _core.set_isa(before)


@pytest.mark.parametrize("isa", _core.available_isas())
@pytest.mark.parametrize("n", [1, 3, 4, 17, 64, 128])
@pytest.mark.parametrize("scale", [1e-120, 1.0, 1e120])
def test_batched_inverses_agree_with_numpy_twin_and_one_by_one(
    isa: str, n: int, scale: float
) -> None:
    members = some_members(n, 11)
    scaled = [Gaussian._from_covariance(m.mean, scale**2 * m.covariance) for m in members]
    before = _core.get_isa()
    _core.set_isa(isa)
    try:
        invert_covariances(scaled)
        for member, one in zip(members, scaled, strict=True):
            again = Gaussian._from_covariance(one.mean, one.covariance)
            assert np.array_equal(again.precision, one.precision)
            assert again.log_determinant == one.log_determinant
            inverse, logarithm = reference.invert_covariance(member.covariance)
            # Condition numbers below 1e2 and sums of 128 terms leave more than ten correct digits.
            np.testing.assert_allclose(one.precision * scale**2, inverse, rtol=1e-9, atol=1e-9)
            expected = logarithm + 2 * n * np.log(scale)
            np.testing.assert_allclose(one.log_determinant, expected, rtol=1e-9, atol=1e-8)
            assert np.array_equal(one.precision, one.precision.T)
    finally:
        _core.set_isa(before)


@pytest.mark.parametrize("isa", _core.available_isas())
def test_singular_covariances_are_inverted_by_eigenvalues(isa: str) -> None:
    rng = np.random.default_rng(8)
    factor = rng.standard_normal((12, 3))
    singular = Gaussian._from_covariance(np.zeros(12), factor @ factor.T)
    definite = some_gaussian(12)
    before = _core.get_isa()
    _core.set_isa(isa)
    try:
        invert_covariances([singular, definite])
        assert not singular.has_precision
        assert definite.has_precision
        assert np.isfinite(singular.precision).all()
        assert np.isfinite(singular.log_determinant)
    finally:
        _core.set_isa(before)


@pytest.mark.parametrize("isa", _core.available_isas())
@pytest.mark.parametrize("n", [1, 4, 7, 64])
@pytest.mark.parametrize("count", [1, 31, 32, 200])
def test_energies_agree_with_numpy_twin(isa: str, n: int, count: int) -> None:
    members = some_members(n, 5)
    Y = np.random.default_rng(9).standard_normal((count, n)).astype(np.float32)
    means = np.array([m.mean for m in members], np.float32)
    precisions = np.array([m.precision for m in members], np.float32)
    found = np.empty((count, 5), np.float32)
    before = _core.get_isa()
    _core.set_isa(isa)
    try:
        _core.find_energies(Y, means, precisions, found)
    finally:
        _core.set_isa(before)
    expected = reference.find_energies(*(one.astype(float) for one in (Y, means, precisions)))
    # Seven digits of single precision, of which condition numbers below 1e2 cancel two.
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_zero_missing_and_keep_observed_copy_all_bits(kind: type) -> None:
    Y = np.array([[-0.0, np.nan, 1.5, -2.0, np.nan], [np.inf, 0.0, -1.0, np.nan, 3.0]], kind)
    missing = np.isnan(Y) | np.isinf(Y)
    other = np.random.default_rng(10).standard_normal(Y.shape).astype(kind)
    for found, expected in (
        (zero_missing(Y, missing), np.where(missing, kind(0), Y)),
        (keep_observed(other, Y, missing), np.where(missing, other, Y)),
        (
            keep_observed(other[:, ::2], Y[:, ::2], missing[:, ::2]),
            np.where(missing, other, Y)[:, ::2],
        ),
    ):
        assert found.dtype == kind
        assert found.tobytes() == expected.tobytes()  # including the signs of zeros


def test_several_members_are_bit_identical_for_any_number_of_threads() -> None:
    rng = np.random.default_rng(11)
    members = some_members(24, 4)
    Y = rng.standard_normal((3000, 24))
    missing = rng.random(Y.shape) < 0.4
    rows = [np.flatnonzero(rng.random(3000) < 0.5) for _ in members]
    weights = [rng.random(len(own)) for own in rows]
    before, results = fost.get_num_threads(), []
    mixture = Mixture(members)
    try:
        for threads in (1, 2, 5):
            fost.set_num_threads(threads)
            found = condition_members(members, Y, missing, rows)
            sums = conditional_covariances(members, missing, rows, weights)
            results.append([*(one.filled for one in found), sums, mixture.likeliest(Y)])
    finally:
        fost.set_num_threads(before)
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], other, strict=True))
