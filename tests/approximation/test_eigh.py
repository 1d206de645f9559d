"""Approximate eigendecompositions: errors, efforts, special matrices, bad arguments."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import aslinearoperator

import fost
from fost import _core
from fost.learning.state import InterruptedWarning

EFFORTS = ("greedy", "grow", "full")


def sensor_graph(n: int, seed: int = 0, radius: float = 0.25) -> np.ndarray:
    """The Laplacian of random points in a square that are connected to close ones."""
    points = np.random.default_rng(seed).random((n, 2))
    squares = np.square(points[:, None] - points[None]).sum(axis=-1)
    W = np.exp(-squares / (2 * 0.1**2)) * (squares < radius**2)
    np.fill_diagonal(W, 0)
    return np.diag(W.sum(axis=1)) - W


def check(S: np.ndarray, result, n_rotations: int) -> None:
    """The result is what it says."""
    w, U = result
    size = np.linalg.norm(S)
    M = U.matrix
    np.testing.assert_allclose(M.T @ M, np.eye(len(S)), atol=1e-12)
    np.testing.assert_allclose(np.diag(M.T @ S @ M), w, atol=1e-12 * (1 + size))
    error = np.linalg.norm(S - M * w @ M.T)
    assert result.error * size == pytest.approx(error, abs=1e-12 * (1 + size))
    centred = np.linalg.norm(S - np.trace(S) / len(S) * np.eye(len(S)))
    assert result.centred_error * centred == pytest.approx(error, abs=1e-12 * (1 + size))
    rotations = U.stages[-1] if isinstance(U, fost.Chain) else U
    assert rotations.n_rotations <= n_rotations
    assert not result.interrupted


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("n", [1, 2, 3, 17, 64])
def test_the_result_is_consistent(n, effort):
    S = sensor_graph(n, radius=2.0)
    check(S, fost.eigh(S, 2 * n, effort=effort), 2 * n)
    base = fost.DCT(n)
    check(S, fost.eigh(S, n, base=base, effort=effort), n)


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize(
    "S",
    [
        np.zeros((6, 6)),
        np.eye(7),
        np.diag([3.0, -1.0, 2.0]),
        np.ones((5, 5)),
        np.kron(np.eye(3), np.ones((4, 4))),  # disconnected, with repeated eigenvalues
        2 * np.eye(9) - np.roll(np.eye(9), 1, 0) - np.roll(np.eye(9), -1, 0),  # a ring
        np.array([[0.0, 1.0], [1.0, 0.0]]),
        1e-300 * np.ones((3, 3)),
        1e300 * (np.eye(3) + np.ones((3, 3))),
    ],
    ids=["zero", "identity", "diagonal", "ones", "blocks", "ring", "swap", "tiny", "huge"],
)
def test_special_matrices_are_exact_with_enough_rotations(S, effort):
    result = fost.eigh(S, 200, effort=effort)
    # Jacobi converges; sweeps of at most 200 angles accumulate rounding errors of this size.
    assert result.error <= 1e-7
    expected = np.linalg.eigvalsh(S / (np.abs(S).max() or 1)) * np.abs(S).max()
    np.testing.assert_allclose(np.sort(result.w), expected, atol=1e-6 * np.abs(S).max())
    if not np.count_nonzero(S - np.diag(np.diag(S))):
        assert result.U.n_rotations == 0


def test_more_effort_has_a_smaller_error():
    """Median ratios over five graphs: .80 for "grow" and .60 for "full" when this was written."""
    errors = np.array(
        [
            [fost.eigh(sensor_graph(64, seed), 192, effort=effort).error for effort in EFFORTS]
            for seed in range(5)
        ]
    )
    ratios = np.median(errors[:, 1:] / errors[:, :1], axis=0)
    assert ratios[0] < 0.95
    assert ratios[1] < 0.8
    assert (np.diff(errors, axis=1) < 0).mean() >= 0.9


@pytest.mark.parametrize("effort", EFFORTS)
def test_tol_is_reached(effort):
    S = sensor_graph(48)
    result = fost.eigh(S, tol=0.05, effort=effort)
    assert 0.02 < result.error <= 0.05
    assert fost.eigh(S, tol=1e-6, effort=effort).error <= 1e-6
    assert fost.eigh(S, tol=2.0, effort=effort).U.n_rotations == 0


def test_greedy_uses_as_few_rotations_as_tol_needs():
    S = sensor_graph(48)
    result = fost.eigh(S, tol=0.05, effort="greedy")
    shorter = fost.eigh(S, result.U.n_rotations - 1, effort="greedy")
    assert shorter.error > 0.05 >= result.error


def test_other_forms_of_matrices():
    S = sensor_graph(20)
    expected = fost.eigh(S, 40)
    for form in (scipy.sparse.csr_array(S), aslinearoperator(S), S.tolist(), np.asfortranarray(S)):
        w, U = fost.eigh(form, 40)
        np.testing.assert_array_equal(w, expected.w)
        assert U == expected.U
    single = fost.eigh(S.astype(np.float32), 40)
    assert single.error == pytest.approx(expected.error, rel=1e-3)


def test_results_do_not_depend_on_threads_or_repetition():
    S, before = sensor_graph(70), _core.get_num_threads()
    first = fost.eigh(S, 200, effort="full")
    _core.set_num_threads(1)
    try:
        second = fost.eigh(S, 200, effort="full")
    finally:
        _core.set_num_threads(before)
    np.testing.assert_array_equal(first.w, second.w)
    assert first.U == second.U


def test_a_base_that_diagonalises_needs_no_rotations():
    B = fost.DCT(16)
    S = B.matrix * np.arange(16.0) @ B.matrix.T
    result = fost.eigh(S, tol=1e-10, base=B)
    assert result.U.stages[1].n_rotations == 0
    np.testing.assert_allclose(result.w, np.arange(16.0), atol=1e-12)


def test_interrupts_return_the_best_chain(monkeypatch):
    calls = []

    def interrupting(*arguments):
        calls.append(None)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return original(*arguments)

    original = _core.sweep_angles
    monkeypatch.setattr(_core, "sweep_angles", interrupting)
    S = sensor_graph(40)
    with pytest.warns(InterruptedWarning, match="40 rotations"):
        result = fost.eigh(S, 160)
    assert result.interrupted
    assert result.U.n_rotations == 40
    M = result.U.matrix
    assert result.error == pytest.approx(np.linalg.norm(S - M * result.w @ M.T) / np.linalg.norm(S))


def test_progress_is_shown(capsys):
    fost.eigh(sensor_graph(20), 60, verbose=True)
    assert "rotations 60/60" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((np.triu(np.ones((3, 3))), 2), {}, "S must be symmetric"),
        ((np.full((3, 3), np.nan), 2), {}, "S contains NaN or infinity"),
        ((np.ones((3, 2)), 2), {}, "S must be square"),
        ((np.ones((0, 0)), 2), {}, "S must be square"),
        ((np.eye(3),), {}, "exactly one of n_rotations and tol"),
        ((np.eye(3), 2), {"tol": 0.1}, "exactly one of n_rotations and tol"),
        ((np.eye(3), 0), {}, "n_rotations must be between 1"),
        ((np.eye(3),), {"tol": 0.0}, "tol must be greater than 0"),
        ((np.eye(3), 2), {"base": fost.DCT(4)}, "base has n_features=4"),
        ((np.eye(3), 2), {"base": "auto"}, "base must be a transform"),
        ((np.eye(3), 2), {"effort": "more"}, "effort must be one of"),
    ],
)
def test_bad_arguments(arguments, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        fost.eigh(*arguments, **options)
