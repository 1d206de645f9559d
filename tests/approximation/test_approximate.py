"""Approximations of orthonormal matrices by rotations and reflectors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ortho_group

import fost


def check(Q: np.ndarray, found, weights=None) -> None:
    w = np.ones(len(Q)) if weights is None else weights
    U = found.transform.matrix
    np.testing.assert_allclose(U.T @ U, np.eye(len(Q)), atol=1e-12)
    assert sorted(found.order) == list(range(len(Q)))
    gaps = np.square(Q[:, found.order] * found.signs - U).sum(axis=0)
    assert found.error == pytest.approx(np.sqrt(gaps @ w[found.order] / w.sum()), abs=1e-12)


@pytest.mark.parametrize("structure", [fost.Rotations(20), fost.Reflectors(5)])
@pytest.mark.parametrize("free", [(), ("order",), ("signs",), ("order", "signs")])
def test_the_error_is_that_of_the_transform(structure, free):
    Q = ortho_group.rvs(12, random_state=0)
    weights = np.arange(12.0)
    found = fost.approximate(Q, structure, free=free, weights=weights)
    check(Q, found, weights)
    if "order" not in free:
        np.testing.assert_array_equal(found.order, np.arange(12))
    if "signs" not in free:
        np.testing.assert_array_equal(found.signs, np.ones(12))


@pytest.mark.parametrize("n", [1, 2, 3, 16, 17])
def test_n_reflectors_are_exact(n):
    Q = ortho_group.rvs(n, random_state=n) if n > 1 else -np.eye(1)
    found = fost.approximate(Q, fost.Reflectors(n), free=())
    check(Q, found)
    assert found.error < 1e-10


def test_short_chains_of_reflectors_are_recovered():
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((4, 24))
    Q = fost.Householder(vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).matrix
    assert fost.approximate(Q, fost.Reflectors(4), free=()).error < 1e-6


def test_order_and_signs_of_columns_are_found():
    rng = np.random.default_rng(1)
    Q = fost.DCT(16).matrix[:, rng.permutation(16)] * rng.choice([-1.0, 1.0], 16)
    found = fost.approximate(Q, fost.Rotations(1), base=fost.DCT(16))
    check(Q, found)
    assert found.error < 1e-7
    assert fost.approximate(Q, fost.Rotations(1), base=fost.DCT(16), free=()).error > 0.5


@pytest.mark.parametrize("free", [(), ("order",), ("signs",), ("order", "signs")])
def test_enough_rotations_reach_both_determinants(free):
    # With the wrong determinant, the error is at least 2 / sqrt(n) = 0.5.
    rng = np.random.default_rng(1)
    Q = np.linalg.qr(rng.standard_normal((16, 16)))[0]
    for signs in ([1.0], np.r_[-1.0, np.ones(15)]):
        found = fost.approximate(Q * signs, fost.Rotations(120), free=free)
        check(Q * signs, found)
        assert found.error < 0.1


def test_weights_decide_which_columns_are_close():
    Q, weights = ortho_group.rvs(16, random_state=2), np.r_[np.ones(4), np.full(12, 1e-3)]
    found = fost.approximate(Q, fost.Rotations(40), weights=weights)
    plain = fost.approximate(Q, fost.Rotations(40))
    heavy = [np.isin(f.order, np.arange(4)) for f in (found, plain)]
    gaps = [
        np.square(Q[:, f.order] * f.signs - f.transform.matrix).sum(axis=0)[h].mean()
        for f, h in zip((found, plain), heavy, strict=True)
    ]
    assert gaps[0] < 0.5 * gaps[1]


def test_weights_belong_to_the_columns_of_the_given_matrix():
    Q, weights = ortho_group.rvs(8, random_state=3), np.arange(1.0, 9)
    found = fost.approximate(Q, fost.Rotations(8), weights=weights)
    gaps = np.square(Q[:, found.order] * found.signs - found.transform.matrix).sum(axis=0)
    errors = [np.sqrt(gaps @ w / weights.sum()) for w in (weights[found.order], weights)]
    assert found.error == pytest.approx(errors[0])
    assert abs(found.error - errors[1]) > 1e-3


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((np.ones((3, 3)), fost.Rotations(1)), {}, "Q must have orthonormal columns"),
        ((np.eye(3), fost.Orthonormal()), {}, "structure must be Rotations or Reflectors"),
        ((np.eye(3), fost.Rotations("auto")), {}, "structure must have a number"),
        ((np.eye(3), fost.Reflectors(4)), {}, "n_reflectors must be between"),
        ((np.eye(3), fost.Rotations(1)), {"weights": [1, -1, 1]}, "weights must be nonnegative"),
        ((np.eye(3), fost.Rotations(1)), {"weights": [0, 0, 0]}, "weights must be nonnegative"),
        ((np.eye(3), fost.Rotations(1)), {"weights": [1, 1]}, "weights must have shape"),
        ((np.eye(3), fost.Rotations(1)), {"free": "order"}, "free must be a sequence"),
        ((np.eye(3), fost.Rotations(1)), {"free": ("scale",)}, "free must be a sequence"),
        ((np.eye(3), fost.Rotations(1)), {"base": fost.DCT(2)}, "base has n_features=2"),
    ],
)
def test_bad_arguments(arguments, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        fost.approximate(*arguments, **options)
