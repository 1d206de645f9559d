"""Types of arrays."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

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


class SlicedArray(Protocol):
    """An array whose parts are read by slicing: NumPy, memory-mapped, Zarr or HDF5."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> DType: ...

    def __getitem__(self, part: tuple[slice, ...], /) -> object: ...


class WritableArray(SlicedArray, Protocol):
    """An array whose parts are also written by slicing."""

    def __setitem__(self, part: tuple[slice, ...], samples: Numbers, /) -> None: ...
