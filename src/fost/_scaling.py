"""Numbers whose squares neither overflow nor vanish, by powers of two, which are exact."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fost._typing import DType, Floats

# Binary exponents up to which, and down to which, products of four numbers and sums of many of
# them stay far from the ends of their type.
REACH = {np.dtype(np.float32): 30, np.dtype(np.float64): 200}


def shifts(largest: Floats, dtype: DType) -> NDArray[np.int64] | None:
    """Exponents to take out of rows with these largest magnitudes; None where there is no need.

    The same for all rows where that is enough. Else rows that are far apart get different ones,
    but only a few of these, multiples of twice the reach.
    """
    reach = REACH[dtype]
    exponents = np.frexp(largest)[1].astype(np.int64)
    present = exponents[largest > 0]
    if not present.size or (present.min() >= -reach and present.max() <= reach):
        return None
    low, high = int(present.min()), int(present.max())
    if high - low <= 2 * reach:
        return np.full(len(largest), (low + high) // 2)
    # Rows of zeros go with any others.
    exponents = np.where(largest > 0, exponents, high)
    return 2 * reach * np.rint(exponents / (2 * reach)).astype(np.int64)


def within_reach(Y: Floats) -> Floats:
    """Y times a power of two, if its squares are too large or too small; else Y itself.

    Entries that are too small beside the others to count may become zero.
    """
    largest = np.abs([Y.min(initial=0), Y.max(initial=0)]).max(keepdims=True)
    shift = shifts(largest, Y.dtype) if np.isfinite(largest).all() else None
    return Y if shift is None else np.ldexp(Y, -shift[0])
