"""`fost.paper.learn`: the algorithms by name, against twins that are written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fost
from fost import paper


def signals(n: int = 16, count: int = 400) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.cumsum(rng.standard_normal((count, n)), axis=1)


def codes(U: np.ndarray, Y: np.ndarray, s: int) -> np.ndarray:
    return fost.select(Y @ U, s).toarray()


@pytest.mark.parametrize("name", ["H3", "QH3", "Q"])
def test_it_never_stops_early_and_is_what_learn_does(name: str) -> None:
    Y = signals()
    structure = {"H3": fost.Reflectors(3), "QH3": fost.Reflectors(3, orthogonal=True),
                 "Q": fost.Orthonormal()}[name]  # fmt: skip
    found = paper.learn(name, Y, s=2, K=60)
    assert len(found.errors) == 61
    expected = fost.learn(Y, structure, 2, max_iter=60, tol=0)
    np.testing.assert_array_equal(found.errors, [expected.start_error, *expected.errors])
    assert found.rmse(Y) == pytest.approx(
        np.sqrt(np.mean((Y - found.dictionary.decode(found.dictionary.encode(Y, 2))) ** 2))
    )
    assert found.rmse(Y, 0) > found.rmse(Y, 1)
    assert found.rmse(Y, 60) == found.rmse(Y)
    assert len(paper.learn(name, Y, s=2).errors) == 101


def test_the_start_of_the_authors_code() -> None:
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
    ours = paper.learn(f"H{m}", Y, s, 5, start="matlab")
    np.testing.assert_allclose(ours.errors[1:], errors, rtol=1e-6)
    assert not np.allclose(ours.errors[1], paper.learn(f"H{m}", Y, s, 5).errors[1])
    np.testing.assert_array_equal(
        paper.learn("Q", Y, s, 5).errors, paper.learn("Q-DLA", Y, s, 5, start="matlab").errors
    )


def test_what_is_not_learned() -> None:
    Y = signals()
    line = paper.learn("DCT", Y, 3)
    assert line.dictionary == fost.DCT(16)
    kept = np.sort(np.abs(fost.DCT(16).forward(Y)), axis=1)[:, -3:]
    assert line.error == pytest.approx(1 - np.sum(kept**2) / np.sum(Y**2))
    assert paper.learn("2-D DCT", Y, 3).dictionary == fost.DCT((4, 4))
    assert paper.learn("1-D DCT", Y, 3).error == line.error


def test_stagewise_ksvd_is_as_published() -> None:
    Y = signals()
    found = paper.learn("SK-SVD", Y, s=2, K=3)
    expected = fost.baselines.StagewiseKSVD(
        16, 2, n_inner=3, n_final=0, drop_first=True, random_state=0
    )
    expected.fit(Y)
    np.testing.assert_array_equal(found.dictionary.atoms, expected.components_)
    assert len(found.errors) == expected.n_iter_ + 2


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        (("H0", 2), ValueError, "name must have 1 to 16 reflectors"),
        (("QH17", 2), ValueError, "name must have 1 to 16 reflectors"),
        (("K-SVD", 2), ValueError, "name must be one of"),
        ((12, 2), TypeError, "name must be a string, got int"),
        (("H3", 0), ValueError, "s must be between 1 and n_features=16"),
        (("H3", 2, -1), ValueError, "K must be"),
        (("H3", 2, 1.5), TypeError, "K must be an integer"),
    ],
)
def test_what_is_wrong_is_said(arguments: Any, error: type[Exception], match: str) -> None:
    name, *others = arguments
    with pytest.raises(error, match=match):
        paper.learn(name, signals(), *others)


def test_starts_and_shapes_are_checked() -> None:
    with pytest.raises(ValueError, match="start must be one of"):
        paper.learn("H3", signals(), 2, start="svd")
    with pytest.raises(ValueError, match="start must be 'paper' for DCT"):
        paper.learn("DCT", signals(), 2, start="matlab")
    with pytest.raises(ValueError, match="Y must have"):
        paper.learn("H3", np.ones(16), 2)
    with pytest.raises(ValueError, match="which are no square"):
        paper.learn("2-D DCT", signals(8), 2)
