"""The spectrum of Z~ agrees with brute force, and its losses with errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fost
from fost import diagnostics
from tests import cases
from tests.diagnostics import brute


@given(
    kind=st.sampled_from(("identity", "householder", "dct", "dense", "chain")),
    n=st.integers(1, 20),
    dtype=cases.dtypes,
    seed=cases.seeds,
)
def test_spectrum_agrees_with_brute_force(kind: str, n: int, dtype: type, seed: int) -> None:
    rng = np.random.default_rng(seed)
    transform = cases.make_transform(kind, n, rng)
    Y = cases.make_signals("normal", 50, n, dtype, rng)
    p = brute.paper(transform, Y, 1 + n // 3)
    found = diagnostics.spectrum(transform, Y, 1 + n // 3)
    expected = np.linalg.eigvalsh(p.X @ p.Y.T + p.Y @ p.X.T)
    assert np.allclose(found.eigenvalues, expected, atol=1e-10)
    assert found.total == pytest.approx(np.sum(p.Y**2))
    assert np.allclose(found.normalised, expected / np.abs(expected).max(), atol=1e-10)


@pytest.mark.parametrize("m", [0, 1, 3, 8])
def test_truncation_loss_is_an_error(m: int) -> None:
    """It is the error of the best m orthogonal reflectors less that of all of them."""
    n, s = 16, 3
    Y = brute.uneven_signals(n, 300, seed=0)
    start = fost.learn(Y, fost.Reflectors(8, orthogonal=True), s, max_iter=30)
    p = brute.paper(start.transform, Y, s)
    found = diagnostics.spectrum(start, Y, s)
    values, vectors = np.linalg.eigh(p.X @ p.Y.T + p.Y @ p.X.T)
    assert found.n_negative == np.sum(values < 0) >= 8

    def error(count: int) -> float:
        U = np.eye(n) - 2 * vectors[:, :count] @ vectors[:, :count].T
        return float(np.sum((p.Y - U @ p.X) ** 2) / np.sum(Y**2))

    assert found.truncation_loss(m) == pytest.approx(error(m) - error(found.n_negative), abs=1e-12)
    assert (np.diff(found.losses) <= 0).all()


def test_qh_dla_leaves_m_negative_eigenvalues_on_exact_data() -> None:
    rng = np.random.default_rng(0)
    vectors = np.linalg.qr(rng.standard_normal((12, 3)))[0].T
    U = fost.Householder(vectors)
    Y = U.inverse(fost.select(rng.standard_normal((2000, 12)), 2).toarray())
    found = diagnostics.spectrum(U, Y, 2)
    assert found.n_negative == 3
    assert found.suggested_n_reflectors(0) == 3
    # An exact factorisation: the nuclear norm of Z~ is 2 ||Y||_F^2 (section IV.B).
    assert np.abs(found.eigenvalues).sum() == pytest.approx(2 * np.sum(Y**2))
    assert diagnostics.symmetric_bound(U, Y, 2).symmetric_error == pytest.approx(0, abs=1e-12)


def test_suggested_number_of_reflectors_agrees_with_auto() -> None:
    Y = np.cumsum(np.random.default_rng(0).standard_normal((500, 32)), axis=1)
    qh = fost.learn(Y, fost.Reflectors(16, orthogonal=True), 3, max_iter=10)
    suggested = diagnostics.spectrum(qh, Y, 3).suggested_n_reflectors()
    auto = fost.learn(Y, fost.Reflectors("auto"), 3, max_iter=1).transform
    assert isinstance(auto, fost.Householder)
    assert suggested == auto.n_reflectors
    found = diagnostics.spectrum(qh, Y, 3)
    for loss in (0.0, 0.001, 0.01, 0.1, 1.0):
        m = found.suggested_n_reflectors(loss)
        assert found.truncation_loss(m) <= loss + 1e-12
        assert m == 0 or found.truncation_loss(m - 1) > loss - 1e-12


def test_bases() -> None:
    Y = np.cumsum(np.random.default_rng(0).standard_normal((300, 16)), axis=1)
    base = fost.DCT(16)
    estimator = fost.HouseholderDictionary(3, 2, base=base).fit(Y)
    own = diagnostics.spectrum(estimator.dictionary_.stages[1], base.forward(Y), 2)
    assert np.allclose(diagnostics.spectrum(estimator, Y).eigenvalues, own.eigenvalues)
    given_base = diagnostics.spectrum(estimator.dictionary_, Y, 2, base=base)
    assert np.allclose(given_base.eigenvalues, own.eigenvalues)
    # With the dictionary as its own base these are the eigenvalues of Remark 4.
    one = diagnostics.one_more_reflector(base, Y, 2)
    itself = diagnostics.spectrum(base, Y, 2, base=base)
    assert np.allclose(itself.eigenvalues, one.eigenvalues)


def test_orthonormal_atoms_count_as_a_transform() -> None:
    Y = np.random.default_rng(0).standard_normal((100, 8))
    expected = diagnostics.spectrum(fost.DCT(8), Y, 2).eigenvalues
    atoms = fost.DCT(8).matrix.T
    for form in (atoms, atoms.astype(np.float32), 3 * atoms, atoms.tolist()):
        assert np.allclose(diagnostics.spectrum(form, Y, 2).eigenvalues, expected, atol=1e-4)


def test_general_atoms() -> None:
    rng = np.random.default_rng(0)
    atoms = cases.random_vectors(rng, 6, 6)
    Y = rng.standard_normal((30, 6))
    from fost.coding.omp import omp

    X = omp(Y, atoms, 2).toarray().T
    expected = np.linalg.eigvalsh(X @ Y + (X @ Y).T)
    assert np.allclose(diagnostics.spectrum(atoms, Y, 2).eigenvalues, expected)
    with pytest.raises(ValueError, match=r"as many atoms as features .* got 9 atoms of 6"):
        diagnostics.spectrum(cases.random_vectors(rng, 9, 6), Y, 2)


def test_sentences() -> None:
    Y = np.diag([3.0, 2.0, 1.0])
    none = diagnostics.spectrum(fost.Householder(np.zeros((0, 3))), Y, 1)
    assert none.n_negative == none.suggested_n_reflectors() == 0
    assert "no reflector helps" in str(none)
    assert repr(none) == "Spectrum(n_negative=0, total=14)"
    one = diagnostics.spectrum(fost.Householder([[1.0, 0.0, 0.0]]), Y, 1)
    assert one.n_negative == 1
    assert one.losses.tolist() == pytest.approx([4 * 9 / 14])
    assert str(one).startswith("1 of 3 eigenvalues is negative: a reflector helps")


def test_zero_and_huge_signals() -> None:
    zero = diagnostics.spectrum(fost.DCT(4), np.zeros((5, 4)), 1)
    assert zero.n_negative == 0
    assert not zero.normalised.any()
    assert zero.truncation_loss(0) == 0
    Y = np.random.default_rng(0).standard_normal((50, 8))
    plain, huge = (diagnostics.spectrum(fost.DCT(8), scale * Y, 2) for scale in (1, 1e100))
    assert np.allclose(plain.normalised, huge.normalised)
    assert np.allclose(plain.losses, huge.losses)
