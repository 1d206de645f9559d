"""Three channels as luma and two chromas, by an orthonormal transform: noise keeps its level."""

from __future__ import annotations

import numpy as np

from fost._threads import single_threaded_blas
from fost._typing import Numbers
from fost.restoration.arrays import as_float

# Rows (1, 1, 1), (1, 0, -1), (1, -2, 1), normalised: the DCT of length 3.
_LUMA_CHROMA = np.array([[1.0, 1.0, 1.0], [1.0, 0.0, -1.0], [1.0, -2.0, 1.0]])
_LUMA_CHROMA /= np.linalg.norm(_LUMA_CHROMA, axis=1, keepdims=True)


@single_threaded_blas
def recoloured(channels: Numbers, back: bool = False) -> Numbers:
    """Red, green and blue, along the first axis, as luma and chromas, or back."""
    array = as_float(channels)
    matrix = _LUMA_CHROMA.T if back else _LUMA_CHROMA
    return np.asarray(np.tensordot(matrix.astype(array.dtype), array, axes=1))
