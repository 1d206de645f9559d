"""The convergence warning of estimators that reach `max_iter` before `tol`."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fost
from tests.learning.test_learn import correlated

ESTIMATORS = [
    fost.OrthonormalDictionary(3),
    fost.HouseholderDictionary(4, 3),
    fost.GivensDictionary(8, 3),
    fost.BankDictionary(2, 3),
    fost.UnionDictionary(2, 3),
    fost.CirculantDictionary(2, 3),
    fost.AutoDictionary(3, max_members=1, verbose=False),
    fost.baselines.KSVD(20, 3),
    fost.baselines.MOD(20, 3),
]
estimators = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
Y = correlated(300, 16)


@estimators
def test_missing_convergence_warns_at_the_call_of_fit(estimator):
    # No error of 300 signals repeats to 1e-300 after one step, unless it is 0.
    few = clone(estimator).set_params(max_iter=1, tol=1e-300, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=1 iterations") as caught:
        few.fit(Y)
    assert [Path(each.filename).name for each in caught] == [Path(__file__).name]


def test_missing_convergence_in_a_pipeline_warns_at_the_call_of_its_fit():
    pipeline = make_pipeline(
        StandardScaler(), fost.OrthonormalDictionary(3, max_iter=1, tol=1e-300)
    )
    with pytest.warns(ConvergenceWarning, match="increase max_iter or tol") as caught:
        pipeline.fit(Y)
    assert [Path(each.filename).name for each in caught] == [Path(__file__).name]


@pytest.mark.parametrize("kind", [fost.OrthonormalDictionary, fost.UnionDictionary])
def test_learning_stops_without_progress(kind):
    # The errors of a union go up and down, so that two of them in a row are rarely equal.
    fitted = kind(n_nonzero_coefs=3, tol=1e-6, random_state=0).fit(Y)
    assert fitted.n_iter_ < fitted.max_iter
    assert fitted.error_ == fitted.errors_.min()


@estimators
@pytest.mark.parametrize("settings", [{"tol": 0}, {"tol": 10.0}, {"max_iter": 0}], ids=str)
def test_no_warning_after_convergence_or_with_tol_zero(estimator, settings):
    quiet = clone(estimator).set_params(**{"max_iter": 2, "random_state": 0, **settings})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quiet.fit(Y)


@pytest.mark.parametrize("estimator", [ESTIMATORS[0], ESTIMATORS[-2]], ids=lambda e: str(e)[:4])
def test_no_warning_if_a_callback_stops_the_last_iteration(estimator):
    stopped = clone(estimator).set_params(
        max_iter=2, tol=1e-300, callback=lambda k, error, transform: k == 2
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert stopped.fit(Y).n_iter_ == 2
    assert np.isfinite(stopped.errors_).all()
