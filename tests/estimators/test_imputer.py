"""The imputer, as scikit-learn sees it and as others would fill."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import fost
from tests.imputation.test_fit import random_walks, rms, with_missing


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        fost.Imputer(),
        fost.Imputer(2),
        fost.Imputer(add_indicator=True),
        fost.Imputer(keep_empty_features=True),
        fost.Imputer(missing_values=-7.5),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_imputation_beats_the_mean() -> None:
    Y = random_walks(500)
    X = with_missing(Y)
    imputer = fost.Imputer()
    filled = imputer.fit_transform(X)
    missing = np.isnan(X)
    assert (filled[~missing] == X[~missing]).all()
    assert rms((filled - Y)[missing]) < 0.5 * rms((SimpleImputer().fit_transform(X) - Y)[missing])
    assert imputer.n_features_in_ == 12
    again = pickle.loads(pickle.dumps(imputer))
    assert np.array_equal(again.transform(X), filled)
    new = with_missing(random_walks(100, seed=5), seed=6)
    assert np.isfinite(imputer.transform(new)).all()


def test_standard_deviations_are_calibrated() -> None:
    Y = random_walks(1500)
    X = with_missing(Y)
    imputer = fost.Imputer().fit(X)
    std, missing = imputer.deviations(X), np.isnan(X)
    assert (std[~missing] == 0).all()
    ratio = np.mean((imputer.transform(X) - Y)[missing] ** 2) / np.mean(std[missing] ** 2)
    assert 0.8 < ratio < 1.25  # 5,000 entries, and an estimated mixture


def test_limits() -> None:
    X = with_missing(random_walks(200))
    missing, plain = np.isnan(X), fost.Imputer().fit_transform(X)
    limited = fost.Imputer(min_value=-0.5, max_value=0.25).fit_transform(X)
    assert np.array_equal(limited[missing], plain[missing].clip(-0.5, 0.25))
    assert np.array_equal(limited[~missing], X[~missing])
    X[:, 3] = np.nan
    highest = np.linspace(0, 2, 12)
    kept = fost.Imputer(max_value=highest, keep_empty_features=True).fit_transform(X)
    missing = np.isnan(X)
    assert (kept <= highest)[missing].all()
    assert (kept == highest)[missing].any()


def test_other_missing_values() -> None:
    X = with_missing(random_walks(200))
    marked = np.where(np.isnan(X), -999.0, X)
    expected = fost.Imputer().fit_transform(X)
    assert np.array_equal(fost.Imputer(missing_values=-999).fit_transform(marked), expected)


def test_types_are_kept() -> None:
    X = with_missing(random_walks(200)).astype(np.float32)
    filled = fost.Imputer().fit_transform(X)
    assert filled.dtype == np.float32
    seen = ~np.isnan(X)
    assert (filled[seen] == X[seen]).all()


@pytest.mark.parametrize("exponent", [-900, -3, 900])
def test_powers_of_two_change_no_digit(exponent: int) -> None:
    X = with_missing(random_walks(200))
    filled = fost.Imputer().fit_transform(np.ldexp(X, exponent))
    assert np.array_equal(np.ldexp(filled, -exponent), fost.Imputer().fit_transform(X))


def test_columns_of_very_different_scales() -> None:
    X = with_missing(random_walks(200))
    X[:, 3] *= 1e200
    X[:, 5] *= 1e-200
    filled = fost.Imputer().fit_transform(X)
    assert np.isfinite(filled).all()
    gaps = np.isnan(X[:, 5])
    assert 0 < np.abs(filled[gaps, 5]).max() < 1e-198  # walks of 6 steps go no further than 20


def test_features_without_observed_entries() -> None:
    X = with_missing(random_walks(100))
    X[:, [0, 7]] = np.nan
    with pytest.warns(UserWarning, match=r"features \['x0', 'x7'\], which are removed"):
        left_out = fost.Imputer().fit(X)
    assert left_out.transform(X).shape == (100, 10)
    assert list(left_out.get_feature_names_out()) == [f"x{k}" for k in range(12) if k not in (0, 7)]
    kept = fost.Imputer(keep_empty_features=True).fit(X)
    filled = kept.transform(X)
    assert (filled[:, [0, 7]] == 0).all()
    assert np.array_equal(np.delete(filled, [0, 7], axis=1), left_out.transform(X))
    assert np.isnan(kept.deviations(X)[:, 0]).all()
    nothing = np.full((5, 3), np.nan)
    with pytest.warns(UserWarning, match="keep_empty_features=True"):
        assert fost.Imputer().fit_transform(nothing).shape == (5, 0)
    assert (fost.Imputer(keep_empty_features=True).fit_transform(nothing) == 0).all()


def test_rows_without_observed_entries_get_the_mean() -> None:
    X = with_missing(random_walks(300))
    imputer = fost.Imputer(1).fit(X)
    empty = imputer.transform(np.full((2, 12), np.nan))
    assert (empty[0] == empty[1]).all()
    # The mean of all signals is about the mean of the observed entries.
    deviation = np.nanstd(X, axis=0) / np.sqrt(300)
    assert (np.abs(empty[0] - np.nanmean(X, axis=0)) < 5 * deviation).all()


def test_indicators_and_names() -> None:
    X = with_missing(random_walks(100, 4))
    X[:, 1] = np.arange(100)
    frame = pd.DataFrame(X, columns=list("abcd"))
    imputer = fost.Imputer(add_indicator=True).set_output(transform="pandas")
    out = imputer.fit_transform(frame)
    names = ["a", "b", "c", "d", *(f"missingindicator_{k}" for k in "acd")]
    assert list(out.columns) == names
    gaps = frame.isna().to_numpy()[:, [0, 2, 3]]
    assert np.array_equal(out.to_numpy()[:, 4:], gaps)


def test_it_works_in_a_pipeline() -> None:
    X = with_missing(random_walks(100))
    out = make_pipeline(fost.Imputer(), StandardScaler()).fit_transform(X)
    assert np.isfinite(out).all()
    assert clone(fost.Imputer(3)).n_members == 3


def test_threads_change_no_bit() -> None:
    X = with_missing(random_walks(900))
    before, results = fost.get_num_threads(), []
    try:
        for threads in (1, 3):
            fost.set_num_threads(threads)
            results.append(fost.Imputer(2).fit_transform(X))
    finally:
        fost.set_num_threads(before)
    assert np.array_equal(*results)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_members": 0}, "n_members must be between 1"),
        ({"n_members": 1.5}, "n_members must be an integer"),
        ({"missing_values": "x"}, "missing_values must be a number"),
        ({"add_indicator": 1}, "add_indicator must be True or False"),
        ({"keep_empty_features": None}, "keep_empty_features must be True or False"),
        ({"random_state": "x"}, "random_state must be"),
        ({"min_value": "x"}, "min_value must be a number"),
        ({"max_value": [1.0, 2.0]}, r"max_value must be a number or of shape \(12,\)"),
        ({"min_value": 2, "max_value": 1}, "min_value must be at most max_value, got 2 and 1"),
        ({"max_value": np.nan}, "min_value must be at most max_value"),
    ],
)
def test_wrong_parameters_are_named(parameters, words) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        fost.Imputer(**parameters).fit(random_walks(20))
