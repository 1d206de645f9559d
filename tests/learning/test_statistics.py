"""The statistic of learning, M = X Y^T and ||X||^2, as one pass over the signals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import fost
from fost import _core
from fost._threads import single_threaded_blas
from fost.learning.training_data import TrainingData
from tests import cases, reference

Array = NDArray[Any]


def accumulate(transform: fost.Transform, Y: Array, s: int) -> tuple[Array, float]:
    n = transform.n_features
    M = np.full((n, n), 7.0)  # earlier values are overwritten
    # As `forward` does: with several threads BLAS might round other coefficients.
    with single_threaded_blas:
        return M, transform._plan.accumulate(Y, s, M)


def assert_statistic(transform: fost.Transform, Y: Array, s: int, case: str) -> None:
    """The kernel sums the outer products of the codes of `encode`."""
    expected, energy = reference.statistic(Y, s, lambda _: transform.forward(Y))
    M, kept = accumulate(transform, Y, s)
    X = reference.select(transform.forward(Y), s)
    # Sums of at most 1000 products in float64: 1e-12 is 4500 eps of their magnitudes.
    scale = (np.abs(X).astype(np.float64).T @ np.abs(Y).astype(np.float64)).max(initial=0)
    error = np.abs(M - expected).max()
    assert error <= 1e-12 * scale, f"{case}: {error:.2g}, scale {scale:.2g}"
    assert abs(kept - energy) <= 1e-12 * energy, f"{case}: {kept} != {energy}"


@given(
    data=st.data(),
    kind=cases.kinds,
    n=cases.n_features,
    count=cases.n_signals,
    signals=cases.signal_kinds,
    dtype=cases.dtypes,
    seed=cases.seeds,
)
def test_equals_the_reference(
    isa: str,
    data: st.DataObject,
    kind: str,
    n: int,
    count: int,
    signals: str,
    dtype: Any,
    seed: int,
) -> None:
    s = data.draw(st.integers(1, n), label="s")
    rng = np.random.default_rng(seed)
    transform = cases.make_transform(kind, n, rng)
    Y = cases.make_signals(signals, count, n, dtype, rng)
    assert_statistic(transform, Y, s, f"{transform}, {signals}")


@pytest.mark.parametrize("count", [*cases.COUNTS, 255, 256, 257, 511, 512, 513, 20_000])
def test_any_number_of_signals(isa: str, count: int) -> None:
    rng = np.random.default_rng(count)
    for kind in ("chain", "dense chain"):
        transform = cases.make_transform(kind, 24, rng)
        for dtype in cases.DTYPES:
            Y = cases.make_signals("normal", count, 24, dtype, rng)
            assert_statistic(transform, Y, 4, f"{kind}, {np.dtype(dtype)}")


@pytest.mark.parametrize("kind", cases.KINDS)
def test_equals_the_reference_transforms(isa: str, kind: str) -> None:
    rng = np.random.default_rng(0)
    transform = cases.make_transform(kind, 40, rng)
    Y = cases.make_signals("normal", 300, 40, np.float64, rng)
    expected, energy = reference.statistic(Y, 5, lambda Y: reference.forward(transform, Y))
    M, kept = accumulate(transform, Y, 5)
    np.testing.assert_allclose(M, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    assert kept == pytest.approx(energy, rel=1e-12)


@pytest.mark.parametrize("kind", cases.KINDS)
def test_statistic_over_a_base(kind: str) -> None:
    rng = np.random.default_rng(0)
    base, learned = fost.DCT(40), cases.make_transform(kind, 40, rng)
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-6)):
        Y = cases.make_signals("normal", 300, 40, dtype, rng)
        ours = TrainingData.from_rows(Y).statistic(base, learned, 5)
        Z = base.forward(Y)
        expected, energy = reference.statistic(Z, 5, learned.forward)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(ours.matrix, expected, rtol=0, atol=tolerance * scale)
        assert ours.energy == pytest.approx(energy, rel=tolerance)
        gram = TrainingData.from_rows(Y).gram(base)
        np.testing.assert_allclose(
            gram, Z.T @ Z, rtol=0, atol=1e-4 if dtype == np.float32 else 1e-10
        )


def test_rows_are_coefficients_and_columns_are_features() -> None:
    Y = np.array([[5.0, 1.0, 2.0]])
    M, energy = accumulate(fost.Householder(np.zeros((0, 3))), Y, 1)
    np.testing.assert_array_equal(M, [[25.0, 5.0, 10.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert energy == 25


def test_energy_equals_that_of_the_codes() -> None:
    rng = np.random.default_rng(0)
    Y = cases.make_signals("normal", 300, 40, np.float64, rng)
    transform = cases.make_transform("chain", 40, rng)
    codes = transform.encode(Y, 3)
    M, energy = accumulate(transform, Y, 3)
    assert energy == pytest.approx(np.sum(codes.data**2), rel=1e-13)
    # <U, M^T> = sum of x^T U^T y is the same number.
    assert np.sum(transform.matrix * M.T) == pytest.approx(energy, rel=1e-12)


@pytest.mark.parametrize("signals", ["zero rows", "mostly zero", "integers", "constant"])
def test_codes_with_fewer_entries(isa: str, signals: str) -> None:
    rng = np.random.default_rng(0)
    Y = cases.make_signals(signals, 700, 33, np.float64, rng)
    for s in (1, 8, 9, 33):
        assert_statistic(fost.Householder(np.zeros((0, 33))), Y, s, f"{signals}, s={s}")


# Sums of integers are exact in any order. From n = 179 on a statistic has more than 256 KiB,
# and is added up row by row. From n = 512 on columns of the signals are copied first.
@pytest.mark.parametrize("n", [1, 7, 8, 64, 100, 178, 179, 200, 511, 512, 613])
@pytest.mark.parametrize("dtype", cases.DTYPES)
def test_sums_of_integers_are_exact(isa: str, n: int, dtype: Any) -> None:
    rng = np.random.default_rng(n)
    Y = rng.integers(-9, 10, (3000, n)).astype(dtype)
    s = min(5, n)
    expected, energy = reference.statistic(Y, s, lambda Y: Y)
    M, kept = accumulate(fost.Householder(np.zeros((0, n))), Y, s)
    np.testing.assert_array_equal(M, expected)
    assert kept == energy


@pytest.mark.parametrize("count", [2, 8, 9, 20])  # members: up to 256 KiB, and more
def test_statistics_of_banks_are_those_of_their_codes(isa: str, count: int) -> None:
    rng = np.random.default_rng(count)
    bank = fost.Bank([cases.make_transform("givens", 64, rng) for _ in range(count)])
    for dtype in cases.DTYPES:
        Y = cases.make_signals("normal", 2500, 64, dtype, rng)
        M = np.empty((bank.n_atoms, 64))
        energy = bank._plan.accumulate(Y, 4, M)
        codes = bank.encode(Y, 4).astype(np.float64)
        expected = codes.T @ Y.astype(np.float64)
        np.testing.assert_allclose(M, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
        assert energy == pytest.approx(np.sum(codes.data**2), rel=1e-12)


def test_without_signals_everything_is_zero() -> None:
    for kind in cases.KINDS:
        transform = cases.make_transform(kind, 6, np.random.default_rng(0))
        M, energy = accumulate(transform, np.empty((0, 6)), 2)
        assert energy == 0, kind
        assert not M.any(), kind


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", cases.KINDS)
def test_nan_where_a_signal_is_not_finite(isa: str, kind: str, bad: float) -> None:
    rng = np.random.default_rng(0)
    transform = cases.make_transform(kind, 30, rng)
    for count, rows in ((1, [0]), (600, [0, 255, 256, 599])):
        for dtype in cases.DTYPES:
            clean = cases.make_signals("normal", count, 30, dtype, rng)
            for row in rows:
                Y = clean.copy()
                Y[row, 11] = bad
                for s in (1, 8, 9, 30):
                    _, energy = accumulate(transform, Y, s)
                    assert np.isnan(energy), f"row {row}, s={s}"


def test_float32_signals_are_added_up_in_float64() -> None:
    # 1 + 20,000 times 1e-8 cannot be added up in float32.
    Y = np.full((20_001, 1), 1e-4, np.float32)
    Y[0] = 1
    M = np.empty((1, 1))
    energy = _core.Plan(1).accumulate(Y, 1, M)
    expected = 1 + 20_000 * float(np.float32(1e-4)) ** 2
    assert energy == pytest.approx(expected, rel=1e-13)
    assert M[0, 0] == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(("n", "members"), [(16, 3), (64, 2), (64, 9), (200, 3)])
@pytest.mark.parametrize("threads", [1, 3])
def test_banks_member_by_member(
    isa: str, n: int, members: int, threads: int, set_threads: Any
) -> None:
    """Statistics in the first-level cache and beyond it, of codes that may be empty."""
    set_threads(threads)
    rng = np.random.default_rng(n + members)
    bank = fost.Bank([cases.make_transform("givens", n, rng) for _ in range(members)])
    for dtype in cases.DTYPES:
        Y = cases.make_signals("normal", 2500, n, dtype, rng)
        Y[::7] = 0
        M = np.full((bank.n_atoms, n), 7.0)
        kept = bank._plan.accumulate(Y, 4, M)
        X = bank.encode(Y, 4).astype(np.float64)
        expected = X.T @ Y.astype(np.float64)
        # As above.
        scale = (abs(X).T @ np.abs(Y).astype(np.float64)).max()
        assert np.abs(M - expected).max() <= 1e-12 * scale
        energy = float(np.square(X.data).sum())
        assert abs(kept - energy) <= 1e-12 * energy
