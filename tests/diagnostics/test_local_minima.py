"""Remarks 1, 2, 3 and 5 agree with brute force and with known special cases."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
from hypothesis import assume, given
from hypothesis import strategies as st

import fost
from fost import diagnostics
from fost.diagnostics.local_minima import (
    gershgorin_from_sums,
    procrustes_from_sums,
    symmetry_from_sums,
)
from fost.diagnostics.reflectors import one_more_reflector_from_sums
from fost.diagnostics.spectrum import symmetric_bound_from_sums
from fost.diagnostics.sums import CodingSums, coding_sums
from tests import cases
from tests.diagnostics import brute

KINDS = ("identity", "householder", "dct", "dense", "chain")
small = st.integers(2, 12)


def case(kind: str, n: int, seed: int) -> tuple[fost.Transform, np.ndarray, int]:
    rng = np.random.default_rng(seed)
    transform = cases.make_transform(kind, n, rng)
    return transform, rng.standard_normal((40, n)), int(rng.integers(1, n))


def with_reconstruction(W: np.ndarray) -> CodingSums:
    """Sums with D X Y^T = W: one signal per feature, Y = I, X = W, D = I."""
    n = len(W)
    found = coding_sums(fost.Householder(np.zeros((0, n))), np.eye(n), n)
    energy = float(np.sum(W**2))
    return replace(
        found,
        statistic=W,
        total=float(n),
        energy=energy,
        decoded_energy=energy,
        atom_energies=np.diag(W).copy(),
    )


@given(kind=st.sampled_from(KINDS), n=small, seed=cases.seeds)
def test_gershgorin_equals_brute_force(kind: str, n: int, seed: int) -> None:
    transform, Y, s = case(kind, n, seed)
    p = brute.paper(transform, Y, s)
    phi, psi = p.D.T @ p.Y, p.X
    found = diagnostics.gershgorin(transform, Y, s)
    slack = 1e-10 * np.sum(Y**2)
    off = [[abs(psi[j] @ phi[i]) for i in range(n) if i != j] for j in range(n)]
    assert np.allclose(found.centres, [psi[j] @ psi[j] for j in range(n)], atol=slack)
    assert np.allclose(found.radii, [sum(row) for row in off], atol=slack)
    assert abs(found.mu - max(map(max, off))) <= slack
    clear = np.abs(found.centres - found.radii) > slack
    expected = np.array([psi[j] @ psi[j] >= sum(off[j]) for j in range(n)])
    assert np.array_equal(found.rows[clear], expected[clear])
    R = psi @ phi.T
    assert abs(found.lowest_eigenvalue - np.linalg.eigvalsh((R + R.T) / 2)[0]) <= slack


@given(n=small, seed=cases.seeds)
def test_diagonal_dominance_implies_positive_semidefinite(n: int, seed: int) -> None:
    """The paper's inequality reversed: R_jj <= sum allows any sign."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n))
    A += A.T
    np.fill_diagonal(A, 0)
    dominant = A + np.diag(np.abs(A).sum(axis=1))
    assert gershgorin_from_sums(with_reconstruction(dominant), 1e-9).rows.all()
    assert np.linalg.eigvalsh(dominant)[0] >= -1e-12 * n
    coarse = A + (n - 1) * np.abs(A).max() * np.eye(n)
    found = gershgorin_from_sums(with_reconstruction(coarse), 1e-9)
    assert (found.centres >= found.bound * (1 - 1e-12)).all()
    assert np.linalg.eigvalsh(coarse)[0] >= -1e-12 * n


def test_printed_inequality_of_remark_1_is_not_sufficient() -> None:
    # R_jj <= sum holds in both rows, as the paper requires, but R is indefinite.
    R = np.array([[1.0, 2.0], [2.0, 1.0]])
    found = gershgorin_from_sums(with_reconstruction(R), 1e-9)
    assert (found.centres <= found.radii).all()
    assert (found.radii <= found.bound).all()
    assert found.lowest_eigenvalue == pytest.approx(-1)
    assert not found.rows.any()
    assert not found.holds


def test_gershgorin_of_a_diagonal_matrix() -> None:
    Y = np.diag([3.0, 2.0, 1.0, 0.0])
    found = diagnostics.gershgorin(fost.Householder(np.zeros((0, 4))), Y, 1)
    assert found.holds
    assert found.mu == 0
    assert found.centres.tolist() == [9, 4, 1, 0]
    assert found.used.tolist() == [True, True, True, False]
    assert "no orthonormal dictionary is better" in str(found)


def test_gershgorin_of_a_dominant_asymmetric_matrix() -> None:
    found = gershgorin_from_sums(with_reconstruction(np.array([[2.0, 1.0], [0.0, 2.0]])), 1e-9)
    assert found.rows.all()
    assert not found.holds
    assert "not symmetric" in str(found)


@given(kind=st.sampled_from(KINDS), n=small, seed=cases.seeds)
def test_symmetry_equals_brute_force(kind: str, n: int, seed: int) -> None:
    transform, Y, s = case(kind, n, seed)
    p = brute.paper(transform, Y, s)
    W = p.Y @ p.X.T @ p.D.T
    found = diagnostics.symmetry(transform, Y, s)
    assert found.asymmetry == pytest.approx(
        np.linalg.norm(W - W.T) / 2 / np.linalg.norm(W), abs=1e-10
    )
    lowest = np.linalg.eigvalsh((W + W.T) / 2)[0] / np.sum(Y**2)
    assert found.lowest_eigenvalue == pytest.approx(lowest, abs=1e-10)


def test_symmetry_alone_is_not_sufficient_for_remark_2() -> None:
    """For Y = -D X the matrix Y X^T D^T is symmetric, and Q = -I is the best."""
    W = -np.eye(3)
    found = symmetry_from_sums(with_reconstruction(W), 1e-9)
    assert found.asymmetry == 0
    assert not found.holds
    best = procrustes_from_sums(with_reconstruction(W), 1e-9)
    assert np.allclose(best.matrix, -np.eye(3))
    assert best.gain == pytest.approx(2 * (3 + 3))


@given(n=small, seed=cases.seeds, definite=st.booleans(), symmetric=st.booleans())
def test_remarks_2_and_3_agree(n: int, seed: int, definite: bool, symmetric: bool) -> None:
    W = np.random.default_rng(seed).standard_normal((n, n))
    W = W @ W.T if definite else W
    W = W + W.T if symmetric else W + np.triu(W, 1)
    if symmetric:  # it may be definite by chance
        values = np.linalg.eigvalsh(W)
        assume(np.abs(values).min() > 1e-6 * np.abs(values).max())
        definite = bool(values.min() > 0)
    sums = with_reconstruction(W)
    holds = symmetry_from_sums(sums, 1e-9).holds
    assert holds == (definite and symmetric)
    assert procrustes_from_sums(sums, 1e-9).holds == holds


@given(kind=st.sampled_from(KINDS), n=small, seed=cases.seeds)
def test_procrustes_equals_brute_force(kind: str, n: int, seed: int) -> None:
    transform, Y, s = case(kind, n, seed)
    p = brute.paper(transform, Y, s)
    found = diagnostics.procrustes(transform, Y, s)
    assert found.trace == pytest.approx(np.sum(p.X**2), rel=1e-10)
    assert found.nuclear_norm == pytest.approx(brute.nuclear(p.Y @ p.X.T), rel=1e-10)
    assert np.allclose(found.matrix @ found.matrix.T, np.eye(n))
    drop = p.error - np.sum((p.Y - found.matrix @ p.D @ p.X) ** 2)
    assert found.gain == pytest.approx(drop, abs=1e-9 * np.sum(Y**2))
    for other in range(20):  # no other orthonormal matrix is better
        Q = cases.random_orthonormal(np.random.default_rng(other), n)
        assert np.sum((p.Y - Q @ p.D @ p.X) ** 2) >= p.error - drop - 1e-9 * np.sum(Y**2)


def test_remark_3_holds_only_at_fixed_points_of_q_dla() -> None:
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((400, 12))
    result = fost.learn(Y, fost.Orthonormal(), 3, max_iter=3000, tol=0)
    found = diagnostics.procrustes(result, Y, 3, tol=1e-12)
    assert found.holds
    X = result.transform.encode(Y, 3)
    assert found.nuclear_norm == pytest.approx(np.sum(X.data**2), rel=1e-12)
    assert diagnostics.symmetry(result, Y, 3).holds
    start = fost.Dense(cases.random_orthonormal(rng, 12))
    elsewhere = diagnostics.procrustes(start, Y, 3)
    assert not elsewhere.holds
    assert elsewhere.relative_gain > 1e-3
    assert elsewhere.nuclear_norm > elsewhere.trace


def test_normal_matrices_do_not_satisfy_remark_3() -> None:
    """Normal with x^T A x >= 0, and nearly skew-symmetric: the paper says that both suffice."""
    for A in (np.array([[1.0, -1.0], [1.0, 1.0]]), np.array([[3.0, 1.0], [-1.0, 2.0]])):
        assert np.linalg.eigvalsh(A + A.T)[0] > 0
        found = procrustes_from_sums(with_reconstruction(A), 1e-9)
        assert not found.holds
        assert found.nuclear_norm == pytest.approx(np.hypot(np.trace(A), A[0, 1] - A[1, 0]))
        assert found.nuclear_norm == pytest.approx(brute.nuclear(A))


def test_reflector_may_help_where_no_small_rotation_does() -> None:
    """So Remark 4 is not necessary for a local minimum in the usual sense."""
    W = np.diag([3.0, 2.0, -1.0])
    assert one_more_reflector_from_sums(with_reconstruction(W), 1e-9).gain == 4
    for seed in range(100):
        A = np.random.default_rng(seed).standard_normal((3, 3))
        Q = scipy.linalg.expm(0.05 * (A - A.T))
        assert np.trace(Q.T @ W) < np.trace(W)  # the error is lower where the trace is larger


@given(kind=st.sampled_from(KINDS), n=small, seed=cases.seeds)
def test_symmetric_bound_equals_brute_force(kind: str, n: int, seed: int) -> None:
    transform, Y, s = case(kind, n, seed)
    p = brute.paper(transform, Y, s)
    found = diagnostics.symmetric_bound(transform, Y, s)
    assert found.full == pytest.approx(2 * brute.nuclear(p.Y @ p.X.T), rel=1e-10)
    Z = p.X @ p.Y.T + p.Y @ p.X.T
    assert found.symmetric == pytest.approx(brute.nuclear(Z), rel=1e-10)
    assert found.symmetric <= found.full
    assert found.gap >= 0
    # The dictionaries themselves: Procrustes, and the reflectors of negative eigenvalues.
    total = np.sum(Y**2)
    u, _, vt = np.linalg.svd(p.Y @ p.X.T)
    values, vectors = np.linalg.eigh(Z)
    U = np.eye(n) - 2 * vectors[:, values < 0] @ vectors[:, values < 0].T
    for Q, error in ((u @ vt, found.full_error), (U, found.symmetric_error)):
        assert error == pytest.approx(np.sum((p.Y - Q @ p.X) ** 2) / total, abs=1e-10)


def test_bounds_agree_if_the_polar_factor_is_symmetric() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((5, 5))
    P = A @ A.T
    Q = brute.product(np.linalg.qr(rng.standard_normal((5, 2)))[0].T)
    for M in (A + A.T, Q @ P):  # symmetric; not symmetric, but its polar factor is
        found = symmetric_bound_from_sums(with_reconstruction(M), None)
        assert found.gap == pytest.approx(0, abs=1e-12)
    assert symmetric_bound_from_sums(with_reconstruction(A), None).gap > 0.01


def test_symmetric_bound_with_a_base() -> None:
    Y = np.cumsum(np.random.default_rng(0).standard_normal((200, 8)), axis=1)
    base = fost.DCT(8)
    result = fost.learn(Y, fost.Reflectors(2), 2, base=base)
    found = diagnostics.symmetric_bound(result, Y, 2, base=base)
    own = diagnostics.symmetric_bound(result.transform.stages[1], base.forward(Y), 2)
    assert found.symmetric == pytest.approx(own.symmetric)
    assert found.full == pytest.approx(own.full)
