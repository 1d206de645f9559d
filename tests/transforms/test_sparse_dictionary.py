"""Sparse dictionaries: against pursuit in their atoms, and the cases that are special."""

from __future__ import annotations

import pickle

import dask.array as da
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fost
from tests import reference
from tests.cases import dtypes, kinds, make_transform, same_codes, seeds


def make(rng, base, n_atoms, p):
    n = base.n_features
    indices = np.array([rng.permutation(n)[:p] for _ in range(n_atoms)])
    return fost.SparseDictionary(base, indices, rng.standard_normal((n_atoms, p)))


def dense_atoms(dictionary):
    """The atoms in rows, by NumPy."""
    A = np.zeros((dictionary.n_atoms, dictionary.n_features))
    np.put_along_axis(A, dictionary.indices.astype(np.intp), dictionary.values, axis=1)
    return A @ reference.matrix(dictionary.base).T


@given(
    seeds,
    kinds,
    st.integers(1, 70),
    st.integers(1, 90),
    st.sampled_from([0, 1, 7, 31, 33, 200]),
    dtypes,
    st.data(),
)
def test_equals_pursuit_in_its_atoms(isa, seed, kind, n, n_atoms, n_signals, dtype, data):
    """Also for p = 1, p = n and fewer atoms than features."""
    p = data.draw(st.integers(1, n) | st.just(n))
    s = data.draw(st.integers(1, min(n, 6)))
    rng = np.random.default_rng(seed)
    dictionary = make(rng, make_transform(kind, n, rng), n_atoms, p)
    atoms = dense_atoms(dictionary)
    np.testing.assert_allclose(dictionary.matrix, atoms.T, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(atoms, axis=1), 1, rtol=1e-12)
    Y = rng.standard_normal((n_signals, n)).astype(dtype)
    codes = dictionary.encode(Y, s)
    assert codes.shape == (n_signals, n_atoms)
    assert codes.dtype == dtype
    assert codes.has_sorted_indices
    room = 1e-3 if dtype == np.float32 else 1e-8
    for y, code in zip(Y, codes.toarray(), strict=True):
        steps = list(reference.omp_steps(y, atoms, min(s, n_atoms)))
        # Two atoms may be equally good up to rounding; then either may be chosen.
        if all(lead > room for lead, _ in steps):
            np.testing.assert_allclose(code, steps[-1][1], rtol=room, atol=room)
    decoded = dictionary.decode(codes)
    wanted = codes.toarray().astype(np.float64) @ atoms
    np.testing.assert_allclose(decoded, wanted, atol=room * max(1, np.abs(wanted).max(initial=0)))


@given(seeds, st.integers(1, 40), st.integers(1, 100), dtypes)
def test_first_atom_has_the_largest_correlation(isa, seed, n, n_atoms, dtype):
    """Codes of one entry are the correlations of the NumPy twin."""
    rng = np.random.default_rng(seed)
    dictionary = make(rng, fost.DCT(n), n_atoms, min(n, 3))
    Y = rng.standard_normal((33, n)).astype(dtype)
    correlations = reference.sparse_correlations(
        dictionary.base, dictionary.indices, dictionary.values, Y
    )
    codes = dictionary.encode(Y, 1)
    best = np.abs(correlations).max(axis=1)
    rows = np.repeat(np.arange(len(Y)), np.diff(codes.indptr))
    # Rounding of n + p products, relative to the norm of the signal.
    room = (1e-5 if dtype == np.float32 else 1e-13) * np.linalg.norm(Y, axis=1)
    assert (np.abs(np.abs(codes.data) - best[rows]) <= room[rows]).all()
    assert (np.abs(codes.data - correlations[rows, codes.indices]) <= room[rows]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_results_do_not_depend_on_threads_or_layout(dtype):
    rng = np.random.default_rng(0)
    dictionary = make(rng, fost.DCT((8, 8)), 200, 5)
    Y = rng.standard_normal((5000, 64)).astype(dtype)
    before = fost.get_num_threads()
    try:
        found = []
        for threads in (1, 2, 5):
            fost.set_num_threads(threads)
            found.append(dictionary.encode(Y, 4))
    finally:
        fost.set_num_threads(before)
    assert same_codes(found[0], found[1])
    assert same_codes(found[0], found[2])
    assert same_codes(found[0], dictionary.encode(np.asfortranarray(Y), 4))
    wide = np.zeros((5000, 130), dtype)
    wide[:, ::2][:, :64] = Y
    assert same_codes(found[0], dictionary.encode(wide[:, ::2][:, :64], 4))


def test_files_pickles_and_copies_are_bit_exact(tmp_path):
    rng = np.random.default_rng(1)
    dictionary = make(rng, fost.DCT((3, 4)), 20, 5)
    path = tmp_path / "dictionary.safetensors"
    dictionary.save(path)
    Y = rng.standard_normal((9, 12))
    copies = [
        fost.load(path),
        pickle.loads(pickle.dumps(dictionary)),
        fost.SparseDictionary(dictionary.base, dictionary.indices, dictionary.values),
        # The order of the entries of an atom does not matter.
        fost.SparseDictionary(
            dictionary.base, dictionary.indices[:, ::-1], dictionary.values[:, ::-1]
        ),
    ]
    for copy in copies:
        assert copy == dictionary
        assert hash(copy) == hash(dictionary)
        assert copy.values.tobytes() == dictionary.values.tobytes()
        assert same_codes(copy.encode(Y, 3), dictionary.encode(Y, 3))
    assert dictionary != make(rng, fost.DCT((3, 4)), 20, 5)


def test_costs():
    """Operations and bits of the dictionaries in the literature: 256 atoms of 4 entries."""
    rng = np.random.default_rng(2)
    dictionary = make(rng, fost.DCT((8, 8)), 256, 4)
    assert dictionary.flops == 672 + 2 * 4 * 256
    assert dictionary.encode_flops(4) == 9952
    assert sum(dictionary.operation_counts[:2]) == dictionary.flops
    assert dictionary.n_parameters == 1024
    assert dictionary.storage_bits() == 1024 * (16 + 6)
    assert dictionary.storage_bits(bits_per_value=5) == 1024 * (5 + 6)
    over_dense = make(rng, fost.Dense(np.eye(8)), 3, 2)
    assert over_dense.storage_bits() == 64 * 16 + 6 * (16 + 3)


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1, 1e300])
def test_values_and_signals_of_any_magnitude(scale):
    rng = np.random.default_rng(3)
    indices = np.array([rng.permutation(10)[:3] for _ in range(15)])
    values = rng.standard_normal((15, 3))
    near, far = (fost.SparseDictionary(fost.DCT(10), indices, values * k) for k in (1, scale))
    np.testing.assert_allclose(far.values, near.values, rtol=1e-14)
    Y = rng.standard_normal((20, 10))
    codes = near.encode(Y * scale, 3)
    np.testing.assert_allclose(codes.toarray() / scale, near.encode(Y, 3).toarray(), rtol=1e-9)


def test_zero_constant_and_no_signals():
    rng = np.random.default_rng(4)
    dictionary = make(rng, fost.DCT(8), 5, 2)
    assert dictionary.encode(np.zeros((3, 8)), 2).nnz == 0
    assert dictionary.encode(np.zeros((0, 8)), 2).shape == (0, 5)
    constant = fost.SparseDictionary(fost.DCT(8), [[0], [3]], [[-2.0], [1.0]])
    codes = constant.encode(np.full((2, 8), 3.0), 8)
    np.testing.assert_allclose(codes.toarray(), [[-3 * np.sqrt(8), 0]] * 2, atol=1e-12)
    # At most as many entries as there are atoms.
    assert np.diff(dictionary.encode(rng.standard_normal((4, 8)), 8).indptr).max() <= 5


def test_missing_entries_streams_and_errors():
    rng = np.random.default_rng(5)
    dictionary = make(rng, fost.DCT(12), 30, 3)
    atoms = dense_atoms(dictionary)
    Y = rng.standard_normal((40, 12))
    missing = rng.random(Y.shape) < 0.3
    assert same_codes(
        dictionary.encode(np.where(missing, np.nan, Y), 3, missing="nan"),
        fost.omp(Y, dictionary.matrix.T, 3, missing=missing),
    )
    whole = dictionary.encode(Y, 3)
    lazy = dictionary.encode(da.from_array(Y, chunks=(15, 12)), 3)
    np.testing.assert_allclose(lazy.compute().toarray(), whole.toarray(), atol=1e-12)
    within = dictionary.encode(Y, max_error=2.0)
    errors = np.sum((Y - within.toarray() @ atoms) ** 2, axis=1)
    assert (errors <= 2.0 + 1e-9).all()
    assert (np.diff(within.indptr) < 12).any()


def test_large_dictionaries_are_decoded_without_their_atoms():
    rng = np.random.default_rng(6)
    dictionary = make(rng, fost.DCT(2**11), 2**13 + 1, 2)
    Y = rng.standard_normal((3, 2**11))
    codes = fost.select(rng.standard_normal((3, dictionary.n_atoms)), 4)
    decoded = dictionary.decode(codes)
    assert not dictionary._has_matrix
    A = dictionary._sparse_rows()
    np.testing.assert_allclose(decoded, dictionary.base.inverse((codes @ A).toarray()), atol=1e-10)
    out = np.empty_like(Y)
    assert dictionary.decode(codes, out=out) is out
    np.testing.assert_array_equal(out, decoded)


def test_other_parts_of_fost():
    rng = np.random.default_rng(7)
    dictionary = make(rng, fost.DCT((4, 4)), 24, 3)
    Y = rng.standard_normal((50, 16))
    assert fost.diagnostics.report(dictionary, Y, 3).n_atoms == 24
    assert "24 atoms" in dictionary._repr_html_()
    image, mask = rng.random((16, 16)), rng.random((16, 16)) < 0.3
    filled = fost.restoration.inpaint(image, mask, transform=dictionary, method="pursuit")
    np.testing.assert_array_equal(filled[~mask], image[~mask])
    with pytest.raises(TypeError, match="transform must be a transform or a bank"):
        fost.restoration.denoise(image, 0.1, transform=dictionary)
    for use in (fost.Bank, fost.Chain, fost.Union):
        with pytest.raises(TypeError, match="must be transforms, got SparseDictionary"):
            use([dictionary])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"base": None}, TypeError, "base must be a transform, got NoneType"),
        ({"indices": [[0, 8]]}, ValueError, "indices must be between 0 and n_features-1=7"),
        ({"indices": [[0, 0]]}, ValueError, "indices must be different in each row, but row 0"),
        ({"indices": [[0.5, 1]]}, TypeError, "indices must be integers"),
        ({"indices": np.zeros((0, 2), int)}, ValueError, "indices must have 1 to 32768 rows"),
        ({"values": [[0, 0]]}, ValueError, "values must not be zero in a whole row, but row 0"),
        ({"values": [[1, np.nan]]}, ValueError, "values contains NaN"),
        ({"values": [1, 2]}, ValueError, "values must have shape"),
    ],
)
def test_wrong_arguments(change, error, message):
    good = {"base": fost.DCT(8), "indices": [[0, 1]], "values": [[3, 4]]}
    with pytest.raises(error, match=message):
        fost.SparseDictionary(**{**good, **change})


def test_wrong_signals():
    dictionary = fost.SparseDictionary(fost.DCT(8), [[0, 1]], [[3, 4]])
    with pytest.raises(ValueError, match="threshold must be None for a SparseDictionary"):
        dictionary.encode(np.ones((2, 8)), threshold=1.0)
    with pytest.raises(ValueError, match="Y has 7 features"):
        dictionary.encode(np.ones((2, 7)), 1)
    Y = np.ones((2, 8))
    Y[1, 3] = np.nan
    with pytest.raises(ValueError, match="Y contains NaN"):
        dictionary.encode(Y, 1)
