"""Schedules and held-out samples of iterative thresholding."""

from __future__ import annotations

import numpy as np
import pytest

import fost
from fost.restoration.iterative_thresholding import (
    ThresholdSchedule,
    _hold_out,
    interpolate,
    optimal_weight,
)


def test_the_optimal_weight_minimises_the_held_out_error():
    rng = np.random.default_rng(0)
    near, far = rng.random((2, 30, 30))
    held_out = rng.random((30, 30)) < 0.5
    known = interpolate(near, far, 0.3)
    assert optimal_weight(near, far, known, held_out) == pytest.approx(0.3)
    assert optimal_weight(near, far, 2 * far - near, held_out) == 1
    assert optimal_weight(near, far, 2 * near - far, held_out) == 0
    assert optimal_weight(near, near, far, held_out) == 0
    np.testing.assert_allclose(known, 0.7 * near + 0.3 * far)
    np.testing.assert_array_equal(interpolate(near, far, 0.0), near)


def test_samples_are_held_out_from_a_mask_of_the_same_seed():
    """Thresholding the same random numbers again would find no observed sample."""
    observed = np.random.default_rng(0).random((60, 70)) >= 0.2
    held_out = _hold_out(observed, 0.03, np.random.default_rng(0))
    assert held_out.sum() == round(0.03 * observed.sum())
    assert not (held_out & ~observed).any()


@pytest.mark.parametrize(("least", "checks"), [(0.02, 2), (0.002, 3)])
def test_passes_end_when_the_held_out_error_rises(least, checks):
    """Immediately if the error is not small, since small errors may decrease again."""
    image = np.random.default_rng(0).random((48, 48)).astype(np.float32)
    errors = []

    def error(estimate):
        errors.append(least**2 * (1 + 0.01 * len(errors)))
        return errors[-1]

    rest = (
        np.random.default_rng(0).random(image.shape) < 0.3,
        fost.DCT((8, 8)),
        np.random.default_rng(0),
        False,
    )
    found = ThresholdSchedule((8, 8), (8, 1), 6, 1.7).run(image, *rest, error=error)
    assert len(errors) == checks
    assert found.n_passes == 6
