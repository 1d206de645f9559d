from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
import scipy.fft
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import fost
from tests import cases, reference

# Products of small primes, prime powers, primes p with p - 1 of small and of large factors, which
# are convolved as they are and padded, and such primes times others.
LENGTHS = (*range(1, 71), 96, 97, 100, 127, 128, 192, 243, 256, 257, 1019, 1021, 1024, 2042)
SAMPLE = (311, 499, 503, 509, 512, 625, 719, 729, 1000, 1155, 1331, 2039, 2048, 2187, 2310, 3063,
          3125, 3599, 4087, 4091, 4093, 4095, 4096, 5005, 8191)  # fmt: skip
SHAPES = (
    (4, 4),
    (8, 8),
    (16, 16),
    (32, 32),
    (8, 8, 8),
    (3, 5),
    (2, 3, 4),
    (1, 7),
    (6, 10),
    (7, 1, 1, 2),
    (64, 2),
    (1,),
    (1, 1),
    (17, 34),
    (27, 25),
    (101, 3),
    (3, 101),
    (5, 19, 6),
    (48, 3, 7),
)


# The short lengths round like a matrix of their size, the others in at most log2(L) passes that
# each round by a few eps of the norm, twice as many where a convolution is needed. For unit
# signals 9 eps cover both.
def tolerance(dtype: Any) -> float:
    return 1.1e-6 if dtype == np.float32 else 2e-15


def errors(shape: tuple[int, ...], Y: NDArray[Any]) -> tuple[float, float]:
    """The largest errors of forward and inverse, against SciPy in float64."""
    axes = range(1, len(shape) + 1)
    exact = Y.astype(np.float64).reshape(-1, *shape)
    transform = fost.DCT(shape)
    forward, inverse = transform.forward(Y), transform.inverse(Y)
    assert forward.dtype == inverse.dtype == Y.dtype
    expected = scipy.fft.dctn(exact, axes=axes, norm="ortho").reshape(Y.shape)
    back = scipy.fft.idctn(exact, axes=axes, norm="ortho").reshape(Y.shape)
    return float(np.abs(forward - expected).max()), float(np.abs(inverse - back).max())


@pytest.mark.parametrize("dtype", cases.DTYPES)
@pytest.mark.parametrize("shape", [*((length,) for length in LENGTHS), *SHAPES], ids=str)
def test_equals_scipy(isa: str, shape: tuple[int, ...], dtype: Any) -> None:
    n = prod(shape)
    Y = cases.make_signals("normal", 35, n, dtype, np.random.default_rng(n))
    forward, inverse = errors(shape, Y)
    assert forward <= tolerance(dtype)
    assert inverse <= tolerance(dtype)


@pytest.mark.parametrize("dtype", cases.DTYPES)
def test_all_lengths_equal_scipy(isa: str, dtype: Any) -> None:
    for length in (*range(71, 301), *SAMPLE):
        Y = cases.make_signals("normal", 17, length, dtype, np.random.default_rng(length))
        forward, inverse = errors((length,), Y)
        assert forward <= tolerance(dtype), f"forward, length {length}: {forward:.2g}"
        assert inverse <= tolerance(dtype), f"inverse, length {length}: {inverse:.2g}"


@given(
    shape=st.lists(st.integers(1, 130), min_size=1, max_size=3)
    .filter(lambda shape: prod(shape) <= 20_000)
    .map(tuple),
    dtype=st.sampled_from(cases.DTYPES),
    count=st.integers(1, 40),
)
def test_any_shape_equals_scipy(isa: str, shape: tuple[int, ...], dtype: Any, count: int) -> None:
    Y = cases.make_signals("normal", count, prod(shape), dtype, np.random.default_rng(count))
    forward, inverse = errors(shape, Y)
    assert forward <= len(shape) * tolerance(dtype)
    assert inverse <= len(shape) * tolerance(dtype)


@pytest.mark.parametrize("length", [16, 45, 64, 61, 257, 1019])
def test_no_signal_depends_on_its_neighbours(isa: str, length: int) -> None:
    Y = np.random.default_rng(0).standard_normal((37, length))
    Y[::3] *= 1e200
    transform = fost.DCT(length)
    for inverse in (False, True):
        apply = transform.inverse if inverse else transform.forward
        together = apply(Y)
        for k in (0, 1, 15, 16, 36):
            assert (apply(Y[k : k + 1])[0] == together[k]).all()


@pytest.mark.parametrize("length", [16, 45, 64, 61, 257, 1019])
def test_no_intermediate_overflow(isa: str, length: int) -> None:
    """Entries of which the sum of all is beyond the type, but the norm is not."""
    signal = np.full((1, length), np.finfo(np.float32).max / (4 * length**0.5), np.float32)
    scale = signal[0, 0] * length**0.5
    forward = fost.DCT(length).forward(signal)[0] / scale
    assert abs(forward[0] - 1) <= 1e-5
    assert np.abs(forward[1:]).max() <= 1e-5
    spike = np.zeros((1, length), np.float32)
    spike[0, 0] = scale
    np.testing.assert_allclose(fost.DCT(length).inverse(spike), signal, rtol=1e-5)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reference_equals_scipy(shape: tuple[int, ...]) -> None:
    Y = cases.make_signals("normal", 3, prod(shape), np.float64, np.random.default_rng(0))
    axes = range(1, len(shape) + 1)
    expected = scipy.fft.dctn(Y.reshape(-1, *shape), axes=axes, norm="ortho").reshape(Y.shape)
    np.testing.assert_allclose(reference.dct_forward(shape, Y), expected, rtol=0, atol=1e-14)
    expected = scipy.fft.idctn(Y.reshape(-1, *shape), axes=axes, norm="ortho").reshape(Y.shape)
    np.testing.assert_allclose(reference.dct_inverse(shape, Y), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("count", cases.COUNTS)
def test_any_number_of_signals(isa: str, count: int) -> None:
    Y = cases.make_signals("normal", count, 60, np.float64, np.random.default_rng(count))
    expected = reference.dct_forward((6, 10), Y)
    np.testing.assert_allclose(fost.DCT((6, 10)).forward(Y), expected, rtol=0, atol=2e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [*range(2, 21), 22])
def test_small_sizes_write_only_their_rows(isa: str, dtype: Any, n: int) -> None:
    """Vectors reach beyond short rows, but nothing is written there, and all layouts agree."""
    plan = fost.DCT(n)._plan
    for count in (1, 2, 7, 8, 9, 33):
        Y = np.random.default_rng(count).standard_normal((count, n)).astype(dtype)
        for inverse in (False, True):
            room = np.full((count + 2) * n, 7, dtype)
            out = room[n:-n].reshape(count, n)
            assert plan.apply(Y, out, inverse)
            assert (room[:n] == 7).all()
            assert (room[-n:] == 7).all()
            apart, result = np.full((count, n + 3), np.nan, dtype), np.empty_like(out)
            apart[:, :n] = Y
            assert plan.apply(apart[:, :n], result, inverse)
            np.testing.assert_array_equal(result, out)
            columns = np.empty((n, count), dtype).T
            assert plan.apply(Y, columns, inverse)
            np.testing.assert_allclose(columns, out, atol=10 * tolerance(dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [*range(2, 21), 22])
def test_small_sizes_invert_in_any_layout(isa: str, dtype: Any, n: int) -> None:
    """Signals change lanes on the way, and each is to be the one that it is alone."""
    Y = np.random.default_rng(n).standard_normal((70, n)).astype(dtype)
    for apply in (fost.DCT(n).forward, fost.DCT(n).inverse):
        together = apply(Y)
        alone = np.concatenate([apply(Y[k : k + 1]) for k in range(len(Y))])
        np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize("n", [2, 3, 5, 6, 8, 11, 12])
def test_small_sizes_detect_nonfinite_signals(isa: str, n: int) -> None:
    for count in (1, 9, 17):
        for row in range(count):
            for place in range(n):
                Y = np.ones((count, n), np.float32)
                Y[row, place] = np.nan
                with pytest.raises(ValueError, match="NaN"):
                    fost.DCT(n).forward(Y)


def test_small_sizes_do_not_depend_on_threads() -> None:
    Y = np.random.default_rng(0).standard_normal((200_003, 3)).astype(np.float32)
    before = fost.get_num_threads()
    try:
        results = []
        for count in (1, 2, 7):
            fost.set_num_threads(count)
            results.append(fost.DCT(3).forward(Y))
    finally:
        fost.set_num_threads(before)
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


@pytest.mark.parametrize("shape", [8, (8,), [8], np.int64(8), np.array([8])], ids=repr)
def test_forms_of_the_shape_argument(shape: Any) -> None:
    transform = fost.DCT(shape)
    assert transform.shape == (8,)
    assert type(transform.shape[0]) is int
    assert transform == fost.DCT((8,))


def test_shapes_of_the_same_size_differ() -> None:
    transforms = [fost.DCT(shape) for shape in (64, (8, 8), (4, 16), (16, 4), (1, 64))]
    assert len(set(transforms)) == len(transforms)


@pytest.mark.parametrize(
    ("shape", "error", "message"),
    [
        ((), ValueError, r"shape must have at least one axis, got \(\)"),
        ([], ValueError, "shape must have at least one axis"),
        ((0,), ValueError, "shape must be between 1 and 2147483647, got 0"),
        (0, ValueError, "shape must be between 1"),
        ((-1,), ValueError, "shape must be between 1 .* got -1"),
        ((8, -8), ValueError, "shape must be between 1 .* got -8"),
        (("a",), TypeError, "shape must be an integer, got 'a'"),
        ("8", TypeError, "shape must be an integer, got '8'"),
        ((2.5,), TypeError, "shape must be an integer, got 2.5"),
        (8.0, TypeError, "shape must be an integer, got 8.0"),
        (None, TypeError, "shape must be an integer, got None"),
        (((8, 8),), TypeError, r"shape must be an integer, got \(8, 8\)"),
        ((2**31,), ValueError, "shape must be between 1"),
        ((2**16, 2**16), ValueError, r"shape must have fewer than 2\*\*31 entries"),
    ],
)
def test_bad_shapes(shape: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fost.DCT(shape)


def test_lengths_with_a_huge_odd_factor_are_refused() -> None:
    with pytest.raises(ValueError, match="largest odd factor"):
        fost.DCT(2**24 + 1)
    assert fost.DCT(2**25).n_features == 2**25
    assert fost.DCT(4099).n_features == 4099
