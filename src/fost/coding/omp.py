"""Orthogonal matching pursuit in general dictionaries, and codes of incomplete signals."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, vstack

from fost import _core
from fost._scaling import scaling_exponents
from fost._threads import single_threaded_blas
from fost._typing import Floats
from fost._validation import (
    check_choice,
    check_flag,
    check_integer,
    check_missing,
    check_number,
    check_signals,
    hint_at_missing,
    not_finite,
)
from fost.coding.atoms import Atoms, PreparedAtoms, check_atoms_and_norms
from fost.coding.encode import encode_signals
from fost.coding.selection import SelectionRule

if TYPE_CHECKING:
    from fost.transforms.coder import Coder

# Iterations of thresholding; each fills missing entries from the codes of the one before.
_THRESHOLDING_ITERATIONS = 30


def omp(
    Y: ArrayLike,
    atoms: ArrayLike | Atoms,
    n_nonzero_coefs: int | None = None,
    *,
    missing: ArrayLike | Literal["nan"] | None = None,
    max_error: float | None = None,
    normalize: bool = False,
) -> csr_array:
    r"""Orthogonal matching pursuit: sparse codes x with a small error :math:`\|y - x D\|`.

    Each step adds the atom that correlates most with the residual and recomputes the coefficients
    of all chosen atoms by least squares. Ties go to the lower index. The pursuit of a signal stops
    early once the residual is zero up to rounding.

    Parameters
    ----------
    Y : array-like of shape (n_signals, n_features)
        Signals in rows.
    atoms : array-like of shape (n_atoms, n_features), or Atoms
        The dictionary D, atoms in rows, usually of unit norm. Pass `fost.Atoms` to use the same
        dictionary in several calls. For an orthonormal dictionary, `Transform.encode` gives the
        same codes faster.
    n_nonzero_coefs : int, optional
        Maximum number of entries per code, s. Optional if `max_error` is given.
    missing : array-like of bool of shape (n_signals, n_features), or "nan", optional
        True where an entry of Y is unobserved; its value is ignored. ``"nan"`` treats NaN as
        unobserved. Each signal is coded on its observed entries. The code of a signal without
        observed entries is empty.
    max_error : float, optional
        Stop when the squared norm of the residual, over observed entries, is at most `max_error`.
    normalize : bool
        Compare correlations divided by the norms of the atoms over observed entries. Otherwise an
        atom with most of its energy in missing entries is less likely to be chosen, which prevents
        extreme values there.

    Returns
    -------
    csr_array of shape (n_signals, n_atoms)
        Codes with sorted indices.

    Notes
    -----
    Without missing entries this is Batch-OMP with a progressive Cholesky factorisation
    (Rubinstein, Zibulevsky and Elad, 2008): a step costs O(n_atoms s). The inner products of the
    atoms are computed once; for few signals, only those of the chosen atoms. With missing entries a
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
    if isinstance(atoms, Atoms):
        D, squares = atoms.atoms, None
    else:
        D, squares = check_atoms_and_norms(atoms)
    signals = check_signals(Y, "Y", D.shape[1], "atoms")
    if n_nonzero_coefs is None and max_error is None:
        raise ValueError("n_nonzero_coefs or max_error must be given")
    if n_nonzero_coefs is None:
        n_nonzero_coefs = min(D.shape)
    s = check_integer(n_nonzero_coefs, "n_nonzero_coefs", 1, len(D), "n_atoms")
    if max_error is not None:
        max_error = check_number(max_error, "max_error", 0)
    mask = None if missing is None else _missing_mask(signals, missing)
    options = signals.dtype, check_flag(normalize, "normalize"), mask is not None
    prepared = (
        atoms.prepared(*options)
        if isinstance(atoms, Atoms)
        else PreparedAtoms(D, *options, squares)
    )
    codes = scaled_omp(prepared, signals, s, mask, max_error)
    if codes is None:
        error = not_finite(signals, "Y")
        raise error if mask is not None else hint_at_missing(error)
    return codes


def unchecked_omp(
    Y: Floats,
    atoms: Floats,
    s: int,
    *,
    missing: NDArray[np.bool_] | None = None,
    max_error: float | None = None,
) -> csr_array | None:
    """`omp` of valid arguments; None if signals are not finite."""
    prepared = PreparedAtoms(atoms, Y.dtype, normalize=False, masked=missing is not None)
    return scaled_omp(prepared, Y, s, missing, max_error)


class PursuitAtoms(Protocol):
    """Atoms in a form in which the core runs orthogonal matching pursuit."""

    @property
    def exponents(self) -> NDArray[np.int64] | None:
        """Atom k is stored times 2**-exponents[k]; None for no scaling."""

    def pursue(
        self, Y: Floats, missing: NDArray[np.bool_] | None, s: int, max_error: float
    ) -> csr_array | None:
        """Codes; None if signals are not finite or not in the safe range."""


def scaled_omp(
    atoms: PursuitAtoms,
    Y: Floats,
    s: int,
    missing: NDArray[np.bool_] | None,
    max_error: float | None,
) -> csr_array | None:
    """Codes of signals of any magnitude; None if signals are not finite.

    The kernels work with squares. Atoms and signals whose squares would overflow or underflow are
    scaled by powers of two. Scaling the codes back is exact.
    """
    limit = -1.0 if max_error is None else max_error
    few = len(Y) <= _core.FEW_SIGNALS  # the core does not call BLAS for these
    with nullcontext() if few else single_threaded_blas:
        codes = atoms.pursue(Y, missing, s, limit)
        if codes is not None and atoms.exponents is None:
            return codes
        exponents = np.zeros(len(Y), np.int64)
        if codes is None:  # signals are not in the safe range, or not finite
            visible = Y if missing is None else np.where(missing, Y.dtype.type(0), Y)
            largest = np.abs(visible).max(axis=1)
            found = scaling_exponents(largest, Y.dtype) if np.isfinite(largest).all() else None
            if found is None:
                return None
            codes, exponents = _pursue_scaled(atoms, visible, missing, s, limit, found), found
    return _scaled_back(codes, exponents, atoms.exponents)


def _pursue_scaled(
    atoms: PursuitAtoms,
    Y: Floats,
    missing: NDArray[np.bool_] | None,
    s: int,
    max_error: float,
    exponents: NDArray[np.int64],
) -> csr_array:
    """Codes of the signals times 2**-exponents, one call for each distinct exponent."""
    parts, places = [], []
    for exponent in np.unique(exponents):
        rows = np.flatnonzero(exponents == exponent)
        mask = None if missing is None else missing[rows]
        with np.errstate(over="ignore"):  # an infinite limit is never exceeded
            limit = max_error if max_error < 0 else float(np.ldexp(max_error, -2 * exponent))
        codes = atoms.pursue(np.ldexp(Y[rows], -exponent), mask, s, limit)
        assert codes is not None, "scaled signals are in the safe range"
        parts.append(codes)
        places.append(rows)
    return csr_array(vstack(parts, format="csr")[np.argsort(np.concatenate(places))])


def _scaled_back(
    codes: csr_array, of_rows: NDArray[np.int64], of_atoms: NDArray[np.int64] | None
) -> csr_array:
    """Codes of the original signals in the original atoms."""
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
        raise ValueError(f"Y is too small for these atoms: its codes underflow {codes.dtype}")
    return codes


def _missing_mask(signals: Floats, missing: ArrayLike) -> NDArray[np.bool_]:
    """True where entries are unobserved, from a mask or from NaN in the signals."""
    if isinstance(missing, str):
        check_choice(missing, "missing", ("nan",))
        return np.isnan(signals)
    return check_missing(missing, signals.shape)


def encode_observed(coder: Coder, Y: Floats, rule: SelectionRule, name: str = "Y") -> csr_array:
    """Codes of signals from their observed entries; NaN entries are missing.

    Codes with a number of entries or an error limit are found by orthogonal matching pursuit. A
    bank runs it for each member and uses the member with the smallest error on the observed
    entries. With an error limit, it uses the member with the fewest entries. Codes with a threshold
    are found by iterative thresholding, which decreases ||y - U x||^2 + threshold^2 ||x||_0 over
    the observed entries.
    """
    missing = np.isnan(Y)
    if np.isinf(Y).any():
        raise ValueError(f"{name} contains infinity")
    if rule.threshold is not None:
        return _iterative_thresholding(coder, Y, missing, rule, name)
    found = [
        _member_omp(member._atoms(Y.dtype), Y, missing, rule, name) for member in coder.members
    ]
    if len(found) == 1:
        return found[0][0]
    errors = np.array([error for _, error in found])
    if rule.max_error is not None:
        counts = np.array([np.diff(codes.indptr) for codes, _ in found])
        counts = np.where(errors <= rule.max_error, counts, coder.n_features + 1)
        chosen = np.lexsort((errors, counts), axis=0)[0]
    else:
        chosen = np.argmin(errors, axis=0)
    return _bank_codes([codes for codes, _ in found], chosen)


def _member_omp(
    atoms: Floats, Y: Floats, missing: NDArray[np.bool_], rule: SelectionRule, name: str
) -> tuple[csr_array, NDArray[np.float64]]:
    """Codes in the atoms of one member, and their squared errors on the observed entries."""
    codes = unchecked_omp(Y, atoms, rule.s, missing=missing, max_error=rule.max_error)
    if codes is None:
        raise ValueError(f"{name} contains NaN or infinity")
    residual = np.where(missing, 0, Y - codes @ atoms).astype(np.float64)
    return codes, np.einsum("ij,ij->i", residual, residual)


def _bank_codes(codes: list[csr_array], chosen: NDArray[np.intp]) -> csr_array:
    """Codes of a bank: row i comes from the codes of member chosen[i], in its columns."""
    n = codes[0].shape[1]
    n_atoms = len(codes) * n
    parts, places = [], []
    for b, own in enumerate(codes):
        rows = np.flatnonzero(chosen == b)
        part = own[rows]
        columns = part.data, part.indices + b * n, part.indptr
        parts.append(csr_array(columns, shape=(len(rows), n_atoms)))
        places.append(rows)
    return csr_array(vstack(parts, format="csr")[np.argsort(np.concatenate(places))])


def _iterative_thresholding(
    coder: Coder, Y: Floats, missing: NDArray[np.bool_], rule: SelectionRule, name: str
) -> csr_array:
    filled = np.where(missing, Y.dtype.type(0), Y)
    codes = encode_signals(coder._plan, filled, rule, name)
    for _ in range(_THRESHOLDING_ITERATIONS):
        filled = np.where(missing, coder.decode(codes), Y)
        codes = encode_signals(coder._plan, filled, rule, name)
    return codes
