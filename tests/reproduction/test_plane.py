"""The example in R^2 of section IV, Q = I and s = 1, with corrected inequalities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fost
from fost import diagnostics
from reproduction.plane import plane
from tests import cases
from tests.diagnostics import brute

IDENTITY = fost.Householder(np.zeros((0, 2)))


def parts(Y: np.ndarray) -> tuple[float, float, float]:
    """||y_11||^2, ||y_22||^2 and y_11^T y_21 + y_22^T y_12."""
    first = np.abs(Y[:, 0]) >= np.abs(Y[:, 1])
    g = float(np.sum(Y[:, 0] * Y[:, 1]))
    return float(np.sum(Y[first, 0] ** 2)), float(np.sum(Y[~first, 1] ** 2)), g


@given(seed=cases.seeds, tilt=st.floats(-1, 1), share=st.floats(0, 1))
def test_when_a_reflector_helps(seed: int, tilt: float, share: float) -> None:
    rng = np.random.default_rng(seed)
    # Signals near a line, a share of them near the second axis.
    Y = rng.standard_normal((30, 1)) * [1, tilt] + 0.05 * rng.standard_normal((30, 2))
    second = rng.random(30) < share
    Y[second] = Y[second, ::-1]
    a, b, g = parts(Y)
    found = diagnostics.spectrum(IDENTITY, Y, 1)
    assert np.allclose(found.eigenvalues.sum(), 2 * (a + b))
    assert np.allclose(found.eigenvalues.prod(), 4 * a * b - g * g, atol=1e-9 * (a + b) ** 2)
    one = diagnostics.one_more_reflector(IDENTITY, Y, 1)
    margin = 2 * np.sqrt(a * b) - abs(g)
    if abs(margin) > 1e-9 * (a + b):
        # No reflector helps if and only if 2 ||y_11|| ||y_22|| >= |y_11^T y_21 + y_22^T y_12|;
        # the paper has < instead of >=.
        assert (one.lowest_eigenvalue >= 0) == (margin > 0)
    # The paper's conditions for "no reflector helps" cannot be met: |g| <= a + b.
    assert not (2 * a < g and 2 * b < g)
    if 2 * min(a, b) > abs(g):  # Gershgorin, the paper's first two conditions reversed
        assert one.gain == 0
    # The best of many reflectors does not do better.
    angles = np.linspace(0, np.pi, 361)
    X = IDENTITY.encode(Y, 1).toarray()
    drops = [
        np.sum((Y - X) ** 2) - np.sum((Y - X @ brute.reflector(np.array(u))) ** 2)
        for u in zip(np.cos(angles), np.sin(angles), strict=True)
    ]
    assert max(*drops, 0.0) <= one.gain + 1e-9 * (a + b)
    assert max(*drops, 0.0) >= one.gain - 1e-3 * (a + b)


def test_reflector_helps_if_few_signals_use_the_second_axis() -> None:
    # 2 ||y_11|| ||y_22|| = 2 sqrt(20) < 18: by the paper, no reflector would help.
    Y = np.array([[4.0, 4.0], [2.0, 1.0], [0.0, 1.0]])
    a, b, g = parts(Y)
    assert (a, b, g) == (20, 1, 18)
    found = diagnostics.spectrum(IDENTITY, Y, 1)
    assert found.n_negative == 1
    one = diagnostics.one_more_reflector(IDENTITY, Y, 1)
    assert one.lowest_eigenvalue == pytest.approx(21 - np.sqrt(19**2 + 18**2))
    # The reduction of ||Y||^2 + ||X||^2 that the paper gives for this case.
    bound = diagnostics.symmetric_bound(IDENTITY, Y, 1)
    assert bound.symmetric == pytest.approx(2 * np.sqrt((a + b) ** 2 - (4 * a * b - g * g)))


def test_no_reflector_helps_if_the_diagonal_dominates() -> None:
    Y = np.array([[3.0, 1.0], [3.0, -0.5], [0.5, 2.0]])
    a, b, g = parts(Y)
    assert 2 * min(a, b) > abs(g)
    assert diagnostics.one_more_reflector(IDENTITY, Y, 1).gain == 0
    assert diagnostics.spectrum(IDENTITY, Y, 1).n_negative == 0
    # det(Z~) is positive here, which the paper says never happens.
    assert diagnostics.spectrum(IDENTITY, Y, 1).eigenvalues.prod() > 0


def test_nearly_skew_symmetric_matrices_are_not_optimal() -> None:
    # y_12^T y_22 = -y_11^T y_21: the paper's "+-" allows it, but a rotation does better.
    Y = np.array([[3.0, 2.0], [-2.0, 3.0]])
    X = IDENTITY.encode(Y, 1).toarray()
    A = Y.T @ X
    assert A[0, 1] == -A[1, 0] != 0
    found = diagnostics.procrustes(IDENTITY, Y, 1)
    assert not found.holds
    assert found.gain == pytest.approx(2 * (np.hypot(18, 12) - 18))
    assert np.sum((Y - X @ found.matrix.T) ** 2) < np.sum((Y - X) ** 2)
    assert diagnostics.one_more_reflector(IDENTITY, Y, 1).gain == 0


@given(seed=cases.seeds, count=st.integers(1, 30), scale=st.floats(1e-3, 1e3))
def test_plane_agrees_with_other_functions(seed: int, count: int, scale: float) -> None:
    Y = scale * np.random.default_rng(seed).standard_normal((count, 2))
    found = plane(Y)
    assert (found.first, found.second, found.cross) == pytest.approx(parts(Y))
    values = diagnostics.spectrum(IDENTITY, Y, 1).eigenvalues
    assert found.eigenvalues == pytest.approx(tuple(values), abs=1e-9 * values[1])
    one = diagnostics.one_more_reflector(IDENTITY, Y, 1)
    best = diagnostics.procrustes(IDENTITY, Y, 1)
    assert found.reflector_gain == one.relative_gain
    assert found.orthonormal_gain == best.relative_gain >= found.reflector_gain - 1e-12
    assert not found.printed_condition
    if found.reflector is not None:
        X = IDENTITY.encode(Y, 1).toarray()
        reflected = X @ brute.reflector(found.reflector)
        drop = np.sum((Y - X) ** 2) - np.sum((Y - reflected) ** 2)
        assert drop / np.sum(Y**2) == pytest.approx(found.reflector_gain, abs=1e-12)
    assert found.sentence.endswith(".")


def test_plane_can_be_drawn() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="the extra images is not installed")
    for Y in ([[4.0, 4.0], [2.0, 1.0], [0.0, 1.0]], [[3.0, 2.0], [-2.0, 3.0]], [[0.0, 0.0]]):
        found = plane(Y)
        axes = found.draw()
        labels = [text.get_text() for text in axes.get_legend().get_texts()]
        assert labels[:2] == ["signals", "I"]
        assert ("best reflector" in labels) == found.reflector_helps
        assert found.draw(axes) is axes
        pyplot.close(axes.figure)
    with pytest.raises(TypeError, match="ax must be matplotlib Axes, got int"):
        found.draw(3)


def test_plane_requires_two_features() -> None:
    with pytest.raises(ValueError, match="Y has 3 features"):
        plane(np.ones((4, 3)))
