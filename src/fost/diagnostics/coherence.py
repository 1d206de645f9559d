"""Mutual coherence of the atoms of a dictionary."""

from __future__ import annotations

import numpy as np

from fost._threads import single_threaded_blas
from fost._typing import Float64Array
from fost.diagnostics.sums import canonical_dictionary


def mutual_coherence(dictionary: object) -> float:
    r"""Mutual coherence of the atoms: the largest :math:`|d_i^T d_j|` over :math:`i \ne j`.

    Atoms are normalised first. The coherence is 0 for orthonormal atoms and at most 1.

    Parameters
    ----------
    dictionary : Transform, fitted estimator, result of `learn`, or array of atoms in rows

    Returns
    -------
    float
        0 for a single atom.

    Examples
    --------
    >>> import fost
    >>> round(fost.diagnostics.mutual_coherence([[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]]), 12)
    0.8
    """
    return coherence_of_atoms(canonical_dictionary(dictionary).atoms)


@single_threaded_blas
def coherence_of_atoms(atoms: Float64Array) -> float:
    """Mutual coherence of normalised atoms in rows."""
    gram = np.abs(atoms @ atoms.T)
    np.fill_diagonal(gram, 0.0)
    return min(1.0, float(gram.max()))
