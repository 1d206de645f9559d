from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
import scipy.fft

import fost
from tests import cases, reference

LENGTHS = (*range(1, 71), 96, 100, 128, 192, 243, 256, 1024)
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
)


# Each of the log2(L) levels is orthonormal and rounds by a few eps of the norm; products with
# whole matrices (odd lengths) add L terms, whose errors grow like sqrt(L). For unit signals
# 2e-15 (9 eps) covers both in float64, and 1e-6 (8 eps) in float32.
def tolerance(dtype: Any) -> float:
    return 1e-6 if dtype == np.float32 else 2e-15


@pytest.mark.parametrize("dtype", cases.DTYPES)
@pytest.mark.parametrize("shape", [*((length,) for length in LENGTHS), *SHAPES], ids=str)
def test_equals_scipy(isa: str, shape: tuple[int, ...], dtype: Any) -> None:
    n = prod(shape)
    rng = np.random.default_rng(n)
    Y = cases.make_signals("normal", 35, n, dtype, rng)
    axes = range(1, len(shape) + 1)
    exact = Y.astype(np.float64).reshape(-1, *shape)
    transform = fost.DCT(shape)

    forward, inverse = transform.forward(Y), transform.inverse(Y)

    assert forward.dtype == inverse.dtype == dtype
    expected = scipy.fft.dctn(exact, axes=axes, norm="ortho").reshape(-1, n)
    error = np.abs(forward - expected).max()
    assert error <= tolerance(dtype), f"forward: {error:.2g}"
    expected = scipy.fft.idctn(exact, axes=axes, norm="ortho").reshape(-1, n)
    error = np.abs(inverse - expected).max()
    assert error <= tolerance(dtype), f"inverse: {error:.2g}"


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


@pytest.mark.parametrize("shape", [8, (8,), [8], np.int64(8), np.array([8])], ids=repr)
def test_ways_to_write_a_shape(shape: Any) -> None:
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


def test_lengths_with_a_large_odd_factor_are_refused() -> None:
    with pytest.raises(ValueError, match="largest odd factor"):
        fost.DCT(4099)
    assert fost.DCT(8192).n_features == 8192
