"""Orthogonal matching pursuit against its twin and against scikit-learn."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import orthogonal_mp

import fost
from tests import reference
from tests.cases import dtypes, random_vectors, seeds


def problem(seed, n, n_atoms, count):
    """Signals of noise and atoms in random directions: ties do not happen."""
    rng = np.random.default_rng(seed)
    return rng, rng.standard_normal((count, n)), random_vectors(rng, n_atoms, n)


def _gaps(missing):
    return [None] * 30 if missing is None else missing


@st.composite
def sizes(draw):
    """n_features, n_atoms (around the padding of 32), s, n_signals (around the tile of 256)."""
    n = draw(st.integers(2, 70))
    n_atoms = draw(st.integers(2, 90))
    s = draw(st.integers(1, min(n, n_atoms, 12)))
    return n, n_atoms, s, draw(st.sampled_from([0, 1, 7, 9, 300]))


@given(seeds, sizes())
def test_equals_scikit_learn(isa, seed, size):
    n, n_atoms, s, count = size
    _, Y, D = problem(seed, n, n_atoms, count)
    codes = fost.omp(Y, D, s)
    assert codes.shape == (count, n_atoms)
    if count:
        theirs = orthogonal_mp(D.T, Y.T, n_nonzero_coefs=s).reshape(n_atoms, count).T
        np.testing.assert_array_equal(codes.toarray() != 0, theirs != 0)
        np.testing.assert_allclose(codes.toarray(), theirs, atol=1e-8 * np.abs(theirs).max())


@given(seeds, sizes(), st.floats(0, 0.9), st.booleans())
def test_missing_entries_equal_the_reference(isa, seed, size, share, normalize):
    n, n_atoms, s, count = size
    rng, Y, D = problem(seed, n, n_atoms, min(count, 9))
    missing = rng.random(Y.shape) < share
    codes = fost.omp(np.where(missing, np.nan, Y), D, s, missing=missing, normalize=normalize)
    for y, gaps, code in zip(Y, missing, codes.toarray(), strict=True):
        # Of atoms that reach into a single observed entry all are equally good.
        if normalize and (~gaps).sum() < 2:
            continue
        # The residual's last dimension leaves every normalised atom the same correlation.
        steps = min(s, (~gaps).sum() - 1) if normalize else s
        code = fost.omp(y[None], D, steps, missing=gaps[None], normalize=normalize).toarray()[0]
        theirs = reference.omp(y, D, steps, gaps, normalize=normalize)
        np.testing.assert_array_equal(np.flatnonzero(code), np.flatnonzero(theirs))
        np.testing.assert_allclose(code, theirs, atol=1e-8 * np.abs(theirs).max())


@pytest.mark.parametrize("normalize", [False, True])
def test_missing_entries_equal_scikit_learn_on_the_rest(normalize):
    """Every signal lacks the same entries, so that scikit-learn can do it too."""
    rng, Y, D = problem(3, 40, 70, 50)
    gaps = rng.random(40) < 0.4
    observed = D[:, ~gaps]
    norms = np.linalg.norm(observed, axis=1, keepdims=True)
    missing = np.broadcast_to(gaps, Y.shape)
    codes = fost.omp(Y, D, 5, missing=missing, normalize=normalize)
    if normalize:  # scikit-learn's pursuit expects atoms of norm one
        theirs = orthogonal_mp((observed / norms).T, Y[:, ~gaps].T, n_nonzero_coefs=5).T / norms.T
    else:
        theirs = np.array([reference.omp(y, D, 5, gaps) for y in Y])
    np.testing.assert_array_equal(codes.toarray() != 0, theirs != 0)
    np.testing.assert_allclose(codes.toarray(), theirs, atol=1e-8)


@given(seeds, sizes(), st.floats(0, 1), st.booleans())
def test_error_limit_stops_the_pursuit(seed, size, share, masked):
    n, n_atoms, s, count = size
    rng, Y, D = problem(seed, n, n_atoms, min(count, 9))
    missing = rng.random(Y.shape) < 0.3 if masked else None
    tol = share * n / 2
    codes = fost.omp(Y, D, s, missing=missing, max_error=tol).toarray()
    for i, (y, code) in enumerate(zip(Y, codes, strict=True)):
        gaps = None if missing is None else missing[i]
        theirs = reference.omp(y, D, s, gaps, tol=tol)
        np.testing.assert_array_equal(np.flatnonzero(code), np.flatnonzero(theirs))


def test_error_limit_without_a_number_of_entries():
    _, Y, D = problem(0, 20, 50, 30)
    codes = fost.omp(Y, D, max_error=1e-3)
    assert (np.square(Y - codes @ D).sum(axis=1) <= 1e-3 + 1e-12).all()
    assert codes.nnz < 30 * 20


@given(seeds, sizes(), st.booleans())
def test_float32_is_float64_up_to_rounding(isa, seed, size, masked):
    n, n_atoms, s, count = size
    s = (s + 1) // 2  # nearly as many atoms as features are as good as dependent in float32
    rng, Y, D = problem(seed, n, n_atoms, count)
    Y, D = Y.astype(np.float32), D.astype(np.float32)
    missing = rng.random(Y.shape) < 0.3 if masked else None
    codes = fost.omp(Y, D, s, missing=missing)
    assert codes.dtype == np.float32
    codes = codes.toarray()
    for i in rng.permutation(count)[:12]:
        gaps = None if missing is None else missing[i]
        steps = list(reference.omp_steps(Y[i], D, s, gaps))
        # Correlations are sums of at most 70 products and 6 atoms, whose errors in float32 are
        # below 100 eps = 1.2e-5 of the signal: closer calls may go the other way, and with
        # them everything after.
        if all(lead > 1e-4 for lead, _ in steps):
            expected = steps[-1][1] if steps else np.zeros(n_atoms)
            np.testing.assert_array_equal(codes[i] != 0, expected != 0)
            np.testing.assert_allclose(codes[i], expected, atol=1e-3 * np.abs(expected).max())
        visible = slice(None) if gaps is None else ~gaps
        left = np.linalg.norm((Y[i] - codes[i] @ D)[visible])
        assert left <= (1 + 1e-5) * np.linalg.norm(Y[i, visible])


@given(seeds)
def test_an_orthonormal_dictionary_gives_the_codes_of_the_transform(seed):
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((24, 24)))[0]
    Y = rng.standard_normal((40, 24))
    ours, theirs = fost.omp(Y, U.T, 5), fost.Dense(U).encode(Y, 5)
    np.testing.assert_array_equal(ours.indices, theirs.indices)
    np.testing.assert_allclose(ours.data, theirs.data, rtol=1e-10)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_do_not_change_a_bit(masked, dtype, set_threads):
    rng, Y, D = problem(1, 64, 100, 5000)
    Y = Y.astype(dtype)
    missing = rng.random(Y.shape) < 0.4 if masked else None
    results = []
    for count in (1, 2, 5):
        set_threads(count)
        results.append(fost.omp(Y, D, 4, missing=missing))
    for other in results[1:]:
        np.testing.assert_array_equal(results[0].data, other.data)
        np.testing.assert_array_equal(results[0].indices, other.indices)
        np.testing.assert_array_equal(results[0].indptr, other.indptr)


@pytest.mark.parametrize("masked", [False, True])
def test_layout_of_the_signals_does_not_matter(masked):
    rng, Y, D = problem(2, 12, 30, 40)
    missing = rng.random(Y.shape) < 0.3 if masked else None
    wanted = fost.omp(Y, D, 3, missing=missing).toarray()
    wide = np.full((80, 40), np.nan)
    wide[::2, 5:29:2] = Y
    layouts = [np.asfortranarray(Y), wide[::2, 5:29:2], Y[::-1][::-1], np.ascontiguousarray(Y.T).T]
    for other in layouts:
        np.testing.assert_allclose(fost.omp(other, D, 3, missing=missing).toarray(), wanted)
    frozen = Y.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(fost.omp(frozen, D, 3, missing=missing).toarray(), wanted)


def test_sparse_signals_get_no_extra_entries():
    rng = np.random.default_rng(0)
    D = random_vectors(rng, 30, 40)
    X = np.zeros((20, 30))
    for row in X:
        row[rng.choice(30, 2, replace=False)] = [-3.0, 2.0]
    codes = fost.omp(X @ D, D, 8)
    np.testing.assert_allclose(codes.toarray(), X, atol=1e-12)
    assert codes.nnz == 40


@pytest.mark.parametrize("masked", [False, True])
def test_duplicate_and_opposite_atoms_are_taken_once(masked):
    rng = np.random.default_rng(0)
    D = random_vectors(rng, 5, 16)
    D = np.concatenate([D, D, -D])
    Y = rng.standard_normal((30, 16))
    missing = rng.random(Y.shape) < 0.2 if masked else None
    codes = fost.omp(Y, D, 10, missing=missing).toarray()
    taken = (codes != 0).reshape(30, 3, 5).sum(axis=1)
    assert (taken <= 1).all()
    best = np.array([reference.omp(y, D[:5], 5, g) for y, g in zip(Y, _gaps(missing), strict=True)])
    np.testing.assert_allclose(codes @ D, best @ D[:5], atol=1e-9)


def test_coefficients_may_be_negative():
    codes = fost.omp([[-3.0, 0.0], [0.0, -2.0]], np.eye(2), 1)
    np.testing.assert_array_equal(codes.toarray(), [[-3, 0], [0, -2]])


@pytest.mark.parametrize("missing", [None, np.zeros((3, 4), dtype=bool)])
def test_zero_signals_have_empty_codes(missing):
    codes = fost.omp(np.zeros((3, 4)), np.eye(4), 2, missing=missing)
    assert codes.nnz == 0
    assert codes.shape == (3, 4)


def test_a_signal_without_observed_entries_has_an_empty_code():
    missing = np.array([[True] * 4, [False] * 4])
    codes = fost.omp(np.full((2, 4), 2.0), np.eye(4), 2, missing=missing, normalize=True)
    np.testing.assert_array_equal(np.diff(codes.indptr), [0, 2])


def test_atoms_of_any_norm():
    """Coefficients scale with 1 / norm; the correlations that are compared are not normalised."""
    _, Y, D = problem(5, 10, 20, 30)
    scale = np.linspace(0.5, 2, 20)[:, None]
    codes = fost.omp(Y, scale * D, 3).toarray()
    theirs = np.array([reference.omp(y, scale * D, 3) for y in Y])
    np.testing.assert_allclose(codes, theirs, atol=1e-8)
    normalised = fost.omp(Y, scale * D, 3, normalize=True).toarray() * scale.T
    np.testing.assert_allclose(normalised, fost.omp(Y, D, 3).toarray(), atol=1e-8)


def test_scales_of_signals_do_not_matter():
    _, Y, D = problem(6, 10, 20, 30)
    wanted = fost.omp(Y, D, 3).toarray()
    for factor in (1e-150, 1e150):
        np.testing.assert_allclose(fost.omp(factor * Y, D, 3).toarray() / factor, wanted)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"n_nonzero_coefs": 7}, ValueError, "n_nonzero_coefs must be between 1 and n_atoms=6"),
        ({"n_nonzero_coefs": 0}, ValueError, "n_nonzero_coefs must be between 1"),
        ({"n_nonzero_coefs": 1.5}, TypeError, "n_nonzero_coefs must be an integer"),
        ({"n_nonzero_coefs": None}, ValueError, "n_nonzero_coefs or max_error"),
        ({"max_error": -1.0}, ValueError, "max_error must be at least 0"),
        ({"max_error": np.nan}, ValueError, "max_error must be at least 0"),
        ({"atoms": np.zeros((6, 4))}, ValueError, "atoms must not be zero, but row 0 is"),
        ({"atoms": np.full((6, 4), np.nan)}, ValueError, "atoms contains NaN"),
        ({"atoms": np.ones(4)}, ValueError, "atoms must have shape"),
        ({"atoms": np.ones((0, 4))}, ValueError, "atoms must have shape"),
        ({"atoms": np.ones((6, 5))}, ValueError, "Y has 4 features"),
        ({"Y": np.ones(4)}, ValueError, "Y must have shape"),
        ({"Y": np.full((3, 4), np.nan)}, ValueError, "Y contains NaN"),
        ({"Y": np.full((3, 4), np.inf)}, ValueError, "Y contains NaN or infinity"),
        ({"max_error": "small"}, TypeError, "max_error must be a number"),
        ({"normalize": "no"}, TypeError, "normalize must be True or False, got 'no'"),
        ({"missing": np.zeros((3, 5), dtype=bool)}, ValueError, "missing must have the shape of Y"),
        ({"missing": np.zeros((3, 4))}, TypeError, "missing must be boolean"),
    ],
)
def test_bad_input(change, error, message):
    arguments = {"Y": np.ones((3, 4)), "atoms": np.eye(6, 4) + 0.1, "n_nonzero_coefs": 2} | change
    with pytest.raises(error, match=message):
        fost.omp(**arguments)


def test_nan_where_it_was_observed_is_an_error():
    Y, missing = np.ones((2, 4)), np.zeros((2, 4), dtype=bool)
    Y[0, 1], Y[1, 2], missing[0, 1] = np.nan, np.nan, True
    with pytest.raises(ValueError, match="Y contains NaN"):
        fost.omp(Y, np.eye(4), 2, missing=missing)


def test_single_precision_overflow_is_an_error():
    with pytest.raises(ValueError, match="Y is too large"):
        fost.omp(np.full((3, 4), 3e38, np.float32), np.full((5, 4), 0.5, np.float32), 1)


REACHES = {np.float32: (-120, 100), np.float64: (-1000, 980)}


def scaled(array, power):
    """Times a power of two, which is exact."""
    return np.ldexp(array, power)


@given(seeds, sizes(), st.sampled_from([np.float32, np.float64]), st.data())
def test_scales_of_signals_and_atoms_do_not_change_a_bit(isa, seed, size, dtype, data):
    """omp(c Y, d D) is c / d omp(Y, D) for powers of two over the whole range of the type."""
    n, n_atoms, s, count = size
    low, high = REACHES[dtype]
    of_signals, of_atoms = data.draw(st.integers(low, high)), data.draw(st.integers(low, high))
    if not low <= of_signals - of_atoms <= high:
        of_atoms = 0  # else the codes themselves are beyond the range
    masked, normalize = data.draw(st.booleans()), data.draw(st.booleans())
    rng, Y, D = problem(seed, n, n_atoms, count)
    Y, D = Y.astype(dtype), D.astype(dtype)
    options = {"missing": rng.random(Y.shape) < 0.3 if masked else None, "normalize": normalize}
    tol = data.draw(st.sampled_from([None, 0.0, float(n) / 4]))
    plain = fost.omp(Y, D, s, max_error=tol, **options)
    # Below the least double a tolerance is zero, and above the greatest there is none.
    if tol:
        with np.errstate(over="ignore", under="ignore"):
            tol = float(np.ldexp(tol, 2 * of_signals))
        if not 0 < tol < np.inf:
            return
    far_Y, far_D = scaled(Y, of_signals), scaled(D, of_atoms)
    if not (
        np.array_equal(scaled(far_Y, -of_signals), Y)
        and np.array_equal(scaled(far_D, -of_atoms), D)
    ):
        return  # below the least normal number digits are lost
    far = fost.omp(far_Y, far_D, s, max_error=tol, **options)
    assert far.dtype == dtype
    np.testing.assert_array_equal(far.indptr, plain.indptr)
    np.testing.assert_array_equal(far.indices, plain.indices)
    wanted = scaled(plain.data, of_signals - of_atoms)
    least = np.finfo(dtype).tiny
    whole = np.abs(wanted) >= least  # others lose digits
    np.testing.assert_array_equal(far.data[whole], wanted[whole])
    np.testing.assert_allclose(far.data[~whole], wanted[~whole], rtol=0, atol=least)


@given(seeds, st.sampled_from([1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7]), dtypes)
def test_codes_in_nearly_dependent_atoms_are_no_worse_than_none(isa, seed, apart, dtype):
    """Three atoms nearly in a plane, two of them nearly parallel: no wild coefficients."""
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((9, 6))
    D[3] = D[7] + apart * D[5] + apart**2 * rng.standard_normal(6)
    D /= np.linalg.norm(D, axis=1)[:, None]
    Y = rng.standard_normal((50, 6)).astype(dtype)
    D = D.astype(dtype)
    codes = fost.omp(Y, D, 6).astype(np.float64)
    left = np.linalg.norm(Y - codes @ D.astype(np.float64), axis=1)
    assert (left <= np.linalg.norm(Y, axis=1) * (1 + 1e-3)).all()


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("of_signals", [-390, -300, -210, 210, 300, 390])
@pytest.mark.parametrize("of_atoms", [-190, 190])
def test_signals_and_atoms_are_both_extreme(of_signals, of_atoms, masked):
    """Each is in or near the safe range, but squares of their products are not."""
    rng, Y, D = problem(0, 6, 9, 20)
    missing = rng.random(Y.shape) < 0.3 if masked else None
    far = fost.omp(scaled(Y, of_signals), scaled(D, of_atoms), 2, missing=missing)
    plain = fost.omp(Y, D, 2, missing=missing)
    np.testing.assert_array_equal(far.indptr, plain.indptr)
    np.testing.assert_array_equal(far.data, scaled(plain.data, of_signals - of_atoms))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_signals_of_any_scale_side_by_side(dtype, masked):
    rng, Y, D = problem(7, 12, 30, 60)
    Y, D = Y.astype(dtype), D.astype(dtype)
    low, high = REACHES[dtype]
    powers = rng.integers(low, high, len(Y))
    Y[7] = 0
    missing = rng.random(Y.shape) < 0.3 if masked else None
    together = fost.omp(scaled(Y, powers[:, None]), D, 3, missing=missing)
    assert together.has_sorted_indices
    assert together.nnz > 3 * 50
    for i, power in enumerate(powers):
        gaps = None if missing is None else missing[i : i + 1]
        alone = fost.omp(Y[i : i + 1], D, 3, missing=gaps)
        found = together[[i]]
        np.testing.assert_array_equal(found.indices, alone.indices)
        # BLAS may round products of other sizes differently.
        rounding = 1e3 * np.finfo(dtype).eps
        np.testing.assert_allclose(scaled(found.data, -power), alone.data, rtol=rounding)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_atoms_of_any_scale_side_by_side(dtype, masked):
    """Coefficients are large where atoms are small; large atoms are taken first."""
    largest = np.finfo(dtype).maxexp - 2
    powers = [0, -largest // 2, largest // 2]
    D = np.eye(3, dtype=dtype) * np.ldexp(dtype(1), powers)[:, None]
    missing = np.zeros((2, 3), bool) if masked else None
    codes = fost.omp(np.array([[1, 2, 3], [-1, 0, 4]], dtype), D, 3, missing=missing).toarray()
    np.testing.assert_array_equal(np.ldexp(codes, powers), [[1, 2, 3], [-1, 0, 4]])
    first = fost.omp(np.ones((1, 3), dtype), D, 1)
    assert first.indices.tolist() == [2]
    alike = fost.omp(np.array([[3, 2, 1]], dtype), D, 1, normalize=True)
    assert alike.indices.tolist() == [0]


def test_atoms_beyond_the_type_of_the_signals():
    Y = np.array([[3.0, 4.0]], np.float32)
    for scale in (1e-100, 1e100):
        with pytest.raises(ValueError, match=r"Y is too (large|small) for these atoms: its codes"):
            fost.omp(Y, scale * np.eye(2), 2)
    codes = fost.omp(np.float32(1e38) * (Y / 8), 1e45 * np.eye(2), 2)
    np.testing.assert_allclose(codes.toarray(), 1e-7 * Y / 8, rtol=1e-6)


def test_codes_that_overflow_or_underflow_are_errors():
    with pytest.raises(ValueError, match="Y is too large for these atoms: its codes overflow"):
        fost.omp([[1e200, 0.0]], 1e-200 * np.eye(2), 1)
    with pytest.raises(ValueError, match="Y is too small for these atoms: its codes underflow"):
        fost.omp([[1e-200, 0.0]], 1e200 * np.eye(2), 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_smallest_and_largest_numbers(isa, dtype):
    info = np.finfo(dtype)
    for value in (info.smallest_subnormal, info.tiny, info.max):
        Y = np.array([[0, value, 0], [0, 0, 0], [value, 0, 0]], dtype)
        np.testing.assert_array_equal(fost.omp(Y, np.eye(3), 2).toarray(), Y)
        missing = np.zeros(Y.shape, bool)
        np.testing.assert_array_equal(fost.omp(Y, np.eye(3), 2, missing=missing).toarray(), Y)


def test_masked_signals_and_atoms_are_refused():
    masked = np.ma.masked_greater(np.eye(3), 0.5)
    for name, arguments in {
        "Y": (masked, np.eye(3), 1),
        "atoms": (np.eye(3), masked, 1),
    }.items():
        with pytest.raises(ValueError, match=f"{name} has masked entries"):
            fost.omp(*arguments)
    with pytest.raises(ValueError, match="Y has masked entries"):
        fost.omp(list(masked), np.eye(3), 1)
    with pytest.raises(ValueError, match="missing has masked entries"):
        fost.omp(np.eye(3), np.eye(3), 1, missing=masked > 2)


@given(seeds, sizes(), st.sampled_from(["f4", "f8"]), st.booleans())
def test_prepared_atoms_give_the_same_codes(isa, seed, size, dtype, normalize):
    """To the last bit, whether all inner products are computed or those of chosen atoms."""
    n, n_atoms, s, count = size
    rng, Y, D = problem(seed, n, n_atoms, count)
    D *= rng.uniform(0.5, 2, (n_atoms, 1))
    Y = Y.astype(dtype)
    missing = rng.random(Y.shape) < 0.3
    atoms = fost.Atoms(D)
    for gaps in (None, missing):
        for _ in range(2):  # made ready, and ready
            codes = fost.omp(Y, atoms, s, missing=gaps, normalize=normalize)
            plain = fost.omp(Y, D, s, missing=gaps, normalize=normalize)
            np.testing.assert_array_equal(codes.toarray(), plain.toarray())


def test_few_signals_are_coded_like_many(isa):
    """They are correlated with the atoms by other means: rounding may differ, atoms do not."""
    _, Y, D = problem(3, 64, 300, 40)
    many = fost.omp(Y, D, 6).toarray()
    few = np.concatenate([fost.omp(Y[k : k + 4], D, 6).toarray() for k in range(0, 40, 4)])
    np.testing.assert_array_equal(few != 0, many != 0)
    np.testing.assert_allclose(few, many, rtol=0, atol=1e-12)


def test_prepared_atoms_are_a_copy():
    D = np.eye(3)
    atoms = fost.Atoms(D)
    D[0, 0] = 7
    np.testing.assert_array_equal(atoms.atoms, np.eye(3))
    with pytest.raises(ValueError, match="read-only"):
        atoms.atoms[0, 0] = 1
    assert atoms.shape == (3, 3)
    assert len(atoms) == 3
    assert repr(atoms) == "Atoms(n_atoms=3, n_features=3)"


def test_prepared_atoms_are_accepted_as_atoms(set_threads):
    _, Y, D = problem(1, 8, 20, 200)
    atoms = fost.Atoms(D)
    dictionary = fost.baselines.GeneralDictionary(atoms)
    assert dictionary == fost.baselines.GeneralDictionary(D)
    codes = dictionary.encode(Y, 3)
    np.testing.assert_array_equal(codes.toarray(), fost.omp(Y, D, 3).toarray())
    np.testing.assert_allclose(dictionary.decode(codes), codes @ D, atol=1e-12)
    learned = [
        fost.baselines.KSVD(20, 3, init=init, max_iter=2, random_state=0).fit(Y).components_
        for init in (atoms, D)
    ]
    np.testing.assert_array_equal(*learned)
    assert fost.diagnostics.mutual_coherence(atoms) == fost.diagnostics.mutual_coherence(D)


def test_pickles_of_prepared_atoms_have_no_caches():
    _, Y, D = problem(1, 16, 100, 5)
    atoms = fost.Atoms(D)
    before = len(pickle.dumps(atoms))
    codes = fost.omp(Y, atoms, 3)
    assert len(pickle.dumps(atoms)) == before
    again = pickle.loads(pickle.dumps(atoms))
    np.testing.assert_array_equal(fost.omp(Y, again, 3).toarray(), codes.toarray())


@pytest.mark.parametrize(
    ("atoms", "message"),
    [
        (np.zeros((2, 3)), "atoms must not be zero, but row 0 is"),
        ([[1.0, np.nan]], "atoms contains NaN or infinity"),
        ([1.0, 2.0], r"atoms must have shape \(n_atoms, n_features\), got \(2,\)"),
        (np.ones((0, 3)), "atoms must have shape"),
    ],
)
def test_bad_atoms_are_not_prepared(atoms, message):
    with pytest.raises(ValueError, match=message):
        fost.Atoms(atoms)


@pytest.mark.parametrize("count", [1, 3, 40, 2000])
def test_threads_do_not_change_codes_in_prepared_atoms(isa, set_threads, count):
    _, Y, D = problem(5, 32, 200, count)
    codes = []
    for threads in (1, 2, 5):
        set_threads(threads)
        codes.append(fost.omp(Y, D, 5))
        codes.append(fost.omp(Y, fost.Atoms(D), 5))
    for other in codes[1:]:
        np.testing.assert_array_equal(other.indices, codes[0].indices)
        np.testing.assert_array_equal(other.data, codes[0].data)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_atoms", [5, 8, 55])
@pytest.mark.parametrize("n", [1, 3, 8, 31, 33, 1030])
def test_few_signals_use_the_inner_products_of_prepared_atoms(isa, n, n_atoms, dtype):
    """A row of inner products alone is that of all of them, to the last bit."""
    _, Y, D = problem(n, n, n_atoms, 7)
    Y, D = Y.astype(dtype), D.astype(dtype)
    s = min(4, n, n_atoms)
    found, prepared = fost.omp(Y, D, s), fost.omp(Y, fost.Atoms(D), s)
    np.testing.assert_array_equal(found.indices, prepared.indices)
    np.testing.assert_array_equal(found.data, prepared.data)
