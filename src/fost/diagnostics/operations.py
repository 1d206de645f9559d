"""Operations per signal by the paper's counts, and speed-ups (its Table II).

Additions and multiplications count alike; finding the largest entries is left out, as in the
paper, since every method has to do it.
"""

from __future__ import annotations

from dataclasses import dataclass

from fost._validation import check_integer
from fost.diagnostics.findings import Finding, check_entries, counted
from fost.transforms.coder import matrix_flops
from fost.transforms.dct import _line_flops

_MOST = 2**31 - 1


def dense_flops(n_features: int) -> int:
    """(2n - 1) n: a dense orthonormal dictionary, such as Q-DLA's, as ``Dense.flops``.

    Examples
    --------
    >>> from fost.diagnostics import dense_flops
    >>> dense_flops(64)
    8128
    """
    n = check_integer(n_features, "n_features", 1, _MOST)
    return matrix_flops(n)


def reflector_flops(n_features: int, n_reflectors: int) -> int:
    """4 n m: a product of m reflectors, as ``Householder.flops``.

    Examples
    --------
    >>> from fost.diagnostics import reflector_flops
    >>> reflector_flops(64, 12)
    3072
    """
    n = check_integer(n_features, "n_features", 1, _MOST)
    return 4 * n * check_integer(n_reflectors, "n_reflectors", 0, n, "n_features")


def cosine_flops(n_features: int) -> int:
    """5/2 n log2 n - 3 n + 6: the fast cosine transform along one axis, as ``DCT(n).flops``.

    The paper writes log; its Table II holds for the logarithm to base 2. The two-dimensional
    DCT of patches is cheaper than that of the vectorised patch: see ``DCT((8, 8)).flops``.

    Examples
    --------
    >>> from fost.diagnostics import cosine_flops
    >>> cosine_flops(64)
    774
    """
    return round(_line_flops(check_integer(n_features, "n_features", 1, _MOST)))


def omp_cholesky_flops(n_features: int, n_nonzero_coefs: int, n_atoms: int | None = None) -> int:
    """2 s n K + 2 s^2 n + 2 s (K + n) + s^3: OMP-Cholesky in a dictionary of K general atoms.

    With K = n, the default, this is the paper's 2 s n^2 + 2 s^2 n + 4 s n + s^3. The paper calls
    it a batch variant of OMP. It is not: it goes through the whole dictionary for each entry of
    a code. `batch_omp_flops` is what Rubinstein, Zibulevsky and Elad count for Batch-OMP.

    Examples
    --------
    >>> from fost.diagnostics import omp_cholesky_flops
    >>> omp_cholesky_flops(64, 4)
    35904
    """
    n, s, k = _pursuit_sizes(n_features, n_nonzero_coefs, n_atoms)
    return 2 * s * n * k + 2 * s * s * n + 2 * s * (k + n) + s**3


def batch_omp_flops(n_features: int, n_nonzero_coefs: int, n_atoms: int | None = None) -> int:
    """2 n K + s^2 K + 3 s K + s^3: Batch-OMP, given the Gram matrix of the K atoms.

    By Rubinstein, Zibulevsky and Elad, "Efficient implementation of the K-SVD algorithm using
    Batch Orthogonal Matching Pursuit", 2008. K = n by default.

    Examples
    --------
    >>> from fost.diagnostics import batch_omp_flops
    >>> batch_omp_flops(64, 4)
    10048
    """
    n, s, k = _pursuit_sizes(n_features, n_nonzero_coefs, n_atoms)
    return 2 * n * k + s * s * k + 3 * s * k + s**3


@dataclass(frozen=True, repr=False)
class Costs(Finding):
    """Operations to code one signal, and how many times as fast m reflectors are.

    Attributes
    ----------
    n_features, n_reflectors, n_nonzero_coefs, n_atoms : int
        n, m, s, K.
    reflectors, dense, cosine, omp_cholesky, batch_omp : int
        Operations.

    Examples
    --------
    >>> import fost
    >>> found = fost.diagnostics.costs(64, 3, n_nonzero_coefs=4)
    >>> round(found.over_dense), round(found.over_cosine)
    (11, 1)
    """

    n_features: int
    n_reflectors: int
    n_nonzero_coefs: int
    n_atoms: int
    reflectors: int
    dense: int
    cosine: int
    omp_cholesky: int
    batch_omp: int

    @property
    def over_dense(self) -> float:
        """rho_Q-DLA = (2n - 1) n / (4 n m)."""
        return self.dense / self.reflectors

    @property
    def over_cosine(self) -> float:
        """rho_FCT = (5/2 n log2 n - 3 n + 6) / (4 n m)."""
        return self.cosine / self.reflectors

    @property
    def over_omp_cholesky(self) -> float:
        """The same ratio for OMP-Cholesky."""
        return self.omp_cholesky / self.reflectors

    @property
    def over_batch_omp(self) -> float:
        """The same ratio for Batch-OMP."""
        return self.batch_omp / self.reflectors

    @property
    def sentence(self) -> str:
        return (
            f"{counted(self.n_reflectors, 'reflector')} of {counted(self.n_features, 'feature')} "
            f"take {self.reflectors:,} operations: {self.over_dense:.3g} x as fast as a dense "
            f"dictionary ({self.dense:,}), {self.over_cosine:.3g} x as fast as the fast cosine "
            f"transform ({self.cosine:,}), {self.over_omp_cholesky:.3g} x as fast as OMP-Cholesky "
            f"({self.omp_cholesky:,}) and {self.over_batch_omp:.3g} x as fast as Batch-OMP "
            f"({self.batch_omp:,}) in {counted(self.n_atoms, 'atom')}."
        )


def costs(
    n_features: int, n_reflectors: int, n_nonzero_coefs: int, n_atoms: int | None = None
) -> Costs:
    """Operations per signal for any n, m, s, and the speed-ups of the paper's Table II.

    Parameters
    ----------
    n_features : int
        n.
    n_reflectors : int
        m, 1 to n.
    n_nonzero_coefs : int
        s, which matters to OMP only.
    n_atoms : int, optional
        Atoms of the general dictionary, K; n if None.

    Returns
    -------
    Costs

    Examples
    --------
    >>> from fost.diagnostics import costs
    >>> found = costs(64, 3, n_nonzero_coefs=4)
    >>> found.reflectors, found.dense, found.cosine
    (768, 8128, 774)
    >>> round(found.over_dense), round(found.over_cosine)
    (11, 1)
    """
    n, s, k = _pursuit_sizes(n_features, n_nonzero_coefs, n_atoms)
    m = check_integer(n_reflectors, "n_reflectors", 1, n, "n_features")
    return Costs(
        n_features=n,
        n_reflectors=m,
        n_nonzero_coefs=s,
        n_atoms=k,
        reflectors=reflector_flops(n, m),
        dense=dense_flops(n),
        cosine=cosine_flops(n),
        omp_cholesky=omp_cholesky_flops(n, s, k),
        batch_omp=batch_omp_flops(n, s, k),
    )


def _pursuit_sizes(
    n_features: int, n_nonzero_coefs: int, n_atoms: int | None
) -> tuple[int, int, int]:
    n = check_integer(n_features, "n_features", 1, _MOST)
    k = n if n_atoms is None else check_integer(n_atoms, "n_atoms", 1, _MOST)
    return n, check_entries(n_nonzero_coefs, n, k), k
