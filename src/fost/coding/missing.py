"""Sparse codes of signals with missing entries, fitted to the observed entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from fost._typing import Floats
from fost.coding.encode import encode_signals
from fost.coding.omp import unchecked_omp
from fost.coding.selection import SelectionRule

if TYPE_CHECKING:
    from fost.transforms.coder import Coder

# Iterations of thresholding; each fills missing entries from the codes of the one before.
_THRESHOLDING_ITERATIONS = 30


def encode_observed(coder: Coder, Y: Floats, rule: SelectionRule, name: str = "Y") -> csr_array:
    """Codes of signals on their observed entries, those that are not NaN.

    Codes with a number of entries or an error limit are found by orthogonal matching pursuit. A
    bank runs it for each member and uses the one with the smallest error on the observed entries,
    or with an error limit the one with the fewest entries. Codes with a threshold are found by
    iterative thresholding, which decreases ||y - U x||^2 + threshold^2 ||x||_0 over the observed
    entries.
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
