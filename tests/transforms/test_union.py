"""Unions: against pursuit in their atoms, and the cases that are special."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import fost
from fost.learning import as_training_data
from tests import reference
from tests.cases import (
    dtypes,
    random_blocks,
    random_orthonormal,
    random_pairs,
    same_codes,
    seeds,
)
from tests.transforms.test_bank import members


def distinct_atoms(union):
    """The atoms of all members in rows, and which of them no member before has."""
    atoms = np.concatenate([reference.matrix(member).T for member in union.members])
    products = np.tril(atoms @ atoms.T, -1)
    distinct = np.ones(len(atoms), dtype=bool)
    for k, before in zip(*np.nonzero(np.abs(products) > 1 - 1e-6), strict=True):
        # A rotation by a tiny angle makes others, which inner products do not tell.
        gap = atoms[k] - np.sign(products[k, before]) * atoms[before]
        distinct[k] &= np.abs(gap).max() > 1e-9
    return atoms, np.flatnonzero(distinct)


def rotated(rng, n, count, g, base=True):
    """Members of g random rotations each, which pursuit by residuals is for."""
    blocks = random_blocks(rng, count * g).reshape(count, g, 2, 2)
    chains = [fost.Givens(random_pairs(rng, g, n), block, n) for block in blocks]
    return [fost.Chain([fost.DCT(n), chain]) for chain in chains] if base else chains


def encode_by(union, Y, residuals, *arguments, **options):
    """Codes by residuals or by inner products, instead of the faster method."""
    dictionary = union._pursuit_atoms(Y.dtype, masked=False)
    dictionary.residuals = residuals
    try:
        return union.encode(Y, *arguments, **options)
    finally:
        dictionary.residuals = None


def check_pursuit(union, Y, s, codes):
    """Against pursuit in the atoms one by one, but where two are as good but for rounding."""
    atoms, distinct = distinct_atoms(union)
    assert set(codes.indices) <= set(distinct)
    assert union.n_distinct_atoms == len(distinct)
    wanted = fost.omp(Y, atoms[distinct], s)
    places = np.full(len(atoms), -1)
    places[distinct] = np.arange(len(distinct))
    own = csr_array((codes.data, places[codes.indices], codes.indptr), shape=wanted.shape)
    own, wanted = own.toarray(), wanted.toarray()
    same = ((own != 0) == (wanted != 0)).all(axis=1)
    # Of random signals, two correlations that agree to seven digits are rare.
    assert same.sum() >= len(same) - 1 - len(same) // 20
    room = 2e-4 if Y.dtype == np.float32 else 1e-9
    np.testing.assert_allclose(own[same], wanted[same], rtol=room, atol=room)
    # A code is the projection onto its atoms, so the residual is orthogonal to them.
    left = (Y[~same] - own[~same].astype(np.float64) @ atoms[distinct]) @ atoms[distinct].T
    largest = np.maximum(1, np.abs(Y[~same]).max(axis=1, initial=0))
    assert (np.abs(left * (own[~same] != 0)).max(axis=1, initial=0) <= room * largest).all()


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
    check_pursuit(union, Y, s, codes)


@given(
    seeds,
    st.integers(2, 70),
    st.integers(1, 5),
    st.integers(1, 100),
    st.sampled_from([1, 7, 31, 33, 100]),
    dtypes,
    st.booleans(),
    st.data(),
)
def test_pursuit_by_residuals_finds_the_same_codes(
    isa, seed, n, count, g, n_signals, dtype, base, data
):
    """Rotations of any number and depth: pursuit by residuals and by inner products."""
    s = data.draw(st.integers(1, min(n, 8)))
    rng = np.random.default_rng(seed)
    union = fost.Union(rotated(rng, n, count, g, base))
    Y = rng.standard_normal((n_signals, n)).astype(dtype)
    assert union._plan.can_screen
    for way in (True, False):
        check_pursuit(union, Y, s, encode_by(union, Y, way, s))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("max_error", [0.0, 2.0, 1e9])
def test_pursuit_by_residuals_with_an_error_limit(isa, dtype, max_error):
    rng = np.random.default_rng(5)
    union = fost.Union(rotated(rng, 24, 3, 20))
    Y = rng.standard_normal((100, 24)).astype(dtype)
    Y[7] = 0
    found = [encode_by(union, Y, way, 9, max_error=max_error) for way in (True, False)]
    for codes in found:
        assert np.diff(codes.indptr)[7] == 0
    counts = [np.diff(codes.indptr) for codes in found]
    assert np.mean(counts[0] == counts[1]) > 0.97
    errors = [residuals(Y, codes, union.matrix.T) for codes in found]
    np.testing.assert_allclose(np.mean(errors[0]), np.mean(errors[1]), rtol=1e-2, atol=1e-5)
    short = counts[0] < 9
    assert (errors[0][short] ** 2 <= max_error * (1 + 1e-4) + 1e-9).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_signals_have_no_more_entries_than_atoms(isa, dtype):
    """Where nothing but rounding is left pursuit ends, and atoms are never taken twice."""
    rng = np.random.default_rng(2)
    union = fost.Union(rotated(rng, 32, 4, 40))
    atoms = union.matrix.T
    rows = np.stack([rng.choice(32, 2, replace=False) for _ in range(200)])
    Y = (atoms[rows[:, 0]] + 1e-3 * atoms[rows[:, 1]]).astype(dtype)
    for way in (True, False):
        codes = encode_by(union, Y, way, 12)
        assert codes.has_canonical_format
        assert residuals(Y, codes, atoms).max() < (1e-5 if dtype == np.float32 else 1e-13)
        assert np.abs(codes.data).max() < 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nearly_dependent_atoms(isa, dtype):
    """Members that differ by tiny angles do not lead to wild coefficients."""
    rng = np.random.default_rng(4)
    pairs = random_pairs(rng, 12, 16)
    members = []
    for angle in (0.3, 0.3 + 1e-4, 0.3 + 1e-7):
        c, s = np.cos(angle), np.sin(angle)
        members.append(fost.Givens(pairs, np.tile([[c, s], [-s, c]], (12, 1, 1)), 16))
    union = fost.Union(members)
    Y = rng.standard_normal((64, 16)).astype(dtype)
    first = fost.Union(members[:1])
    for s in (4, 16):
        alone = residuals(Y, first.encode(Y, s), first.matrix.T)
        for way in (True, False):
            codes = encode_by(union, Y, way, s)
            assert np.abs(codes.data).max() < 1e3 * np.abs(Y).max()
            # More atoms to choose from, of which two are nearly the same, cannot hurt much.
            left = residuals(Y, codes, union.matrix.T)
            assert left.mean() <= 1.05 * alone.mean() + 1e-2


def test_the_pursuit_method_depends_on_sizes_only():
    rng = np.random.default_rng(0)
    large = fost.Union(rotated(rng, 256, 8, 256))
    assert large._plan.by_residuals(1000, 16, False)
    assert not large._plan.by_residuals(1, 16, False)
    dense = fost.Union([fost.DCT(256), fost.Dense(random_orthonormal(rng, 256))])
    assert not dense._plan.can_screen
    assert not dense._plan.by_residuals(1000, 16, False)


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
def test_error_limit(dtype):
    rng = np.random.default_rng(3)
    union = fost.Union(members(rng, 24, 3, shared=True))
    Y = rng.standard_normal((200, 24)).astype(dtype)
    codes = union.encode(Y, max_error=4.0)
    errors = residuals(Y, codes, union.matrix.T) ** 2
    assert (errors <= 4.0 * (1 + 1e-4)).all()
    counts = np.diff(codes.indptr)
    assert len(set(counts)) > 2
    few = union.encode(Y, 3, max_error=4.0)
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


def test_an_atom_and_its_negative_count_once():
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
    rotations = fost.Union(rotated(rng, 64, 4, 64))
    for coder, way in ((union, False), (rotations, True), (rotations, False)):
        set_threads(1)
        one = encode_by(coder, Y, way, 4)
        set_threads(5)
        assert same_codes(encode_by(coder, Y, way, 4), one)
        assert same_codes(encode_by(coder, np.asfortranarray(Y), way, 4), one)


def test_files_copies_and_comparisons(tmp_path):
    rng = np.random.default_rng(0)
    union = fost.Union(members(rng, 8, 3, shared=True))
    union.save(tmp_path / "union.safetensors")
    loaded = fost.load(tmp_path / "union.safetensors")
    Y = rng.standard_normal((10, 8))
    for other in (loaded, pickle.loads(pickle.dumps(union)), fost.Union(union.members)):
        assert other == union
        assert hash(other) == hash(union)
        assert same_codes(other.encode(Y, 2), union.encode(Y, 2))
    assert union != fost.Bank(union.members)
    assert "Union(n_features=8, n_members=3" in repr(union)


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
        ({}, "n_nonzero_coefs, max_error or threshold must be given"),
        ({"n_nonzero_coefs": 9}, "n_nonzero_coefs must be"),
        ({"n_nonzero_coefs": 0}, "n_nonzero_coefs must be"),
        ({"n_nonzero_coefs": 2, "max_error": -1.0}, "max_error must be"),
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
    with pytest.raises(TypeError, match="members must be transforms, got Union"):
        fost.Union([union])


def test_unions_in_other_parts_of_fost():
    rng = np.random.default_rng(0)
    union = fost.Union([fost.DCT((4, 4)), fost.Dense(random_orthonormal(rng, 16))])
    Y = rng.standard_normal((300, 16))
    found = fost.diagnostics.report(union, Y, 3)
    assert found is not None
    codes = union.encode(Y, 3)
    error = np.linalg.norm(Y - union.decode(codes)) ** 2 / np.linalg.norm(Y) ** 2
    assert as_training_data(Y).relative_error(union, 3) == pytest.approx(error, rel=1e-9)
    for restore in (fost.restoration.denoise, fost.restoration.inpaint):
        with pytest.raises(TypeError, match="transform must be a transform or a bank, got Union"):
            restore(np.ones((8, 8)), np.zeros((8, 8), bool), transform=union)


def test_the_error_with_missing_entries_equals_that_of_the_codes():
    rng = np.random.default_rng(0)
    union = fost.Union([fost.DCT(16), fost.Dense(random_orthonormal(rng, 16))])
    Y = rng.standard_normal((100, 16))
    missing = rng.random(Y.shape) < 0.2
    codes = union.encode(Y, 4, missing=missing)
    left, seen = np.where(missing, 0, Y - union.decode(codes)), np.where(missing, 0, Y)
    error = np.square(left).sum() / np.square(seen).sum()
    found = as_training_data(Y, missing=missing).relative_error(union, 4)
    assert found == pytest.approx(error, rel=1e-9)
