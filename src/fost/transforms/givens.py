"""Products of Givens rotations and 2 x 2 reflections."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fost import _core
from fost._validation import check_array, check_integer, check_parameters, check_shape
from fost.transforms.base import Transform, hint_at_quantised
from fost.transforms.coder import index_bits

# max|B B^T - I| of an orthogonal block is at most this: more than rounding to float32 causes.
_TOLERANCE = 1e-5


class Givens(Transform):
    r"""A product of Givens rotations, or reflections, of two features each.

    :math:`U = G_g \cdots G_1`, where :math:`G_k` equals the identity except for a 2 x 2 block on
    features (i, j).

    Parameters
    ----------
    pairs : array-like of shape (n_rotations, 2)
        The features (i, j) of each block, i != j.
    blocks : array-like of shape (n_rotations, 2, 2)
        Orthogonal blocks [[G_ii, G_ij], [G_ji, G_jj]]: rotations [[c, s], [-s, c]] or
        reflections [[c, s], [s, -c]]. Rounding errors of up to 1e-5 are corrected.
    n_features : int
        Number of entries per signal.

    Examples
    --------
    >>> import fost
    >>> quarter_turn = fost.Givens([(0, 2)], [[[0.0, 1.0], [-1.0, 0.0]]], n_features=3)
    >>> quarter_turn
    Givens(n_features=3, n_rotations=1, flops=6)
    >>> quarter_turn.inverse([[1.0, 2.0, 3.0]])
    array([[ 3.,  2., -1.]])
    """

    kind = "givens"

    def __init__(self, pairs: ArrayLike, blocks: ArrayLike, n_features: int) -> None:
        self._pairs, checked, gaps, self._n_features = _checked(pairs, blocks, n_features)
        self._blocks = _polished(checked, gaps)

    @classmethod
    def _exact(  # type: ignore[override]
        cls, pairs: ArrayLike, blocks: ArrayLike, n_features: int
    ) -> Self:
        givens = cls.__new__(cls)
        givens._pairs, givens._blocks, _, givens._n_features = _checked(pairs, blocks, n_features)
        return givens

    @classmethod
    def _unchecked(
        cls, pairs: NDArray[np.int32], blocks: NDArray[np.float64], n_features: int
    ) -> Self:
        """A transform that keeps these arrays, neither checked nor copied."""
        givens = cls.__new__(cls)
        givens._pairs, givens._blocks, givens._n_features = pairs, blocks, n_features
        pairs.flags.writeable = blocks.flags.writeable = False
        return givens

    @property
    def pairs(self) -> NDArray[np.int32]:
        """The features (i, j) of each rotation; read-only."""
        return self._pairs

    @property
    def blocks(self) -> NDArray[np.float64]:
        """The 2 x 2 block of each rotation; read-only."""
        return self._blocks

    @property
    def n_features(self) -> int:
        return self._n_features

    @property
    def n_rotations(self) -> int:
        """Number of rotations and reflections, g."""
        return len(self._pairs)

    @property
    def flops(self) -> int:
        """6 per rotation."""
        return 6 * self.n_rotations

    @property
    def _additions(self) -> int:
        return 2 * self.n_rotations

    @property
    def n_parameters(self) -> int:
        """2 per rotation: its cosine and sine, without its pair. `storage_bits` counts the pair."""
        return 2 * self.n_rotations

    def _storage_bits(self, bits_per_value: int) -> int:
        return self.n_rotations * (bits_per_value + 2 * index_bits(self.n_features))

    def _packed(self, compact: bool) -> dict[str, object]:
        """Small indices; angles, or the first rows of the blocks; the positions of reflections.

        The second row of a block is (-s, c) or (s, -c). Blocks that differ from this by rounding
        are stored entirely.
        """
        pairs = self._pairs.astype(np.min_scalar_type(self._n_features - 1))
        rows = self._blocks[:, 0]
        reflected = self._blocks[:, 1, 1] * rows[:, 0] < self._blocks[:, 1, 0] * rows[:, 1]
        packed: dict[str, object] = {"pairs": pairs, "n_features": self._n_features}
        if reflected.any():
            packed["reflections"] = np.packbits(reflected)
        if compact:
            turns = np.arctan2(rows[:, 1], rows[:, 0]) / (2 * np.pi)
            packed["angles"] = np.round(turns * 2**16).astype(np.int64).astype(np.uint16)
        elif _with_second_rows(rows, reflected).tobytes() == self._blocks.tobytes():
            packed["blocks"] = rows
        else:
            return {"pairs": pairs, "n_features": self._n_features, "blocks": self._blocks}
        return packed

    @classmethod
    def _unpacked(cls, packed: dict[str, Any]) -> dict[str, Any]:
        if "angles" in packed:
            angles = packed.pop("angles") * (2 * np.pi / 2**16)
            packed["blocks"] = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
        rows = packed.get("blocks", np.empty(0))
        if rows.ndim == 2:
            count = len(rows)
            bits = packed.pop("reflections", np.zeros(-(-count // 8), np.uint8))
            if bits.shape != (-(-count // 8),):
                raise ValueError(f"reflections must have a bit for each of {count} blocks")
            reflected = np.unpackbits(bits, count=count).astype(bool)
            packed["blocks"] = _with_second_rows(rows, reflected)
        return packed

    def _add_to(self, plan: _core.Plan) -> None:
        plan.add_rotations(self._pairs, self._blocks)

    def _described(self) -> dict[str, object]:
        return {"n_rotations": self.n_rotations}


def _with_second_rows(
    rows: NDArray[np.float64], reflected: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The blocks of rotations and reflections with given first rows (c, s)."""
    signs = np.where(reflected, -1.0, 1.0)
    second = np.stack([-signs * rows[:, 1], signs * rows[:, 0]], axis=-1)
    return np.stack([rows, second], axis=1)


def _checked(
    pairs: ArrayLike, blocks: ArrayLike, n_features: int
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64], int]:
    """Bit-exact copies of the pairs and blocks, the orthogonality gaps of the blocks, and n."""
    n = check_integer(n_features, "n_features", 1, 2**31 - 1)
    checked = _checked_pairs(pairs, n)
    return checked, *_checked_blocks(blocks, len(checked)), n


def _checked_pairs(pairs: ArrayLike, n_features: int) -> NDArray[np.int32]:
    array = check_array(pairs, "pairs")
    if array.size == 0:
        array = array.reshape(-1, 2).astype(np.int32)
    if array.dtype.kind not in "iu":
        raise TypeError(f"pairs must be integers, got dtype {array.dtype}")
    check_shape(array, "pairs", (None, 2))
    if array.size and not 0 <= array.min() <= array.max() < n_features:
        outside = np.flatnonzero(((array < 0) | (array >= n_features)).any(axis=1))
        raise ValueError(
            f"pairs must be between 0 and n_features-1={n_features - 1}, "
            f"got {tuple(array[outside[0]].tolist())} in row {outside[0]}"
        )
    same = np.flatnonzero(array[:, 0] == array[:, 1])
    if same.size:
        raise ValueError(
            f"pairs must be two different features, got "
            f"{tuple(array[same[0]].tolist())} in row {same[0]}"
        )
    checked = np.array(array, dtype=np.int32, order="C")
    checked.flags.writeable = False
    return checked


def _checked_blocks(
    blocks: ArrayLike, count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    given = check_array(blocks, "blocks")
    if given.size == 0:
        given = given.reshape(-1, 2, 2)
    checked = check_parameters(given, "blocks", (count, 2, 2))
    gaps = _gaps(checked)
    wrong = np.flatnonzero(~(gaps <= _TOLERANCE))
    if wrong.size:
        raise ValueError(
            f"blocks must be orthogonal 2 x 2 matrices, got one with max|B B^T - I| = "
            f"{gaps[wrong[0]]:.3g} in row {wrong[0]}{hint_at_quantised(float(gaps[wrong].max()))}"
        )
    return checked, gaps


def _polished(blocks: NDArray[np.float64], gaps: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest orthogonal blocks, by Newton's method; exact blocks are kept bit for bit."""
    off = gaps > 8 * np.finfo(np.float64).eps
    if not off.any():
        return blocks
    polished = blocks.copy()
    for _ in range(2):
        rough = polished[off]
        polished[off] = rough @ (3 * np.eye(2) - rough.transpose(0, 2, 1) @ rough) / 2
    polished.flags.writeable = False
    return polished


def _gaps(blocks: NDArray[np.float64]) -> NDArray[np.float64]:
    """max|B B^T - I| of each block."""
    a, b, c, d = blocks.reshape(-1, 4).T
    with np.errstate(over="ignore", invalid="ignore"):
        products = np.stack([a * a + b * b - 1, a * c + b * d, c * c + d * d - 1])
        gaps: NDArray[np.float64] = np.abs(products).max(axis=0)
    return gaps
