"""Approximate eigendecompositions by chains of rotations."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import sparray
from scipy.sparse.linalg import LinearOperator

from fost._progress import progress
from fost._threads import single_threaded_blas
from fost._validation import check_choice, check_number, check_parameters, check_verbose
from fost._warnings import external_stacklevel
from fost.approximation.rotation_search import RotationSearch, conjugated, off_diagonal_norm
from fost.learning.rotations import check_rotations
from fost.learning.state import InterruptedWarning
from fost.transforms import Transform, with_base
from fost.transforms.bases import make_base

# The searches of each effort; the best chain is kept.
_SEARCHES = {"greedy": ("greedy",), "grow": ("grow",), "full": ("insert", "grow")}
# S is symmetric if max|S - S^T| is at most this times max|S|: more than rounding to float32 causes.
_SYMMETRY_TOLERANCE = 1e-6
# Relative errors below this are rounding errors, which further rotations cannot reduce.
_ROUNDING = 1e-14


@dataclass(frozen=True)
class EighResult:
    """The result of `fost.eigh`, which unpacks as ``w, U``.

    Attributes
    ----------
    w : ndarray of shape (n_features,)
        Approximate eigenvalues, in the order of the columns of U.
    U : Givens or Chain
        Approximate eigenvectors.
    error : float
        ||S - U diag(w) U^T||_F / ||S||_F.
    centred_error : float
        The same relative to ||S - mean(diag(S)) I||_F. Multiples of the identity are exact with
        every U and make `error` look small.
    interrupted : bool
        Whether Ctrl-C ended the search.
    """

    w: NDArray[np.float64]
    U: Transform
    error: float
    centred_error: float
    interrupted: bool

    def __iter__(self) -> Iterator[NDArray[np.float64] | Transform]:
        return iter((self.w, self.U))


def eigh(
    S: ArrayLike | sparray | LinearOperator,
    n_rotations: int | None = None,
    *,
    tol: float | None = None,
    base: str | Transform | None = None,
    effort: str = "grow",
    verbose: bool = False,
) -> EighResult:
    r"""Approximate eigenvectors of a symmetric matrix that are fast to apply.

    Minimises :math:`\|S - U \operatorname{diag}(w) U^T\|_F` over w and chains U of rotations, which
    take 6 operations per rotation to apply. Give either the number of rotations or the error.

    Parameters
    ----------
    S : array-like, sparse array or LinearOperator of shape (n_features, n_features)
        A symmetric matrix: a graph Laplacian, a covariance, a kernel. The search works on a dense
        copy. Use the matrix that will be applied: eigenvectors for a Laplacian can be poor ones
        for its heat kernel.
    n_rotations : int, optional
        The number of rotations, at most max(n_features**2, 4096). The chain is shorter if it is
        exact before.
    tol : float, optional
        Add rotations until the relative error is at most this.
    base : Transform or str, optional
        A fast transform B under the rotations, U = B G. The DCT suits covariances of smooth
        signals.
    effort : {"grow", "greedy", "full"}
        ``"greedy"`` appends Jacobi rotations with the largest gain. ``"grow"`` lengthens the chain
        by an eighth and optimises all angles, repeatedly. ``"full"`` also inserts rotations
        between others and replaces the rotations that gain least. It takes longest.
    verbose : bool
        Show progress on stderr.

    Returns
    -------
    EighResult
        It unpacks as ``w, U``, and has the attributes `error`, `centred_error` and `interrupted`.
        Eigenvalues are in the order of the columns of U, not sorted. After Ctrl-C, a warning is
        issued and the best chain so far is returned.

    Examples
    --------
    >>> import fost, numpy as np
    >>> path = np.diag([1.0, 2, 2, 2, 2, 2, 2, 1]) - np.eye(8, k=1) - np.eye(8, k=-1)
    >>> w, U = fost.eigh(path, n_rotations=16)
    >>> U
    Givens(n_features=8, n_rotations=16, flops=96)
    >>> bool(np.linalg.norm(path - U.matrix * w @ U.matrix.T) < 0.1 * np.linalg.norm(path))
    True
    """
    checked = check_symmetric(S, "S")
    n = len(checked)
    if (n_rotations is None) == (tol is None):
        raise ValueError(
            f"exactly one of n_rotations and tol must be given, got n_rotations={n_rotations}, "
            f"tol={tol}"
        )
    most = check_rotations(
        max(n**2, 4096) if n_rotations is None else n_rotations, "n_rotations", n
    )
    tol = 0.0 if tol is None else check_number(tol, "tol", above=0)
    fixed = check_base(base, n, "S")
    effort = check_choice(effort, "effort", tuple(_SEARCHES))
    verbose = check_verbose(verbose)
    with single_threaded_blas:
        # Scaling by a power of two is exact and keeps squares within the range of floats.
        exponent = int(np.frexp(np.abs(checked).max())[1])
        rotated = conjugated(np.ldexp(checked, -exponent), fixed)
        total = float(np.linalg.norm(rotated))
        allowed = max(tol, _ROUNDING) * total
        searches = [RotationSearch(rotated, allowed=allowed) for _ in _SEARCHES[effort]]
        interrupted = False
        try:
            for search, build in zip(searches, _SEARCHES[effort], strict=True):
                length = None if n_rotations is None else most
                with progress("rotations", length, verbose) as advance:
                    for _ in search.steps(most, build, effort == "full"):
                        percent = 100 * search.error / total
                        advance(len(search), f"relative error {percent:.3f} %")
        except KeyboardInterrupt:
            interrupted = True
        _, count, U = min((search.best for search in searches), key=lambda best: best[:2])
        A = conjugated(rotated, U)
    if interrupted:
        message = f"eigh was interrupted; the best chain so far has {count} rotations"
        warnings.warn(message, InterruptedWarning, stacklevel=external_stacklevel())
    error = off_diagonal_norm(A)
    centred = float(np.linalg.norm(rotated - np.trace(rotated) / n * np.eye(n)))
    return EighResult(
        w=np.ldexp(np.diagonal(A), exponent),
        U=with_base(fixed, U),
        error=error / total if total else 0.0,
        centred_error=error / centred if centred else 0.0,
        interrupted=interrupted,
    )


def check_symmetric(S: object, name: str) -> NDArray[np.float64]:
    """A dense float64 copy of a symmetric matrix in any form."""
    if scipy.sparse.issparse(S):
        S = S.toarray()  # type: ignore[attr-defined]
    elif isinstance(S, LinearOperator):
        S = S @ np.eye(S.shape[1])
    matrix = check_parameters(S, name, (None, None))  # type: ignore[arg-type]
    if matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ValueError(f"{name} must be square, got shape {matrix.shape}")
    largest = float(np.abs(matrix).max())
    with np.errstate(over="ignore"):
        gap = float(np.abs(matrix - matrix.T).max())
    if not gap <= _SYMMETRY_TOLERANCE * largest:
        raise ValueError(
            f"{name} must be symmetric, got max|{name} - {name}^T| = {gap:.3g} for entries of up "
            f"to {largest:.3g}"
        )
    return matrix / 2 + matrix.T / 2


def check_base(base: str | Transform | None, n_features: int, name: str) -> Transform | None:
    """The base for a matrix of the given size; `name` is the matrix that has this size."""
    if isinstance(base, str) and base == "auto":
        raise ValueError("base must be a transform, a name such as 'dct' or None, got 'auto'")
    if isinstance(base, Transform) and base.n_features != n_features:
        raise ValueError(
            f"base has n_features={base.n_features}, but {name} has {n_features} features"
        )
    return make_base(base, n_features)
