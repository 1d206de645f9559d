"""Types of arrays, by what is in them."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

# Of float32 or float64: signals, coefficients, pictures within, atoms.
Floats: TypeAlias = NDArray[np.floating[Any]]
# Of any numbers: what users give, pictures in files.
Numbers: TypeAlias = NDArray[Any]
DType: TypeAlias = np.dtype[Any]
# Of float64 whatever the type of the signals: parameters of models, sums.
Float64Array: TypeAlias = NDArray[np.float64]
# Boolean, True where an entry is missing.
Mask: TypeAlias = NDArray[np.bool_]
