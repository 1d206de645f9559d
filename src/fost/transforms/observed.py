"""Codes of signals of which entries are missing, by what is observed of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from fost import selection
from fost._typing import Floats
from fost.pursuit import pursue
from fost.selection import Rule

if TYPE_CHECKING:
    from fost.transforms.coder import Coder

# How often signals are thresholded, and filled from what that leaves.
_REFILLS = 30


def encode_observed(coder: Coder, Y: Floats, rule: Rule, name: str = "Y") -> csr_array:
    """Codes of checked signals on their observed entries, those that are not NaN.

    By orthogonal matching pursuit, in a bank by that of each member: of a signal the one with the
    smallest error on what is observed counts, with a tolerance the one with the fewest entries.
    With a threshold by thresholding and refilling, which lowers ||y - U x||^2 on what is observed
    and threshold^2 ||x||_0 together.
    """
    missing = np.isnan(Y)
    if np.isinf(Y).any():
        raise ValueError(f"{name} contains infinity")
    if rule.threshold is not None:
        return _by_refills(coder, Y, missing, rule, name)
    found = [_pursued(member._atoms(Y.dtype), Y, missing, rule, name) for member in coder.members]
    if len(found) == 1:
        return found[0][0]
    errors = np.array([left for _, left in found])
    if rule.max_error is not None:
        counts = np.array([np.diff(codes.indptr) for codes, _ in found])
        reached = errors <= rule.max_error
        counts = np.where(reached, counts, coder.n_features + 1)
        chosen = np.lexsort((errors, counts), axis=0)[0]
    else:
        chosen = np.argmin(errors, axis=0)
    return _joined([codes for codes, _ in found], chosen)


def _pursued(
    atoms: Floats, Y: Floats, missing: NDArray[np.bool_], rule: Rule, name: str
) -> tuple[csr_array, NDArray[np.float64]]:
    """Codes in some atoms, and the squared errors that they leave."""
    codes = pursue(Y, atoms, rule.s, missing=missing, max_error=rule.max_error)
    if codes is None:
        raise ValueError(f"{name} contains NaN or infinity")
    left = np.where(missing, 0, Y - codes @ atoms).astype(np.float64)
    return codes, np.einsum("ij,ij->i", left, left)


def _joined(codes: list[csr_array], chosen: NDArray[np.intp]) -> csr_array:
    """Each row from the codes of the member that was chosen for it, in that member's columns."""
    n = codes[0].shape[1]
    shape = len(codes) * n
    parts, places = [], []
    for b, own in enumerate(codes):
        rows = np.flatnonzero(chosen == b)
        part = own[rows]
        columns = part.data, part.indices + b * n, part.indptr
        parts.append(csr_array(columns, shape=(len(rows), shape)))
        places.append(rows)
    whole = vstack(parts, format="csr")[np.argsort(np.concatenate(places))]
    return csr_array(whole)


def _by_refills(
    coder: Coder, Y: Floats, missing: NDArray[np.bool_], rule: Rule, name: str
) -> csr_array:
    filled = np.where(missing, Y.dtype.type(0), Y)
    codes = selection.encode(coder._plan, filled, rule, name)
    for _ in range(_REFILLS):
        filled = np.where(missing, coder.decode(codes), Y)
        codes = selection.encode(coder._plan, filled, rule, name)
    return codes
