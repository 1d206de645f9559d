"""Hadamard and wavelets, which are products of rotations."""

from __future__ import annotations

import sys
import warnings
from math import prod
from typing import Any

import numpy as np
import pytest
import pywt
import scipy.linalg

import fost
from fost.transforms import wavelet
from fost.transforms.bases import make_base
from fost.transforms.rotation_network import RotationNetwork
from tests import cases


@pytest.mark.parametrize("shape", [1, 2, 4, 64, 512, (8, 8), (2, 4, 8), (1, 16)])
def test_hadamard_equals_scipys(shape: Any) -> None:
    U = fost.Hadamard(shape)
    n = U.n_features
    expected = scipy.linalg.hadamard(n) / np.sqrt(n)
    assert np.abs(U.matrix - expected).max() < 1e-14
    assert np.abs(np.asarray(U.T) - expected).max() < 1e-14  # it is symmetric
    Y = np.random.default_rng(0).standard_normal((9, n))
    assert np.abs(Y @ U - Y @ expected).max() < 1e-12
    single = Y.astype(np.float32) @ U
    assert single.dtype == np.float32
    assert np.abs(single - Y @ expected).max() < 1e-5


def wavedecn(Y: np.ndarray, U: fost.Wavelet) -> np.ndarray:
    axes = [axis for axis, length in enumerate(U.shape) if length > 1]
    rows = []
    for y in Y:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # levels for which the filters are too long
            found = pywt.wavedecn(y.reshape(U.shape), U.name, "periodization", U.level, axes)
        rows.append(pywt.coeffs_to_array(found, axes=axes)[0].ravel())
    return np.array(rows)


SHAPES = [(2,), (4,), (12,), (64,), (128,), (8, 8), (16, 4), (8, 12), (4, 8, 6), (1, 16, 1)]
# Filters to rounding: of each family, short and long.
EXACT = ["haar", "db1", "db2", "db4", "db10", "db20", "db38", "sym9", "coif1", "coif5", "coif17"]


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_wavelets_equal_pywts(shape: tuple[int, ...], name: str) -> None:
    most = min((k & -k).bit_length() - 1 for k in shape if k > 1)
    for level in (None, *range(1, most + 1)):
        U = fost.Wavelet(shape, name, level)
        Y = np.random.default_rng(0).standard_normal((3, prod(shape)))
        assert np.abs(U.forward(Y) - wavedecn(Y, U)).max() < 1e-12, level
        assert np.abs(U.inverse(U.forward(Y)) - Y).max() < 1e-12, level


def orthonormal_names() -> list[str]:
    names = pywt.wavelist(kind="discrete")
    return [name for name in names if pywt.Wavelet(name).orthogonal and name != "dmey"]


@pytest.mark.parametrize("name", orthonormal_names())
def test_all_orthonormal_wavelets(name: str) -> None:
    """As exact as the filters themselves, which the symlets of PyWavelets are not."""
    U = fost.Wavelet(16, name, 2)
    Y = np.random.default_rng(0).standard_normal((3, 16))
    low = np.array(pywt.Wavelet(name).dec_lo)
    products = [low[: len(low) - 2 * k] @ low[2 * k :] - (k == 0) for k in range(len(low) // 2)]
    gap = np.abs(products).max()
    assert np.abs(U.forward(Y) - wavedecn(Y, U)).max() < 1e-12 + 200 * gap
    assert np.abs(U.matrix.T @ U.matrix - np.eye(16)).max() < 1e-14


@pytest.mark.parametrize(
    ("shape", "name", "level"),
    [(64, "haar", 6), (64, "db2", 4), (64, "db4", 3), (128, "db4", 4), (8, "db4", 1),
     ((8, 8), "db20", 1), ((64, 16), "haar", 4), (12, "haar", 2), (1, "db4", 0), (6, "db2", 1)],
)  # fmt: skip
def test_levels(shape: Any, name: str, level: int) -> None:
    U = fost.Wavelet(shape, name)
    assert U.level == level
    assert fost.Wavelet(shape, name, level) == U
    fits = pywt.dwtn_max_level(U.shape, name)
    halvings = min((k & -k).bit_length() - 1 for k in U.shape)
    assert level == min(halvings, max(1, fits))


def test_level_zero_does_nothing() -> None:
    Y = np.random.default_rng(0).standard_normal((3, 12))
    U = fost.Wavelet((3, 4), "db4", 0)
    assert cases.same_bits(U.forward(Y), Y)
    assert U.flops == 0


@pytest.mark.parametrize(
    "make",
    [lambda: fost.Wavelet(64, "db4", 2), lambda: fost.Wavelet((8, 16), "coif1", 2),
     lambda: fost.Wavelet((4, 1, 8), "haar", 2)],
)  # fmt: skip
def test_flops_are_six_for_each_rotation_and_none_for_swaps(make: Any) -> None:
    U = make()
    _, blocks = U._network().rotations()
    swaps = (blocks == [[0, 1], [1, 0]]).all(axis=(1, 2))
    assert U.flops == 6 * np.count_nonzero(~swaps)
    assert np.count_nonzero(swaps) < U.n_features
    assert U.n_parameters == 0


def test_flops_of_hadamard() -> None:
    assert [fost.Hadamard(n).flops for n in (1, 2, 8, 64)] == [0, 4, 32, 64 * 7]


@pytest.mark.parametrize("n", [1, 2, 3, 10, 57])
def test_networks_place_coefficients_in_two_layers_of_swaps(n: int) -> None:
    for seed in range(20):
        where = np.random.default_rng(seed).permutation(n).astype(np.int32)
        network = RotationNetwork((n,))
        network.place(where)
        pairs, blocks = network.rotations()
        U = fost.Givens(pairs, blocks, n)
        assert np.array_equal(U.forward(np.arange(n)), where)
        assert len(pairs) < n
        assert np.bincount(pairs.ravel(), minlength=n).max(initial=0) <= 2


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: fost.Hadamard(12), ValueError, r"shape must be powers of two, got \(12,\)"),
        (lambda: fost.Hadamard(2**27), ValueError, r"shape must have at most 2\*\*26 entries"),
        (lambda: fost.Hadamard("8"), TypeError, "shape must be an integer"),
        (lambda: fost.Wavelet(7), ValueError, r"shape must have even lengths, got \(7,\)"),
        (lambda: make_base("wavelet", 7), ValueError, "base='wavelet' needs signals of even"),
        (lambda: fost.Wavelet((8, 3)), ValueError, "shape must have even lengths"),
        (lambda: fost.Wavelet(12, "haar", 3), ValueError, "level must be at most 2, as often as"),
        (lambda: fost.Wavelet(8, "haar", -1), ValueError, "level must be between 0 and"),
        (lambda: fost.Wavelet(8, "haar", 1.0), TypeError, "level must be an integer"),
        (lambda: fost.Wavelet(8, "curvelet"), ValueError, "name must be a wavelet of PyWavelets"),
        (lambda: fost.Wavelet(8, 4), TypeError, "name must be the name of a wavelet, got 4"),
        (lambda: fost.Wavelet(8, "bior2.2"), ValueError, "orthonormal wavelet, which 'bior2.2' is"),
        (lambda: fost.Wavelet(8, "dmey"), ValueError, "orthonormal wavelet, got 'dmey'"),
        (lambda: fost.Wavelet(2**30), ValueError, "shape must have at most 134217728 entries"),
    ],
)  # fmt: skip
def test_bad_arguments(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_without_pywavelets(monkeypatch: pytest.MonkeyPatch) -> None:
    wavelet._lattice.cache_clear()
    monkeypatch.setitem(sys.modules, "pywt", None)
    with pytest.raises(ImportError, match=r'wavelets need PyWavelets: pip install "fost\[wave'):
        fost.Wavelet(8, "db3")
