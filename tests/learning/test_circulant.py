"""Learning of circulant dictionaries."""

from __future__ import annotations

import numpy as np
import pytest

import fost
from fost.learning import Problem, as_training_data
from fost.learning.circulant import CirculantPass
from tests import reference, reference_learning


def planted(n, n_members, n_signals, s, seed=0):
    rng = np.random.default_rng(seed)
    circulant = fost.Circulant(rng.standard_normal((n_members, n)))
    codes = np.zeros((n_signals, circulant.n_atoms))
    for code in codes:
        places = rng.choice(circulant.n_atoms, s, replace=False)
        code[places] = rng.uniform(1, 2, s) * rng.choice([-1, 1], s)
    return circulant, circulant.decode(codes)


@pytest.mark.parametrize(("n", "n_members"), [(15, 1), (16, 1), (16, 2), (1, 1), (2, 1)])
def test_planted_kernels_are_recovered_from_codes_of_one_entry(n, n_members):
    _, Y = planted(n, n_members, 400, 1)
    result = fost.learn(Y, fost.Circulants(n_members), 1, n_init=4, random_state=0)
    assert result.error <= 1e-10


@pytest.mark.parametrize(("n", "n_members"), [(9, 1), (8, 2), (1, 2), (2, 3)])
def test_the_pass_and_the_update_are_those_of_the_reference(n, n_members):
    circulant, Y = planted(n, n_members, 60, min(n, 2), seed=n)
    Y = Y + np.random.default_rng(1).standard_normal(Y.shape)
    data = as_training_data(Y)
    s = min(n, 2)
    problem = Problem(data, None, s, np.random.default_rng(0), max_iter=1, tol=0)
    structure = fost.Circulants(n_members)
    statistic = structure.statistic(problem, circulant)
    codes = circulant.encode(Y, s).toarray()
    decoded = codes @ reference.circulant_atoms(circulant.kernels)
    kept = np.sum(Y**2) - np.sum((Y - decoded) ** 2)
    assert statistic.energy == pytest.approx(kept, rel=1e-10)
    updated = structure.update(problem, statistic, circulant)
    free = reference_learning.circulant_kernels(Y, codes, n_members)
    error = np.sum((Y - codes @ reference.circulant_atoms(free)) ** 2)
    # Norms go to the codes: the scaled kernels of fost are as good as the least-squares solution.
    norms = np.linalg.norm(free, axis=1)
    scaled = updated.kernels * norms[:, None]
    own = np.sum((Y - codes @ reference.circulant_atoms(scaled)) ** 2)
    assert own <= error * (1 + 1e-8) + 1e-10 * np.sum(Y**2)
    assert error <= np.sum((Y - decoded) ** 2) + 1e-10 * np.sum(Y**2)


def test_the_error_falls_and_the_result_is_the_best_iteration():
    _, Y = planted(16, 2, 500, 3)
    result = fost.learn(Y, fost.Circulants(2), 3, random_state=0)
    assert result.error <= min(result.start_error, result.errors.min()) + 1e-12
    codes = result.transform.encode(Y, 3)
    error = 1 - result.transform.energy_kept(Y, codes) / np.sum(Y**2)
    assert error == pytest.approx(result.error, abs=1e-9)


def test_codes_of_one_entry_never_increase_the_error():
    # With one entry, pursuit finds the best codes, so both steps reduce the error.
    _, Y = planted(16, 2, 300, 4)
    result = fost.learn(Y, fost.Circulants(2), 1, random_state=3)
    assert (np.diff([result.start_error, *result.errors]) <= 1e-12).all()


@pytest.mark.parametrize("Y", [np.zeros((5, 4)), np.eye(4)[:1], np.ones((2, 4))])
def test_few_and_zero_signals(Y):
    result = fost.learn(Y, fost.Circulants(3), 2, random_state=0)
    assert result.error <= 1e-12
    assert np.isfinite(result.transform.kernels).all()


def test_weights_are_copies_and_blocks_add_up():
    _, Y = planted(8, 2, 40, 2)
    weights = np.arange(40) % 3
    circulant = fost.Circulant(np.random.default_rng(0).standard_normal((2, 8)))
    one_pass = CirculantPass(circulant, 2, "Y")
    of_weights = one_pass(Y, weights.astype(float))
    of_copies = one_pass(np.repeat(Y, weights, axis=0))
    for a, b in zip(of_weights, of_copies, strict=True):
        assert np.allclose(a, b, atol=1e-10)


def test_missing_entries():
    _, Y = planted(16, 1, 300, 1)
    missing = np.random.default_rng(5).random(Y.shape) < 0.1
    result = fost.learn(
        np.where(missing, np.nan, Y), fost.Circulants(1), 1, missing="nan", n_init=4, random_state=0
    )
    codes = result.transform.encode(Y, 1, missing=missing)
    assert np.sum((Y - result.transform.decode(codes)) ** 2) <= 0.01 * np.sum(Y**2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base": "dct"}, "base must be None for circulants"),
        ({"threshold": 1.0}, "threshold must be None"),
        ({"init": fost.DCT(8)}, "init must be a Circulant with 2 kernels"),
    ],
)
def test_other_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        fost.learn(np.eye(8), fost.Circulants(2), 2, **options)


def test_too_many_members_are_refused():
    with pytest.raises(ValueError, match="n_members must be at most 2048 for n_features=8"):
        fost.learn(np.eye(8), fost.Circulants(2049), 2)
