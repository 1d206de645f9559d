"""Orthonormal wavelet transforms, computed as lattices of rotations.

With pairs v_k = (x_2k, x_2k+1), a filter bank gives the coefficients c_k = sum_p A_p v_(k+p). Row 0
of the 2 x 2 matrices A_p is the low-pass filter and row 1 the high-pass filter. If the filter bank
is orthonormal, all rows of A_0 are parallel to a vector r. All rows of the last A_p are orthogonal
to r. A rotation R with rows r and its normal maps v_k to a pair (p_k, q_k). The coefficients then
equal those of a shorter filter bank, with one A_p less, of the pairs (p_k, q_(k+1)). The lattice is
the sequence of these rotations.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from fost._validation import check_integer, check_sizes
from fost.transforms.rotation_network import RotationNetwork, RotationProduct, Slots

Block = NDArray[np.float64]

# Largest difference between the filters of PyWavelets and those of their lattice. PyWavelets has
# most filters to rounding accuracy, and some symlets to 1e-11.
_LATTICE_TOLERANCE = 1e-10


class Wavelet(RotationProduct):
    """The separable periodic wavelet transform of signals of a given shape.

    For each row y of Y, ``forward(Y)`` equals the coefficients of ``pywt.wavedecn(y.reshape(shape),
    name, mode="periodization", level=level)`` in the order of
    ``pywt.coeffs_to_array(...)[0].ravel()``. That array has the shape of a signal, with the
    coarsest coefficients first along each axis.

    Parameters
    ----------
    shape : int or tuple of int
        Shape of a signal. Lengths must be multiples of 2**level, or one; axes of length one are
        not transformed.
    name : str
        An orthonormal wavelet of PyWavelets (``pip install "fost[wavelets]"``): "haar", "db1" to
        "db38", "sym2" to "sym20", "coif1" to "coif17". The symlets of PyWavelets are orthonormal
        up to 1e-11 ("sym20"). Those of fost are orthonormal up to rounding and differ from them by
        as much.
    level : int, optional
        Number of decomposition levels. By default, levels are added while the lengths of the
        approximation are even and not shorter than the filters; there is at least one.

    Notes
    -----
    A filter bank with filters of L entries is computed as a lattice of L / 2 layers of rotations.
    It takes 3/2 L operations per coefficient and axis instead of 2 L.

    Examples
    --------
    >>> import fost
    >>> fost.Wavelet(128, "db2")
    Wavelet(n_features=128, shape=(128,), name=db2, level=5, flops=1488)
    >>> fost.Wavelet(4, "haar").forward([1.0, 1.0, 1.0, 3.0]).round(3) + 0.0
    array([ 3.   , -1.   ,  0.   , -1.414])
    """

    kind = "wavelet"

    def __init__(
        self, shape: int | Sequence[int], name: str = "db4", level: int | None = None
    ) -> None:
        self._shape = check_sizes(shape, "shape")
        n_layers = len(lattice_of(name))
        self._name, self._level = str(name), _checked_level(level, self._shape, 2 * n_layers)
        most = 2**29 // n_layers
        if self.n_features > most:
            raise ValueError(f"shape must have at most {most} entries for {name!r}, got {shape!r}")

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a signal."""
        return self._shape

    @property
    def name(self) -> str:
        """Name of the wavelet."""
        return self._name

    @property
    def level(self) -> int:
        """Number of decomposition levels."""
        return self._level

    @property
    def n_features(self) -> int:
        return prod(self._shape)

    @property
    def flops(self) -> int:
        """6 per rotation of the lattice."""
        layers = len(self._axes) * len(lattice_of(self._name))
        sizes = (self.n_features >> k * len(self._axes) for k in range(self._level))
        return sum(3 * size * layers for size in sizes)

    @property
    def _additions(self) -> int:
        return self.flops // 3

    @property
    def _axes(self) -> list[int]:
        return [axis for axis, length in enumerate(self._shape) if length > 1]

    def _network(self) -> RotationNetwork:
        network, lattice = RotationNetwork(self._shape), lattice_of(self._name)
        where = network.slots.copy()
        for k in range(self._level):
            coarse = tuple(slice(length >> k or 1) for length in self._shape)
            for axis in self._axes:
                line = np.moveaxis(where[coarse], axis, -1)
                line[...] = _analysed(network, line, lattice)
        network.place(where)
        return network


def _checked_level(level: int | None, shape: tuple[int, ...], n_taps: int) -> int:
    """The number of levels, by default the largest that filters of n_taps entries allow."""
    lengths = [length for length in shape if length > 1]
    halvings = min(((length & -length).bit_length() - 1 for length in lengths), default=0)
    if level is not None:
        if check_integer(level, "level", 0, 30) > halvings:
            raise ValueError(
                f"level must be at most {halvings}, as often as shape={shape} can be halved, "
                f"got {level}"
            )
        return int(level)
    if lengths and not halvings:
        raise ValueError(f"shape must have even lengths, got {shape}")
    longest = min(lengths, default=1) // (n_taps - 1)
    return min(halvings, max(1, longest.bit_length() - 1))


def _analysed(network: RotationNetwork, line: Slots, lattice: tuple[Block, ...]) -> Slots:
    """One filter bank along the last axis: the slots of the approximation, then of the details."""
    # PyWavelets centres the filters, of 2 len(lattice) entries.
    start = np.roll(line, len(lattice) - 1, axis=-1)
    first, second = start[..., 0::2], start[..., 1::2]
    for block in lattice[:-1]:
        network.rotate(first, second, block)
        second = np.roll(second, -1, axis=-1)
    network.rotate(first, second, lattice[-1])
    return np.concatenate([first, second], axis=-1)


def lattice_of(name: str) -> tuple[Block, ...]:
    """The rotations of the filter bank of a wavelet; a shift follows each but the last."""
    if not isinstance(name, str):
        raise TypeError(f"name must be the name of a wavelet, got {name!r}")
    return _lattice(str(name))


@cache
def _lattice(name: str) -> tuple[Block, ...]:
    filters = _filters(name)
    blocks = _rotations_of(filters)
    gap = np.abs(_filters_of(blocks) - filters).max()
    if not gap <= _LATTICE_TOLERANCE:
        raise ValueError(
            f"name must be an orthonormal wavelet, got {name!r}, whose filters are off by {gap:.1g}"
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


def _rotations_of(filters: NDArray[np.float64]) -> tuple[Block, ...]:
    """The rotations of the lattice of a filter bank, and the last orthogonal block."""
    rotations = []
    while len(filters) > 1:
        # r from both ends: one alone may be too small to determine it.
        ends = np.concatenate([filters[0], filters[-1] @ [[0.0, 1.0], [-1.0, 0.0]]])
        r = np.linalg.svd(ends)[2][0]
        rotations.append(np.array([r, [-r[1], r[0]]]))
        turned = filters @ rotations[-1].T
        filters = np.stack([turned[:-1, :, 0], turned[1:, :, 1]], axis=2)
    u, _, vt = np.linalg.svd(filters[0])
    return (*rotations, u @ vt)


def _filters_of(blocks: tuple[Block, ...]) -> NDArray[np.float64]:
    """The filters of a lattice: inverse of `_rotations_of`."""
    filters = blocks[-1][None]
    for rotation in blocks[-2::-1]:
        turned = np.zeros((len(filters) + 1, 2, 2))
        turned[:-1, :, 0], turned[1:, :, 1] = filters[:, :, 0], filters[:, :, 1]
        filters = turned @ rotation
    return filters
