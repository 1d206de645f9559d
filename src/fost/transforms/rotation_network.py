"""Fixed transforms as products of rotations, applied by the kernel of `Givens`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from math import prod

import numpy as np
from numpy.typing import NDArray

from fost import _core
from fost.transforms.base import Transform

_SWAP = np.array([[0.0, 1.0], [1.0, 0.0]])

Slots = NDArray[np.int32]


class RotationNetwork:
    """Layers of rotations of a signal, in the order in which `forward` applies them.

    Rotations work in place on slots. Intermediate permutations only renumber slots; `place` moves
    each coefficient to its final slot at the end.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.slots: Slots = np.arange(prod(shape), dtype=np.int32).reshape(shape)
        self._pairs = [np.empty((0, 2), np.int32)]
        self._blocks = [np.empty((0, 2, 2))]

    def rotate(self, first: Slots, second: Slots, block: NDArray[np.float64]) -> None:
        """(y_i, y_j) <- block (y_i, y_j) for all i in `first` and j in `second`, disjoint pairs."""
        self._pairs.append(np.stack([first.ravel(), second.ravel()], axis=1))
        self._blocks.append(np.broadcast_to(block, (first.size, 2, 2)))

    def place(self, where: Slots) -> None:
        """Move the coefficient in slot where[i] to slot i, in two layers of swaps."""
        for layer in _involutions(where.ravel()):
            self.rotate(layer[:, 0], layer[:, 1], _SWAP)

    def rotations(self) -> tuple[Slots, NDArray[np.float64]]:
        """Pairs and blocks for `Givens`: `forward` applies the last block first, transposed."""
        pairs, blocks = np.concatenate(self._pairs), np.concatenate(self._blocks)
        return (
            np.ascontiguousarray(pairs[::-1]),
            np.ascontiguousarray(blocks[::-1].transpose(0, 2, 1)),
        )


class RotationProduct(Transform):
    """A fixed transform that is a product of rotations."""

    @abstractmethod
    def _network(self) -> RotationNetwork:
        """The rotations."""

    def _add_to(self, plan: _core.Plan) -> None:
        plan.add_rotations(*self._network().rotations())


def _involutions(where: Slots) -> Iterator[Slots]:
    """Two layers of disjoint swaps that move the coefficient in slot where[i] to slot i.

    Every cycle c_0 -> c_1 -> ... of a permutation is a product of two reflections, k -> -k and
    k -> 1 - k.
    """
    target = np.empty_like(where)
    target[where] = np.arange(len(where))
    first, second = [np.empty((0, 2), np.int32)], [np.empty((0, 2), np.int32)]
    left = target != np.arange(len(target))
    for start in np.flatnonzero(left).tolist():
        if not left[start]:
            continue
        cycle = [start]
        while (after := int(target[cycle[-1]])) != start:
            cycle.append(after)
        left[cycle] = False
        c, k = np.array(cycle, np.int32), np.arange(len(cycle))
        for layer, image in ((first, -k % len(c)), (second, (1 - k) % len(c))):
            layer.append(np.stack([c, c[image]], axis=1)[k < image])
    yield np.concatenate(first)
    yield np.concatenate(second)
