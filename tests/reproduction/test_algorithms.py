"""The paper's algorithms by name, against reference implementations."""

from __future__ import annotations

import numpy as np
import pytest

import fost
from reproduction.algorithms import AUTO_BUDGET, Settings, learn, run
from reproduction.data import signals as image_signals
from tests.reproduction.conftest import TINY, make_image


def signals(n: int = 16, count: int = 400) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.cumsum(rng.standard_normal((count, n)), axis=1)


def codes(U: np.ndarray, Y: np.ndarray, s: int) -> np.ndarray:
    return fost.select(Y @ U, s).toarray()


@pytest.mark.parametrize("name", ["H3", "QH3", "Q"])
def test_algorithms_are_fost_learn_without_early_stopping(name: str) -> None:
    Y = signals()
    structure = {"H3": fost.Reflectors(3), "QH3": fost.Reflectors(3, orthogonal=True),
                 "Q": fost.Orthonormal()}[name]  # fmt: skip
    found = learn(name, Y, s=2, K=60)
    assert len(found.errors) == 61
    expected = fost.learn(Y, structure, 2, max_iter=60, tol=0)
    np.testing.assert_array_equal(found.errors, [expected.start_error, *expected.errors])
    assert found.rmse(Y) == pytest.approx(
        np.sqrt(np.mean((Y - found.dictionary.decode(found.dictionary.encode(Y, 2))) ** 2))
    )
    assert found.rmse(Y, 0) > found.rmse(Y, 1)
    assert found.rmse(Y, 60) == found.rmse(Y)
    assert len(learn(name, Y, s=2).errors) == 101


def test_initialisation_of_the_authors_code() -> None:
    """Zero reflectors and the codes of all singular vectors, then sweeps of Algorithm 2."""
    Y, s, m = signals(), 2, 3
    basis = fost.learn(Y, fost.Orthonormal(), s, max_iter=0).transform.matrix
    X, vectors = codes(basis, Y, s), np.zeros((m, 16))
    errors = []
    for _ in range(5):
        R = X.T @ Y
        for j in range(m):
            left, right = np.eye(16), np.eye(16)
            for u in vectors[:j]:
                left = (np.eye(16) - 2 * np.outer(u, u)) @ left
            for u in vectors[:j:-1]:
                right = right @ (np.eye(16) - 2 * np.outer(u, u))
            Z = left @ R @ right
            values, found = np.linalg.eigh(Z + Z.T)
            vectors[j] = found[:, 0] if values[0] < 0 else 0
        U = fost.Householder(vectors).matrix
        X = codes(U, Y, s)
        errors.append(1 - np.sum(X**2) / np.sum(Y**2))
    ours = learn(f"H{m}", Y, s, 5, start="matlab")
    np.testing.assert_allclose(ours.errors[1:], errors, rtol=1e-6)
    assert not np.allclose(ours.errors[1], learn(f"H{m}", Y, s, 5).errors[1])
    np.testing.assert_array_equal(
        learn("Q", Y, s, 5).errors, learn("Q-DLA", Y, s, 5, start="matlab").errors
    )


def test_fixed_transforms() -> None:
    Y = signals()
    line = learn("DCT", Y, 3)
    assert line.dictionary == fost.DCT(16)
    kept = np.sort(np.abs(fost.DCT(16).forward(Y)), axis=1)[:, -3:]
    assert line.error == pytest.approx(1 - np.sum(kept**2) / np.sum(Y**2))
    assert learn("2-D DCT", Y, 3).dictionary == fost.DCT((4, 4))
    assert learn("1-D DCT", Y, 3).error == line.error


def test_stagewise_ksvd_as_published() -> None:
    Y = signals()
    found = learn("SK-SVD", Y, s=2, K=3)
    expected = fost.baselines.StagewiseKSVD(
        16, 2, n_inner=3, n_final=0, drop_first=True, random_state=0
    )
    expected.fit(Y)
    np.testing.assert_array_equal(found.dictionary.atoms, expected.components_)
    assert len(found.errors) == expected.n_iter_ + 2


@pytest.mark.parametrize("name", ["H0", "QH17", "K-SVD", "H", ""])
def test_unknown_names_are_rejected(name: str) -> None:
    with pytest.raises(ValueError, match=r"n_reflectors|reflectors|name must be like"):
        learn(name, signals(), 2)


@pytest.mark.parametrize("method", ["1-D DCT", "2-D DCT", "H3", "QH3", "Q-DLA", "SK-SVD",
                                    "SK-SVD, continued", "DCT + 16 rotations",
                                    "AutoDictionary"])  # fmt: skip
def test_the_error_of_a_method_is_that_of_its_codes(method: str) -> None:
    Y = image_signals(make_image(1).astype(float))
    found = run(method, Y, TINY)
    decoded = found.dictionary.decode(found.dictionary.encode(Y, 4))
    assert found.rmse(Y) == pytest.approx(np.sqrt(np.mean((Y - decoded) ** 2)), rel=1e-6)
    assert found.operations <= AUTO_BUDGET or method[:2] in ("Q-", "SK")


def test_iterations_by_method() -> None:
    wanted = {"H6": 30, "H12": 30, "H32": 100, "QH6": 100, "QH32": 100, "Q-DLA": 10, "H20": 100}
    assert {method: Settings().table_k(method) for method in wanted} == wanted
