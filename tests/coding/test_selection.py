"""Codes to an error: as few entries as a tolerance allows, or all above a threshold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import fost
from tests import cases, reference

Array = NDArray[Any]

# Sums of squares of a few hundred numbers in float64, in any order.
ROUNDING = 1e-12


def counts_of(codes: Any) -> Array:
    return np.diff(codes.indptr)


def assert_largest(codes: Any, C: Array, case: str) -> None:
    """That each code has the largest entries of its row, bit for bit, in canonical form."""
    assert codes.shape == C.shape, case
    assert codes.dtype == C.dtype, case
    rows = [
        reference.select_rows(row[None], max(1, int(k)))[0] if k else (np.empty(0, int), row[:0])
        for row, k in zip(C, counts_of(codes), strict=True)
    ]
    values, indices, _ = reference.compact(rows, C.dtype)
    assert np.array_equal(codes.indices, indices), f"{case}: indices differ"
    assert cases.same_bits(codes.data, values), f"{case}: values differ"
    fresh = scipy.sparse.csr_array((codes.data, codes.indices, codes.indptr), shape=codes.shape)
    fresh.check_format(full_check=True)
    assert fresh.has_canonical_format, case
    assert np.count_nonzero(codes.data) == codes.nnz, f"{case}: explicit zeros"


def assert_within(codes: Any, C: Array, s: int, tol: float, case: str) -> None:
    """That the error is at most `tol` where s allows, and that no entry is there in vain."""
    assert_largest(codes, C, case)
    counts = counts_of(codes)
    assert (counts <= s).all(), case
    magnitudes = np.sort(np.abs(C.astype(np.float64)), axis=1)
    with np.errstate(over="ignore", under="ignore"):
        left = np.concatenate([np.zeros((len(C), 1)), np.cumsum(magnitudes**2, axis=1)], axis=1)
    rows = np.arange(len(C))
    error = left[rows, C.shape[1] - counts]
    assert (error[counts < s] <= tol * (1 + ROUNDING)).all(), f"{case}: error above {tol}"
    kept = counts > 0
    before = left[rows[kept], C.shape[1] - counts[kept] + 1]
    assert (before > tol * (1 - ROUNDING)).all(), f"{case}: an entry too many"


@given(
    data=st.data(),
    kind=cases.kinds,
    n=cases.n_features,
    count=cases.n_signals,
    signals=cases.signal_kinds,
    dtype=cases.dtypes,
    seed=cases.seeds,
)
def test_error_limited_codes(
    isa: str,
    data: st.DataObject,
    kind: str,
    n: int,
    count: int,
    signals: str,
    dtype: Any,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    transform = cases.make_transform(kind, n, rng)
    Y = cases.make_signals(signals, count, n, dtype, rng)
    C = transform.forward(Y)
    s = data.draw(st.none() | st.integers(1, n), label="s")
    with np.errstate(over="ignore", under="ignore"):
        energies = np.square(C, dtype=np.float64).sum(axis=1)
    largest = np.max(energies, initial=0, where=np.isfinite(energies))
    tol = float(10 ** rng.uniform(-6, 0) * largest)
    case = f"{transform}, {signals}, {s=}, {tol=}"
    if tol > 1e-290:  # below, squares lose digits
        assert_within(transform.encode(Y, s, max_error=tol), C, s or n, tol, case)
    threshold = float(np.sqrt(tol / n))
    codes = transform.encode(Y, s, threshold=threshold)
    assert_largest(codes, C, case)
    assert np.array_equal(
        counts_of(codes), reference.entries_within(C, s or n, threshold=threshold)
    ), case


@pytest.mark.parametrize("dtype", cases.DTYPES)
@pytest.mark.parametrize("n", [1, 2, 7, 64, 65, 200])
def test_ties_and_exact_sums(isa: str, n: int, dtype: Any) -> None:
    """Whole numbers, whose sums of squares are exact, so that every answer is known."""
    rng = np.random.default_rng(n)
    C = rng.integers(-2, 3, (70, n)).astype(dtype)
    for s in {1, 2, n // 2, n} & set(range(1, n + 1)):
        for tol in (0, 0.5, 1, 2, 4, 5, n, 4 * n):
            codes = fost.select(C, s, max_error=tol)
            rows = reference.select_within(C, s, tol=tol)
            values, indices, indptr = reference.compact(rows, dtype)
            assert np.array_equal(codes.indptr, indptr), (s, tol)
            assert np.array_equal(codes.indices, indices), (s, tol)
            assert cases.same_bits(codes.data, values), (s, tol)
        for threshold in (0, 0.5, 1, 1.5, 2, 3):
            codes = fost.select(C, s, threshold=threshold)
            rows = reference.select_within(C, s, threshold=threshold)
            values, indices, indptr = reference.compact(rows, dtype)
            assert np.array_equal(codes.indptr, indptr), (s, threshold)
            assert np.array_equal(codes.indices, indices), (s, threshold)


@pytest.mark.parametrize("dtype", cases.DTYPES)
def test_error_limit_zero_keeps_all_nonzeros(isa: str, dtype: Any) -> None:
    C = np.zeros((3, 9), dtype)
    C[1, 4] = np.finfo(dtype).smallest_subnormal
    C[2] = np.arange(9) - 4
    for codes in (fost.select(C, max_error=0), fost.select(C, threshold=0)):
        assert counts_of(codes).tolist() == [0, 1, 8]
        assert np.array_equal(codes.toarray(), C)


def test_the_guarantee_holds_for_signals(isa: str) -> None:
    """For decoded signals too: an orthonormal transform changes no error but by rounding."""
    rng = np.random.default_rng(0)
    Y = np.cumsum(rng.standard_normal((500, 64)), axis=1)
    for coder in (fost.DCT((8, 8)), cases.make_transform("householder", 64, rng)):
        for tol in (0.1, 3.0, 1e4):
            codes = coder.encode(Y, max_error=tol)
            errors = np.square(Y - coder.decode(codes)).sum(axis=1)
            scale = np.sqrt(tol * np.square(Y).sum(axis=1))  # d(r^2) = 2 r dr
            assert (errors <= tol + 1e-13 * scale).all()
        few = coder.encode(Y, 3, max_error=0.1)
        assert (counts_of(few) <= 3).all()


@pytest.mark.parametrize("kind", ["givens", "householder", "dense"])
@pytest.mark.parametrize("dtype", cases.DTYPES)
def test_banks_use_the_best_member_for_a_rule(isa: str, kind: str, dtype: Any) -> None:
    rng = np.random.default_rng(1)
    n = 40
    base = fost.DCT(n)
    members = [fost.Chain([base, cases.make_transform(kind, n, rng)]) for _ in range(3)]
    bank = fost.Bank(members)
    Y = np.concatenate(
        [member.inverse(rng.laplace(size=(50, n)) ** 3) for member in members]
    ).astype(dtype)
    C = [member.forward(Y) for member in members]
    for s in (n, 5):
        for tol in (1.0, 50.0):
            codes = bank.encode(Y, s, max_error=tol)
            alone = [reference.entries_within(c, s, tol=tol) for c in C]
            assert np.array_equal(
                counts_of(codes)[counts_of(codes) < s], np.min(alone, axis=0)[counts_of(codes) < s]
            )
            chosen = bank.chosen(codes)
            for b, member in enumerate(members):
                own = chosen == b
                expected = member.encode(Y[own], s, max_error=tol)
                assert np.allclose(
                    codes[own][:, b * n : (b + 1) * n].toarray(), expected.toarray(), rtol=1e-4
                )
        for threshold in (0.3, 2.0):
            codes = bank.encode(Y, s, threshold=threshold)
            worth = [_worth(fost.select(c, s, threshold=threshold), threshold) for c in C]
            best = np.max(worth, axis=0)
            assert np.allclose(_worth(codes, threshold), best, rtol=1e-4)


def _worth(codes: Any, threshold: float) -> Array:
    """||x||^2 - threshold^2 ||x||_0 of each code."""
    dense = codes.toarray().astype(np.float64)
    return (dense**2).sum(axis=1) - threshold**2 * (dense != 0).sum(axis=1)


def test_threads_and_layouts_change_nothing() -> None:
    rng = np.random.default_rng(2)
    Y = np.cumsum(rng.standard_normal((5000, 32)), axis=1)
    bank = fost.Bank([cases.make_transform("givens", 32, rng) for _ in range(2)])
    for coder in (fost.DCT(32), bank):
        for rule in ({"max_error": 2.0}, {"threshold": 0.7}):
            one = coder.encode(Y, **rule)
            before = fost.get_num_threads()
            try:
                fost.set_num_threads(3)
                assert cases.same_codes(coder.encode(Y, **rule), one)
                assert cases.same_codes(coder.encode(np.asfortranarray(Y), **rule), one)
            finally:
                fost.set_num_threads(before)


class Halves:
    def __init__(self, Y: Array) -> None:
        self.Y = Y

    def __iter__(self) -> Any:
        yield self.Y[:70]
        yield self.Y[70:]


def test_streams_give_the_same_codes() -> None:
    rng = np.random.default_rng(3)
    Y = rng.standard_normal((200, 16))
    whole = fost.DCT(16).encode(Y, max_error=3.0)
    assert cases.same_codes(fost.DCT(16).encode(Halves(Y), max_error=3.0), whole)
    da = pytest.importorskip("dask.array")
    lazy = fost.DCT(16).encode(da.from_array(Y, chunks=(64, 16)), 9, max_error=3.0)
    parts = [part.compute() for part in lazy.to_delayed().ravel()]
    assert cases.same_codes(
        scipy.sparse.vstack(parts, format="csr"), fost.DCT(16).encode(Y, 9, max_error=3.0)
    )


def test_encode_no_signals(isa: str) -> None:
    codes = fost.DCT(5).encode(np.empty((0, 5)), max_error=1.0)
    assert codes.shape == (0, 5)
    assert fost.DCT(5).encode(np.zeros((3, 5)), threshold=1.0).nnz == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "n_nonzero_coefs, max_error or threshold must be given"),
        ({"max_error": 1, "threshold": 1}, "max_error and threshold must not both"),
        ({"max_error": -1}, "max_error must be at least 0"),
        ({"max_error": np.nan}, "max_error must be"),
        ({"threshold": -0.5}, "threshold must be at least 0"),
        ({"threshold": np.inf}, "threshold must be"),
        (
            {"n_nonzero_coefs": 9, "max_error": 1},
            "n_nonzero_coefs must be between 1 and n_features=8",
        ),
    ],
)
def test_invalid_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    for call in (fost.DCT(8).encode, fost.select):
        with pytest.raises(ValueError, match=message):
            call(np.ones((2, 8)), **arguments)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_signals_that_are_not_finite(isa: str, bad: float) -> None:
    Y = np.ones((40, 8))
    Y[33, 2] = bad
    with pytest.raises(ValueError, match="Y contains NaN or infinity"):
        fost.DCT(8).encode(Y, max_error=1.0)
    with pytest.raises(ValueError, match="Y contains NaN or infinity"):
        fost.Bank([fost.DCT(8), fost.Hadamard(8)]).encode(Y, threshold=1.0)
    with pytest.raises(ValueError, match="C contains NaN or infinity"):
        fost.select(Y, max_error=1.0)
