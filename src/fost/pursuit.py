"""Sparse codes in a general dictionary, by orthogonal matching pursuit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from fost import _core
from fost._threads import single_threaded_blas
from fost._validation import check_integer, check_real, check_signals, not_finite
from fost.coding import collect


def omp(
    Y: ArrayLike,
    atoms: ArrayLike,
    n_nonzero_coefs: int | None = None,
    *,
    missing: ArrayLike | None = None,
    tol: float | None = None,
    normalize: bool = False,
) -> csr_array:
    """Orthogonal matching pursuit: codes x of few entries with ||y - x D|| small.

    Each step adds the atom of largest correlation with the residual and computes the
    coefficients of all chosen atoms anew, by least squares. Ties go to the lower index. A
    pursuit stops early where nothing but rounding is left of the residual.

    Parameters
    ----------
    Y : array-like of shape (n_signals, n_features)
        Signals in rows.
    atoms : array-like of shape (n_atoms, n_features)
        The dictionary D, atoms in rows, usually of norm one. In an orthonormal one the codes
        are those of `Transform.encode`, which is faster.
    n_nonzero_coefs : int, optional
        Entries per code at most, s. May be left out where `tol` is given.
    missing : array-like of bool of shape (n_signals, n_features), optional
        True where an entry of Y is unobserved, whatever it holds, NaN included. Each signal is
        coded on its observed entries; one without any gets an empty code.
    tol : float, optional
        Stop where the squared norm of the residual (over observed entries) is no larger.
    normalize : bool
        Divide correlations by the norms of the atoms (over observed entries) before they are
        compared. Without it, an atom that lies mostly where nothing was observed is less likely
        to be taken, which guards against wild values there.

    Returns
    -------
    csr_array of shape (n_signals, n_atoms)
        With sorted indices.

    Notes
    -----
    Without missing entries this is Batch-OMP with a progressive Cholesky factorisation
    (Rubinstein, Zibulevsky and Elad, 2008): the inner products of the atoms are computed once,
    and a step costs O(n_atoms s). With missing entries a step costs O(n_atoms n_features).

    Examples
    --------
    >>> import fost, numpy as np
    >>> atoms = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    >>> fost.omp([[3.0, 4.0], [0.0, 2.0]], atoms, 1).toarray()
    array([[0., 0., 5.],
           [0., 2., 0.]])
    >>> fost.omp([[3.0, np.nan]], atoms, 1, missing=[[False, True]]).toarray()
    array([[3., 0., 0.]])
    """
    D = check_atoms(atoms)
    signals = check_signals(Y, "Y", D.shape[1], "atoms")
    if n_nonzero_coefs is None and tol is None:
        raise ValueError("n_nonzero_coefs or tol must be given")
    if n_nonzero_coefs is None:
        n_nonzero_coefs = min(D.shape)
    s = check_integer(n_nonzero_coefs, "n_nonzero_coefs", 1, len(D), "n_atoms")
    if tol is not None and not tol >= 0:
        raise ValueError(f"tol must be at least 0, got {tol}")
    gaps = None if missing is None else check_missing(missing, signals.shape)
    codes = pursue(signals, D, s, missing=gaps, tol=tol, normalize=normalize)
    if codes is None:
        visible = signals if gaps is None else np.where(gaps, 0, signals)
        raise not_finite(visible, "Y")
    return codes


@single_threaded_blas
def pursue(
    Y: NDArray[Any],
    atoms: NDArray[Any],
    s: int,
    *,
    missing: NDArray[np.bool_] | None = None,
    tol: float | None = None,
    normalize: bool = False,
) -> csr_array | None:
    """`omp` of checked arguments; None where signals or codes are not finite."""
    exact = np.asarray(atoms, dtype=np.float64)
    n_atoms = len(exact)
    pitch = -(-n_atoms // _core.PITCH) * _core.PITCH
    D = np.ascontiguousarray(exact, dtype=Y.dtype)
    gram = np.zeros((n_atoms, pitch), Y.dtype)
    gram[:, :n_atoms] = exact @ exact.T
    scales = squares = None
    if normalize and missing is None:
        scales = np.zeros(pitch, Y.dtype)
        scales[:n_atoms] = 1 / np.linalg.norm(exact, axis=1)
    elif normalize:
        squares = np.square(D)
    limit = -1.0 if tol is None else float(tol)
    codes = collect(
        lambda *out: _core.pursue(D, gram, scales, squares, Y, missing, s, limit, *out),
        (len(Y), n_atoms),
        s,
        Y.dtype,
    )
    return codes if codes is not None and np.isfinite(codes.data).all() else None


def check_atoms(atoms: ArrayLike, name: str = "atoms") -> NDArray[Any]:
    """Atoms in rows, finite and none of them zero."""
    D = check_real(atoms, name)
    if D.ndim != 2 or 0 in D.shape:
        raise ValueError(f"{name} must have shape (n_atoms, n_features), got {D.shape}")
    if not np.isfinite(D).all():
        raise ValueError(f"{name} contains NaN or infinity")
    zero = np.flatnonzero(~D.any(axis=1))
    if zero.size:
        raise ValueError(f"{name} must not be zero, but row {zero[0]} is")
    return D


def check_missing(missing: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """A mask of the given shape, True where an entry is unobserved."""
    mask = np.asarray(missing)
    if mask.dtype != np.bool_:
        raise TypeError(f"missing must be boolean, got dtype {mask.dtype}")
    if mask.shape != shape:
        raise ValueError(f"missing must have the shape of Y, {shape}, got {mask.shape}")
    return mask
