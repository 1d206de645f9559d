"""Unions: against pursuit in their atoms, and the cases that are special."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import fost
from fost.learning import as_source
from tests import reference
from tests.cases import dtypes, random_orthonormal, same_codes, seeds
from tests.transforms.test_bank import members


def distinct_atoms(union):
    """The atoms of all members in rows, and which of them no member before has."""
    atoms = np.concatenate([reference.matrix(member).T for member in union.transforms])
    products = np.abs(np.tril(atoms @ atoms.T, -1))
    return atoms, np.flatnonzero(products.max(axis=1, initial=0) < 1 - 1e-9)


def residuals(Y, codes, atoms):
    return np.linalg.norm(Y - codes.toarray().astype(np.float64) @ atoms, axis=1)


@given(
    seeds,
    st.integers(1, 80),
    st.integers(1, 6),
    st.sampled_from([0, 1, 7, 31, 33, 200]),
    dtypes,
    st.booleans(),
    st.data(),
)
def test_equals_pursuit_in_its_atoms(isa, seed, n, count, n_signals, dtype, shared, data):
    """Supports and values, but where two atoms are as good but for rounding."""
    s = data.draw(st.integers(1, min(n, 6)))
    rng = np.random.default_rng(seed)
    union = fost.Union(members(rng, n, count, shared))
    Y = rng.standard_normal((n_signals, n)).astype(dtype)
    codes = union.encode(Y, s)
    assert codes.shape == (n_signals, count * n)
    assert codes.dtype == dtype
    assert codes.has_sorted_indices
    atoms, distinct = distinct_atoms(union)
    assert set(codes.indices) <= set(distinct)
    assert union.n_distinct_atoms == len(distinct)
    wanted = fost.omp(Y, atoms[distinct], s)
    places = np.full(len(atoms), -1)
    places[distinct] = np.arange(len(distinct))
    own = csr_array((codes.data, places[codes.indices], codes.indptr), shape=wanted.shape)
    pairs = ((own[[i]].indices, wanted[[i]].indices) for i in range(n_signals))
    same = np.array([np.array_equal(*pair) for pair in pairs], dtype=bool)
    # Of random signals, two correlations that agree to seven digits are rare.
    assert same.sum() >= len(same) - 1 - len(same) // 20
    room = 2e-4 if dtype == np.float32 else 1e-9
    for i in np.flatnonzero(same):
        np.testing.assert_allclose(own[[i]].data, wanted[[i]].data, rtol=room, atol=room)
    # Whatever was taken, a code is the projection on it: nothing of it is left in the residual.
    for i in np.flatnonzero(~same):
        chosen = atoms[codes[[i]].indices]
        left = Y[i] - codes[[i]].data.astype(np.float64) @ chosen
        assert np.abs(chosen @ left).max(initial=0) <= room * max(1, np.abs(Y[i]).max())


@given(seeds, st.sampled_from([8, 33]), dtypes)
def test_missing_entries(seed, n, dtype):
    rng = np.random.default_rng(seed)
    union = fost.Union(members(rng, n, 3, shared=True))
    Y = rng.standard_normal((20, n)).astype(dtype)
    missing = rng.random(Y.shape) < 0.3
    holes = np.where(missing, np.nan, Y).astype(dtype)
    atoms, distinct = distinct_atoms(union)
    codes = union.encode(holes, 3, missing=missing)
    wanted = fost.omp(holes, atoms[distinct], 3, missing=missing)
    seen = np.where(missing, 0, Y)
    left = [
        np.linalg.norm(np.where(missing, 0, seen - found.toarray() @ dictionary), axis=1)
        for found, dictionary in ((codes, atoms), (wanted, atoms[distinct]))
    ]
    np.testing.assert_allclose(left[0], left[1], atol=1e-3 if dtype == np.float32 else 1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tolerance(dtype):
    rng = np.random.default_rng(3)
    union = fost.Union(members(rng, 24, 3, shared=True))
    Y = rng.standard_normal((200, 24)).astype(dtype)
    codes = union.encode(Y, tol=4.0)
    errors = residuals(Y, codes, union.matrix.T) ** 2
    assert (errors <= 4.0 * (1 + 1e-4)).all()
    counts = np.diff(codes.indptr)
    assert len(set(counts)) > 2
    few = union.encode(Y, 3, tol=4.0)
    assert np.diff(few.indptr).max() <= 3


def test_one_member_is_its_transform():
    rng = np.random.default_rng(0)
    transform = fost.Chain([fost.DCT(16), fost.Dense(random_orthonormal(rng, 16))])
    Y = rng.standard_normal((100, 16))
    codes = fost.Union([transform]).encode(Y, 4)
    wanted = transform.encode(Y, 4)
    np.testing.assert_array_equal(codes.indices, wanted.indices)
    np.testing.assert_allclose(codes.data, wanted.data, atol=1e-12)


def test_identical_members_count_once():
    union = fost.Union([fost.DCT(8)] * 5)
    Y = np.random.default_rng(0).standard_normal((50, 8))
    codes = union.encode(Y, 3)
    assert union.n_distinct_atoms == 8
    assert codes.indices.max() < 8
    assert union.n_atoms == 40


def test_an_atom_and_its_negative_are_one():
    flipped = fost.Dense(-fost.DCT(8).matrix)
    assert fost.Union([fost.DCT(8), flipped]).n_distinct_atoms == 8


def test_zero_signals_have_empty_codes():
    union = fost.Union([fost.DCT(8), fost.Dense(np.eye(8))])
    assert union.encode(np.zeros((3, 8)), 2).nnz == 0
    assert union.encode(np.zeros((0, 8)), 2).shape == (0, 16)


@pytest.mark.parametrize("power", [-900, -300, 300, 900])
def test_scales_do_not_change_codes(power):
    rng = np.random.default_rng(1)
    union = fost.Union(members(rng, 12, 3, shared=True))
    Y = rng.standard_normal((40, 12))
    far, near = union.encode(np.ldexp(Y, power), 3), union.encode(Y, 3)
    np.testing.assert_array_equal(far.indices, near.indices)
    np.testing.assert_array_equal(far.data, np.ldexp(near.data, power))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_change_nothing(isa, set_threads, dtype):
    rng = np.random.default_rng(0)
    union = fost.Union(members(rng, 64, 4, shared=True))
    Y = rng.standard_normal((4_000, 64)).astype(dtype)
    set_threads(1)
    one = union.encode(Y, 4)
    set_threads(5)
    assert same_codes(union.encode(Y, 4), one)
    assert same_codes(union.encode(np.asfortranarray(Y), 4), one)


def test_files_copies_and_comparisons(tmp_path):
    rng = np.random.default_rng(0)
    union = fost.Union(members(rng, 8, 3, shared=True))
    union.save(tmp_path / "union.safetensors")
    loaded = fost.load(tmp_path / "union.safetensors")
    Y = rng.standard_normal((10, 8))
    for other in (loaded, pickle.loads(pickle.dumps(union)), fost.Union(union.transforms)):
        assert other == union
        assert hash(other) == hash(union)
        assert same_codes(other.encode(Y, 2), union.encode(Y, 2))
    assert union != fost.Bank(union.transforms)
    assert "Union(n_features=8, n_transforms=3" in repr(union)


def test_blocks_and_lazy_arrays():
    da = pytest.importorskip("dask.array")
    rng = np.random.default_rng(0)
    union = fost.Union(members(rng, 16, 3, shared=True))
    Y = rng.standard_normal((90, 16))
    whole = union.encode(Y, 3)
    lazy = union.encode(da.from_array(Y, chunks=(40, 16)), 3)
    assert same_codes(csr_array(lazy.compute()), whole)
    np.testing.assert_allclose(union.decode(whole), whole @ union.matrix.T, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "n_nonzero_coefs, tol or threshold must be given"),
        ({"n_nonzero_coefs": 9}, "n_nonzero_coefs must be"),
        ({"n_nonzero_coefs": 0}, "n_nonzero_coefs must be"),
        ({"n_nonzero_coefs": 2, "tol": -1.0}, "tol must be"),
        ({"threshold": 1.0}, "threshold must be None for a Union"),
        ({"n_nonzero_coefs": 2, "missing": [[True]]}, "missing must have the shape"),
    ],
)
def test_wrong_arguments(arguments, message):
    union = fost.Union([fost.DCT(8), fost.Dense(np.eye(8))])
    with pytest.raises((ValueError, TypeError), match=message):
        union.encode(np.ones((2, 8)), **arguments)


def test_signals_must_be_finite():
    union = fost.Union([fost.DCT(8), fost.Dense(np.eye(8))])
    Y = np.ones((40, 8))
    Y[17, 3] = np.nan
    with pytest.raises(ValueError, match="Y contains NaN or infinity"):
        union.encode(Y, 2)


def test_no_unions_of_unions():
    union = fost.Union([fost.DCT(8)])
    with pytest.raises(TypeError, match="transforms must be transforms, got Union"):
        fost.Union([union])


def test_other_parts_of_fost_know_them():
    rng = np.random.default_rng(0)
    union = fost.Union([fost.DCT((4, 4)), fost.Dense(random_orthonormal(rng, 16))])
    Y = rng.standard_normal((300, 16))
    found = fost.diagnostics.report(union, Y, 3)
    assert found is not None
    codes = union.encode(Y, 3)
    error = np.linalg.norm(Y - union.decode(codes)) ** 2 / np.linalg.norm(Y) ** 2
    assert as_source(Y).relative_error(union, 3) == pytest.approx(error, rel=1e-9)
    for restore in (fost.images.denoise, fost.images.inpaint):
        with pytest.raises(TypeError, match="dictionary must be a transform or a bank, got Union"):
            restore(np.ones((8, 8)), np.zeros((8, 8), bool), dictionary=union)


def test_the_error_with_gaps_is_that_of_its_codes():
    rng = np.random.default_rng(0)
    union = fost.Union([fost.DCT(16), fost.Dense(random_orthonormal(rng, 16))])
    Y = rng.standard_normal((100, 16))
    missing = rng.random(Y.shape) < 0.2
    codes = union.encode(Y, 4, missing=missing)
    left, seen = np.where(missing, 0, Y - union.decode(codes)), np.where(missing, 0, Y)
    error = np.square(left).sum() / np.square(seen).sum()
    found = as_source(Y, missing=missing).relative_error(union, 4)
    assert found == pytest.approx(error, rel=1e-9)
