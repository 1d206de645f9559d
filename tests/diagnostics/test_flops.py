"""Operation counts agree with those of the transforms, and with Table II of the paper."""

from __future__ import annotations

import numpy as np
import pytest

import fost
from fost import diagnostics

# Table II, n = 64, with the digits as printed.
MS = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24)
OVER_DENSE = ("32", "16", "11", "8", "5", "4", "3", "2", "1.6", "1.3")
OVER_DCT = ("3", "1.5", "1", "0.8", "0.5", "0.4", "0.3", "0.2", "0.2", "0.1")


def printed(value: float, like: str) -> str:
    """`value` with as many decimals as the paper printed."""
    return f"{value:.{len(like.partition('.')[2])}f}"


@pytest.mark.parametrize(("m", "dense", "dct"), [*zip(MS, OVER_DENSE, OVER_DCT, strict=True)])
def test_table_two(m: int, dense: str, dct: str) -> None:
    """All twenty numbers follow from the equations, with logarithms to base 2."""
    found = diagnostics.speed_ups(64, m, 4)
    assert printed(found.over_dense, dense) == dense
    assert printed(found.over_dct, dct) == dct


def test_caption_of_table_two() -> None:
    assert diagnostics.speed_ups(64, 32, 4).over_dense == pytest.approx(1, abs=0.01)
    assert diagnostics.speed_ups(64, 3, 4).over_dct == pytest.approx(1, abs=0.01)
    # OMP is at least s times slower than an orthonormal dictionary.
    for s in (1, 4, 16):
        found = diagnostics.speed_ups(64, 1, s)
        assert found.omp_cholesky >= s * found.dense


@pytest.mark.parametrize("n", [1, 2, 8, 64, 100, 1024])
def test_counts_agree_with_transforms(n: int) -> None:
    for m in {1, n}:
        found = diagnostics.speed_ups(n, m, 1)
        assert found.dense == fost.Dense(np.eye(n)).flops
        assert found.dct == fost.DCT(n).flops
        assert found.reflectors == fost.Householder(np.zeros((m, n))).flops


def test_counts_of_matching_pursuit() -> None:
    n, s = 64, 4
    assert diagnostics.omp_cholesky_flops(n, s) == 2 * s * n**2 + 2 * s**2 * n + 4 * s * n + s**3
    assert diagnostics.omp_cholesky_flops(n, s, 64) == diagnostics.omp_cholesky_flops(n, s)
    assert diagnostics.omp_cholesky_flops(n, s, 256) > diagnostics.omp_cholesky_flops(n, s)
    assert diagnostics.batch_omp_flops(n, s, 256) < diagnostics.omp_cholesky_flops(n, s, 256)
    found = diagnostics.speed_ups(n, 12, s, 256)
    assert found.n_atoms == 256
    assert found.over_omp_cholesky == found.omp_cholesky / 3072
    assert found.over_batch_omp == found.batch_omp / 3072
    assert "3,072 operations: 2.65 x as fast as a dense" in str(found)


def test_errors_name_the_argument() -> None:
    with pytest.raises(ValueError, match="n_features must be between 1"):
        diagnostics.speed_ups(0, 1, 1)
    with pytest.raises(ValueError, match="n_reflectors must be between 1 and n_features=8, got 9"):
        diagnostics.speed_ups(8, 9, 2)
    with pytest.raises(ValueError, match="n_nonzero_coefs must be between 1 and n_features=8"):
        diagnostics.speed_ups(8, 1, 9)
    with pytest.raises(ValueError, match="n_nonzero_coefs must be between 1 and n_atoms=3"):
        diagnostics.omp_cholesky_flops(8, 4, 3)
    with pytest.raises(TypeError, match="n_reflectors must be an integer"):
        diagnostics.speed_ups(8, 1.5, 2)  # type: ignore[arg-type]


def test_mutual_coherence() -> None:
    assert diagnostics.mutual_coherence(fost.DCT((4, 4))) < 1e-12
    assert diagnostics.mutual_coherence([[1.0, 2.0]]) == 0
    assert diagnostics.mutual_coherence([[1.0, 0.0], [-2.0, 0.0]]) == 1
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((20, 7))
    expected = max(
        abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b)
        for i, a in enumerate(atoms)
        for b in atoms[:i]
    )
    assert diagnostics.mutual_coherence(atoms) == pytest.approx(expected)
    assert diagnostics.mutual_coherence(1e-200 * atoms) == pytest.approx(expected)
    assert diagnostics.mutual_coherence(1e200 * atoms) == pytest.approx(expected)
