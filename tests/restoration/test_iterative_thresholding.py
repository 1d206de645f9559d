"""Schedules and held-out samples of iterative thresholding."""

from __future__ import annotations

import numpy as np
import pytest

import fost
from fost.restoration.iterative_thresholding import (
    CompactHoles,
    ThresholdSchedule,
    _hold_out,
    hide_copies,
    inpaint_by_thresholding,
    interpolate,
    least_error_weights,
    neighbour_correlation,
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


def compact_mask(shape=(64, 80), side=6):
    mask = np.zeros(shape, bool)
    for top, left in ((5, 9), (30, 50), (50, 20), (40, 5)):
        mask[top : top + side, left : left + side] = True
    return mask


def test_neighbours_are_correlated_in_compact_holes_only():
    rng = np.random.default_rng(0)
    for fraction in (0.1, 0.8):
        # The standard deviation for 10,000 samples is less than 0.01.
        assert abs(neighbour_correlation(rng.random((100, 100)) < fraction)) < 0.05
    assert neighbour_correlation(compact_mask()) > 0.7
    scratch = np.eye(100, dtype=bool)
    scratch[40] = True
    assert neighbour_correlation(scratch) < 0.25 < neighbour_correlation(scratch[30:50])
    for constant in (np.zeros((5, 5), bool), np.ones((5, 5), bool)):
        assert neighbour_correlation(constant) == 0


def test_hidden_holes_are_observed_and_apart():
    mask = compact_mask()
    hidden = hide_copies(mask, False, np.random.default_rng(0))
    assert 64 <= hidden.sum() < 0.3 * hidden.size
    rows, columns = np.nonzero(mask)
    for i, j in np.argwhere(hidden):
        assert np.maximum(abs(rows - i), abs(columns - j)).min() > 4
    scattered = np.random.default_rng(0).random(mask.shape) < 0.02
    assert not hide_copies(scattered, False, np.random.default_rng(0)).any()
    scattered[20:32] = True  # between parts of the array
    assert not hide_copies(scattered, True, np.random.default_rng(0)).any()
    assert hide_copies(scattered, False, np.random.default_rng(0)).any()


def test_weights_have_the_least_error_among_convex_combinations():
    rng = np.random.default_rng(0)
    errors = rng.standard_normal((50, 3)) @ rng.standard_normal((3, 3))
    weights = least_error_weights(errors)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    others = rng.dirichlet(np.ones(3), 2000)
    # The regularisation, 1e-9 of the mean squared error, is far below this margin.
    assert np.square(errors @ weights).sum() <= np.square(errors @ others.T).sum(0).min() * 1.0001
    np.testing.assert_allclose(
        least_error_weights(np.array([[0.0, 1.0], [0, 2]])), [1, 0], atol=1e-4
    )
    np.testing.assert_allclose(least_error_weights(np.zeros((4, 2))), [0.5, 0.5])


def test_compact_holes_use_their_own_model():
    y, x = np.mgrid[:64, :80]
    image = (0.5 + 0.3 * np.sin(x / 3 + y / 5)).astype(np.float32)
    mask = compact_mask()
    rest = (None, (8, 8), None, None, np.random.default_rng(0), False)
    filled, model = inpaint_by_thresholding(image * ~mask, mask, *rest)
    assert isinstance(model, CompactHoles)
    np.testing.assert_array_equal(filled[~mask], image[~mask])
    # Less than 0.001; the standard deviation of the image is 0.2.
    assert np.sqrt(np.mean(np.square(filled - image)[mask])) < 0.01
    again = model(image * ~mask, mask, np.random.default_rng(1))
    assert np.sqrt(np.mean(np.square(again - image)[mask])) < 0.01
    scattered = np.random.default_rng(0).random(mask.shape) < 0.3
    _, model = inpaint_by_thresholding(image * ~scattered, scattered, *rest)
    assert not isinstance(model, CompactHoles)
