"""Scaling by powers of two, which is exact, so that squares neither overflow nor underflow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fost._typing import DType, Floats

# Largest absolute binary exponent for which products of four numbers, and sums of many such
# products, stay far from the limits of the type.
SAFE_EXPONENT = {np.dtype(np.float32): 30, np.dtype(np.float64): 200}


def scaling_exponents(largest: Floats, dtype: DType) -> NDArray[np.int64] | None:
    """Exponents by which to scale down rows with these largest magnitudes; None for no scaling.

    All rows get the same exponent if that suffices. Otherwise exponents are multiples of twice the
    safe exponent, so that there are few distinct ones.
    """
    limit = SAFE_EXPONENT[dtype]
    exponents = np.frexp(largest)[1].astype(np.int64)
    present = exponents[largest > 0]
    if not present.size or (present.min() >= -limit and present.max() <= limit):
        return None
    low, high = int(present.min()), int(present.max())
    if high - low <= 2 * limit:
        return np.full(len(largest), (low + high) // 2)
    # Zero rows fit any exponent.
    exponents = np.where(largest > 0, exponents, high)
    return 2 * limit * np.rint(exponents / (2 * limit)).astype(np.int64)


def scale_to_safe_range(Y: Floats) -> Floats:
    """Y times a power of two if its squares are too large or too small; otherwise Y itself.

    Entries that are negligible compared with the largest may become zero.
    """
    largest = np.abs([Y.min(initial=0), Y.max(initial=0)]).max(keepdims=True)
    exponents = scaling_exponents(largest, Y.dtype) if np.isfinite(largest).all() else None
    return Y if exponents is None else np.ldexp(Y, -exponents[0])
