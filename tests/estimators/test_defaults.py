"""Estimators without arguments suit signals of any length."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import fost
from fost.estimators.base import default_entries, default_reflectors
from tests.learning.test_learn import correlated

LEARNED = [
    fost.OrthonormalDictionary(),
    fost.HouseholderDictionary(),
    fost.GivensDictionary(),
    fost.BankDictionary(),
    fost.UnionDictionary(),
    fost.CirculantDictionary(),
]
GENERAL = [
    fost.baselines.KSVD(),
    fost.baselines.MOD(),
    fost.baselines.StagewiseKSVD(),
    fost.SparseKSVD(),
]
ESTIMATORS = [*LEARNED, fost.AutoDictionary(), *GENERAL, fost.Imputer()]


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks_without_arguments(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS[:-1], ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("n", [2, 3, 5, 33])
def test_signals_of_any_length(estimator, n):
    Y = correlated(80, n)
    fitted = clone(estimator).fit(Y)
    assert fitted.get_params() == estimator.get_params()
    assert fitted.n_nonzero_coefs_ == default_entries(n)
    assert np.count_nonzero(fitted.transform(Y), axis=1).max() <= default_entries(n)
    assert -fitted.score(Y) <= 1


def test_the_sizes_of_the_paper_for_patches_of_64_pixels():
    assert default_entries(64) == 4
    assert default_reflectors(64) == 12
    assert [default_entries(n) for n in (1, 3, 4, 65, 256)] == [1, 3, 4, 5, 16]
    assert default_entries(64, n_atoms=3) == 3
    assert [default_reflectors(n) for n in (1, 2, 3, 4, 1024)] == [1, 2, 3, 4, 20]


def test_selected_sizes_are_fitted_attributes():
    Y = correlated(100, 16)
    reflectors = fost.HouseholderDictionary(base=fost.DCT(16), max_iter=2).fit(Y)
    assert (reflectors.n_reflectors_, reflectors.n_nonzero_coefs_) == (8, 4)
    assert reflectors.n_reflectors is None
    few = fost.HouseholderDictionary("auto", max_iter=2).fit(Y)
    assert few.n_reflectors_ == few.dictionary_.n_reflectors
    rotations = fost.GivensDictionary(base=fost.DCT(16), max_iter=2).fit(Y)
    assert rotations.n_rotations_ == rotations.dictionary_.stages[-1].n_rotations == 16
    assert rotations.partial_fit(Y).n_nonzero_coefs_ == 4


def test_no_limit_of_entries_with_a_threshold():
    Y = correlated(100, 8)
    fitted = fost.OrthonormalDictionary(threshold=1e-9, max_iter=2).fit(Y)
    assert fitted.n_nonzero_coefs_ is None
    assert np.count_nonzero(fitted.transform(Y), axis=1).max() == 8


def test_transform_uses_current_parameters():
    Y = correlated(100, 16)
    fitted = fost.OrthonormalDictionary(max_iter=2).fit(Y)
    assert np.count_nonzero(fitted.transform(Y)) == 400
    assert np.count_nonzero(fitted.set_params(n_nonzero_coefs=2).transform(Y)) == 200
