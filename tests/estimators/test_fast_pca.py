"""FastPCA: scikit-learn's checks, captured variance, bases, bad arguments."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.utils.estimator_checks import parametrize_with_checks

import fost


@parametrize_with_checks([fost.FastPCA()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def digits() -> np.ndarray:
    return load_digits().data


@pytest.mark.parametrize("base", [None, "auto", fost.DCT((8, 8))])
def test_most_of_the_variance_is_captured(base):
    X = digits()
    pca, fast = PCA(16).fit(X), fost.FastPCA(16, 32, base).fit(X)
    codes = fast.transform(X)
    np.testing.assert_allclose(codes, (X - X.mean(axis=0)) @ fast.components_.T, atol=1e-9)
    np.testing.assert_allclose(codes.var(axis=0, ddof=1), fast.explained_variance_, rtol=1e-9)
    assert (np.diff(fast.explained_variance_) <= 0).all()
    # .88 without a base and .89 with the DCT when this was written.
    assert 0.85 < fast.explained_variance_.sum() / pca.explained_variance_.sum() <= 1
    np.testing.assert_allclose(
        fast.explained_variance_ratio_, fast.explained_variance_ / X.var(axis=0, ddof=1).sum()
    )
    lost = X.var(axis=0, ddof=1).sum() - fast.explained_variance_.sum()
    residual = X - fast.inverse_transform(codes)
    assert np.square(residual).sum() / (len(X) - 1) == pytest.approx(lost)


def test_auto_captures_what_it_promises():
    X = digits()
    fast = fost.FastPCA(8).fit(X)
    captured = fast.explained_variance_.sum()
    assert captured >= 0.95 * PCA(8).fit(X).explained_variance_.sum() * (1 - 1e-9)


def test_more_rotations_capture_more():
    X = digits()
    captured = [fost.FastPCA(16, g, None).fit(X).explained_variance_.sum() for g in (8, 32, 128)]
    assert captured == sorted(captured)
    # .977 when this was written.
    assert captured[-1] > 0.96 * PCA(16).fit(X).explained_variance_.sum()


def test_all_components_and_constant_signals():
    X = np.random.default_rng(0).standard_normal((30, 5))
    fast = fost.FastPCA(n_rotations=3).fit(X)
    np.testing.assert_allclose(fast.inverse_transform(fast.transform(X)), X, atol=1e-12)
    constant = fost.FastPCA(2, 3).fit(np.ones((4, 6)))
    np.testing.assert_array_equal(constant.explained_variance_, np.zeros(2))
    assert not constant.transform(np.ones((4, 6))).any()


def test_a_base_has_a_name():
    X = digits()
    named, given = (fost.FastPCA(4, 8, base=base).fit(X) for base in ("dct", fost.DCT(64)))
    assert named.transform_ == given.transform_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 65}, "n_components must be between"),
        ({"n_rotations": 0}, "n_rotations must be between"),
        ({"n_rotations": "many"}, "n_rotations must be an integer"),
        ({"base": "wave"}, "base must be a transform"),
        ({"base": fost.DCT(8)}, "base has n_features=8"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        fost.FastPCA(**options).fit(digits())


def test_bad_codes():
    fast = fost.FastPCA(4, 8).fit(digits())
    with pytest.raises(ValueError, match="X has 5 components, but FastPCA has 4"):
        fast.inverse_transform(np.ones((2, 5)))
