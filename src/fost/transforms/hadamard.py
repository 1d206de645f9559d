"""The Walsh-Hadamard transform."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod, sqrt

import numpy as np

from fost._validation import check_sizes
from fost.transforms.rotation_network import RotationNetwork, RotationProduct

_BUTTERFLY = np.array([[1.0, 1.0], [1.0, -1.0]]) / sqrt(2)


class Hadamard(RotationProduct):
    """The orthonormal Walsh-Hadamard transform of signals of a given shape.

    ``forward(Y)`` equals ``Y @ scipy.linalg.hadamard(n) / sqrt(n)``. For several axes, the
    separable transform equals that of the n entries in row-major order.

    Parameters
    ----------
    shape : int or tuple of int
        Shape of a signal; all lengths are powers of two.

    Examples
    --------
    >>> import fost
    >>> fost.Hadamard((8, 8))
    Hadamard(n_features=64, shape=(8, 8), flops=448)
    >>> fost.Hadamard(4).forward([1.0, 2.0, 3.0, 4.0]).round(12) + 0.0
    array([ 5., -1., -2.,  0.])
    """

    kind = "hadamard"

    def __init__(self, shape: int | Sequence[int]) -> None:
        self._shape = check_sizes(shape, "shape")
        if any(length & (length - 1) for length in self._shape):
            raise ValueError(f"shape must be powers of two, got {self._shape}")
        if prod(self._shape) > 2**26:
            raise ValueError(f"shape must have at most 2**26 entries, got {self._shape}")

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a signal."""
        return self._shape

    @property
    def n_features(self) -> int:
        return prod(self._shape)

    @property
    def flops(self) -> int:
        """n log2 n additions, and n multiplications by 1 / sqrt(n)."""
        n = self.n_features
        return n * n.bit_length() if n > 1 else 0

    @property
    def _additions(self) -> int:
        return self.flops - self.n_features if self.n_features > 1 else 0

    def _network(self) -> RotationNetwork:
        network = RotationNetwork((self.n_features,))
        for level in range(self.n_features.bit_length() - 1):
            halves = network.slots.reshape(-1, 2, 2**level)
            network.rotate(halves[:, 0], halves[:, 1], _BUTTERFLY)
        return network
