"""The estimators: scikit-learn's own checks, and agreement with `fost.learn`."""

from __future__ import annotations

import codecs
import locale
import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import fost
from fost.estimators import base
from tests.learning.test_learn import correlated


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        fost.OrthonormalDictionary(n_nonzero_coefs=1),
        fost.OrthonormalDictionary(n_nonzero_coefs=1, sparse_output=False),
        fost.HouseholderDictionary(n_reflectors=2, n_nonzero_coefs=1),
        fost.HouseholderDictionary(n_reflectors=2, n_nonzero_coefs=1, orthogonal=True),
        fost.HouseholderDictionary(n_reflectors="auto", n_nonzero_coefs=1, sparse_output=False),
        fost.GivensDictionary(n_rotations=2, n_nonzero_coefs=1),
        fost.GivensDictionary(n_rotations="auto", n_nonzero_coefs=1),
        fost.AutoDictionary(n_nonzero_coefs=1, max_iter=2, verbose=False, random_state=0),
        fost.AutoDictionary(
            n_nonzero_coefs=1, max_members=3, max_iter=2, random_state=0, sparse_output=False
        ),
        fost.AutoDictionary(n_nonzero_coefs=1, max_members=1, max_iter=2, random_state=0),
        fost.OrthonormalDictionary(n_nonzero_coefs=None, threshold=0.5),
        fost.CirculantDictionary(2, 1, n_init=2),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("estimator", "structure"),
    [
        (fost.OrthonormalDictionary(3), fost.Orthonormal()),
        (fost.HouseholderDictionary(4, 3), fost.Reflectors(4)),
        (fost.HouseholderDictionary(4, 3, True), fost.Reflectors(4, orthogonal=True)),
        (
            fost.HouseholderDictionary(4, 3, triangular=True),
            fost.Reflectors(4, triangular=True),
        ),
        (fost.GivensDictionary(6, 3, random_state=0), fost.Rotations(6)),
    ],
)
@pytest.mark.parametrize("base", [None, fost.DCT((4, 4))])
def test_fit_is_learn(estimator, structure, base):
    Y = correlated(300, 16)
    fitted = clone(estimator).set_params(base=base, max_iter=7, tol=0).fit(Y)
    result = fost.learn(Y, structure, 3, base=base, max_iter=7, tol=0, random_state=0)
    assert fitted.dictionary_ == result.transform
    np.testing.assert_array_equal(fitted.errors_, result.errors)
    assert fitted.n_iter_ == 7
    np.testing.assert_array_equal(fitted.components_, result.transform.matrix.T)


DICTIONARIES = [
    fost.OrthonormalDictionary(1),
    fost.HouseholderDictionary(2, 1),
    fost.GivensDictionary(2, 1),
    fost.BankDictionary(2, 1),
    fost.AutoDictionary(1, max_iter=1, verbose=False),
    fost.baselines.KSVD(4, 1, max_iter=1),
]


def test_inverse_transform_decodes():
    Y = correlated(100, 16, dtype=np.float32)
    dictionary = fost.HouseholderDictionary(4, 16, sparse_output=True).fit(Y)
    codes = dictionary.transform(Y)
    assert isinstance(codes, csr_array)
    assert codes.dtype == np.float32
    np.testing.assert_allclose(dictionary.inverse_transform(codes), Y, atol=1e-4)
    dense = dictionary.set_params(sparse_output=False).transform(Y)
    np.testing.assert_array_equal(dense, codes.toarray())
    np.testing.assert_allclose(dictionary.inverse_transform(dense), Y, atol=1e-4)


def test_score_is_minus_the_relative_error():
    Y, other = correlated(300, 16, 0), correlated(50, 16, 1)
    dictionary = fost.OrthonormalDictionary(3).fit(Y)
    assert dictionary.score(Y) == pytest.approx(-dictionary.error_)
    decoded = dictionary.inverse_transform(dictionary.transform(other))
    expected = -np.sum((other - decoded) ** 2) / np.sum(other**2)
    assert dictionary.score(other) == pytest.approx(expected)
    assert dictionary.score(np.zeros((3, 16))) == 0


def test_in_a_pipeline_and_a_grid_search():
    Y = correlated(200, 16)
    search = GridSearchCV(
        fost.HouseholderDictionary(n_nonzero_coefs=3, max_iter=5),
        {"n_reflectors": [1, 8]},
        cv=2,
    ).fit(Y)
    assert search.best_params_ == {"n_reflectors": 8}
    pipeline = make_pipeline(StandardScaler(), fost.OrthonormalDictionary(3, max_iter=3))
    assert pipeline.fit_transform(Y).shape == Y.shape


@pytest.mark.parametrize("estimator", DICTIONARIES, ids=lambda e: type(e).__name__)
def test_default_codes_suit_the_next_steps_of_a_pipeline(estimator):
    pandas = pytest.importorskip("pandas")
    Y = correlated(60, 4)
    scaled = make_pipeline(clone(estimator), StandardScaler()).fit_transform(Y)
    assert isinstance(scaled, np.ndarray)
    frame = make_pipeline(clone(estimator)).set_output(transform="pandas").fit_transform(Y)
    assert isinstance(frame, pandas.DataFrame)


@pytest.mark.parametrize("estimator", DICTIONARIES, ids=lambda e: type(e).__name__)
def test_weights_of_scores_count_as_copies(estimator):
    Y = correlated(60, 4)
    fitted = clone(estimator).fit(Y)
    weights = np.arange(60) % 3
    expected = fitted.score(np.repeat(Y, weights, axis=0))
    assert fitted.score(Y, sample_weight=weights) == pytest.approx(expected, rel=1e-9)
    with pytest.raises(ValueError, match="sample_weight"):
        fitted.score(Y, sample_weight=-np.ones(60))


def test_pandas_output_and_names():
    pandas = pytest.importorskip("pandas")
    Y = correlated(50, 4)
    dictionary = fost.OrthonormalDictionary(2).set_output(transform="pandas")
    frame = dictionary.fit_transform(pandas.DataFrame(Y, columns=list("abcd")))
    assert list(frame.columns) == [f"orthonormaldictionary{k}" for k in range(4)]
    assert list(dictionary.feature_names_in_) == list("abcd")


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_data_frames_of_sparse_codes_are_refused_with_a_remedy(container):
    pytest.importorskip(container)
    Y = correlated(50, 4)
    sparse = fost.OrthonormalDictionary(2, sparse_output=True)
    for estimator in (clone(sparse), fost.baselines.KSVD(4, 2, max_iter=1, sparse_output=True)):
        estimator.set_output(transform=container).fit(Y)
        for method in (estimator.transform, estimator.fit_transform):
            with pytest.raises(ValueError, match=r"set_output.* needs sparse_output=False"):
                method(Y)
        assert estimator.set_params(sparse_output=False).transform(Y).shape == (50, 4)
    with config_context(transform_output=container):
        with pytest.raises(ValueError, match="sparse_output=False"):
            clone(sparse).fit_transform(Y)
        default = clone(sparse).set_output(transform="default")
        assert isinstance(default.fit_transform(Y), csr_array)


@pytest.mark.skipif(
    codecs.lookup(locale.getpreferredencoding(False)).name != "utf-8",
    reason="scikit-learn reads its own page in the encoding of the language",
)
def test_notebooks_show_the_dictionary_below_the_estimator():
    estimator = fost.OrthonormalDictionary(2)
    bare = estimator._repr_mimebundle_()["text/html"]
    assert "data:image/png" not in bare
    estimator.fit(correlated(50, 4))
    for html in (estimator._repr_mimebundle_()["text/html"], estimator._repr_html_()):
        assert "OrthonormalDictionary" in html
        assert html.endswith(estimator.dictionary_._repr_html_())
    with config_context(display="text"):
        assert "text/html" not in estimator._repr_mimebundle_()


def test_pickled_estimators_give_the_same_codes():
    Y = correlated(50, 8)
    dictionary = fost.HouseholderDictionary(2, 2).fit(Y)
    again = pickle.loads(pickle.dumps(dictionary))
    assert np.array_equal(again.transform(Y), dictionary.transform(Y))


@pytest.mark.parametrize(
    ("estimator", "match"),
    [
        (fost.HouseholderDictionary(n_reflectors=9), "n_reflectors must be between 1 and n_fea"),
        (fost.HouseholderDictionary(n_reflectors=0), "n_reflectors must be between 1"),
        (fost.HouseholderDictionary(2, n_nonzero_coefs=9), "n_nonzero_coefs must be between 1"),
        (fost.OrthonormalDictionary(base=fost.DCT(3)), "base has n_features=3"),
        (fost.GivensDictionary(n_rotations=0), "n_rotations must be between 1"),
        (fost.GivensDictionary(base=fost.DCT(3)), "base has n_features=3"),
    ],
)
def test_bad_parameters_are_named_in_fit(estimator, match):
    with pytest.raises(ValueError, match=match):
        estimator.fit(np.eye(8))


@pytest.mark.parametrize("estimator", DICTIONARIES, ids=lambda e: type(e).__name__)
def test_errors_about_the_signals_call_them_x(estimator):
    Y = correlated(60, 4)
    if not isinstance(estimator, fost.baselines.KSVD):  # which scales
        for factor in (1e-200, 1e200):
            with pytest.raises(ValueError, match=r"^X is too (small|large)"):
                clone(estimator).fit(factor * Y)
    fitted = clone(estimator).fit(Y)
    wrong = [np.zeros((2, 3)), np.full((2, 4), np.inf), [["a"] * 4], "text", None, np.zeros(4)]
    for X in (*wrong, csr_array(Y), {"a": [1.0]}, Y * 1j, [[10**400] * 4]):
        for method in (fitted.transform, fitted.score, clone(estimator).fit):
            if X is wrong[0] and method.__name__ == "fit":
                continue
            with pytest.raises((TypeError, ValueError), match=r"\bX\b"):
                method(X)
    codes = csr_array(fitted.transform(Y))
    for X in (codes[:, :-1], codes * np.nan, None, "codes", codes.toarray()[:, :-1], [[1j] * 4]):
        with pytest.raises((TypeError, ValueError), match=r"^X\b"):
            fitted.inverse_transform(X)


@pytest.mark.parametrize("estimator", DICTIONARIES, ids=lambda e: type(e).__name__)
def test_dense_codes_decode_to_the_same_signals(estimator):
    Y = correlated(60, 4)
    fitted = clone(estimator).fit(Y)
    codes = csr_array(fitted.transform(Y))
    want = codes.toarray() @ fitted.components_
    np.testing.assert_allclose(fitted.inverse_transform(codes), want, atol=1e-12)
    np.testing.assert_allclose(fitted.inverse_transform(codes.toarray()), want, atol=1e-12)
    np.testing.assert_allclose(fitted.inverse_transform(codes.toarray().tolist()), want, atol=1e-12)


@pytest.mark.parametrize(
    "estimator",
    [
        fost.OrthonormalDictionary(2, max_iter=3),
        fost.AutoDictionary(2, max_flops=100, max_iter=1, verbose=False, random_state=0),
        fost.baselines.KSVD(10, 2, max_iter=2, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_fit_transform_is_fit_and_transform_with_one_check(estimator, monkeypatch):
    Y = np.random.default_rng(0).standard_normal((60, 8))
    apart = clone(estimator).fit(Y).transform(Y)
    calls = []
    check = base.validate_data
    monkeypatch.setattr(base, "validate_data", lambda *a, **k: calls.append(1) or check(*a, **k))
    together = clone(estimator).fit_transform(Y)
    assert len(calls) == 1
    assert np.array_equal(together, apart)
