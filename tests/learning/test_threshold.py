"""Learning with a threshold: ||Y - U X||_F^2 + threshold^2 ||X||_0, as many entries as it takes."""

from __future__ import annotations

import numpy as np
import pytest

import fost
from fost.coding.selection import SelectionRule
from fost.learning import as_training_data
from tests.learning.test_learn import STRUCTURES, correlated, structures


def objective(Y: np.ndarray, coder: fost.Coder, threshold: float, s: int | None = None) -> float:
    codes = coder.encode(Y, s, threshold=threshold)
    left = np.sum((Y - coder.decode(codes)).astype(np.float64) ** 2)
    return float((left + threshold**2 * codes.nnz) / np.sum(Y.astype(np.float64) ** 2))


@structures
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("s", [None, 3])
def test_the_objective_never_increases(name, dtype, s):
    Y = correlated(300, 16, dtype=dtype)
    init = "base" if name == "rotations" else "svd"
    result = fost.learn(
        Y, STRUCTURES[name](16), s, threshold=2.0, init=init, max_iter=8, tol=0, random_state=0
    )
    slack = 1e-5 if dtype == np.float32 else 1e-12
    assert np.all(np.diff(result.errors) <= slack)
    assert result.error < result.start_error
    assert result.error == pytest.approx(objective(Y, result.transform, 2.0, s), rel=1e-4)


def test_banks_and_bases_too():
    Y = correlated(400, 16)
    Y[::2] = (
        8
        * np.random.default_rng(1).standard_normal((200, 16))
        * (np.random.default_rng(2).random((200, 16)) < 0.2)
    )
    for init in ("splitting", "farthest", "subsets"):
        structure = fost.BankOf(fost.Rotations(8), 2)
        result = fost.learn(
            Y, structure, threshold=3.0, base=fost.DCT(16), init=init, random_state=0, tol=0,
            max_iter=6,
        )  # fmt: skip
        assert np.all(np.diff(result.errors) <= 1e-12)
        assert result.error == pytest.approx(objective(Y, result.transform, 3.0), rel=1e-9)


def test_the_statistic_is_that_of_the_codes(isa):
    Y = correlated(500, 20)
    coder = fost.DCT(20)
    found = as_training_data(Y).statistic(
        None, coder, SelectionRule(20, threshold=1.5), with_energy=True
    )
    X = coder.encode(Y, threshold=1.5).toarray()
    np.testing.assert_allclose(found.matrix, X.T @ Y, rtol=1e-12, atol=1e-9)
    assert found.energy == pytest.approx(np.sum(X**2) - 1.5**2 * np.count_nonzero(X), rel=1e-12)
    assert found.signal_energy == pytest.approx(np.sum(Y**2), rel=1e-12)


def test_no_threshold_keeps_everything():
    Y = correlated(50, 8)
    result = fost.learn(Y, fost.Orthonormal(), threshold=0.0)
    assert result.error == pytest.approx(0, abs=1e-12)
    nothing = fost.learn(Y, fost.Orthonormal(), threshold=1e6)
    assert nothing.error == 1


def test_estimators_know_it():
    Y = correlated(300, 16)
    dictionary = fost.OrthonormalDictionary(None, threshold=2.0).fit(Y)
    result = fost.learn(Y, fost.Orthonormal(), threshold=2.0)
    np.testing.assert_array_equal(dictionary.errors_, result.errors)
    codes = dictionary.transform(Y)
    assert np.abs(codes[codes != 0]).min() > 2
    assert len(set(np.count_nonzero(dictionary.transform(Y), axis=1))) > 1
    exact = dictionary.set_params(transform_max_error=0.5)
    errors = np.square(Y - exact.inverse_transform(exact.transform(Y))).sum(axis=1)
    assert errors.max() <= 0.5 * (1 + 1e-9)
    online = fost.OrthonormalDictionary(None, threshold=2.0)
    for part in np.array_split(Y, 3):
        online.partial_fit(part)
    assert np.isfinite(online.errors_).all()


def test_a_checkpoint_is_of_one_threshold(tmp_path):
    Y, path = correlated(200, 8), tmp_path / "run"
    fost.learn(Y, fost.Orthonormal(), threshold=2.0, max_iter=3, checkpoint=path)
    with pytest.raises(ValueError, match=r"threshold was 2\.0 and is now 3\.0"):
        fost.learn(Y, fost.Orthonormal(), threshold=3.0, max_iter=3, checkpoint=path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "n_nonzero_coefs or threshold must be given"),
        ({"threshold": -1}, "threshold must be at least 0"),
        ({"threshold": np.nan}, "threshold must be"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        fost.learn(correlated(20, 4), fost.Orthonormal(), **arguments)
    with pytest.raises(ValueError, match="transform_max_error must be at least 0"):
        fost.OrthonormalDictionary(2, transform_max_error=-1).fit_transform(correlated(20, 4))
