"""The K-SVD family and MOD: updates agree with NumPy twins; the estimators' contracts."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import fost
from fost import SparseKSVD
from fost.baselines import KSVD, MOD, GeneralDictionary, StagewiseKSVD
from fost.baselines.factorisation import (
    BatchedFactorisation,
    Factorisation,
    leading_directions,
    random_atoms,
)
from fost.baselines.mod import least_squares_atoms
from fost.baselines.sparse_ksvd import SparseFactorisation
from fost.learning import as_training_data
from tests import reference
from tests.cases import dtypes, random_vectors, seeds

ESTIMATORS = [
    KSVD(12, 2, max_iter=5, random_state=0),
    KSVD(12, 2, approximate=False, max_iter=5, random_state=0),
    MOD(12, 2, max_iter=5, random_state=0),
    StagewiseKSVD(12, 2, n_inner=3, n_final=3, random_state=0),
    SparseKSVD(12, 4, n_nonzero_coefs=2, max_iter=5, random_state=0),
]


def planted(seed=0, count=600, n=10, n_atoms=15, s=2, dtype=np.float64):
    """Signals that are sparse in a random dictionary, with coefficients of both signs."""
    rng = np.random.default_rng(seed)
    D = random_vectors(rng, n_atoms, n)
    X = np.zeros((count, n_atoms))
    for row in X:
        row[rng.choice(n_atoms, s, replace=False)] = rng.choice([-1, 1], s) * rng.uniform(1, 2, s)
    return (X @ D).astype(dtype), D


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        KSVD(3, 1, max_iter=3, random_state=0),
        KSVD(3, 1, max_iter=3, random_state=0, approximate=False, sparse_output=False),
        MOD(3, 1, max_iter=3, random_state=0),
        StagewiseKSVD(3, 1, n_inner=2, n_final=1, random_state=0),
        SparseKSVD(3, 1, n_nonzero_coefs=1, max_iter=3, random_state=0),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("incomplete", [False, True])
@pytest.mark.parametrize("make", [KSVD, MOD, lambda *a, **k: KSVD(*a, approximate=False, **k)])
def test_weights_are_equivalent_to_copies(make, incomplete):
    """From the same start, after few iterations: sums agree up to rounding."""
    Y, D = planted(count=200)
    rng = np.random.default_rng(5)
    weights = rng.integers(0, 4, len(Y))
    if incomplete:
        Y[rng.random(Y.shape) < 0.1] = np.nan
    start = D + 0.2 * rng.standard_normal(
        D.shape
    )  # all atoms are used, so none is replaced at random
    options = {"init": start, "max_iter": 3, "tol": 0, "random_state": 0}
    one = make(15, 2, **options).fit(Y, sample_weight=weights)
    many = make(15, 2, **options).fit(np.repeat(Y, weights, axis=0))
    np.testing.assert_allclose(one.errors_, many.errors_, rtol=1e-6)
    np.testing.assert_allclose(one.components_, many.components_, atol=1e-6)
    scaled = make(15, 2, **options).fit(Y, sample_weight=1e200 * weights)
    np.testing.assert_allclose(scaled.errors_, one.errors_, rtol=1e-6)
    with pytest.raises(ValueError, match="sample_weight must not be negative"):
        make(15, 2, **options).fit(Y, sample_weight=weights - 1.0)


@given(seeds, st.integers(1, 40), st.integers(1, 20), dtypes)
def test_approximate_update_agrees_with_numpy_twin(isa, seed, n, n_atoms, dtype):
    rng = np.random.default_rng(seed)
    D = random_vectors(rng, n_atoms, n).astype(dtype)
    Y = rng.standard_normal((50, n)).astype(dtype)
    state = Factorisation(Y, D, min(3, n, n_atoms))
    X = state.codes.toarray()
    order = rng.permutation(n_atoms)[: rng.integers(1, n_atoms + 1)].astype(np.int32)
    atoms, codes = reference.sweep_atoms(Y.astype(np.float64), D, X, order)
    state.update_approximately(order)
    tolerance = 1e-9 if dtype == np.float64 else 2e-3
    np.testing.assert_allclose(state.atoms, atoms, atol=tolerance)
    np.testing.assert_allclose(state.codes.toarray(), codes, atol=10 * tolerance)
    np.testing.assert_allclose(state.residual, Y - codes @ atoms, atol=10 * tolerance)


@given(seeds, st.integers(1, 30), st.integers(1, 20), st.integers(1, 30), dtypes)
def test_sparse_update_agrees_with_numpy_twin(isa, seed, n, n_atoms, p, dtype):
    """In the coefficients of the base, where atoms keep their largest p entries."""
    rng = np.random.default_rng(seed)
    base, p = fost.DCT(n), min(p, n)
    Y = rng.standard_normal((50, n)).astype(dtype)
    start = random_vectors(rng, n_atoms, n).astype(dtype)
    state = SparseFactorisation(Y, start, min(3, n, n_atoms), base=base, n_entries=p)
    D, X = base.forward(state.atoms.astype(np.float64)), state.codes.toarray()
    assert (np.count_nonzero(np.abs(D) > 1e-6, axis=1) <= p).all()
    general = Factorisation(Y, state.atoms, state.s)  # encodes by another kernel
    assert state.error == pytest.approx(general.error, rel=1e-3, abs=1e-6)
    order = rng.permutation(n_atoms)[: rng.integers(1, n_atoms + 1)].astype(np.int32)
    atoms, codes = reference.sweep_atoms(base.forward(Y.astype(np.float64)), D, X, order, p)
    state.update_approximately(order)
    tolerance = 1e-9 if dtype == np.float64 else 2e-3
    np.testing.assert_allclose(base.forward(state.atoms), atoms, atol=tolerance)
    np.testing.assert_allclose(state.codes.toarray(), codes, atol=10 * tolerance)
    learned = state.dictionary()
    np.testing.assert_allclose(learned.matrix.T, state.atoms, atol=tolerance)


@given(seeds)
def test_exact_update_is_the_closest_rank_one_matrix(seed):
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((60, 8))
    state = Factorisation(Y, random_vectors(rng, 10, 8), 3)
    X, D = state.codes.toarray(), state.atoms.copy()
    users = np.flatnonzero(X[:, 4])
    state.update_exactly(np.array([4], np.int32))
    if not len(users):
        return
    X[:, 4] = 0
    u, sigma, vt = np.linalg.svd(Y[users] - X[users] @ D)
    best = sigma[0] * np.outer(u[:, 0], vt[0])
    ours = np.outer(state.codes.toarray()[users, 4], state.atoms[4])
    np.testing.assert_allclose(ours, best, atol=1e-9)
    np.testing.assert_allclose(state.residual, Y - state.codes @ state.atoms, atol=1e-12)


@given(seeds, st.booleans())
def test_updates_do_not_increase_the_error(seed, exact):
    rng = np.random.default_rng(seed)
    state = Factorisation(rng.standard_normal((80, 8)), random_vectors(rng, 12, 8), 3)
    before = state.error
    order = np.arange(12, dtype=np.int32)
    (state.update_exactly if exact else state.update_approximately)(order)
    assert state.error <= before + 1e-12


def test_residual_of_least_squares_atoms_is_orthogonal_to_codes():
    rng = np.random.default_rng(0)
    state = Factorisation(rng.standard_normal((80, 8)), random_vectors(rng, 12, 8), 3)
    D = least_squares_atoms(state)
    np.testing.assert_allclose(state.codes.T @ (state.Y - state.codes @ D), 0, atol=1e-10)


def test_least_squares_atoms_with_an_unused_atom():
    Y = np.eye(4)[[0, 1, 2] * 5] * 2.0
    state = Factorisation(Y, np.eye(4), 1)
    D = least_squares_atoms(state)
    np.testing.assert_allclose(D[:3], np.eye(4)[:3], atol=1e-12)
    np.testing.assert_array_equal(D[3], 0)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_learning_lowers_the_error(estimator, dtype):
    Y, _ = planted(dtype=dtype)
    fitted = clone(estimator).fit(Y)
    assert fitted.components_.shape == (12, 10)
    np.testing.assert_allclose(np.linalg.norm(fitted.components_, axis=1), 1)
    assert fitted.errors_[-1] < fitted.start_error_
    assert len(fitted.errors_) == fitted.n_iter_
    assert fitted.error_ == fitted.errors_[-1]
    codes = fitted.transform(Y)
    sparse = fitted.set_params(sparse_output=True).transform(Y)
    assert isinstance(sparse, csr_array)
    np.testing.assert_array_equal(sparse.toarray(), codes)
    assert codes.dtype == dtype
    assert codes.shape == (600, 12)
    assert codes.min() < 0 < codes.max()
    left = np.square(Y - fitted.inverse_transform(codes), dtype=np.float64).sum()
    assert fitted.score(Y) == pytest.approx(-left / np.square(Y, dtype=np.float64).sum(), rel=1e-5)
    # Encoding the signals again changes the last error slightly.
    assert -fitted.score(Y) <= 1.1 * fitted.errors_[-1]


@pytest.mark.parametrize("approximate", [True, False])
def test_ksvd_recovers_a_planted_dictionary(approximate):
    """On average it recovers 0.83 of the atoms, in single runs 0.68 to 1."""
    Y, D = planted(count=3000, n=20, n_atoms=25)
    found = []
    for seed in range(4):
        fitted = KSVD(25, 2, approximate=approximate, max_iter=80, random_state=seed).fit(Y)
        found.append(np.abs(fitted.components_ @ D.T).max(axis=0) > 0.99)
    assert np.mean(found) >= 0.7


def test_sparse_ksvd_recovers_a_planted_dictionary():
    """Also the base; no other has as good atoms of three entries."""
    rng = np.random.default_rng(3)
    indices = np.array([rng.permutation(16)[:3] for _ in range(24)])
    truth = fost.SparseDictionary(fost.DCT((4, 4)), indices, rng.choice([-1, 1], (24, 3)))
    Y = truth.decode(fost.select(rng.standard_normal((4000, 24)), 2))
    options = {"n_nonzero_coefs": 2, "signal_shape": (4, 4), "random_state": 0}
    fitted = SparseKSVD(24, 3, **options).fit(Y)
    assert fitted.base_ == fitted.dictionary_.base == fost.DCT((4, 4))
    found = np.abs(fitted.components_ @ truth.matrix).max(axis=0)
    assert (found > 0.99).mean() >= 0.8
    other = SparseKSVD(24, 3, base="none", **options).fit(Y)
    assert other.base_ is None
    assert fitted.error_ < 0.5 * other.error_
    print(fitted.error_, other.error_, (found > 0.99).mean())


def test_sparse_ksvd_learns_from_signals_with_gaps():
    rng = np.random.default_rng(6)
    Y = np.cumsum(rng.standard_normal((400, 16)), axis=1)
    gaps = np.where(rng.random(Y.shape) < 0.1, np.nan, Y)
    options = {"base": "dct", "n_nonzero_coefs": 3, "max_iter": 20, "random_state": 0}
    fitted = SparseKSVD(24, 4, **options).fit(gaps)
    assert fitted.error_ < fitted.start_error_
    codes = fitted.dictionary_.encode(gaps, 3, missing="nan")
    assert np.isfinite(codes.data).all()
    assert -fitted.score(Y) < 0.1


def test_ksvd_updates_atoms_after_each_batch():
    """A pass of two batches; its error is that before the updates."""
    Y, D = planted(count=400)
    Y = as_training_data(Y).in_canonical_order(if_small=False).rows()
    start = D[:12]
    fitted = KSVD(12, 2, init=start, batch_size=200, max_iter=1, random_state=0).fit(Y)
    atoms, left = start, 0.0
    for rows in np.split(np.random.default_rng(0).permutation(400), 2):
        state = Factorisation(Y[rows], atoms, 2)
        left += state.error * state.energy
        state.update_approximately(np.arange(12, dtype=np.int32))
        atoms = state.atoms
    np.testing.assert_allclose(fitted.components_, atoms, atol=1e-12)
    assert fitted.errors_[-1] == pytest.approx(left / np.square(Y).sum())


def batches_per_pass(state):
    """The number of batches in each pass, down to one."""
    counts = []
    while not state.is_full_batch and len(counts) < 200:
        counts.append(state.n_batches)
        before = state.error
        state.update_in_batches(lambda batch: None, np.random.default_rng(0))
        assert state.error == pytest.approx(before), "the update does nothing"
    return counts


def test_batches_grow_to_all_signals():
    Y, _ = planted(count=3000)
    state = BatchedFactorisation(Y, random_atoms(Y, 12, np.random.default_rng(0)), 2)
    assert state.n_batches == 3000 * 2 // (12 * 48)
    assert batches_per_pass(state) == [10, 10, 5, 5, 2, 2]
    few_iterations = BatchedFactorisation(Y, state.atoms, 2, max_iter=19)
    assert batches_per_pass(few_iterations) == [10, 5, 2]
    assert BatchedFactorisation(Y, state.atoms, 2, batch_size=None).is_full_batch
    assert BatchedFactorisation(Y, state.atoms, 2, batch_size=5000).is_full_batch
    assert BatchedFactorisation(Y, state.atoms, 2, batch_size=700).n_batches == 4
    assert BatchedFactorisation(Y, state.atoms[:1], 1).n_batches == 62, "at most 64"


def test_tol_does_not_stop_learning_during_batches():
    Y, _ = planted(count=3000)
    fitted = KSVD(12, 2, random_state=0, tol=0.9).fit(Y)  # larger than any change of the error
    assert fitted.n_iter_ == 6, "the last pass with two batches"
    assert KSVD(12, 2, random_state=0, tol=0.9, batch_size=None).fit(Y).n_iter_ == 1


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_results_are_reproducible(estimator, set_threads):
    Y, _ = planted()
    set_threads(1)
    first = clone(estimator).fit(Y)
    set_threads(4)
    second = clone(estimator).fit(Y)
    np.testing.assert_array_equal(first.components_, second.components_)
    np.testing.assert_array_equal(first.errors_, second.errors_)
    again = pickle.loads(pickle.dumps(first))
    np.testing.assert_array_equal(again.transform(Y), first.transform(Y))


def test_ksvd_starts_from_given_atoms():
    Y, D = planted()
    fitted = KSVD(15, 2, init=3 * D, max_iter=0).fit(Y)
    np.testing.assert_allclose(fitted.components_, D)
    assert fitted.start_error_ == pytest.approx(0, abs=0.05)
    assert fitted.n_iter_ == 0


def test_stagewise_atoms_are_sorted_by_energy():
    Y, _ = planted(n_atoms=20)
    for n_components in (11, 12, 2):
        fitted = StagewiseKSVD(n_components, 2, atoms_per_stage=4, n_inner=3, n_final=2).fit(Y)
        assert len(fitted.components_) == n_components
        energies = np.square(fitted.transform(Y)).sum(axis=0)
        assert (np.diff(energies) <= 1e-9 * energies.max()).all()


def test_stagewise_starts_from_the_leading_singular_vectors():
    Y, _ = planted()
    start = StagewiseKSVD(2, 2, n_inner=0, n_final=0).fit(Y)
    singular = np.linalg.svd(Y)[2][:2]
    overlaps = np.linalg.svd(start.components_ @ singular.T, compute_uv=False)
    np.testing.assert_allclose(overlaps, 1, atol=1e-9)
    assert start.n_iter_ == 0


def test_residual_without_an_atom() -> None:
    Y = np.random.default_rng(3).standard_normal((60, 10))
    state = Factorisation(Y, random_atoms(Y, 12, np.random.default_rng(0)), 3)
    X = state.codes.toarray()
    for k in (0, 7):
        others = np.delete(np.arange(12), k)
        expected = Y - X[:, others] @ state.atoms[others]
        np.testing.assert_allclose(state.residual_without(k), expected, atol=1e-12)
    np.testing.assert_allclose(state.residual, Y - X @ state.atoms, atol=1e-12)


def test_published_stage_computes_residuals_without_the_weakest_atom() -> None:
    """The first stage, spelled out in NumPy."""
    Y = np.cumsum(np.random.default_rng(4).standard_normal((200, 12)), axis=1)
    start = Factorisation(Y, leading_directions(Y, 3), 3)
    weakest = int(np.argmin(start.atom_energies))
    kept = np.delete(start.atoms, weakest, axis=0)
    left = Y - np.delete(start.codes.toarray(), weakest, axis=1) @ kept
    norms = np.linalg.norm(Y, axis=1)
    worst = np.argsort(-np.square(left).sum(axis=1) / norms)[:10]
    _, _, directions = np.linalg.svd(left[worst])
    found = StagewiseKSVD(5, 3, atoms_per_stage=4, n_inner=0, n_final=0, drop_first=True).fit(Y)
    overlaps = np.abs(found.components_ @ np.vstack([kept, directions[:3]]).T)
    np.testing.assert_allclose(overlaps.max(axis=1), 1, atol=1e-9)
    other = StagewiseKSVD(5, 3, atoms_per_stage=4, n_inner=0, n_final=0).fit(Y)
    assert not np.allclose(other.components_, found.components_)


def test_unused_and_duplicate_atoms_are_replaced():
    Y, D = planted()
    atoms = np.concatenate([D[:5], D[:1], -D[1:2]])
    state = Factorisation(Y, atoms, 2)
    assert state.replace_unused(np.random.default_rng(0)) == 2
    inner = np.abs(state.atoms @ state.atoms.T) - np.eye(7)
    assert inner.max() < 0.999999
    np.testing.assert_allclose(np.linalg.norm(state.atoms, axis=1), 1)
    state = Factorisation(Y, np.eye(10), 2)
    state.codes = csr_array(np.where(np.arange(10) < 4, state.codes.toarray(), 0))
    assert state.replace_unused(np.random.default_rng(0)) == 6


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize(
    "Y",
    [
        np.zeros((30, 10)),
        np.ones((30, 10)),
        np.eye(10)[:3],
        np.repeat(np.eye(10)[:2], 20, axis=0),
        np.concatenate([np.zeros((20, 10)), np.ones((1, 10))]),
    ],
    ids=["zeros", "one signal", "few signals", "two signals", "mostly zeros"],
)
def test_degenerate_signals(estimator, Y):
    fitted = clone(estimator).fit(Y)
    assert fitted.components_.shape == (12, 10)
    assert np.isfinite(fitted.components_).all()
    np.testing.assert_allclose(np.linalg.norm(fitted.components_, axis=1), 1)
    np.testing.assert_allclose(fitted.inverse_transform(fitted.transform(Y)), Y, atol=1e-6)


def test_random_atoms_are_signals():
    Y, _ = planted(count=20)
    Y[::2] = 0
    atoms = random_atoms(Y, 10, np.random.default_rng(0))
    unit = Y[1::2] / np.linalg.norm(Y[1::2], axis=1, keepdims=True)
    np.testing.assert_allclose(np.sort(atoms, axis=0), np.sort(unit, axis=0))


def test_leading_directions_are_singular_vectors():
    rows = np.random.default_rng(0).standard_normal((30, 8))
    ours, theirs = leading_directions(rows, 3), np.linalg.svd(rows)[2][:3]
    np.testing.assert_allclose(np.abs(ours @ theirs.T), np.eye(3), atol=1e-9)


def test_callback_and_tol_stop_learning():
    Y, _ = planted()
    seen = []

    def callback(step, error, dictionary):
        seen.append((step, error, dictionary))
        return step == 3

    fitted = KSVD(12, 2, random_state=0, callback=callback).fit(Y)
    assert [step for step, *_ in seen] == [1, 2, 3]
    np.testing.assert_array_equal([error for _, error, _ in seen], fitted.errors_)
    assert seen[-1][2] == fitted.dictionary_
    assert KSVD(12, 2, batch_size=None, random_state=0, tol=0.5).fit(Y).n_iter_ < 10


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_interrupt_keeps_the_dictionary_so_far(estimator):
    Y, _ = planted()

    def interrupt(step, error, dictionary):
        if step == 2:
            raise KeyboardInterrupt

    fitted = clone(estimator).set_params(callback=interrupt)
    with pytest.warns(RuntimeWarning, match="interrupted after 2 steps") as caught:
        fitted.fit(Y)
    assert [warning.filename for warning in caught] == [__file__]
    assert fitted.n_iter_ == 2
    assert np.isfinite(fitted.components_).all()


def test_verbose_reports_on_stderr(capsys):
    Y, _ = planted()
    KSVD(12, 2, max_iter=2, verbose=True, random_state=0).fit(Y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "iteration 2/2" in err


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (KSVD(12, 11), "n_nonzero_coefs must be between 1 and n_features=10"),
        (KSVD(3, 4), "n_nonzero_coefs must be between 1 and n_components=3"),
        (KSVD(0, 1), "n_components must be between 1"),
        (KSVD(12, 2, init="dct"), "init must be 'signals' or an array"),
        (KSVD(12, 2, init=np.ones((3, 3))), "init must have shape"),
        (KSVD(2, 1, init=np.zeros((2, 10))), "init must not be zero"),
        (KSVD(12, 2, batch_size="all"), "batch_size must be 'auto', an integer or None"),
        (KSVD(12, 2, batch_size=0), "batch_size must be between 1"),
        (KSVD(12, 2, tol=-1), "tol must be at least 0"),
        (KSVD(12, 2, max_iter=-1), "max_iter must be between 0"),
        (MOD(12, 11), "n_nonzero_coefs must be between 1"),
        (StagewiseKSVD(12, 2, atoms_per_stage=1), "atoms_per_stage must be between 2"),
        (StagewiseKSVD(12, 2, full_every=0), "full_every must be between 1"),
        (StagewiseKSVD(12, 2, share=0), "share must be greater than 0 and at most 1"),
        (SparseKSVD(12, 11), "n_entries must be between 1 and n_features=10"),
        (SparseKSVD(12, 2, base="fourier"), "base must be"),
        (SparseKSVD(12, 2, base=fost.DCT(9)), "base has n_features=9, but Y has 10"),
    ],
)
def test_errors_name_the_parameter(estimator, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(planted()[0])


def test_general_dictionary_validation_and_equality():
    with pytest.raises(ValueError, match="atoms must not be zero, but row 1 is"):
        GeneralDictionary([[1.0, 0.0], [0.0, 0.0]])
    dictionary = GeneralDictionary(np.eye(3, 2) + 1)
    assert dictionary.flops == 12  # 2 n K
    assert dictionary.encode_flops(2) == 12 + 4 * 3 + 3 * 2 * 3 + 8  # Batch-OMP
    assert dictionary.storage_bits() == 6 * 16
    assert dictionary.storage_bits(8) == 6 * 8
    with pytest.raises(ValueError, match="n_nonzero_coefs must be between 1 and n_features=2"):
        dictionary.encode_flops(3)
    assert dictionary.matrix.shape == (2, 3)
    assert (dictionary.n_atoms, dictionary.n_features, dictionary.n_parameters) == (3, 2, 6)
    with pytest.raises(ValueError, match="read-only"):
        dictionary.atoms[0, 0] = 2
    with pytest.raises(ValueError, match="codes have 2 columns"):
        dictionary.decode(csr_array(np.eye(2)))
    assert dictionary == GeneralDictionary(np.eye(3, 2) + 1)
    assert hash(dictionary) == hash(GeneralDictionary(np.eye(3, 2) + 1))
    assert dictionary != GeneralDictionary(np.eye(3, 2) + 2)


def test_reachable_from_the_package():
    assert fost.baselines.KSVD is KSVD
    assert "baselines" in dir(fost)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        fost.nothing  # noqa: B018


@pytest.mark.parametrize(
    "estimator",
    [
        KSVD(12, 2, max_iter=5, random_state=0),
        KSVD(12, 2, max_iter=3, random_state=0, approximate=False),
        MOD(12, 2, max_iter=5, random_state=0),
        StagewiseKSVD(12, 2, n_inner=2, n_final=2, random_state=0),
        SparseKSVD(12, 4, n_nonzero_coefs=2, max_iter=5, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize(
    ("dtype", "power"),
    [(np.float32, -100), (np.float32, 100), (np.float64, -900), (np.float64, 900)],
)
def test_results_do_not_depend_on_the_scale_of_signals(estimator, dtype, power):
    Y = planted()[0].astype(dtype)
    plain = clone(estimator).fit(Y)
    far = clone(estimator).fit(np.ldexp(Y, power))
    np.testing.assert_allclose(far.errors_, plain.errors_, rtol=1e-3)
    assert far.score(np.ldexp(Y, power)) == pytest.approx(plain.score(Y), rel=1e-3)


def test_atoms_of_any_scale():
    Y, _ = planted()
    start = np.random.default_rng(0).standard_normal((12, 10))
    scales = np.where(np.arange(12) % 2, 1e200, 1e-250)[:, None]
    plain, far = (
        KSVD(12, 2, init=a, max_iter=2, random_state=0).fit(Y) for a in (start, scales * start)
    )
    np.testing.assert_allclose(far.components_, plain.components_, atol=1e-9)


def test_decoding_with_large_atoms_detects_overflow():
    dictionary = GeneralDictionary([[1e200, 0.0], [0.0, 1.0]])
    np.testing.assert_array_equal(dictionary.decode(csr_array([[1e100, 2.0]])), [[1e300, 2.0]])
    for code in (np.array([[1e200, 0.0]]), np.array([[1.0, 0.0]], np.float32)):
        with pytest.raises(ValueError, match="codes are too large: decoding them overflows"):
            dictionary.decode(csr_array(code))
