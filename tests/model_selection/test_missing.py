"""AutoDictionary with missing entries, weights and thresholds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import fost
from fost.coding.selection import SelectionRule
from fost.learning import as_training_data
from fost.model_selection.candidates import relative_error
from tests.imputation.test_fit import random_walks, with_missing

OPTIONS = {"signal_shape": 16, "max_members": 2, "max_iter": 10, "random_state": 0}


def auto(n_nonzero_coefs: int | None = 2, **options: object) -> fost.AutoDictionary:
    return fost.AutoDictionary(n_nonzero_coefs, **OPTIONS, **options)  # type: ignore[arg-type]


def test_missing_entries_are_ignored() -> None:
    Y = random_walks(600, 16)
    X = with_missing(Y, 0.2)
    fitted = auto().fit(X)
    # On complete signals the error is close to that of learning from complete signals.
    errors = [relative_error(Y, one.dictionary_, 2) for one in (auto().fit(Y), fitted)]
    assert errors[1] < 1.3 * errors[0]
    assert np.count_nonzero(fitted.transform(X), axis=1).max() == 2
    assert -1 < fitted.score(X) < 0


def test_weights_count() -> None:
    """Two clusters of signals, of which one has weight zero."""
    smooth = random_walks(500, 16)
    rough = smooth * (-1.0) ** np.arange(16)
    weights = np.repeat([1.0, 0.0], 500)
    both = auto(max_flops=400).fit(np.concatenate([smooth, rough]), sample_weight=weights)
    alone = auto(max_flops=400).fit(smooth)
    assert relative_error(smooth, both.dictionary_, 2) < 1.1 * relative_error(
        smooth, alone.dictionary_, 2
    )
    codes = both.fit_transform(np.concatenate([smooth, rough]), sample_weight=weights)
    assert codes.shape[0] == 1000
    with pytest.raises(ValueError, match="sample_weight must not be negative"):
        both.fit(smooth, sample_weight=-np.ones(500))


def test_a_threshold_decides() -> None:
    Y = random_walks(600, 16)
    fitted = auto(None, threshold=1.5).fit(Y)
    codes = csr_array(fitted.transform(Y))
    assert np.abs(codes.data).min() > 1.5
    decoded = fitted.inverse_transform(codes)
    paid = np.sum((Y - decoded) ** 2) + 1.5**2 * codes.nnz
    assert fitted.errors_[-1] == pytest.approx(paid / np.sum(Y**2), rel=1e-9)
    # The penalty of all entries that the DCT would keep is no lower.
    dct = as_training_data(Y).statistic(None, fost.DCT(16), SelectionRule(16, threshold=1.5))
    assert fitted.errors_[-1] <= 1 - dct.energy / np.sum(Y**2) + 1e-12
    for row in fitted.frontier_:
        assert 0 < row.held_out_error < 1
    with pytest.raises(ValueError, match="threshold"):
        auto(None, threshold=-1.0).fit(Y)
    assert auto(None).fit(Y).n_nonzero_coefs_ == 4  # by the number of features
