"""The report on every kind of dictionary, and the validation of all diagnostics."""

from __future__ import annotations

import io
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

import fost
from fost import diagnostics
from fost.diagnostics.report import Report
from fost.diagnostics.sums import percent
from tests import cases
from tests.diagnostics import brute

N = 16
ALL = (
    diagnostics.spectrum,
    diagnostics.gershgorin,
    diagnostics.symmetry,
    diagnostics.procrustes,
    diagnostics.one_more_reflector,
    diagnostics.each_reflector,
    diagnostics.symmetric_bound,
    diagnostics.report,
)


@pytest.fixture(scope="module")
def signals() -> NDArray[np.float64]:
    return brute.uneven_signals(N, 400, seed=0)


def estimators() -> list[Any]:
    return [
        fost.OrthonormalDictionary(2),
        fost.HouseholderDictionary(3, 2),
        fost.HouseholderDictionary(3, 2, orthogonal=True),
        fost.HouseholderDictionary(3, 2, base=fost.DCT(N)),
        fost.GivensDictionary(8, 2, base=fost.DCT(N)),
        fost.AutoDictionary(2, N, 400, max_members=1, random_state=0, max_iter=5),
    ]


def test_banks(signals: NDArray[np.float64]) -> None:
    bank = fost.BankDictionary(3, 2, base=fost.DCT(N), random_state=0).fit(signals)
    found, text = text_of(bank, signals)
    assert found.relative_error == pytest.approx(bank.error_, rel=1e-9)
    assert found.flops == bank.dictionary_.flops
    assert (found.n_atoms, found.gershgorin, found.spectrum) == (3 * N, None, None)
    assert "Bank(n_features=16, n_members=3" in text
    # Remarks 2 and 3, and coherence, do not apply to banks.
    assert (found.coherence, found.procrustes, found.symmetry) == (None, None, None)
    assert "48, of 3 orthonormal transforms" in text
    assert not re.search("coherence|any orthonormal|symmetry", text)
    again, _ = text_of(bank.dictionary_, signals, 2)
    assert again.relative_error == found.relative_error
    start = fost.Bank([fost.DCT(N), fost.Dense(np.eye(N))])
    one = diagnostics.one_more_reflector(start, signals, 2)
    before, after = (text_of(each, signals, 2)[0] for each in (start, one.add_to(start)))
    assert after.relative_error <= before.relative_error - one.relative_gain + 1e-12
    assert one.relative_gain > 0


def text_of(dictionary: Any, *arguments: Any) -> tuple[Report, str]:
    file = io.StringIO()
    found = diagnostics.report(dictionary, *arguments, file=file)
    text = file.getvalue()
    assert text == f"{found}\n"
    too_long = [line for line in text.splitlines() if len(line) > 79]
    assert not too_long
    assert all(line == line.rstrip() for line in text.splitlines())
    assert "nan" not in text
    return found, text


@pytest.mark.parametrize("estimator", estimators(), ids=lambda e: type(e).__name__)
def test_every_estimator(estimator: Any, signals: NDArray[np.float64]) -> None:
    estimator.fit(signals)
    found, text = text_of(estimator, signals)
    assert text.startswith(type(estimator).__name__)
    assert found.n_nonzero_coefs == 2
    assert found.relative_error == pytest.approx(-estimator.score(signals), rel=1e-9)
    assert found.flops == estimator.dictionary_.flops
    assert found.speedups["dense orthonormal"] == (2 * N - 1) * N / found.flops
    for result in (found.spectrum, found.bound, found.gershgorin, found.symmetry):
        assert result is not None
        assert " ".join(str(result).split()) in " ".join(text.split())
    assert (found.each is not None) == ("Householder" in repr(estimator.dictionary_))


def test_report_agrees_with_single_functions(signals: NDArray[np.float64]) -> None:
    result = fost.learn(signals, fost.Reflectors(3), 2)
    found, text = text_of(result, signals, 2)
    for name, function in (
        ("one_more", diagnostics.one_more_reflector),
        ("procrustes", diagnostics.procrustes),
        ("symmetry", diagnostics.symmetry),
        ("gershgorin", diagnostics.gershgorin),
        ("each", diagnostics.each_reflector),
        ("spectrum", diagnostics.spectrum),
        ("bound", diagnostics.symmetric_bound),
    ):
        assert str(getattr(found, name)) == str(function(result, signals, 2))
    gain = f"One more reflector would lower the error by {percent(found.one_more.relative_gain)} of"
    assert gain in " ".join(text.split())
    assert found.relative_error == pytest.approx(result.error)


def test_the_cost_of_pursuit_is_that_of_the_dictionary(signals: NDArray[np.float64]) -> None:
    pairs = np.stack([np.arange(N), np.roll(np.arange(N), 1)], axis=1)
    for coder in (
        fost.Union([fost.DCT(N), fost.Hadamard(N)]),
        fost.learn(signals, fost.Circulants(2), 2, max_iter=2, random_state=0).transform,
        fost.SparseDictionary(fost.DCT(N), pairs, np.ones((N, 2))),
    ):
        found, text = text_of(coder, signals, 2)
        assert found.flops == coder.encode_flops(2) != found.other_flops["Batch-OMP"]
        assert f"{found.flops:,}" in text


def test_foreign_estimators_with_atoms() -> None:
    rng = np.random.default_rng(0)
    Y = brute.uneven_signals(8, 60, seed=0)
    Y[:, -1] = 0
    for n_atoms in (8, 12):
        atoms = cases.random_vectors(rng, n_atoms, 8)
        atoms[-2] = atoms[-3]
        atoms[-1] = np.eye(8)[-1]  # never used: all signals are zero there
        atoms[:-1, -1] = 0
        estimator = SimpleNamespace(components_=atoms, n_nonzero_coefs=2)
        found, text = text_of(estimator, Y)
        assert found.n_atoms == n_atoms
        assert found.n_unused >= 1
        assert found.coherence == pytest.approx(1)
        assert found.flops == diagnostics.batch_omp_flops(8, 2, n_atoms)
        assert found.gershgorin is None
        assert (found.spectrum is None) == (n_atoms != 8) == (found.bound is None)
        assert "mutual coherence" in text
        assert "never used" in " ".join(text.split())


@pytest.mark.parametrize("estimator", ["KSVD", "MOD", "StagewiseKSVD"])
def test_baselines(estimator: str) -> None:
    Y = brute.uneven_signals(8, 60, seed=0)
    fitted = getattr(fost.baselines, estimator)(12, 2, random_state=0).fit(Y)
    found, text = text_of(fitted, Y)
    assert found.relative_error == pytest.approx(-fitted.score(Y))
    assert estimator in text
    assert str(diagnostics.report(fitted.dictionary_, Y, 2)).count("12 atoms") == 1


def test_dct_of_the_shape_of_signals() -> None:
    """Products of smooth functions, on which the 2-D DCT has a lower error than the 1-D DCT."""
    random = np.random.default_rng(0)
    walks = np.cumsum(random.standard_normal((2, 300, 4)), axis=2)
    Y = np.einsum("ki,kj->kij", *walks).reshape(300, 16)
    plain, text = text_of(fost.Dense(np.eye(N)), Y, 2)
    assert plain.dct.shape == (16,)
    assert plain.other_flops["1-D fast cosine"] == fost.DCT(16).flops
    assert "the DCT of 16 loses" in text
    file = io.StringIO()
    found = diagnostics.report(fost.Dense(np.eye(N)), Y, 2, signal_shape=(4, 4), file=file)
    codes = fost.DCT((4, 4)).encode(Y, 2)
    lost = 1 - np.sum(codes.data**2) / np.sum(Y**2)
    assert found.dct.relative_error == pytest.approx(lost, rel=1e-9)
    assert found.dct.relative_error < plain.dct.relative_error
    assert found.other_flops["2-D fast cosine"] == fost.DCT((4, 4)).flops
    assert "the DCT of 4 x 4 loses" in " ".join(file.getvalue().split())
    # The default shape is that of the dictionary or of the estimator.
    over = fost.Chain([fost.DCT((4, 4)), fost.Householder(np.eye(N)[:1])])
    assert text_of(over, Y, 2)[0].dct == found.dct
    assert text_of(fost.Bank([over, fost.DCT((4, 4))]), Y, 2)[0].dct == found.dct
    auto = fost.AutoDictionary(2, (2, 8), 400, max_members=1, random_state=0, max_iter=1)
    assert text_of(auto.fit(Y), Y)[0].dct.shape == (2, 8)
    with pytest.raises(ValueError, match=r"signal_shape=\(4, 5\) has 20 entries, but Y has 16"):
        diagnostics.report(over, Y, 2, signal_shape=(4, 5))


def test_prints_to_standard_output(
    capsys: pytest.CaptureFixture[str], signals: NDArray[np.float64]
) -> None:
    found = diagnostics.report(fost.DCT(N), signals, 2)
    assert capsys.readouterr().out == f"{found}\n"
    assert repr(found).startswith("Report(name='DCT(n_features=16")
    assert "\n" not in repr(found)


def test_fixed_point_passes_all_remarks() -> None:
    Y = np.random.default_rng(0).standard_normal((300, 6))
    result = fost.learn(Y, fost.Orthonormal(), 2, max_iter=3000, tol=0)
    found, text = text_of(result, Y, 2)
    assert found.procrustes is not None
    assert found.procrustes.holds
    assert found.symmetry is not None
    assert found.symmetry.holds
    assert not found.one_more.helps
    assert "a fixed point" in text
    assert "not a local minimum" not in text


def test_degenerate_dictionaries() -> None:
    identity = fost.Householder(np.zeros((0, 4)))
    found, text = text_of(identity, np.zeros((3, 4)), 1)
    assert found.relative_error == 0
    assert found.n_unused == 4
    found, text = text_of(identity, np.eye(4), 1)
    assert "each reflector" not in text
    text_of(fost.Householder([[1.0]]), [[2.0], [3.0]], 1)
    text_of(fost.Dense([[1.0]]), [[2]], 1)


def test_float32_and_memory_layouts(signals: NDArray[np.float64]) -> None:
    transform = fost.learn(signals, fost.Reflectors(3), 2).transform
    double = diagnostics.one_more_reflector(transform, signals, 2)
    single = diagnostics.one_more_reflector(transform, signals.astype(np.float32), 2)
    assert single.relative_gain == pytest.approx(double.relative_gain, rel=1e-4)
    for layout in cases.LAYOUTS.values():
        found = diagnostics.one_more_reflector(transform, layout(signals), 2)
        assert found.relative_gain == pytest.approx(double.relative_gain, rel=1e-10)


@pytest.mark.parametrize("function", ALL, ids=lambda f: f.__name__)
def test_errors_name_the_argument(function: Any) -> None:
    transform = fost.Householder(np.eye(4)[:2])
    Y = np.random.default_rng(0).standard_normal((20, 4))
    broken = Y.copy()
    broken[3, 2] = np.nan
    bad: list[tuple[str, tuple[Any, ...]]] = [
        ("Y contains NaN", (transform, broken, 2)),
        ("Y has 3 features, but this dictionary was built for 4", (transform, Y[:, :3], 2)),
        ("Y must have shape", (transform, Y[0], 2)),
        ("Y must have at least one signal", (transform, Y[:0], 2)),
        ("n_nonzero_coefs must be between 1 and n_features=4, got 5", (transform, Y, 5)),
        ("n_nonzero_coefs must be between 1 and n_features=4, got 0", (transform, Y, 0)),
        ("n_nonzero_coefs must be given", (transform, Y)),
        ("n_nonzero_coefs must be between 1 and n_atoms=3", (np.eye(4)[:3], Y, 4)),
        (
            "dictionary must not have atoms that are zero, but row 1 is",
            ([[1.0, 0, 0, 0], [0, 0, 0, 0]], Y, 1),
        ),
        ("dictionary contains NaN", (np.full((4, 4), np.nan), Y, 1)),
        ("dictionary must have shape", (np.ones(4), Y, 1)),
        ("dictionary must have at least one", (np.ones((0, 4)), Y, 1)),
    ]
    for message, arguments in bad:
        with pytest.raises(ValueError, match=re.escape(message)):
            function(*arguments)
    with pytest.raises(TypeError, match="n_nonzero_coefs must be an integer"):
        function(transform, Y, 1.5)
    with pytest.raises(TypeError, match="dictionary must be real numbers"):
        function("dictionary", Y, 1)
    with pytest.raises(NotFittedError, match="this OrthonormalDictionary is not"):
        function(fost.OrthonormalDictionary(), Y, 1)


def test_errors_name_the_option() -> None:
    Y = np.random.default_rng(0).standard_normal((20, 4))
    with pytest.raises(ValueError, match="tol must be at least 0 and finite, got -1"):
        diagnostics.procrustes(fost.DCT(4), Y, 1, tol=-1)
    with pytest.raises(ValueError, match=r"base must be a transform, .* got 'cosine'"):
        diagnostics.spectrum(fost.DCT(4), Y, 1, base="cosine")
    with pytest.raises(ValueError, match="base has n_features=8, but the dictionary has 4"):
        diagnostics.symmetric_bound(fost.DCT(4), Y, 1, base=fost.DCT(8))
    with pytest.raises(ValueError, match="dictionary must be orthonormal"):
        diagnostics.gershgorin([[1.0, 0, 0, 0], [1.0, 1, 0, 0]], Y, 1)
    found = diagnostics.spectrum(fost.DCT(4), Y, 1)
    with pytest.raises(ValueError, match="max_loss must be at least 0 and at most 1"):
        found.suggested_n_reflectors(2)
    with pytest.raises(ValueError, match="n_reflectors must be between 0 and n_features=4"):
        found.truncation_loss(5)
    with pytest.raises(ValueError, match="dictionary must not have atoms that are zero"):
        diagnostics.mutual_coherence(np.zeros((2, 2)))
    assert "diagnostics" in dir(fost)
