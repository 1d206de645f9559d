"""Orthonormal wavelets, for signals with edges and spikes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from fost._validation import check_integer, check_sizes
from fost.transforms.lattice import Block, lattice_of
from fost.transforms.network import Factored, Network, Slots


class Wavelet(Factored):
    """The separable, periodic wavelet transform of signals that are arrays in row-major order.

    ``forward(Y)`` equals, for each row y of Y, the coefficients that
    ``pywt.wavedecn(y.reshape(shape), name, mode="periodization", level=level)`` finds, in the
    order of ``pywt.coeffs_to_array(...)[0].ravel()``: in the array of the shape of a signal, the
    coarsest come first along each axis.

    Parameters
    ----------
    shape : int or tuple of int
        Shape of a signal. Lengths must be multiples of 2**level; those of one stay as they are.
    name : str
        An orthonormal wavelet of PyWavelets (``pip install "fost[wavelets]"``): "haar", "db1" to
        "db38", "sym2" to "sym20", "coif1" to "coif17". The symlets of PyWavelets are orthonormal
        to 1e-11 at worst ("sym20"); those of fost are to rounding, and differ by as much.
    level : int, optional
        How often the coarse part is split again. By default as often as its lengths are even and
        not shorter than the filters, but at least once.

    Notes
    -----
    A filter bank with filters of L entries is run as its lattice, L / 2 layers of rotations: 3/2 L
    operations per coefficient and axis instead of 2 L.

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
        """The wavelet's name."""
        return self._name

    @property
    def level(self) -> int:
        """How often the coarse part is split."""
        return self._level

    @property
    def n_features(self) -> int:
        return prod(self._shape)

    @property
    def flops(self) -> int:
        """6 per rotation of the lattices."""
        layers = len(self._axes) * len(lattice_of(self._name))
        sizes = (self.n_features >> k * len(self._axes) for k in range(self._level))
        return sum(3 * size * layers for size in sizes)

    @property
    def _axes(self) -> list[int]:
        return [axis for axis, length in enumerate(self._shape) if length > 1]

    def _network(self) -> Network:
        network, lattice = Network(self._shape), lattice_of(self._name)
        where = network.slots.copy()
        for k in range(self._level):
            coarse = tuple(slice(length >> k or 1) for length in self._shape)
            for axis in self._axes:
                line = np.moveaxis(where[coarse], axis, -1)
                line[...] = _analysed(network, line, lattice)
        network.place(where)
        return network


def _checked_level(level: int | None, shape: tuple[int, ...], n_taps: int) -> int:
    """How often signals of a shape are split, by default as often as filters of n_taps fit."""
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


def _analysed(network: Network, line: Slots, lattice: tuple[Block, ...]) -> Slots:
    """One filter bank along the last axis: the slots of the coarse part, then of the details."""
    # PyWavelets centres the filters, of 2 len(lattice) entries.
    start = np.roll(line, len(lattice) - 1, axis=-1)
    first, second = start[..., 0::2], start[..., 1::2]
    for block in lattice[:-1]:
        network.turn(first, second, block)
        second = np.roll(second, -1, axis=-1)
    network.turn(first, second, lattice[-1])
    return np.concatenate([first, second], axis=-1)
