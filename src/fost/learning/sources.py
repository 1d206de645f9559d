"""Where signals come from: everything that learning asks of data.

Learning never sees signals, only sums over them: the n x n statistic M = X Y^T with
||X||_F^2, the n x n Gram matrix Y^T Y and ||Y||_F^2. A source is whatever can add these up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fost import coding
from fost._validation import check_real, check_signals, not_finite
from fost.transforms import Chain, Transform

# Entries that are taken to float64 at once for the Gram matrix, or n signals if those are more.
_GRAM_ENTRIES = 2**16


@dataclass(frozen=True)
class Statistic:
    """What one pass over signals gives: M = X Y^T (row i: code entry i) and ||X||_F^2."""

    matrix: NDArray[np.float64]
    energy: float

    @property
    def scaled(self) -> NDArray[np.float64]:
        """M over its largest magnitude: what is best for M does not depend on its scale."""
        largest = np.abs(self.matrix).max()
        return self.matrix / largest if largest > 0 else self.matrix


class Source(Protocol):
    """Signals that can be passed over any number of times."""

    @property
    def n_signals(self) -> int: ...

    @property
    def n_features(self) -> int: ...

    @property
    def rounding(self) -> float:
        """The relative rounding error of one number, by the type of the signals."""
        ...

    def statistic(self, base: Transform | None, transform: Transform, s: int) -> Statistic:
        """The statistic of Y = base.forward(signals) with X = T_s(transform.forward(Y))."""
        ...

    def sample(self, count: int) -> Source:
        """About `count` signals, always the same, spread over all; all where there are fewer."""
        ...

    def gram(self, base: Transform | None) -> NDArray[np.float64]:
        """Y^T Y of Y = base.forward(signals) in rows; its trace is ||Y||_F^2."""
        ...


class ArraySource:
    """Signals in the rows of an array, in memory or mapped."""

    def __init__(self, Y: ArrayLike) -> None:
        Y = check_real(Y, "Y")
        self._signals: NDArray[Any] = check_signals(Y, "Y", Y.shape[1] if Y.ndim == 2 else 0, "")
        if 0 in Y.shape:
            raise ValueError(
                f"Y must have at least one signal and one feature, got shape {Y.shape}"
            )

    @property
    def n_signals(self) -> int:
        return int(self._signals.shape[0])

    @property
    def n_features(self) -> int:
        return int(self._signals.shape[1])

    @property
    def rounding(self) -> float:
        return float(np.finfo(self._signals.dtype).eps)

    def statistic(self, base: Transform | None, transform: Transform, s: int) -> Statistic:
        whole = transform if base is None else Chain([base, transform])
        matrix, energy = coding.statistic(whole._plan, self._signals, s)
        # X (B^T Y)^T = (X Y^T) B: the base is applied to the sums once more, not to signals.
        return Statistic(matrix if base is None else base.forward(matrix), energy)

    def sample(self, count: int) -> ArraySource:
        if count >= self.n_signals:
            return self
        random = np.random.default_rng(0)
        chosen = np.sort(random.choice(self.n_signals, count, replace=False))
        return ArraySource(self._signals[chosen])

    def gram(self, base: Transform | None) -> NDArray[np.float64]:
        n = self.n_features
        total = np.zeros((n, n))
        step = max(n, _GRAM_ENTRIES // n)
        for start in range(0, self.n_signals, step):
            block = self._signals[start : start + step].astype(np.float64, copy=False)
            total += block.T @ block
        if not np.isfinite(total).all():
            raise not_finite(self._signals, "Y")
        if not total.any() and self._signals.any():
            raise ValueError("Y is too small: the squares of its entries are zero in float64")
        return total if base is None else base.forward(base.forward(total).T)
