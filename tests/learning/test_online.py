"""`partial_fit`: one pass per batch, which converges to the error of `fit`."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import fost
from fost.learning import as_training_data
from tests.learning.test_learn import correlated

ESTIMATORS = [
    fost.OrthonormalDictionary(3),
    fost.HouseholderDictionary(4, 3),
    fost.HouseholderDictionary(4, 3, orthogonal=True, base=fost.DCT(16)),
    fost.GivensDictionary(16, 3, base=fost.DCT(16)),
]


def epochs(estimator, Y, batch, count, seed=0):
    random = np.random.default_rng(seed)
    for _ in range(count):
        order = random.permutation(len(Y))
        for start in range(0, len(Y), batch):
            estimator.partial_fit(Y[order[start : start + batch]])
    return estimator


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_it_converges_to_the_error_of_fit(estimator):
    Y = correlated(6000, 16)
    fitted = clone(estimator).fit(Y)
    online = epochs(clone(estimator), Y, 500, 8)
    # Between 0.1 % below and 0.4 % above, and contracting: rounding moves that by 1e-12. Only `fit`
    # learns rotations with momentum, which ends in other minima: 3 % above.
    margin = 1.06 if isinstance(estimator, fost.GivensDictionary) else 1.01
    assert -online.score(Y) <= -margin * fitted.score(Y)
    assert online.n_iter_ == len(online.errors_) == 8 * 12


def test_without_forgetting_early_codes_persist():
    Y = correlated(6000, 16)
    error = {
        forgetting: -epochs(fost.OrthonormalDictionary(3, forgetting=forgetting), Y, 500, 4).score(
            Y
        )
        for forgetting in ("auto", 1.0, 0.0)
    }
    # 0.4 % and 0.8 % more, which rounding moves by 1e-13.
    assert 1.001 < error[1.0] / error["auto"] < 1.02
    assert 1.001 < error[0.0] / error["auto"] < 1.05


def test_repeating_one_batch_equals_fit():
    """With forgetting=0 a batch is one iteration, on signals in the order of `fit`."""
    Y = as_training_data(correlated(500, 16)).in_canonical_order().rows()
    fitted = fost.HouseholderDictionary(4, 3, max_iter=6, tol=0).fit(Y)
    online = fost.HouseholderDictionary(4, 3, forgetting=0.0)
    for _ in range(6):
        online.partial_fit(Y)
    assert online.dictionary_ == fitted.dictionary_
    np.testing.assert_allclose(
        online.errors_, [fitted.start_error_, *fitted.errors_[:-1]], rtol=1e-12
    )


def test_partial_fit_continues_fit_and_fit_starts_again():
    Y = correlated(500, 16)
    estimator = fost.HouseholderDictionary(4, 3, max_iter=5, tol=0)
    error = estimator.fit(Y).errors_[-1]
    estimator.partial_fit(Y)
    assert estimator.errors_ == pytest.approx([error])
    assert estimator.n_iter_ == 1
    estimator.fit(Y)
    assert estimator.errors_[-1] == error
    assert estimator.partial_fit(Y).errors_ == pytest.approx([error])


def test_pickled_estimators_continue():
    Y = correlated(900, 16)
    a = fost.GivensDictionary(8, 3).partial_fit(Y[:300])
    b = pickle.loads(pickle.dumps(a))
    for estimator in (a, b):
        estimator.partial_fit(Y[300:600]).partial_fit(Y[600:])
    assert a.dictionary_ == b.dictionary_


def test_bad_batches():
    estimator = fost.HouseholderDictionary(2, 2).partial_fit(np.eye(4))
    with pytest.raises(ValueError, match="X has 5 features, but HouseholderDictionary is exp"):
        estimator.partial_fit(np.eye(5))
    before = estimator.dictionary_
    with pytest.raises(ValueError, match="X has no observed entries"):
        estimator.partial_fit(np.full((2, 4), np.nan))
    with pytest.raises(ValueError, match="infinity"):
        estimator.partial_fit(np.full((2, 4), np.inf))
    assert estimator.dictionary_ == before
    with pytest.raises(ValueError, match="forgetting must be at least 0 and at most 1"):
        fost.HouseholderDictionary(2, 2, forgetting=1.5).partial_fit(np.eye(4))
    with pytest.raises(ValueError, match="forgetting must be 'auto' or a number from 0 to 1"):
        fost.HouseholderDictionary(2, 2, forgetting="never").partial_fit(np.eye(4))


@pytest.mark.parametrize(
    "changes",
    [
        {"n_nonzero_coefs": 1},
        {"forgetting": 0.0},
        {"base": None},
        {"n_reflectors": 6},
        {"random_state": 5, "order": "random"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_changed_parameters_apply_from_the_next_batch(changes):
    Y = correlated(900, 16)
    parameters = {"base": fost.DCT(16), "forgetting": 1.0, "random_state": 0}
    estimator = fost.HouseholderDictionary(3, 4, **parameters)
    steady = clone(estimator).partial_fit(Y[:300]).partial_fit(Y[300:600]).partial_fit(Y[600:])
    estimator.partial_fit(Y[:300]).partial_fit(Y[300:600])
    before = estimator.dictionary_
    estimator.set_params(**changes).partial_fit(Y[600:])
    assert estimator.n_iter_ == len(estimator.errors_) == 3
    assert estimator.dictionary_ != steady.dictionary_
    if "n_reflectors" in changes:
        assert estimator.dictionary_.flops == before.flops + 3 * 4 * 16
        assert estimator.errors_[-1] == steady.errors_[-1]  # it continues from the same dictionary
    if "base" in changes:
        assert isinstance(estimator.dictionary_, fost.Householder)
    if "n_nonzero_coefs" in changes:
        assert estimator.errors_[-1] == pytest.approx(
            1 - np.sum(before.encode(Y[600:], 1).data ** 2) / np.sum(Y[600:] ** 2)
        )


def test_a_batch_that_is_refused_changes_nothing():
    Y = correlated(300, 16)
    estimator = fost.HouseholderDictionary(3, 4).partial_fit(Y)
    before = estimator.dictionary_
    with pytest.raises(ValueError, match="forgetting"):
        estimator.set_params(forgetting=3, n_reflectors=5).partial_fit(Y)
    with pytest.raises(ValueError, match="X is too"):
        estimator.set_params(forgetting=0.5).partial_fit(np.ldexp(Y, 1000))
    assert estimator.dictionary_ == before
    assert estimator.n_iter_ == 1
    assert estimator.partial_fit(Y).n_iter_ == 2
