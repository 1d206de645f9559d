"""AutoDictionary compares K-SVD where its budget allows pursuit in general atoms."""

from __future__ import annotations

import numpy as np
import pytest

import fost
from fost.diagnostics import batch_omp_flops

N, S = 16, 3
FLOPS = batch_omp_flops(N, S, 2 * N)


def sums_of_general_atoms(count: int = 1000) -> np.ndarray:
    """Signals with three of 2 n random atoms each, for which no orthonormal transform suits."""
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((2 * N, N))
    codes = rng.standard_normal((count, 2 * N)) * (rng.random((count, 2 * N)).argsort(axis=1) < S)
    return codes @ (atoms / np.linalg.norm(atoms, axis=1, keepdims=True))


def auto(**settings: object) -> fost.AutoDictionary:
    options = {"max_flops": FLOPS, "max_members": 1, "max_iter": 30, "random_state": 0, **settings}
    return fost.AutoDictionary(S, N, **options)


def test_ksvd_is_reported_where_it_is_better(capsys):
    Y = sums_of_general_atoms()
    fitted = auto(verbose=True).fit(Y)
    assert fitted.ksvd_.dictionary_.n_atoms == 2 * N
    # At most a fifth, for all of eight seeds.
    assert fitted.ksvd_held_out_error_ < 0.6 * fitted.chosen_.held_out_error
    # The error is that of signals from which neither was learned: a quarter of all.
    assert 0 < fitted.ksvd_held_out_error_ != -fitted.ksvd_.score(Y)
    assert "K-SVD with 32 atoms has a held-out error of" in capsys.readouterr().err
    quiet = auto(verbose=False).fit(Y)
    assert not capsys.readouterr().err
    assert quiet.ksvd_held_out_error_ == fitted.ksvd_held_out_error_


def test_ksvd_does_not_change_the_choice():
    Y = sums_of_general_atoms()
    # One operation fewer leaves K-SVD out, and no other candidate.
    fitted, without = auto().fit(Y), auto(max_flops=FLOPS - 1).fit(Y)
    assert fitted.ksvd_ is not None
    assert without.ksvd_ is without.ksvd_held_out_error_ is None
    assert fitted.chosen_.structure == without.chosen_.structure
    np.testing.assert_array_equal(fitted.components_, without.components_)
    assert auto(max_flops=None).fit(Y).ksvd_ is not None


@pytest.mark.parametrize("seed", [3, 9, 10])
def test_errors_of_rounding_are_equal(seed, capsys):
    Y = np.random.default_rng(seed).standard_normal((100, 4)).astype(np.float32)
    fitted = fost.AutoDictionary(4, None, None, max_iter=3, random_state=0, verbose=True).fit(Y)
    assert fitted.ksvd_ is not None
    assert "K-SVD" not in capsys.readouterr().err


def test_no_report_where_a_transform_is_as_good(capsys):
    rng = np.random.default_rng(1)
    codes = rng.standard_normal((400, N)) * (rng.random((400, N)).argsort(axis=1) < S)
    Y = fost.DCT(N).decode(codes) + 0.1 * rng.standard_normal((400, N))
    fitted = auto(verbose=True).fit(Y)
    assert fitted.ksvd_ is not None
    assert "K-SVD" not in capsys.readouterr().err


@pytest.mark.parametrize("settings", [{}, {"max_relative_error": 0.9}, {"threshold": 0.1}])
def test_ksvd_is_left_out_where_it_does_not_apply(settings):
    Y = sums_of_general_atoms(200)
    weights = None
    if not settings:
        weights = np.linspace(1, 2, len(Y))
        missing = np.where(np.arange(Y.size).reshape(Y.shape) % 11 == 0, np.nan, Y)
        blocks = [Y[:100], Y[100:]]
        assert auto(max_iter=1).fit(missing).ksvd_ is None
        assert auto(max_iter=1).fit(lambda: iter(blocks)).ksvd_ is None
        assert auto(max_iter=1).fit(Y[: 2 * N]).ksvd_ is None, "fewer signals than atoms"
    fitted = auto(max_iter=1, **settings).fit(Y, sample_weight=weights)
    assert fitted.ksvd_ is None
    assert auto(max_iter=1).fit(Y).ksvd_ is not None
