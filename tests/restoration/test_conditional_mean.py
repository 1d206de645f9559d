"""Autoregressions for inpainting of signals."""

from __future__ import annotations

import numpy as np

from fost.restoration.conditional_mean import fit_autoregression
from tests.restoration.test_inpainting import mask_of_runs


def test_autoregression_equals_dense_least_squares():
    rng = np.random.default_rng(0)
    signal = np.convolve(rng.standard_normal(400), [1, 0.9, 0.5, 0.2], "valid")
    mask = mask_of_runs(len(signal), 3)
    order, mean = 8, signal[~mask].mean()
    ours = fit_autoregression(signal, mask, order)(signal, mask)
    centred = signal - mean
    windows = np.lib.stride_tricks.sliding_window_view(centred, order + 1)
    whole = ~np.lib.stride_tricks.sliding_window_view(mask, order + 1).any(axis=1)
    coefficients = np.linalg.lstsq(windows[whole, :-1], windows[whole, -1], rcond=None)[0]
    errors = np.zeros((len(windows), len(signal)))
    for k in range(len(windows)):
        errors[k, k : k + order + 1] = *-coefficients, 1
    target = -errors[:, ~mask] @ centred[~mask]
    want = np.linalg.lstsq(errors[:, mask], target, rcond=None)[0] + mean
    np.testing.assert_allclose(ours[mask], want, rtol=1e-6, atol=1e-8)
    assert fit_autoregression(signal[:8], mask[:8], 8) is None
    assert fit_autoregression(signal, ~mask, 8) is None
