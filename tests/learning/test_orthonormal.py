"""Among equally good solutions the closest is chosen: Q-DLA, banks and QH."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fost
from fost import _core
from fost.learning.statistics import Statistic
from reproduction.data import signals
from tests import reference_learning


def orthonormal(n: int, rng: np.random.Generator) -> np.ndarray:
    return np.linalg.qr(rng.standard_normal((n, n)))[0]


def updated(M: np.ndarray, current: np.ndarray) -> np.ndarray:
    return fost.Orthonormal().update(None, Statistic(M, 0.0), fost.Dense(current)).matrix


@given(n=st.integers(2, 40), n_unused=st.integers(0, 40), seed=st.integers(0, 2**32 - 1))
def test_the_closest_of_all_minimisers(n: int, n_unused: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    current = orthonormal(n, rng)
    unused = rng.permutation(n)[: min(n_unused, n)]
    M = rng.standard_normal((n, n))
    M[unused] = 0.0
    Q = updated(M, current)
    np.testing.assert_allclose(Q.T @ Q, np.eye(n), atol=1e-12)
    # The objective for given codes is tr(Q M), whose maximum is the nuclear norm of M.
    u, values, vt = np.linalg.svd(M.T)
    assert np.trace(Q @ M) == pytest.approx(values.sum(), rel=1e-12, abs=1e-12)
    # All other completions of the null space are farther away.
    rank = n - len(unused)
    for _ in range(3):
        other = u[:, :rank] @ vt[:rank] + u[:, rank:] @ orthonormal(n - rank, rng) @ vt[rank:]
        assert np.linalg.norm(Q - current) <= np.linalg.norm(other - current) + 1e-9


# P loses as many digits as the condition number of M has. Rows of unused atoms lose more if the
# current atoms lie close to the span of the others: their distance is at least 0.3 here.
@given(
    n=st.integers(1, 70),
    n_unused=st.integers(0, 6),
    digits=st.floats(0, 6),
    scale=st.sampled_from([1e-60, 1.0, 1e60]),
    seed=st.integers(0, 2**32 - 1),
)
def test_newton_finds_what_an_svd_finds(
    isa: str, n: int, n_unused: int, digits: float, scale: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    n_unused = min(n_unused, n // 2)
    rank, unused = n - n_unused, rng.permutation(n)[:n_unused]
    basis = orthonormal(n, rng)
    values = np.geomspace(1, 10.0**-digits, rank)
    M = np.zeros((n, n))
    M[np.setdiff1d(np.arange(n), unused)] = orthonormal(rank, rng) * values @ basis[:rank]
    share = rng.uniform(0.3, 1, n_unused)[:, None]
    inside = orthonormal(rank, rng)[:n_unused] @ basis[:rank]
    rows = np.vstack([share * basis[rank:] + np.sqrt(1 - share**2) * inside, basis])
    completed = np.linalg.qr(rows.T)[0] * np.sign(np.linalg.qr(rows.T)[1].diagonal())
    current = np.empty((n, n))
    current[:, np.r_[unused, np.setdiff1d(np.arange(n), unused)]] = completed

    found = np.full((n, n), np.nan)
    assert _core.solve_procrustes(M, current, found)
    expected = reference_learning.procrustes(M, current, rank)
    np.testing.assert_allclose(found, expected, atol=1e-14 * n * 10**digits)
    np.testing.assert_allclose(found.T @ found, np.eye(n), atol=1e-14)
    again = updated(scale * M, current)
    np.testing.assert_allclose(again, expected, atol=1e-14 * n * 10**digits)


@pytest.mark.parametrize("n", [2, 7, 64])
def test_matrices_that_are_nearly_singular_are_left_to_the_svd(isa: str, n: int) -> None:
    rng = np.random.default_rng(n)
    current, left, right = (orthonormal(n, rng) for _ in range(3))
    # Nearly singular and numerically singular matrices.
    for least in (1e-10, 1e-13, 1e-17, 0.0):
        M = left * np.r_[np.ones(n - 1), least] @ right
        assert not _core.solve_procrustes(M, current, np.empty((n, n))), least
        Q = updated(M, current)
        np.testing.assert_allclose(Q.T @ Q, np.eye(n), atol=1e-12)
        assert np.trace(Q @ M) == pytest.approx(n - 1 + least, rel=1e-12)
    # A current atom in the span of the others does not determine its replacement.
    M = left[:, : n - 1] @ right[: n - 1]
    M = np.vstack([orthonormal(n - 1, rng) @ right[: n - 1], np.zeros(n)])
    current = np.linalg.qr(np.c_[right[:1].T, right.T])[0][:, :n][:, ::-1]
    assert not _core.solve_procrustes(M, np.ascontiguousarray(current), np.empty((n, n)))
    Q = updated(M, current)
    assert np.trace(Q @ M) == pytest.approx(n - 1, rel=1e-12)


def test_newton_and_svd_give_the_same_learning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors of both methods on centred signals, which do not use the constant atom."""
    rng = np.random.default_rng(3)
    Y = np.cumsum(rng.standard_normal((3000, 24)), axis=1)
    Y -= Y.mean(axis=1, keepdims=True)
    ways = []
    solve = _core.solve_procrustes
    monkeypatch.setattr(_core, "solve_procrustes", lambda *a: ways.append(solve(*a)) or ways[-1])
    newton = fost.learn(Y, fost.Orthonormal(), 3, max_iter=10, tol=0)
    assert all(ways)
    monkeypatch.setattr(_core, "solve_procrustes", lambda *_: False)
    svd = fost.learn(Y, fost.Orthonormal(), 3, max_iter=10, tol=0)
    # Rounding may change the choice between two equally good atoms.
    np.testing.assert_allclose(newton.errors, svd.errors, rtol=1e-9)
    assert (np.diff(newton.errors) <= 1e-15).all()


def test_unused_atoms_change_as_little_as_possible() -> None:
    rng = np.random.default_rng(0)
    current = orthonormal(12, rng)
    M = np.zeros((12, 12))
    M[:9] = rng.standard_normal((9, 9)) @ current[:, :9].T  # signals in the span of nine atoms
    Q = updated(M, current)
    np.testing.assert_allclose(Q[:, 9:], current[:, 9:], atol=1e-10)
    assert not np.allclose(Q[:, :9], current[:, :9], atol=0.1)


def test_a_zero_statistic_keeps_the_transform() -> None:
    current = orthonormal(6, np.random.default_rng(0))
    np.testing.assert_allclose(updated(np.zeros((6, 6)), current), current, atol=1e-14)


# On barb two or three atoms are unused in most iterations. Without the rule, starts that differ by
# rounding end up to 2 % apart; with it, only the rounding of the errors remains.
def test_rounding_does_not_decide_on_barb(paper_images: dict[str, np.ndarray]) -> None:
    Y = signals(paper_images["barb"].astype(np.float64))
    start = fost.learn(Y, fost.Orthonormal(), 4, max_iter=0).transform.matrix
    rmse = []
    for seed in range(12):
        noise = np.random.default_rng(seed).standard_normal(start.shape)
        moved = fost.Dense(start + 1e-13 * noise)
        found = fost.learn(Y, fost.Orthonormal(), 4, init=moved, max_iter=100, tol=0)
        rmse.append(np.sqrt(found.error * np.mean(Y**2)))
    assert np.ptp(rmse) < 1e-5


def test_members_of_banks_choose_the_closest_solution() -> None:
    rng = np.random.default_rng(1)
    members = [orthonormal(8, rng), orthonormal(8, rng)]
    M = rng.standard_normal((2, 8, 8))
    M[0, 5:] = 0.0  # the first member has three atoms that no signal uses
    structure = fost.BankOf(fost.Orthonormal(), 2)
    bank = fost.Bank([fost.Dense(Q) for Q in members])
    found = structure.update(None, Statistic(M.reshape(16, 8), 0.0), bank)
    for member, sums, current in zip(found.members, M, members, strict=True):
        np.testing.assert_array_equal(member.matrix, updated(sums, current))


@pytest.mark.parametrize(("n", "m"), [(12, 5), (24, 6), (40, 20)])
def test_orthogonal_reflectors_choose_the_closest_tied_eigenvectors(n: int, m: int) -> None:
    """By LAPACK, and by Lanczos iterations for m <= n / 4."""
    rng = np.random.default_rng(n)
    basis = orthonormal(n, rng)
    # Two reflectors are unique; the others come from an eigenspace of twice their number.
    values = np.r_[-3.0, -2.0, np.full(2 * (m - 2), -1.0), np.full(n - 2 * m + 2, 1.0)]
    Z = basis @ np.diag(values) @ basis.T
    space = basis[:, 2 : 2 * m - 2]
    inside = space @ orthonormal(space.shape[1], rng)[:, : m - 2]
    # The last vectors belong to the lowest eigenvalues.
    current = fost.Householder(np.vstack([inside.T, basis[:, 1], basis[:, 0]]))
    structure = fost.Reflectors(m, orthogonal=True)
    found = structure.update(None, Statistic(Z / 2, 0.0), current)
    change = np.abs(found.matrix - current.matrix).max()
    # Lanczos begins with 0.1 % of every direction beside the current one.
    assert change < (1e-2 if m <= n // 4 else 1e-8)
    np.testing.assert_allclose(found.matrix @ found.matrix.T, np.eye(n), atol=1e-8)
