"""Momentum: extrapolated steps never increase the error."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import fost
from fost.learning.learn import LearningOptions, learn_part
from fost.model_selection.successive_halving import MOMENTUM
from tests.learning.test_bank import mixed

STRUCTURES = [
    fost.Orthonormal(),
    fost.Reflectors(3),
    fost.Reflectors(3, orthogonal=True),
    fost.Rotations(12),
    fost.BankOf(fost.Rotations(8), 3),
    fost.BankOf(fost.Orthonormal(), 2),
]


def walks(rng: np.random.Generator, count: int = 900, n: int = 16) -> Any:
    return np.cumsum(rng.standard_normal((count, n)), axis=1)


@pytest.mark.parametrize("structure", STRUCTURES, ids=repr)
@pytest.mark.parametrize("momentum", [0.5, MOMENTUM, 1.0, 30.0])
def test_errors_never_increase(structure, momentum, rng):
    options = LearningOptions(
        structure=structure,
        n_nonzero_coefs=3,
        max_iter=25,
        tol=0,
        random_state=0,
        momentum=momentum,
    )
    result = learn_part(walks(rng), options)
    # Energies of 900 x 16 numbers in float64, summed in another order: 1e-12 is thousands of eps.
    assert np.diff(result.errors).max() <= 1e-12
    assert result.error == result.errors.min()


def test_without_momentum_it_equals_learn(rng):
    Y = walks(rng)
    for structure in STRUCTURES:
        ours = learn_part(
            Y,
            LearningOptions(
                structure=structure, n_nonzero_coefs=3, max_iter=6, tol=0, random_state=0
            ),
        )
        theirs = fost.learn(Y, structure, 3, base=None, max_iter=6, tol=0, random_state=0)
        assert ours.transform == theirs.transform
        np.testing.assert_array_equal(ours.errors, theirs.errors)


def test_momentum_does_not_increase_the_final_error(rng):
    options = LearningOptions(
        structure=fost.Orthonormal(),
        n_nonzero_coefs=3,
        init="random",
        max_iter=400,
        tol=1e-6,
        random_state=0,
    )
    errors = np.zeros(2)
    for _ in range(4):
        Y = walks(rng)
        errors += [learn_part(Y, replace(options, momentum=k)).error for k in (0.0, MOMENTUM)]
    assert errors[1] < 1.01 * errors[0]  # thirty such ratios were between 0.969 and 0.9996


def test_unused_members_are_replaced(rng):
    Y = mixed(0, 400, 8, kinds=2)
    copies = fost.Bank([fost.DCT(8)] * 3)
    options = LearningOptions(
        structure=fost.BankOf(fost.Orthonormal(), 3),
        n_nonzero_coefs=2,
        init=copies,
        max_iter=10,
        tol=0,
        random_state=0,
        momentum=MOMENTUM,
    )
    result = learn_part(Y, options)
    assert result.reseeded[0] == 2
    assert np.diff(result.errors).max() <= 1e-12
    assert len(np.unique(result.transform.chosen(result.transform.encode(Y, 2)))) == 3


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_change_no_bit(threads, rng, set_threads):
    Y = walks(rng, 5000)
    options = LearningOptions(
        structure=STRUCTURES[4],
        n_nonzero_coefs=3,
        max_iter=8,
        tol=0,
        random_state=0,
        momentum=MOMENTUM,
    )
    set_threads(1)
    alone = learn_part(Y, options)
    set_threads(threads)
    again = learn_part(Y, options)
    assert again.transform == alone.transform
    np.testing.assert_array_equal(again.errors, alone.errors)


def test_missing_entries_and_unions_use_no_momentum(rng):
    Y = walks(rng, 200, 8)
    holes = np.where(rng.random(Y.shape) < 0.1, np.nan, Y)
    for structure, missing, signals in (
        (fost.Orthonormal(), "nan", holes),
        (fost.UnionOf(fost.Orthonormal(), 2), None, Y),
    ):
        options = LearningOptions(
            structure=structure,
            n_nonzero_coefs=2,
            max_iter=4,
            tol=0,
            random_state=0,
            missing=missing,
        )
        ordinary = learn_part(signals, options)
        ahead = learn_part(signals, replace(options, momentum=MOMENTUM))
        if structure.is_monotone:
            np.testing.assert_array_equal(ahead.errors, ordinary.errors)
            assert ahead.transform == ordinary.transform
        else:  # the bank that it starts from uses momentum
            assert np.isfinite(ahead.errors).all()
