"""Sparse codes in a general dictionary, by orthogonal matching pursuit."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, vstack

from fost import _core
from fost._scaling import shifts
from fost._threads import single_threaded_blas
from fost._typing import Floats
from fost._validation import (
    check_array,
    check_choice,
    check_flag,
    check_integer,
    check_number,
    check_signals,
    hint_at_missing,
    not_finite,
    truths,
)
from fost.atoms import Atoms, PreparedAtoms, examine


def omp(
    Y: ArrayLike,
    atoms: ArrayLike | Atoms,
    n_nonzero_coefs: int | None = None,
    *,
    missing: ArrayLike | Literal["nan"] | None = None,
    max_error: float | None = None,
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
    atoms : array-like of shape (n_atoms, n_features), or Atoms
        The dictionary D, atoms in rows, usually of norm one. One that is used for several calls
        is best made ready once, by `fost.Atoms`. In an orthonormal one the codes are those of
        `Transform.encode`, which is faster.
    n_nonzero_coefs : int, optional
        Entries per code at most, s. May be left out where `max_error` is given.
    missing : array-like of bool of shape (n_signals, n_features), or "nan", optional
        True where an entry of Y is unobserved, whatever it holds; ``"nan"``: where Y is NaN. Each
        signal is coded on its observed entries; one without any gets an empty code.
    max_error : float, optional
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
    (Rubinstein, Zibulevsky and Elad, 2008): a step costs O(n_atoms s). The inner products of the
    atoms are computed once, for few signals only those of chosen atoms. With missing entries a
    step costs O(n_atoms n_features).

    Examples
    --------
    >>> import fost, numpy as np
    >>> atoms = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    >>> fost.omp([[3.0, 4.0], [0.0, 2.0]], atoms, 1).toarray()
    array([[0., 0., 5.],
           [0., 2., 0.]])
    >>> fost.omp([[3.0, np.nan]], atoms, 1, missing="nan").toarray()
    array([[3., 0., 0.]])
    """
    D, squares = (atoms.atoms, None) if isinstance(atoms, Atoms) else examine(atoms)
    signals = check_signals(Y, "Y", D.shape[1], "atoms")
    if n_nonzero_coefs is None and max_error is None:
        raise ValueError("n_nonzero_coefs or max_error must be given")
    if n_nonzero_coefs is None:
        n_nonzero_coefs = min(D.shape)
    s = check_integer(n_nonzero_coefs, "n_nonzero_coefs", 1, len(D), "n_atoms")
    if max_error is not None:
        max_error = check_number(max_error, "max_error", 0)
    gaps = None if missing is None else _gaps_of(signals, missing)
    way = signals.dtype, check_flag(normalize, "normalize"), gaps is not None
    dictionary = (
        atoms.prepared(*way) if isinstance(atoms, Atoms) else PreparedAtoms(D, *way, squares)
    )
    codes = pursue_in(dictionary, signals, s, gaps, max_error)
    if codes is None:
        error = not_finite(signals, "Y")
        raise error if gaps is not None else hint_at_missing(error)
    return codes


def pursue(
    Y: Floats,
    atoms: Floats,
    s: int,
    *,
    missing: NDArray[np.bool_] | None = None,
    max_error: float | None = None,
) -> csr_array | None:
    """`omp` of checked arguments; None where signals are not finite."""
    dictionary = PreparedAtoms(atoms, Y.dtype, normalize=False, masked=missing is not None)
    return pursue_in(dictionary, Y, s, missing, max_error)


class Dictionary(Protocol):
    """Atoms in which the core pursues signals within reach."""

    @property
    def taken_out(self) -> NDArray[np.int64] | None:
        """Exponents that were taken out of the atoms, one for each; None where there are none."""

    def pursue(
        self, Y: Floats, missing: NDArray[np.bool_] | None, s: int, max_error: float
    ) -> csr_array | None:
        """Codes; None where signals are not finite or not within reach."""


def pursue_in(
    dictionary: Dictionary,
    Y: Floats,
    s: int,
    missing: NDArray[np.bool_] | None,
    max_error: float | None,
) -> csr_array | None:
    """Codes, or None where signals are not finite.

    The kernels work on squares. Where those of atoms or signals would overflow or vanish, these
    are scaled by powers of two, and their codes back again, which changes no bit of the result.
    """
    limit = -1.0 if max_error is None else max_error
    few = len(Y) <= _core.FEW_SIGNALS  # for which BLAS is not asked
    with nullcontext() if few else single_threaded_blas:
        codes = dictionary.pursue(Y, missing, s, limit)
        if codes is not None and dictionary.taken_out is None:
            return codes
        taken_out = np.zeros(len(Y), np.int64)
        if codes is None:  # rows are out of reach, or not finite
            visible = Y if missing is None else np.where(missing, Y.dtype.type(0), Y)
            largest = np.abs(visible).max(axis=1)
            found = shifts(largest, Y.dtype) if np.isfinite(largest).all() else None
            if found is None:
                return None
            codes, taken_out = _by_shift(dictionary, visible, missing, s, limit, found), found
    return _scaled_back(codes, taken_out, dictionary.taken_out)


def _by_shift(
    dictionary: Dictionary,
    Y: Floats,
    missing: NDArray[np.bool_] | None,
    s: int,
    max_error: float,
    taken_out: NDArray[np.int64],
) -> csr_array:
    """Codes of signals without their exponents, those of equal exponents together."""
    parts, places = [], []
    for shift in np.unique(taken_out):
        rows = np.flatnonzero(taken_out == shift)
        gaps = None if missing is None else missing[rows]
        with np.errstate(over="ignore"):  # no signal has as much energy as infinity
            limit = max_error if max_error < 0 else float(np.ldexp(max_error, -2 * shift))
        codes = dictionary.pursue(np.ldexp(Y[rows], -shift), gaps, s, limit)
        assert codes is not None, "what is scaled is within reach"
        parts.append(codes)
        places.append(rows)
    return csr_array(vstack(parts, format="csr")[np.argsort(np.concatenate(places))])


def _scaled_back(
    codes: csr_array, of_rows: NDArray[np.int64], of_atoms: NDArray[np.int64] | None
) -> csr_array:
    """The codes of signals from which, and from whose atoms, exponents had been taken out."""
    counts = np.diff(codes.indptr)
    exponents = np.repeat(of_rows, counts)
    if of_atoms is not None:
        exponents -= of_atoms[codes.indices]
    with np.errstate(over="ignore", under="ignore"):
        codes.data = np.ldexp(codes.data, exponents)
    if not np.isfinite(codes.data).all():
        raise ValueError(f"Y is too large for these atoms: its codes overflow {codes.dtype}")
    codes.eliminate_zeros()
    if ((counts > 0) & (np.diff(codes.indptr) == 0)).any():
        raise ValueError(f"Y is too small for these atoms: its codes vanish in {codes.dtype}")
    return codes


def _gaps_of(signals: Floats, missing: ArrayLike) -> NDArray[np.bool_]:
    """Where entries are unobserved, by a mask or by NaN in the signals themselves."""
    if isinstance(missing, str):
        check_choice(missing, "missing", ("nan",))
        return np.isnan(signals)
    return check_missing(missing, signals.shape)


def check_missing(missing: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """A mask of the given shape, True where an entry is unobserved."""
    mask = check_array(missing, "missing")
    if mask.dtype != np.bool_:
        raise TypeError(f"missing must be boolean, got dtype {mask.dtype}")
    if mask.shape != shape:
        raise ValueError(f"missing must have the shape of Y, {shape}, got {mask.shape}")
    return truths(mask)
