"""Remark 4: the gain of one more reflector, and whether each existing one is optimal."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import fost
from fost import diagnostics
from fost.diagnostics import sums
from tests import cases
from tests.diagnostics import brute

Array = NDArray[np.float64]
M = 4
S = 2


@pytest.fixture(scope="module")
def signals() -> Array:
    return brute.uneven_signals(16, 600, seed=0)


@pytest.fixture(scope="module")
def converged(signals: Array) -> fost.Householder:
    result = fost.learn(signals, fost.Reflectors(M), S, max_iter=3000, tol=0)
    assert isinstance(result.transform, fost.Householder)
    return result.transform


def best_in_place(p: brute.Paper, vectors: Array, j: int) -> Array:
    """The best u_j for fixed codes and other reflectors, by equation (theSecondZ)."""
    right = brute.product(vectors[:j])
    left = brute.product(vectors[j + 1 :])
    R = right @ p.X @ p.Y.T @ left
    values, columns = np.linalg.eigh(R + R.T)
    return columns[:, 0] if values[0] < 0 else np.zeros(len(values))


@given(
    kind=st.sampled_from(("identity", "householder", "dct", "dense", "chain")),
    n=st.integers(2, 20),
    decay=st.floats(0, 2),
    seed=cases.seeds,
)
def test_gain_is_the_decrease_of_the_error(kind: str, n: int, decay: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    transform = cases.make_transform(kind, n, rng)
    Y = rng.standard_normal((60, n)) * np.exp(-decay * np.arange(n))
    Y = Y @ cases.random_orthonormal(rng, n)
    s = int(rng.integers(1, n))
    p = brute.paper(transform, Y, s)
    found = diagnostics.one_more_reflector(transform, Y, s)
    drop = p.error - np.sum((p.Y - brute.reflector(found.vector) @ p.D @ p.X) ** 2)
    total = np.sum(Y**2)
    assert found.gain == pytest.approx(drop, rel=1e-9, abs=1e-13 * total)
    assert found.error == pytest.approx(p.error / total, abs=1e-12)
    Z = p.D @ p.X @ p.Y.T + p.Y @ (p.D @ p.X).T
    assert np.allclose(found.eigenvalues, np.linalg.eigvalsh(Z), atol=1e-11 * total)
    for u in cases.random_vectors(rng, 20, n):  # no other reflector is better
        other = p.error - np.sum((p.Y - brute.reflector(u) @ p.D @ p.X) ** 2)
        assert other <= found.gain + 1e-12 * total


@pytest.mark.parametrize("seed", range(8))
def test_large_gains_have_nine_correct_digits(seed: int) -> None:
    Y = brute.uneven_signals(12, 300, seed)
    start = fost.Householder(cases.random_vectors(np.random.default_rng(seed), 1, 12))
    found = diagnostics.one_more_reflector(start, Y, S)
    assert found.helps
    p = brute.paper(start, Y, S)
    drop = p.error - np.sum((p.Y - brute.reflector(found.vector) @ p.D @ p.X) ** 2)
    assert found.gain == pytest.approx(drop, rel=1e-9)
    assert found.relative_gain == pytest.approx(drop / np.sum(Y**2), rel=1e-9)


def test_h_dla_converges_to_the_best_reflector_in_each_place(
    signals: Array, converged: fost.Householder
) -> None:
    p = brute.paper(converged, signals, S)
    total = np.sum(signals**2)
    for j in range(M):
        vectors = converged.vectors.copy()
        vectors[j] = best_in_place(p, vectors, j)
        error = np.sum((p.Y - brute.product(vectors) @ p.X) ** 2)
        assert error >= p.error - 1e-12 * total, f"u_{j + 1} could be better"
    found = diagnostics.each_reflector(converged, signals, S, tol=1e-12)
    assert found.holds
    assert "fixed point" in str(found)


def test_one_more_reflector_lowers_the_error_as_predicted(
    signals: Array, converged: fost.Householder
) -> None:
    p = brute.paper(converged, signals, S)
    found = diagnostics.one_more_reflector(converged, signals, S)
    assert found.helps
    assert "not a local minimum" in str(found)
    better = found.add_to(converged)
    assert isinstance(better, fost.Householder)
    assert better.n_reflectors == M + 1
    drop = p.error - np.sum((p.Y - better.matrix @ p.X) ** 2)
    assert found.gain == pytest.approx(drop, rel=1e-9)
    # Encoding again lowers the error further, and so does more learning.
    coded = diagnostics.one_more_reflector(better, signals, S).error
    assert coded <= found.error - found.relative_gain
    learned = fost.learn(signals, fost.Reflectors(M + 1), S, init=better)
    assert learned.start_error == pytest.approx(coded, rel=1e-12)
    assert learned.error < coded


@pytest.mark.parametrize("seed", range(4))
def test_each_reflector_equals_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = 9, 5
    Y = brute.uneven_signals(n, 200, seed)
    transform = fost.Householder(cases.random_vectors(rng, m, n))
    p = brute.paper(transform, Y, 3)
    found = diagnostics.each_reflector(transform, Y, 3)
    total = np.sum(Y**2)
    for j in range(m):
        for vector, amount in (
            (np.zeros(n), -found.worth[j]),
            (best_in_place(p, transform.vectors, j), found.gains[j]),
        ):
            vectors = transform.vectors.copy()
            vectors[j] = vector
            error = np.sum((p.Y - brute.product(vectors) @ p.X) ** 2)
            assert amount == pytest.approx((p.error - error) / total, abs=1e-12)
    assert not found.holds
    assert "A better one" in str(found)


def test_each_reflector_of_a_chain() -> None:
    Y = np.cumsum(np.random.default_rng(0).standard_normal((300, 16)), axis=1)
    base = fost.DCT(16)
    estimator = fost.HouseholderDictionary(3, 2, base=base, max_iter=20, tol=0).fit(Y)
    found = diagnostics.each_reflector(estimator, Y)
    own = diagnostics.each_reflector(estimator.dictionary_.stages[1], base.forward(Y), 2)
    assert np.allclose(found.worth, own.worth, atol=1e-12)
    assert np.allclose(found.gains, own.gains, atol=1e-12)
    with pytest.raises(ValueError, match="dictionary must consist of reflectors"):
        diagnostics.each_reflector(base, Y, 2)


def test_add_to_all_kinds_of_dictionaries() -> None:
    rng = np.random.default_rng(0)
    n = 8
    Y = brute.uneven_signals(n, 300, seed=3)
    reflectors = fost.Householder(cases.random_vectors(rng, 2, n))
    complete = fost.Householder(cases.random_vectors(rng, n, n))
    base = fost.DCT(n)
    for transform, expected in (
        (reflectors, fost.Householder),
        (complete, fost.Chain),
        (base, fost.Chain),
        (fost.Chain([base, reflectors]), fost.Chain),
        (fost.Chain([reflectors]), fost.Householder),
    ):
        found = diagnostics.one_more_reflector(transform, Y, 2)
        better = found.add_to(transform)
        assert isinstance(better, expected)
        assert better.flops == transform.flops + 4 * n
        assert np.allclose(better.matrix, brute.reflector(found.vector) @ transform.matrix)
    extended = diagnostics.one_more_reflector(fost.Chain([base, reflectors]), Y, 2).add_to(
        fost.Chain([base, reflectors])
    )
    assert [type(member) for member in extended.stages] == [fost.DCT, fost.Householder]
    with pytest.raises(ValueError, match="dictionary has 4 features, but the reflector 8"):
        found.add_to(fost.DCT(4))


def test_no_reflector_helps_exact_codes() -> None:
    Y = np.diag([1.0, 2.0, 3.0])
    found = diagnostics.one_more_reflector(fost.Householder(np.zeros((0, 3))), Y, 1)
    assert not found.helps
    assert found.gain == 0
    assert not found.vector.any()
    assert found.error == 0
    assert np.array_equal(found.transform.matrix, np.eye(3))
    assert "No further reflector" in str(found)


def test_general_dictionary() -> None:
    rng = np.random.default_rng(0)
    atoms = cases.random_vectors(rng, 12, 8)
    Y = brute.uneven_signals(8, 80, seed=1)
    from fost.coding.omp import omp

    X = omp(Y, atoms, 3).toarray().T
    D, Yt = atoms.T, Y.T
    error = np.sum((Yt - D @ X) ** 2)
    found = diagnostics.one_more_reflector(atoms, Y, 3)
    assert found.error == pytest.approx(error / np.sum(Y**2), rel=1e-9)
    Z = D @ X @ Yt.T + Yt @ (D @ X).T
    assert np.allclose(found.eigenvalues, np.linalg.eigvalsh(Z), atol=1e-9 * np.sum(Y**2))
    better = found.add_to(atoms)
    assert found.gain == pytest.approx(error - np.sum((Yt - better.T @ X) ** 2), abs=1e-9)
    best = diagnostics.procrustes(atoms, Y, 3)
    drop = error - np.sum((Yt - best.matrix @ D @ X) ** 2)
    assert best.gain == pytest.approx(drop, abs=1e-9)
    assert best.trace == pytest.approx(np.trace(Yt @ X.T @ D.T))
    assert best.nuclear_norm == pytest.approx(brute.nuclear(Yt @ X.T @ D.T))
    # Atoms are normalised first.
    scaled = diagnostics.one_more_reflector(atoms * rng.uniform(0.1, 9, (12, 1)), Y, 3)
    assert scaled.gain == pytest.approx(found.gain, abs=1e-9)


def test_blocks_of_signals_are_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    atoms = cases.random_vectors(np.random.default_rng(0), 10, 6)
    Y = brute.uneven_signals(6, 50, seed=1).astype(np.float32)
    whole = diagnostics.one_more_reflector(atoms, Y, 2)
    monkeypatch.setattr(sums, "_BLOCK_ENTRIES", 42)
    parts = diagnostics.one_more_reflector(atoms, Y, 2)
    assert np.allclose(whole.eigenvalues, parts.eigenvalues, rtol=1e-12)
