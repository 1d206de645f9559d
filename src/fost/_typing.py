"""Types of arrays."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

# float32 or float64: signals, coefficients, images, atoms.
Floats: TypeAlias = NDArray[np.floating[Any]]
# Any numbers: input of users, images in files.
Numbers: TypeAlias = NDArray[Any]
DType: TypeAlias = np.dtype[Any]
# float64 for all types of signals: parameters of models, sums.
Float64Array: TypeAlias = NDArray[np.float64]
# Boolean, True where an entry is missing.
Mask: TypeAlias = NDArray[np.bool_]
