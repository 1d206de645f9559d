"""Operations per signal by the paper's counts, and speed-ups (its Table II).

Additions and multiplications count alike. As in the paper, the selection of the largest entries is
not counted, since all methods need it.
"""

from __future__ import annotations

from dataclasses import dataclass

from fost._validation import check_integer
from fost.diagnostics.sums import DiagnosticResult, check_entries, plural
from fost.transforms.coder import dense_flops
from fost.transforms.dct import dct_line_flops

_MAX_SIZE = 2**31 - 1


def omp_cholesky_flops(n_features: int, n_nonzero_coefs: int, n_atoms: int | None = None) -> int:
    r"""Operations of OMP-Cholesky in a dictionary of K general atoms.

    They are :math:`2 s n K + 2 s^2 n + 2 s (K + n) + s^3`. With K = n, the default, this is the
    paper's :math:`2 s n^2 + 2 s^2 n + 4 s n + s^3`. The paper calls it a batch variant of OMP, but
    it goes through the whole dictionary for each entry of a code; see `batch_omp_flops`.

    Examples
    --------
    >>> from fost.diagnostics import omp_cholesky_flops
    >>> omp_cholesky_flops(64, 4)
    35904
    """
    n, s, k = _check_sizes(n_features, n_nonzero_coefs, n_atoms)
    return 2 * s * n * k + 2 * s * s * n + 2 * s * (k + n) + s**3


def batch_omp_flops(n_features: int, n_nonzero_coefs: int, n_atoms: int | None = None) -> int:
    r"""Operations of Batch-OMP, given the Gram matrix of the K atoms.

    They are :math:`2 n K + s^2 K + 3 s K + s^3` by Rubinstein, Zibulevsky and Elad, "Efficient
    implementation of the K-SVD algorithm using Batch Orthogonal Matching Pursuit", 2008. K = n by
    default.

    Examples
    --------
    >>> from fost.diagnostics import batch_omp_flops
    >>> batch_omp_flops(64, 4)
    10048
    """
    n, s, k = _check_sizes(n_features, n_nonzero_coefs, n_atoms)
    return 2 * n * k + s * s * k + 3 * s * k + s**3


@dataclass(frozen=True, repr=False)
class SpeedUps(DiagnosticResult):
    """Operations to encode one signal, and the speed-ups of m reflectors.

    Attributes
    ----------
    n_features, n_reflectors, n_nonzero_coefs, n_atoms : int
        n, m, s, K.
    reflectors : int
        Operations of m reflectors, 4 n m, as of ``Householder.flops``.
    dense : int
        A dense orthonormal dictionary: (2n - 1) n, as in ``Dense.flops``.
    dct : int
        The DCT along one axis: ``5/2 n log2 n - 3 n + 6``, as in ``DCT(n).flops``. The paper writes
        log; its Table II holds for base 2. The 2-D DCT of a patch is cheaper than that of the
        flattened patch: see ``DCT((8, 8)).flops``.
    omp_cholesky, batch_omp : int
        Orthogonal matching pursuit in K atoms.
    """

    n_features: int
    n_reflectors: int
    n_nonzero_coefs: int
    n_atoms: int
    reflectors: int
    dense: int
    dct: int
    omp_cholesky: int
    batch_omp: int

    @property
    def over_dense(self) -> float:
        """rho_Q-DLA = (2n - 1) n / (4 n m)."""
        return self.dense / self.reflectors

    @property
    def over_dct(self) -> float:
        """rho_FCT = (5/2 n log2 n - 3 n + 6) / (4 n m)."""
        return self.dct / self.reflectors

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
            f"{plural(self.n_reflectors, 'reflector')} of {plural(self.n_features, 'feature')} "
            f"take {self.reflectors:,} operations: {self.over_dense:.3g} x as fast as a dense "
            f"dictionary ({self.dense:,}), {self.over_dct:.3g} x as fast as the fast cosine "
            f"transform ({self.dct:,}), {self.over_omp_cholesky:.3g} x as fast as OMP-Cholesky "
            f"({self.omp_cholesky:,}) and {self.over_batch_omp:.3g} x as fast as Batch-OMP "
            f"({self.batch_omp:,}) in {plural(self.n_atoms, 'atom')}."
        )


def speed_ups(
    n_features: int, n_reflectors: int, n_nonzero_coefs: int, n_atoms: int | None = None
) -> SpeedUps:
    """Operations per signal for any n, m and s, and the speed-ups of the paper's Table II.

    Parameters
    ----------
    n_features : int
        n.
    n_reflectors : int
        m, 1 to n.
    n_nonzero_coefs : int
        s, which affects OMP only.
    n_atoms : int, optional
        Atoms of the general dictionary, K; n if None.

    Returns
    -------
    SpeedUps
        The counts `reflectors`, `dense`, `dct`, `omp_cholesky` and `batch_omp`, and the speed-ups
        of the reflectors `over_dense`, `over_dct`, `over_omp_cholesky` and `over_batch_omp`.

    Examples
    --------
    >>> from fost.diagnostics import speed_ups
    >>> found = speed_ups(64, 3, n_nonzero_coefs=4)
    >>> found.reflectors, found.dense, found.dct
    (768, 8128, 774)
    >>> round(found.over_dense), round(found.over_dct)
    (11, 1)
    """
    n, s, k = _check_sizes(n_features, n_nonzero_coefs, n_atoms)
    m = check_integer(n_reflectors, "n_reflectors", 1, n, "n_features")
    return SpeedUps(
        n_features=n,
        n_reflectors=m,
        n_nonzero_coefs=s,
        n_atoms=k,
        reflectors=4 * n * m,
        dense=dense_flops(n),
        dct=round(dct_line_flops(n)),
        omp_cholesky=omp_cholesky_flops(n, s, k),
        batch_omp=batch_omp_flops(n, s, k),
    )


def _check_sizes(
    n_features: int, n_nonzero_coefs: int, n_atoms: int | None
) -> tuple[int, int, int]:
    n = check_integer(n_features, "n_features", 1, _MAX_SIZE)
    k = n if n_atoms is None else check_integer(n_atoms, "n_atoms", 1, _MAX_SIZE)
    return n, check_entries(n_nonzero_coefs, n, k), k
