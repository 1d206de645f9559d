"""The kernel that fills gaps, against its twin, and what it must not depend on."""

from __future__ import annotations

import numpy as np
import pytest

import fost
from fost import _core
from fost.gaps import Gaussian
from fost.gaps.conditioning import (
    blanked,
    condition,
    condition_members,
    conditional_covariances,
    merged,
)
from fost.gaps.gaussian import invert
from tests import reference


def some_gaussian(n: int, seed: int = 0) -> Gaussian:
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((n, n))
    covariance = factor @ factor.T / n + 0.1 * np.eye(n)  # its condition is below 1e2
    return Gaussian.of_covariance(rng.standard_normal(n), covariance)


@pytest.mark.parametrize("isa", _core.available_isas())
@pytest.mark.parametrize("n", [1, 2, 5, 16, 33])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.9, 1.0])
def test_the_kernel_is_its_twin(isa: str, n: int, share: float) -> None:
    rng = np.random.default_rng(1)
    gaussian = some_gaussian(n)
    Y = rng.standard_normal((70, n))
    gaps = rng.random(Y.shape) < share
    gaps[::3] = gaps[0]  # some have the same gaps
    weights = rng.random(70)
    before = _core.get_isa()
    _core.set_isa(isa)
    try:
        found = condition(gaussian, Y, gaps, densities=True, variances=True, weights=weights)
    finally:
        _core.set_isa(before)
    known = gaussian.mean, gaussian.covariance
    twins = [reference.condition(*known, *row) for row in zip(Y, gaps, strict=True)]
    assert found.densities is not None
    assert found.variances is not None
    # Conditions below 1e2 and sums of 33 leave more than ten digits of sixteen.
    np.testing.assert_allclose(found.rows, [t[0] for t in twins], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.densities, [t[1] for t in twins], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.variances, [np.diag(t[2]) for t in twins], atol=1e-9)
    total = sum(w * t[2] for w, t in zip(weights, twins, strict=True))
    np.testing.assert_allclose(found.covariance, total, atol=1e-9)
    assert (found.rows[~gaps] == Y[~gaps]).all()


@pytest.mark.parametrize("isa", _core.available_isas())
@pytest.mark.parametrize("scale", [1e-120, 1.0, 1e120])
def test_signals_side_by_side_may_differ_in_all(isa: str, scale: float) -> None:
    """Some miss hardly anything, some nearly all; determinants are beyond the range of numbers."""
    n = 19
    some = some_gaussian(n)
    gaussian = Gaussian.of_covariance(scale * some.mean, scale**2 * some.covariance)
    rng = np.random.default_rng(3)
    Y = rng.standard_normal((11, n))
    gaps = (
        np.array([0, 1, 1, 2, 18, 18, 9, 19, 3, 19, 10])[:, None]
        > rng.random((n, 11)).argsort(axis=0).T
    )
    before = _core.get_isa()
    _core.set_isa(isa)
    try:
        found = condition(gaussian, scale * Y, gaps, densities=True, variances=True)
    finally:
        _core.set_isa(before)
    twins = [
        reference.condition(some.mean, some.covariance, *row) for row in zip(Y, gaps, strict=True)
    ]
    np.testing.assert_allclose(found.rows / scale, [t[0] for t in twins], rtol=1e-9, atol=1e-9)
    variances = [np.diag(t[2]) for t in twins]
    assert found.variances is not None
    np.testing.assert_allclose(found.variances / scale / scale, variances, atol=1e-9)
    # A density falls by the scale of each observed entry.
    expected = [t[1] - (~g).sum() * np.log(scale) for t, g in zip(twins, gaps, strict=True)]
    np.testing.assert_allclose(found.densities, expected, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("isa", _core.available_isas())
@pytest.mark.parametrize("n", [4, 7, 16, 19, 40, 64])
def test_all_may_be_missing_beside_little(isa: str, n: int) -> None:
    """Sizes that are no multiples of blocks: rows of matrices must not reach into each other."""
    rng = np.random.default_rng(6)
    gaussian = some_gaussian(n)
    Y = rng.standard_normal((6, n))
    gaps = rng.random(Y.shape) < 0.3
    gaps[::2] = True
    before = _core.get_isa()
    _core.set_isa(isa)
    try:
        for first in range(len(Y) - 1):
            found = condition(
                gaussian, Y[first:], gaps[first:], variances=True, weights=np.ones(6 - first)
            )
            known = gaussian.mean, gaussian.covariance
            twins = [
                reference.condition(*known, *row)
                for row in zip(Y[first:], gaps[first:], strict=True)
            ]
            np.testing.assert_allclose(found.rows, [t[0] for t in twins], rtol=1e-9, atol=1e-9)
            variances = [np.diag(t[2]) for t in twins]
            np.testing.assert_allclose(found.variances, variances, atol=1e-9)
            np.testing.assert_allclose(found.covariance, sum(t[2] for t in twins), atol=1e-9)
    finally:
        _core.set_isa(before)


@pytest.mark.parametrize("isa", _core.available_isas())
@pytest.mark.parametrize("most", [33, 40, 41, 63])
def test_covariances_of_few_and_many_gaps_side_by_side(isa: str, most: int) -> None:
    """On both sides of where the inverse covariance of what is missing costs less: 40 of 64."""
    n, gaussian = 64, some_gaussian(64)
    rng = np.random.default_rng(5)
    counts = np.array([2, 5, 10, 20, 30, 32, 33, most] * 2)
    Y = rng.standard_normal((len(counts), n))
    gaps = counts[:, None] > rng.random((n, len(counts))).argsort(axis=0).T
    weights = rng.random(len(counts))
    before = _core.get_isa()
    _core.set_isa(isa)
    try:
        found = condition(gaussian, Y, gaps, densities=True, weights=weights)
    finally:
        _core.set_isa(before)
    known = gaussian.mean, gaussian.covariance
    twins = [reference.condition(*known, *row) for row in zip(Y, gaps, strict=True)]
    # As above: conditions below 1e2 leave more than ten digits of sixteen.
    np.testing.assert_allclose(found.rows, [t[0] for t in twins], rtol=1e-9, atol=1e-9)
    assert found.densities is not None
    np.testing.assert_allclose(found.densities, [t[1] for t in twins], rtol=1e-9, atol=1e-9)
    total = sum(w * t[2] for w, t in zip(weights, twins, strict=True))
    np.testing.assert_allclose(found.covariance, total, atol=1e-9)


def test_threads_change_no_bit() -> None:
    rng = np.random.default_rng(2)
    gaussian = some_gaussian(24)
    Y = rng.standard_normal((3000, 24))
    gaps = rng.random(Y.shape) < 0.4
    before, results = fost.get_num_threads(), []
    try:
        for threads in (1, 2, 5):
            fost.set_num_threads(threads)
            results.append(condition(gaussian, Y, gaps, densities=True, weights=np.ones(len(Y))))
    finally:
        fost.set_num_threads(before)
    for other in results[1:]:
        assert np.array_equal(results[0].rows, other.rows)
        assert np.array_equal(results[0].densities, other.densities)  # type: ignore[arg-type]
        assert np.array_equal(results[0].covariance, other.covariance)  # type: ignore[arg-type]


@pytest.mark.parametrize("isa", _core.available_isas())
@pytest.mark.parametrize("every", [2, 3, 100])
def test_covariances_of_some_stand_for_those_of_all(isa: str, every: int) -> None:
    """Of groups of eight, in the order of how much is missing and then of what."""
    rng = np.random.default_rng(4)
    gaussian, n = some_gaussian(12), 12
    Y, weights = rng.standard_normal((100, n)), rng.random(100)
    gaps = rng.random(Y.shape) < 0.4
    before = _core.get_isa()
    _core.set_isa(isa)
    try:
        found = condition(gaussian, Y, gaps, weights=weights, every=every)
        filled = condition(gaussian, Y, gaps).rows
    finally:
        _core.set_isa(before)
    # By other factors where covariances count; a condition below 1e2 leaves ten digits of sixteen.
    np.testing.assert_allclose(found.rows, filled, rtol=1e-9, atol=1e-9)
    masks = gaps @ (1 << np.arange(n)[::-1])
    order = np.lexsort((masks, gaps.sum(axis=1)))
    counted = order[np.arange(100) // 8 % every == 0]
    known = gaussian.mean, gaussian.covariance
    total = sum(weights[k] * reference.condition(*known, Y[k], gaps[k])[2] for k in counted)
    total = total * (weights.sum() / weights[counted].sum())
    np.testing.assert_allclose(found.covariance, total, atol=1e-9)


def some_members(n: int, count: int) -> list[Gaussian]:
    return [some_gaussian(n, seed) for seed in range(count)]


@pytest.mark.parametrize("isa", _core.available_isas())
@pytest.mark.parametrize("n", [1, 5, 8, 19, 64])
@pytest.mark.parametrize("count", [1, 3, 9])
def test_several_gaussians_at_once_are_each_by_itself(isa: str, n: int, count: int) -> None:
    rng = np.random.default_rng(7)
    members = some_members(n, count)
    Y = rng.standard_normal((90, n))
    gaps = rng.random(Y.shape) < 0.5
    used = [np.flatnonzero(rng.random(90) < 0.6) for _ in members]
    used[-1] = used[-1][: 90 * (count > 1)]  # one that nobody wants
    weights = [rng.random(len(own)) for own in used]
    before = _core.get_isa()
    _core.set_isa(isa)
    try:
        found = condition_members(members, Y, gaps, used, variances=True)
        sums = conditional_covariances(members, gaps, used, weights)
        for k, (member, own) in enumerate(zip(members, used, strict=True)):
            alone = condition(member, Y, gaps, own, densities=True, variances=True)
            assert np.array_equal(alone.rows, found[k].rows)
            assert np.array_equal(alone.densities, found[k].densities)  # type: ignore[arg-type]
            assert np.array_equal(alone.variances, found[k].variances)  # type: ignore[arg-type]
            total = condition(member, Y, gaps, own, weights=weights[k]).covariance
            assert np.array_equal(total, sums[k])  # type: ignore[arg-type]
    finally:
        _core.set_isa(before)


@pytest.mark.parametrize("isa", _core.available_isas())
@pytest.mark.parametrize("n", [1, 3, 4, 17, 64, 128])
@pytest.mark.parametrize("scale", [1e-120, 1.0, 1e120])
def test_inverses_are_their_twins_and_the_same_alone(isa: str, n: int, scale: float) -> None:
    members = some_members(n, 11)
    scaled = [Gaussian.of_covariance(m.mean, scale**2 * m.covariance) for m in members]
    before = _core.get_isa()
    _core.set_isa(isa)
    try:
        invert(scaled)
        for member, one in zip(members, scaled, strict=True):
            again = Gaussian.of_covariance(one.mean, one.covariance)
            assert np.array_equal(again.precision, one.precision)
            assert again.log_determinant == one.log_determinant
            inverse, logarithm = reference.invert_covariance(member.covariance)
            # Conditions below 1e2 and sums of 128 leave more than ten digits of sixteen.
            np.testing.assert_allclose(one.precision * scale**2, inverse, rtol=1e-9, atol=1e-9)
            expected = logarithm + 2 * n * np.log(scale)
            np.testing.assert_allclose(one.log_determinant, expected, rtol=1e-9, atol=1e-8)
            assert np.array_equal(one.precision, one.precision.T)
    finally:
        _core.set_isa(before)


@pytest.mark.parametrize("isa", _core.available_isas())
def test_what_is_singular_but_for_rounding_is_left_to_eigenvalues(isa: str) -> None:
    rng = np.random.default_rng(8)
    factor = rng.standard_normal((12, 3))
    singular = Gaussian.of_covariance(np.zeros(12), factor @ factor.T)
    definite = some_gaussian(12)
    before = _core.get_isa()
    _core.set_isa(isa)
    try:
        invert([singular, definite])
        assert "_inverse" not in vars(singular)
        assert "_inverse" in vars(definite)
        assert np.isfinite(singular.precision).all()
        assert np.isfinite(singular.log_determinant)
    finally:
        _core.set_isa(before)


@pytest.mark.parametrize("isa", _core.available_isas())
@pytest.mark.parametrize("n", [1, 4, 7, 64])
@pytest.mark.parametrize("count", [1, 31, 32, 200])
def test_energies_are_their_twin(isa: str, n: int, count: int) -> None:
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
    # Products of seven digits each, of which conditions below 1e2 cancel two.
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_gaps_are_blanked_and_filled_by_bits(kind: type) -> None:
    Y = np.array([[-0.0, np.nan, 1.5, -2.0, np.nan], [np.inf, 0.0, -1.0, np.nan, 3.0]], kind)
    gaps = np.isnan(Y) | np.isinf(Y)
    other = np.random.default_rng(10).standard_normal(Y.shape).astype(kind)
    for found, expected in (
        (blanked(Y, gaps), np.where(gaps, kind(0), Y)),
        (merged(other, Y, gaps), np.where(gaps, other, Y)),
        (merged(other[:, ::2], Y[:, ::2], gaps[:, ::2]), np.where(gaps, other, Y)[:, ::2]),
    ):
        assert found.dtype == kind
        assert found.tobytes() == expected.tobytes()  # signs of zeros, too


def test_threads_change_no_bit_of_several_members() -> None:
    rng = np.random.default_rng(11)
    members = some_members(24, 4)
    Y = rng.standard_normal((3000, 24))
    gaps = rng.random(Y.shape) < 0.4
    used = [np.flatnonzero(rng.random(3000) < 0.5) for _ in members]
    weights = [rng.random(len(own)) for own in used]
    before, results = fost.get_num_threads(), []
    mixture = fost.gaps.Mixture(members)
    try:
        for threads in (1, 2, 5):
            fost.set_num_threads(threads)
            found = condition_members(members, Y, gaps, used)
            sums = conditional_covariances(members, gaps, used, weights)
            results.append([*(one.rows for one in found), sums, mixture.likeliest(Y)])
    finally:
        fost.set_num_threads(before)
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], other, strict=True))
