"""The discrete cosine transform."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2, prod

from fost import _core
from fost._validation import check_sizes
from fost.transforms.base import Transform

# Limit of the largest odd factor of a length, whose tables are several times as long as signals.
_MAX_ODD_FACTOR = 2**24


class DCT(Transform):
    """The separable orthonormal DCT-II of signals of a given shape, flattened in row-major order.

    ``forward(Y)`` equals ``scipy.fft.dctn(y.reshape(shape), norm="ortho").ravel()`` for each
    row y of Y.

    Parameters
    ----------
    shape : int or tuple of int
        Shape of a signal: 64 or (64,) for one axis, (8, 8) for patches of an image, (8, 8, 8) for
        patches of a volume. Every length L takes O(L log L) operations; lengths without large
        prime factors are fastest.

    Examples
    --------
    >>> import fost
    >>> fost.DCT((8, 8))
    DCT(n_features=64, shape=(8, 8), flops=672)
    >>> fost.DCT(4).forward([[1.0, 1.0, 1.0, 1.0]]).round(12) + 0.0
    array([[2., 0., 0., 0.]])
    """

    kind = "dct"

    def __init__(self, shape: int | Sequence[int]) -> None:
        self._shape = check_sizes(shape, "shape")
        self._n_features = prod(self._shape)
        if self._n_features > 2**31 - 1:
            raise ValueError(f"shape must have fewer than 2**31 entries, got {self._shape}")
        odd = max(length // (length & -length) for length in self._shape)
        if odd > _MAX_ODD_FACTOR:
            raise ValueError(
                f"shape must have lengths whose largest odd factor is at most {_MAX_ODD_FACTOR}, "
                f"got {self._shape}"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a signal."""
        return self._shape

    @property
    def n_features(self) -> int:
        return self._n_features

    @property
    def flops(self) -> int:
        """5/2 L log2 L - 3 L + 6 for each line of length L > 1 along each axis.

        This is the usual count for powers of two, used for all lengths. Lengths with prime factors
        above 13 take up to five times as many operations.
        """
        return round(sum(self.n_features / k * dct_line_flops(k) for k in self._shape))

    @property
    def _additions(self) -> int:
        """3/2 L (log2 L - 1) + 2 for each line of length L > 1 (Chen, Smith and Fralick, 1977)."""
        lines = ((self.n_features / k, k) for k in self._shape if k > 1)
        return round(sum(count * (1.5 * k * (log2(k) - 1) + 2) for count, k in lines))

    def _add_to(self, plan: _core.Plan) -> None:
        plan.add_cosine(self._shape)


def dct_line_flops(length: int) -> float:
    return 2.5 * length * log2(length) - 3 * length + 6 if length > 1 else 0.0
