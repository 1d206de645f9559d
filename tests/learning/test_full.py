"""Q-DLA where atoms are unused: of all best matrices, the nearest to the current one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fost
from fost.learning.sources import Statistic
from tests.learning.test_loop import correlated


def orthonormal(n: int, rng: np.random.Generator) -> np.ndarray:
    return np.linalg.qr(rng.standard_normal((n, n)))[0]


def updated(M: np.ndarray, current: np.ndarray) -> np.ndarray:
    return fost.Full().update(None, Statistic(M, 0.0), fost.Dense(current)).matrix


@given(n=st.integers(2, 40), n_unused=st.integers(0, 40), seed=st.integers(0, 2**32 - 1))
def test_the_nearest_of_all_minimisers(n: int, n_unused: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    current = orthonormal(n, rng)
    unused = rng.permutation(n)[: min(n_unused, n)]
    M = rng.standard_normal((n, n))
    M[unused] = 0.0
    Q = updated(M, current)
    np.testing.assert_allclose(Q.T @ Q, np.eye(n), atol=1e-12)
    # tr(Q M) is what codes of these sums make of the objective; the nuclear norm is its bound.
    u, values, vt = np.linalg.svd(M.T)
    assert np.trace(Q @ M) == pytest.approx(values.sum(), rel=1e-12, abs=1e-12)
    # Any other completion of the null space is farther away.
    rank = n - len(unused)
    for _ in range(3):
        other = u[:, :rank] @ vt[:rank] + u[:, rank:] @ orthonormal(n - rank, rng) @ vt[rank:]
        assert np.linalg.norm(Q - current) <= np.linalg.norm(other - current) + 1e-9


def test_unused_atoms_stay_where_the_others_leave_them_room() -> None:
    rng = np.random.default_rng(0)
    current = orthonormal(12, rng)
    M = np.zeros((12, 12))
    M[:9] = rng.standard_normal((9, 9)) @ current[:, :9].T  # signals in the span of nine atoms
    Q = updated(M, current)
    np.testing.assert_allclose(Q[:, 9:], current[:, 9:], atol=1e-10)
    assert not np.allclose(Q[:, :9], current[:, :9], atol=0.1)


def test_nothing_used_changes_nothing() -> None:
    current = orthonormal(6, np.random.default_rng(0))
    np.testing.assert_allclose(updated(np.zeros((6, 6)), current), current, atol=1e-14)


# Twenty signals of 32 features leave a third of the atoms unused or more. A start that differs
# by rounding must not end elsewhere: by the rule it moves by a multiple of rounding only.
@pytest.mark.parametrize("structure", [fost.Full(), fost.BankOf(fost.Full(), 2)])
def test_rounding_does_not_decide(structure: fost.Structure) -> None:
    Y = correlated(20, 32)
    start = fost.learn(Y, structure, 2, max_iter=0, random_state=0).transform
    errors = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        members = start.transforms if isinstance(start, fost.Bank) else [start]
        moved = [
            fost.Dense(u.matrix + 1e-14 * seed * rng.standard_normal((32, 32))) for u in members
        ]
        init = fost.Bank(moved) if isinstance(start, fost.Bank) else moved[0]
        found = fost.learn(Y, structure, 2, init=init, max_iter=30, tol=0)
        errors.append(found.errors[-1])
    assert np.ptp(errors) <= 1e-9 * max(errors)
