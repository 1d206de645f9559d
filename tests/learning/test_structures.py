"""Orthonormal and Reflectors: updates, starts and the claims of the paper."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

import fost
from fost import _core
from fost.learning import initialise
from fost.learning.reflectors import lowest_eigenvectors
from fost.learning.statistics import accumulate
from tests import reference_learning as twin
from tests.learning.test_learn import correlated, relative_error


def random_unit_rows(m: int, n: int, seed: int) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((m, n))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def reflector_product(vectors: np.ndarray) -> np.ndarray:
    return fost.Householder(vectors).matrix


def history(result: fost.LearningResult) -> list[float]:
    """The errors of the start and after each iteration."""
    return [result.start_error, *result.errors]


# ----- references: the same algorithm in plain NumPy ------------------------------------------


@pytest.mark.parametrize("m", [1, 3, 8])
def test_reflectors_follow_the_direct_translation(m):
    Y = correlated(600, 16)
    ours = fost.learn(Y, fost.Reflectors(m), 3, max_iter=10, tol=0)
    np.testing.assert_allclose(history(ours), twin.learn_reflectors(Y, m, 3, 10)[1], rtol=1e-8)


@pytest.mark.parametrize("m", [1, 3, 8, 16])
def test_orthogonal_reflectors_follow_the_direct_translation(m):
    Y = correlated(600, 16)
    ours = fost.learn(Y, fost.Reflectors(m, orthogonal=True), 3, max_iter=10, tol=0)
    np.testing.assert_allclose(history(ours), twin.learn_orthogonal(Y, m, 3, 10)[1], rtol=1e-8)


def test_full_follows_the_direct_translation():
    Y = correlated(600, 16)
    ours = fost.learn(Y, fost.Orthonormal(), 3, max_iter=10, tol=0)
    np.testing.assert_allclose(history(ours), twin.learn_full(Y, 3, 10)[1], rtol=1e-8)


# ----- the sweep in the core -------------------------------------------------------------------


@given(
    n=st.integers(1, 70),
    seed=st.integers(0, 2**32 - 1),
    shift=st.sampled_from([0.0, 1.0, 10.0, -10.0]),
    data=st.data(),
)
def test_sweep_matches_lapack(n, seed, shift, data, isa):
    m = data.draw(st.integers(1, min(n, 6)), label="m")
    M = np.random.default_rng(seed).standard_normal((n, n)) + shift * np.eye(n)
    start = random_unit_rows(m, n, seed)
    vectors = start.copy()
    _core.sweep_reflectors(M, vectors, np.arange(m, dtype=np.int32), np.zeros(m, np.int32))
    expected = twin.sweep(M, start)
    # Vectors agree if eigenvalues are separated; the objectives always agree.
    ours = np.trace(reflector_product(vectors) @ M)
    best = np.trace(reflector_product(expected) @ M)
    assert ours == pytest.approx(best, rel=1e-7, abs=1e-7)


@given(
    n=st.integers(1, 60),
    seed=st.integers(0, 2**32 - 1),
    shift=st.sampled_from([0.0, 3.0, 10.0, -10.0]),
    data=st.data(),
)
def test_lowest_eigenvectors_match_lapack(n, seed, shift, data, isa):
    m = data.draw(st.integers(1, n), label="m")
    M = np.random.default_rng(seed).standard_normal((n, n)) + shift * np.eye(n)
    vectors = data.draw(st.sampled_from([np.zeros((m, n)), random_unit_rows(m, n, seed)]))
    vectors = vectors.copy()
    _core.lowest_eigenvectors(M, vectors)
    expected = lowest_eigenvectors(M, m)
    np.testing.assert_array_equal(vectors.any(axis=1), expected.any(axis=1))
    used = vectors[vectors.any(axis=1)]
    np.testing.assert_allclose(used @ used.T, np.eye(len(used)), atol=1e-12)
    ours, theirs = (fost.Householder(v).matrix for v in (vectors, expected))
    assert np.trace(ours @ M) == pytest.approx(np.trace(theirs @ M), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("triangular", [False, True])
def test_sweep_of_long_signals_matches_lapack(single, triangular, isa):
    n, m = 261, 3  # M is not a whole number of ranges of rows, nor of vectors
    M = np.random.default_rng(0).standard_normal((n, n))
    begins = np.arange(m - 1, -1, -1, dtype=np.int32) * np.int32(triangular)
    start = random_unit_rows(m, n, 1) * (np.arange(n) >= begins[:, None])
    start /= np.linalg.norm(start, axis=1, keepdims=True)
    vectors = start.copy()
    _core.sweep_reflectors(M, vectors, np.arange(m, dtype=np.int32), begins, single)
    expected = start.copy()
    for j, begin in enumerate(begins):
        R = reflector_product(expected[:j]) @ M @ reflector_product(expected[j + 1 :])
        part = (R + R.T)[begin:, begin:]
        expected[j, begin:] = scipy.linalg.eigh(part, subset_by_index=[0, 0])[1][:, 0]
    assert not vectors[np.arange(n) < begins[:, None]].any()
    ours, best = (np.trace(reflector_product(v) @ M) for v in (vectors, expected))
    assert ours == pytest.approx(best, rel=1e-9)
    # The lowest eigenvalues of this M are separated by 0.1 % of its norm.
    alike = np.abs(np.sum(vectors * expected, axis=1))
    np.testing.assert_allclose(alike, 1, atol=1e-7 if single else 1e-12)


def test_sweep_of_long_signals_does_not_depend_on_threads(set_threads):
    n = 1100  # enough rows for two threads
    M = np.random.default_rng(0).standard_normal((n, n))
    found = []
    for count in (1, 2):
        vectors = random_unit_rows(2, n, 1)
        set_threads(count)
        _core.sweep_reflectors(M, vectors, np.arange(2, dtype=np.int32), np.zeros(2, np.int32))
        found.append(vectors)
    np.testing.assert_array_equal(*found)


def test_sweep_of_large_matrices_restarts_lanczos():
    n = 400
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    # A cluster at the lower end: Lanczos needs more steps than it keeps vectors.
    values = np.concatenate([-1 - 1e-4 * np.arange(30), np.linspace(0, 50, n - 30)])
    M = (Q * values) @ Q.T / 2
    vectors = np.zeros((1, n))
    _core.sweep_reflectors(M, vectors, np.zeros(1, np.int32), np.zeros(1, np.int32))
    assert vectors[0] @ (M + M.T) @ vectors[0] == pytest.approx(values.min(), rel=1e-9)


def test_positive_semidefinite_statistics_give_no_reflectors():
    M = np.diag(np.arange(5.0))
    vectors = random_unit_rows(1, 5, 0)
    _core.sweep_reflectors(M, vectors, np.zeros(1, np.int32), np.zeros(1, np.int32))
    assert not vectors.any()
    assert not lowest_eigenvectors(M, 3).any()


def test_random_order_updates_every_reflector():
    M = np.random.default_rng(0).standard_normal((12, 12))
    start = random_unit_rows(5, 12, 1)
    vectors = start.copy()
    order = np.array([3, 0, 4, 2, 1], np.int32)
    _core.sweep_reflectors(M, vectors, order, np.zeros(5, np.int32))
    expected = start.copy()
    for j in order:
        left = reflector_product(expected[:j])
        right = reflector_product(expected[j + 1 :])
        R = left @ M @ right
        expected[j] = initialise.fixed_signs(scipy.linalg.eigh(R + R.T)[1][:, :1])[:, 0]
    np.testing.assert_allclose(vectors, expected, atol=1e-7)


# ----- claims of the paper ---------------------------------------------------------------------


def test_one_reflector_is_the_same_for_both_algorithms():
    Y = correlated(500, 24)
    H = fost.learn(Y, fost.Reflectors(1), 4, max_iter=20, tol=0)
    QH = fost.learn(Y, fost.Reflectors(1, orthogonal=True), 4, max_iter=20, tol=0)
    np.testing.assert_allclose(H.errors, QH.errors, rtol=1e-9)
    np.testing.assert_allclose(H.transform.matrix, QH.transform.matrix, atol=1e-6)


@pytest.mark.parametrize("m", [1, 4, 12, 24])
def test_orthogonal_reflectors_are_orthogonal_and_symmetric(m):
    transform = fost.learn(correlated(500, 24), fost.Reflectors(m, orthogonal=True), 4).transform
    used = transform.vectors[transform.vectors.any(axis=1)]
    np.testing.assert_allclose(used @ used.T, np.eye(len(used)), atol=1e-12)
    np.testing.assert_allclose(transform.matrix, transform.matrix.T, atol=1e-12)


def test_the_lowest_eigenvector_goes_to_the_last_reflector():
    M = np.diag([-1.0, -3.0, 2.0, -2.0])
    np.testing.assert_allclose(np.abs(lowest_eigenvectors(M, 3)), np.eye(4)[[0, 3, 1]], atol=1e-14)


def test_the_other_eigenvectors_give_minus_u():
    M = np.random.default_rng(0).standard_normal((10, 10))
    _, T = scipy.linalg.eigh(M + M.T)
    first, others = fost.Householder(T[:, :4].T), fost.Householder(T[:, 4:].T)
    np.testing.assert_allclose(first.matrix, -others.matrix, atol=1e-12)


@given(n=st.integers(1, 12), seed=st.integers(0, 2**32 - 1), data=st.data())
def test_full_reduces_the_objective_at_least_as_much_as_orthogonal_reflectors(n, seed, data):
    """Remark 5, for fixed codes: 2 ||Y X^T||_* against 2 tr(U^T Y X^T)."""
    m = data.draw(st.integers(1, n), label="m")
    s = data.draw(st.integers(1, n), label="s")
    Y = correlated(50, n, seed)
    M, _ = accumulate(fost.DCT(n)._plan, Y, s)
    U = fost.Householder(lowest_eigenvectors(M, m)).matrix
    by_full = 2 * np.linalg.norm(M, "nuc")
    by_reflectors = 2 * np.trace(U.T @ M.T)
    assert by_full >= by_reflectors * (1 - 1e-12)
    # Triangle inequality of the remark.
    assert by_full >= np.linalg.norm(M + M.T, "nuc") * (1 - 1e-12)


def test_a_planted_transform_is_recovered_from_a_near_start():
    rng = np.random.default_rng(3)
    n, m, s = 20, 4, 3
    planted = fost.Householder(random_unit_rows(m, n, 5))
    X = fost.select(rng.standard_normal((2000, n)) * rng.uniform(0, 1, (2000, n)) ** 4, s).toarray()
    Y = planted.inverse(X)
    vectors = planted.vectors + 0.02 * rng.standard_normal((m, n))
    start = fost.Householder(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    by_reflectors = fost.learn(Y, fost.Reflectors(m), s, init=start, max_iter=300, tol=0)
    assert by_reflectors.start_error > 1e-3
    assert by_reflectors.error < 1e-12
    by_full = fost.learn(Y, fost.Orthonormal(), s, init=start, max_iter=300, tol=0)
    assert by_full.error < 1e-12


def test_more_reflectors_approach_the_full_transform():
    Y = correlated(2000, 16)
    errors = [fost.learn(Y, fost.Reflectors(m), 3, tol=0).error for m in (1, 2, 4, 8, 16)]
    full = fost.learn(Y, fost.Orthonormal(), 3, tol=0).error
    # Each step gains 6 % or more, except the last, where half of the reflectors are as good.
    assert all(more < 0.97 * few for few, more in pairwise(errors[:4])), errors
    assert errors[-1] < 1.01 * errors[-2]
    assert errors[-1] == pytest.approx(full, rel=0.05)


# ----- starts and options ----------------------------------------------------------------------


@pytest.mark.parametrize("n_signals", [9, 1200])  # Lanczos finds 12 components, or gives up
def test_principal_components_of_long_signals_match_lapack(n_signals):
    n, count = 1024, 12
    Y = np.cumsum(np.random.default_rng(0).standard_normal((n_signals, n)), axis=1)
    gram = Y.T @ Y
    components = initialise.principal_components(gram, count)
    values = scipy.linalg.eigvalsh(gram, subset_by_index=[n - count, n - 1])[::-1]
    np.testing.assert_allclose(components.T @ components, np.eye(count), atol=1e-12)
    found = np.sum(components * (gram @ components), axis=0)
    np.testing.assert_allclose(found, values, atol=1e-12 * values[0])


@pytest.mark.parametrize(("n", "m"), [(8, 1), (8, 3), (8, 7), (8, 8), (1, 1), (5, 4)])
def test_svd_start_triangularises_the_principal_components(n, m):
    Y = correlated(100, n)
    components = initialise.principal_components(Y.T @ Y, min(m + 1, n))
    expected = np.linalg.svd(Y.T)[0][:, : min(m + 1, n)]
    np.testing.assert_allclose(np.abs(components), np.abs(expected), atol=1e-8)
    vectors = initialise.triangularising_reflectors(components, m)
    reduced = fost.Householder(vectors).matrix.T @ components
    np.testing.assert_allclose(np.tril(reduced, -1)[:, :m], 0, atol=1e-12)
    # u_m makes the zeros of the first column on its own.
    first = fost.Householder(vectors[-1:]).matrix @ components
    np.testing.assert_allclose(first[1:, 0], 0, atol=1e-12)
    for c in range(m):
        assert not vectors[m - 1 - c, :c].any()


def test_triangular_reflectors_have_leading_zeros():
    Y = correlated(500, 16)
    for init in ("svd", "random"):
        result = fost.learn(
            Y, fost.Reflectors(5, triangular=True), 3, init=init, max_iter=5, random_state=0
        )
        for j, u in enumerate(result.transform.vectors):
            assert not u[: 4 - j].any()
            assert u[4 - j] != 0


def test_orthogonal_start_begins_where_qh_ends():
    Y = correlated(500, 16)
    QH = fost.learn(Y, fost.Reflectors(4, orthogonal=True), 3, max_iter=30)
    H = fost.learn(Y, fost.Reflectors(4), 3, init="orthogonal", max_iter=30)
    assert H.start_error == pytest.approx(QH.error)
    assert H.error <= H.start_error


@pytest.mark.parametrize("n", [1, 3, 8, 40])
def test_approximate_svd_keeps_the_leading_components(n):
    Y = correlated(300, n)
    basis = initialise.approximate_basis(Y.T @ Y, np.random.default_rng(0))
    np.testing.assert_allclose(basis.T @ basis, np.eye(n), atol=1e-12)
    for k in range(n // 8):
        leading = initialise.principal_components(Y.T @ Y, k + 1)[:, k]
        assert abs(leading @ basis[:, k]) == pytest.approx(1, abs=1e-4)
    result = fost.learn(Y, fost.Orthonormal(), 1, init="approximate-svd", random_state=0)
    assert result.error <= result.start_error


def test_signs_follow_the_rule():
    columns = np.array([[1.0, -2.0, 0.0], [-3.0, 1.0, 0.0]])
    np.testing.assert_array_equal(
        initialise.fixed_signs(columns), [[-1.0, 2.0, 0.0], [3.0, -1.0, 0.0]]
    )
    for orthogonal in (False, True):
        vectors = fost.learn(
            correlated(300, 12), fost.Reflectors(3, orthogonal=orthogonal), 2
        ).transform.vectors
        largest = np.argmax(np.abs(vectors), axis=1)
        assert np.all(vectors[np.arange(3), largest] > 0)


def test_auto_m_is_where_the_error_curve_flattens():
    skimage = pytest.importorskip("skimage.data")
    picture = skimage.camera()[:256, :256].astype(float) / 255
    Y = picture.reshape(32, 8, 32, 8).transpose(0, 2, 1, 3).reshape(-1, 64)
    Y -= Y.mean(axis=1, keepdims=True)
    auto = fost.learn(Y, fost.Reflectors("auto"), 4, max_iter=30)
    m = auto.transform.n_reflectors
    half = fost.learn(Y, fost.Reflectors(max(1, m // 2)), 4, max_iter=30)
    double = fost.learn(Y, fost.Reflectors(min(64, 2 * m)), 4, max_iter=30)
    assert 4 <= m <= 40
    # Half as many cost a lot more, 1.9 points, than twice as many would gain, 0.3.
    assert half.error - auto.error > 2 * (auto.error - double.error)
    assert auto.error - double.error < 0.015


def test_auto_m_of_data_that_need_no_reflectors():
    result = fost.learn(np.diag(np.arange(8.0, 0.0, -1.0)), fost.Reflectors("auto"), 1)
    assert result.error == pytest.approx(0, abs=1e-12)
    assert result.transform.n_reflectors <= 4


@pytest.mark.parametrize("base", [None, fost.DCT((4, 4))])
def test_starts_that_learn_something_else_first_take_a_base(base):
    Y = correlated(400, 16)
    auto = fost.learn(Y, fost.Reflectors("auto"), 3, base=base, max_iter=5)
    orthogonal = fost.learn(Y, fost.Reflectors(3), 3, base=base, init="orthogonal", max_iter=5)
    for result in (auto, orthogonal):
        assert relative_error(Y, result.transform, 3) == pytest.approx(result.error)
    QH = fost.learn(Y, fost.Reflectors(3, orthogonal=True), 3, base=base, max_iter=5)
    assert orthogonal.start_error == pytest.approx(QH.error)


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"n_reflectors": 0}, ValueError, "n_reflectors must be between 1"),
        ({"n_reflectors": -3}, ValueError, "n_reflectors must be between 1"),
        ({"n_reflectors": 2.5}, TypeError, "n_reflectors must be an integer"),
        ({"n_reflectors": "many"}, ValueError, "n_reflectors must be an integer or 'auto'"),
        ({"n_reflectors": 2, "order": "backwards"}, ValueError, "order must be"),
        (
            {"n_reflectors": 2, "orthogonal": True, "triangular": True},
            ValueError,
            "triangular must be",
        ),
    ],
)
def test_bad_structures_are_refused(arguments, error, match):
    with pytest.raises(error, match=match):
        fost.Reflectors(**arguments)


def test_orthogonal_start_is_not_for_orthogonal_reflectors():
    with pytest.raises(ValueError, match="init must be"):
        fost.learn(np.eye(4), fost.Reflectors(2, orthogonal=True), 1, init="orthogonal")
