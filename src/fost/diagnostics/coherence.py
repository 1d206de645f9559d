"""How alike the atoms of a dictionary are."""

from __future__ import annotations

import numpy as np

from fost._threads import single_threaded_blas
from fost.diagnostics.coded import Dictionary, as_dictionary


def mutual_coherence(dictionary: object) -> float:
    """The largest |d_i^T d_j| over i != j, of atoms at unit length: 0 if orthonormal, 1 at most.

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
    return coherence_of(as_dictionary(dictionary))


@single_threaded_blas
def coherence_of(dictionary: Dictionary) -> float:
    gram = np.abs(dictionary.atoms @ dictionary.atoms.T)
    np.fill_diagonal(gram, 0.0)
    return min(1.0, float(gram.max()))
