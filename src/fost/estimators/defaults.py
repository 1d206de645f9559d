"""What estimators choose for parameters that are None, by the number of features.

For 64 features, patches of 8 x 8 pixels, these are the sizes of the paper's experiments: 4 entries
per code and 12 reflectors. All of them suit signals of any other length too, even of one feature.
"""

from __future__ import annotations

from math import ceil, log2


def default_entries(n_features: int, n_atoms: int | None = None) -> int:
    """Entries per code: a sixteenth of the features, but four where there are as many."""
    most = n_features if n_atoms is None else min(n_features, n_atoms)
    return min(max(4, ceil(n_features / 16)), most)


def default_reflectors(n_features: int) -> int:
    """2 log2(n): as few as keep a transform about as cheap as a fast fixed one."""
    return min(max(1, round(2 * log2(n_features))), n_features)


def default_rotations(n_features: int) -> int:
    """As many as features."""
    return n_features
