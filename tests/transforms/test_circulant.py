"""Circulant dictionaries: against explicit circulant matrices, and their invariances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import fost
from fost.transforms.circulant import circulant_matrix, kernel_products
from tests import reference
from tests.cases import dtypes, seeds

sizes = st.integers(1, 17)
counts = st.integers(1, 3)


def random_circulant(n, n_members, seed):
    return fost.Circulant(np.random.default_rng(seed).standard_normal((n_members, n)))


def relative_errors(circulant, Y, s):
    rest = Y - circulant.decode(circulant.encode(Y, s))
    return np.sum(rest**2, axis=1) / np.sum(Y**2, axis=1)


@given(sizes, counts, seeds)
def test_atoms_and_inner_products_are_those_of_circulant_matrices(n, n_members, seed):
    circulant = random_circulant(n, n_members, seed)
    atoms = reference.circulant_atoms(circulant.kernels)
    assert np.array_equal(circulant.matrix, atoms.T)
    gram = circulant_matrix(kernel_products(circulant.kernels))
    # Inner products of unit vectors of n entries, by Fourier transforms: a few roundings each.
    assert np.abs(gram - atoms @ atoms.T).max() <= 1e-14 * (1 + np.sqrt(n))
    assert circulant.n_parameters == n * n_members
    assert circulant.storage_bits(12) == 12 * n * n_members
    assert sum(circulant.operation_counts[:2]) == circulant.flops


@given(sizes, counts, seeds, dtypes)
def test_codes_are_those_of_pursuit_in_the_atoms(n, n_members, seed, dtype):
    circulant = random_circulant(n, n_members, seed)
    rng = np.random.default_rng(seed + 1)
    Y = np.concatenate([rng.standard_normal((7, n)), np.zeros((1, n))]).astype(dtype)
    s = int(rng.integers(1, n + 1))
    codes = circulant.encode(Y, s)
    assert codes.dtype == dtype
    assert codes.shape == (8, circulant.n_atoms)
    assert np.diff(codes.indptr).max() <= s
    assert codes[[7]].nnz == 0
    atoms = reference.circulant_atoms(circulant.kernels)
    for y, code in zip(Y.astype(np.float64), codes.toarray(), strict=True):
        # Near ties may choose another atom, whose residual is as good in the first step only.
        first = reference.omp(y, atoms, 1)
        error = np.sum((y - code @ atoms) ** 2)
        assert error <= np.sum((y - first @ atoms) ** 2) + 1e-4 * (y @ y)
    rest = Y - circulant.decode(codes)
    used = codes.toarray() != 0
    correlations = np.abs(rest.astype(np.float64) @ atoms.T)[used]
    # The residual is orthogonal to the chosen atoms, up to their conditioning.
    assert correlations.max(initial=0) <= (1e-2 if dtype == np.float32 else 1e-6)


@pytest.mark.parametrize("n", [2, 15, 16])
def test_distinct_correlations_give_the_codes_of_the_reference(n):
    circulant, rng = random_circulant(n, 2, n), np.random.default_rng(n)
    atoms = reference.circulant_atoms(circulant.kernels)
    Y = rng.standard_normal((20, n))
    codes = circulant.encode(Y, 2).toarray()
    expected = np.array([reference.omp(y, atoms, 2) for y in Y])
    assert np.abs(codes - expected).max() <= 1e-10


@given(st.integers(2, 17), counts, st.integers(1, 16), seeds)
def test_errors_are_invariant_to_circular_shifts(n, n_members, shift, seed):
    circulant = random_circulant(n, n_members, seed)
    Y = np.random.default_rng(seed + 1).standard_normal((5, n))
    shifted = np.roll(Y, shift, axis=1)
    first = relative_errors(circulant, Y, 1)
    # One entry: the largest correlation is unique up to equal values.
    assert np.allclose(first, relative_errors(circulant, shifted, 1), atol=1e-12)


def test_codes_of_shifted_signals_are_shifted():
    circulant = random_circulant(32, 3, 0)
    Y = np.random.default_rng(1).standard_normal((50, 32))
    codes, shifted = (circulant.encode(X, 6).toarray() for X in (Y, np.roll(Y, 5, axis=1)))
    rolled = np.roll(codes.reshape(50, 3, 32), 5, axis=2).reshape(50, -1)
    assert np.abs(rolled - shifted).max() <= 1e-9


@given(sizes, counts, seeds, dtypes)
def test_decoding_by_convolution_is_the_sum_of_atoms(n, n_members, seed, dtype):
    circulant = random_circulant(n, n_members, seed)
    dense = np.random.default_rng(seed).standard_normal((3, circulant.n_atoms)).astype(dtype)
    expected = dense @ circulant.matrix.T.astype(dtype)
    scale = np.finfo(dtype).eps * 50 * circulant.n_atoms
    by_convolution = circulant._decode_by_transforms(csr_array(dense))
    assert by_convolution.dtype == dtype
    assert np.abs(by_convolution - expected).max() <= scale
    out = np.empty((3, n), dtype)
    assert circulant.decode(dense, out=out) is out
    assert np.abs(out - expected).max() <= scale


def test_constant_and_periodic_kernels_have_equal_atoms():
    circulant = fost.Circulant([np.ones(6), [1.0, -1.0] * 3])
    Y = np.array([[3.0, 1.0] * 3])
    codes = circulant.encode(Y, 6)
    assert codes.nnz == 2
    assert np.allclose(circulant.decode(codes), Y, atol=1e-12)


def test_missing_entries_do_not_count():
    circulant = random_circulant(16, 2, 3)
    codes = np.zeros((1, 32))
    codes[0, 5] = 3.0
    Y = circulant.decode(codes)
    Y[0, 2] = np.nan
    assert np.allclose(circulant.encode(Y, 1, missing="nan").toarray(), codes, atol=1e-10)


def test_streams_are_encoded_block_by_block():
    circulant = random_circulant(8, 2, 4)
    Y = np.random.default_rng(0).standard_normal((60, 8))
    codes = circulant.encode([Y[k : k + 20] for k in range(0, 60, 20)], 2)
    assert np.abs((codes - circulant.encode(Y, 2)).toarray()).max() <= 1e-10


@given(sizes, counts, seeds)
def test_files_are_bit_exact(tmp_path_factory, n, n_members, seed):
    circulant = random_circulant(n, n_members, seed)
    path = tmp_path_factory.getbasetemp() / "circulant.safetensors"
    circulant.save(path)
    loaded = fost.load(path)
    assert loaded == circulant
    assert hash(loaded) == hash(circulant)
    assert np.array_equal(loaded.kernels, circulant.kernels)


@pytest.mark.parametrize(
    ("kernels", "message"),
    [
        ([1.0, 2.0], r"kernels must have shape \(any, any\), got \(2,\)"),
        (np.empty((0, 3)), "kernels must have 1 to 32768 entries"),
        ([[1.0, 2.0], [0.0, 0.0]], "kernels must not be zero in a whole row, but row 1 is"),
        ([[1.0, np.nan]], "kernels contains NaN"),
    ],
)
def test_bad_kernels_are_refused(kernels, message):
    with pytest.raises(ValueError, match=message):
        fost.Circulant(kernels)


def test_a_threshold_is_refused():
    with pytest.raises(ValueError, match="threshold must be None for a Circulant"):
        fost.Circulant([[1.0, 2.0]]).encode([[1.0, 2.0]], threshold=0.5)
