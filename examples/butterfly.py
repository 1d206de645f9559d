"""A structure of one's own: butterflies, as in the fast Fourier transform, learned from data.

A butterfly has log2 n layers of n / 2 rotations. Those of layer l turn features that lie 2^l
apart, so which pairs there are is fixed, and after log2 n layers every feature has met every
other one. Only the rotations are learned: given all other layers, the best rotations of one are
two-dimensional Procrustes problems, all independent of each other. A sweep over the layers
solves them one layer after another, so that the error never rises.

All that fost has to know is in the class below. `register` makes it known to `AutoDictionary`,
which tries its sizes beside those of all others and draws them, and to the command line: in this
folder, ``fost --import butterfly learn PICTURE -o model.safetensors --structure butterfly``.

Run as ``python examples/butterfly.py [FOLDER]``; the figure goes to the folder.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import fost
from fost.learning import CandidateSizes, Problem, Statistic, Structure, register
from fost.transforms import Coder


@register("butterfly", "layers of rotations with fixed pairs")
@dataclass(frozen=True)
class Butterfly(Structure):
    """U = L_k ... L_1 with layers of n / 2 rotations each, for n a power of two."""

    layers: int

    parts = "layers"
    wants_base = True
    starts = ("base", "svd")

    @property
    def label(self) -> str:
        return f"{self.layers} layer{'s' if self.layers > 1 else ''}"

    def flops(self, n_features: int) -> int:
        return 6 * (n_features // 2) * self.layers

    def storage_bits(self, n_features: int) -> int:
        return self.layers * (n_features // 2) * (16 + 2 * _depth(n_features))

    @classmethod
    def of_size(cls, size: int | None, n_features: int) -> Butterfly:
        return cls(size or _depth(n_features))

    @classmethod
    def candidate_sizes(cls, n_features: int, over_base: bool) -> CandidateSizes | None:
        depth = _depth(n_features)
        if n_features != 2**depth or depth == 0:
            return None
        sizes = range(1, 2 * depth + 1)
        return CandidateSizes(cls, n_features, sizes, max_size=4 * depth, min_member_size=1)

    def fit_to(self, problem: Problem) -> Butterfly:
        n = problem.n_features
        if n < 2 or n != 2 ** _depth(n):
            raise ValueError(f"butterflies need a power of two features, Y has n_features={n}")
        return self

    def initialise(self, problem: Problem, init: str) -> Coder:
        if init == "base":
            return self._identity(problem.n_features)
        return fost.Orthonormal().initialise(problem, "svd")

    def build(self, problem: Problem, coder: Coder) -> Coder:
        """The same layers, fewer layers followed by identities, or identities alone."""
        identity = self._identity(problem.n_features)
        if not isinstance(coder, fost.Givens) or coder.n_rotations > identity.n_rotations:
            return identity
        count = coder.n_rotations
        if not np.array_equal(coder.pairs, identity.pairs[:count]):
            return identity
        if count == identity.n_rotations:
            return coder
        blocks = np.concatenate([coder.blocks, identity.blocks[count:]])
        return fost.Givens(identity.pairs, blocks, problem.n_features)

    def update(self, problem: Problem, statistic: Statistic, current: Coder) -> Coder:
        """One sweep: each layer in turn becomes the best one, the others fixed.

        tr(U M) is to be largest. For layer l it is tr(L_l R) with
        R = (L_(l-1) ... L_1) M (L_k ... L_(l+1)), and the 2 x 2 blocks of R on its pairs say
        which rotations or reflections are best.
        """
        assert isinstance(current, fost.Givens)
        n = problem.n_features
        pairs = current.pairs.reshape(self.layers, n // 2, 2)
        blocks = current.blocks.reshape(self.layers, n // 2, 2, 2).copy()
        R = statistic.scaled.copy()
        for k in reversed(range(1, self.layers)):
            _from_right(R, pairs[k], blocks[k])
        for k in range(self.layers):
            p, _, qt = np.linalg.svd(R[pairs[k][:, :, None], pairs[k][:, None, :]])
            blocks[k] = (p @ qt).transpose(0, 2, 1)
            _from_left(R, pairs[k], blocks[k])
            if k + 1 < self.layers:  # which stood behind so far, and is the next to be found
                _from_right(R, pairs[k + 1], blocks[k + 1].transpose(0, 2, 1))
        return fost.Givens(current.pairs, blocks.reshape(-1, 2, 2), n)

    def _identity(self, n_features: int) -> fost.Givens:
        pairs = np.concatenate([_pairs(n_features, k) for k in range(self.layers)])
        return fost.Givens(pairs, np.tile(np.eye(2), (len(pairs), 1, 1)), n_features)


def _depth(n_features: int) -> int:
    """log2 n, rounded down."""
    return n_features.bit_length() - 1


def _pairs(n_features: int, layer: int) -> NDArray[np.int64]:
    """The pairs of a layer: features 2^l apart, and after log2 n layers from 1 again."""
    step = 2 ** (layer % _depth(n_features))
    first = np.arange(n_features).reshape(-1, 2, step)[:, 0].ravel()
    return np.stack([first, first + step], axis=1)


def _from_left(
    R: NDArray[np.float64], pairs: NDArray[np.int32], blocks: NDArray[np.float64]
) -> None:
    """R becomes L R, for the layer L of these rotations."""
    i, j = pairs.T
    rows = np.stack([R[i], R[j]], axis=1)
    R[i], R[j] = (blocks @ rows).transpose(1, 0, 2)


def _from_right(
    R: NDArray[np.float64], pairs: NDArray[np.int32], blocks: NDArray[np.float64]
) -> None:
    """R becomes R L."""
    _from_left(R.T, pairs, blocks.transpose(0, 2, 1))


def main(folder: Path) -> None:
    import matplotlib.pyplot as plt
    from skimage import data

    Y = fost.restoration.patches(data.camera() / 255, 8)[::2]
    Y -= Y.mean(axis=1, keepdims=True)
    print(f"camera: {len(Y):,} patches of 8 x 8 pixels, 4 coefficients each, a quarter held out\n")
    auto = fost.AutoDictionary(
        4, (8, 8), max_flops=3000, max_members=1, tol=1e-4, random_state=0, verbose=False
    ).fit(Y)
    print(auto.frontier_)
    folder.mkdir(parents=True, exist_ok=True)
    ax = fost.plot_frontier(auto)
    ax.set_title("camera: butterflies beside what fost has")
    plt.savefig(folder / "butterfly.png", dpi=130)
    print(f"\nThe figure is {folder / 'butterfly.png'}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("."))
