"""Orthonormal filter banks as lattices: rotations of neighbours, shift, rotations, ...

With pairs v_k = (x_2k, x_2k+1) a filter bank gives the coefficients c_k = sum_p A_p v_(k+p), where
row 0 of the 2 x 2 matrices A_p is the low-pass filter and row 1 the high-pass filter. If it is
orthonormal, the rows of A_0 are all parallel to some r, those of the last A_p orthogonal to it.
A rotation R with the rows r and its normal makes of v_k the pair (p_k, q_k), and the coefficients
are then those of a filter bank with one A_p less of the pairs (p_k, q_(k+1)).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

Block = NDArray[np.float64]

# Filters may be off by this much from those of their lattice. PyWavelets knows most of them to
# rounding, some of the symlets to 1e-11.
_TOLERANCE = 1e-10


def lattice_of(name: str) -> tuple[Block, ...]:
    """The rotations of a wavelet's filter bank, from the first; all but the last with a shift."""
    if not isinstance(name, str):
        raise TypeError(f"name must be the name of a wavelet, got {name!r}")
    return _factored(str(name))


@cache
def _factored(name: str) -> tuple[Block, ...]:
    filters = _filters(name)
    blocks = _peeled(filters)
    gap = np.abs(_assembled(blocks) - filters).max()
    if not gap <= _TOLERANCE:
        raise ValueError(
            f"name must be an orthonormal wavelet, got {name!r}, which is not by {gap:.1g}"
        )
    return blocks


def _filters(name: str) -> NDArray[np.float64]:
    """The matrices A_0, A_1, ... of a wavelet of PyWavelets."""
    try:
        import pywt
    except ImportError as error:
        raise ImportError('wavelets need PyWavelets: pip install "fost[wavelets]"') from error
    if name not in pywt.wavelist(kind="discrete"):
        raise ValueError(
            "name must be a wavelet of PyWavelets: 'haar', 'db1' to 'db38', 'sym2' to 'sym20' or "
            f"'coif1' to 'coif17', got {name!r}"
        )
    wavelet = pywt.Wavelet(name)
    if not wavelet.orthogonal:
        raise ValueError(f"name must be an orthonormal wavelet, which {name!r} is not")
    both = np.array([wavelet.dec_lo, wavelet.dec_hi])[:, ::-1]
    return np.ascontiguousarray(both.reshape(2, -1, 2).transpose(1, 0, 2))


def _peeled(filters: NDArray[np.float64]) -> tuple[Block, ...]:
    """The rotations of a lattice, one after the other, and the orthogonal block in the end."""
    rotations = []
    while len(filters) > 1:
        # The direction r by both ends: either alone may be too small to have one.
        ends = np.concatenate([filters[0], filters[-1] @ [[0.0, 1.0], [-1.0, 0.0]]])
        r = np.linalg.svd(ends)[2][0]
        rotations.append(np.array([r, [-r[1], r[0]]]))
        turned = filters @ rotations[-1].T
        filters = np.stack([turned[:-1, :, 0], turned[1:, :, 1]], axis=2)
    u, _, vt = np.linalg.svd(filters[0])
    return (*rotations, u @ vt)


def _assembled(blocks: tuple[Block, ...]) -> NDArray[np.float64]:
    """The filters of a lattice: undoes `_peeled`."""
    filters = blocks[-1][None]
    for rotation in blocks[-2::-1]:
        turned = np.zeros((len(filters) + 1, 2, 2))
        turned[:-1, :, 0], turned[1:, :, 1] = filters[:, :, 0], filters[:, :, 1]
        filters = turned @ rotation
    return filters
