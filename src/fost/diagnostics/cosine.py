"""The DCT of the signals' shape, which a report compares a dictionary with."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from numpy.typing import ArrayLike

from fost._validation import check_real, check_sizes
from fost.diagnostics.coded import Coded
from fost.learning import as_training_data
from fost.transforms import DCT, Chain, Coder


@dataclass(frozen=True)
class Cosine:
    """What the DCT costs, and what it loses of the same signals with as many coefficients."""

    shape: tuple[int, ...]
    flops: int
    relative_error: float

    @property
    def name(self) -> str:
        return f"{len(self.shape)}-D fast cosine"

    @property
    def size(self) -> str:
        """ "8 x 8"."""
        return " x ".join(map(str, self.shape))


def cosine_of(
    coded: Coded, Y: ArrayLike, asked: int | tuple[int, ...] | None, estimator: object
) -> Cosine:
    """The DCT of the shape that is asked for, that an estimator has, or that the base has."""
    n = coded.n_features
    shape: tuple[int, ...] = (n,)
    if asked is None:
        asked = getattr(estimator, "signal_shape", None)
    if asked is not None:
        shape = check_sizes(asked, "signal_shape")
        if prod(shape) != n:
            raise ValueError(
                f"signal_shape={asked} has {prod(shape)} entries, but Y has {n} features"
            )
    elif coded.dictionary.coder is not None:
        shape = _base_shape(coded.dictionary.coder) or shape
    dct = DCT(shape)
    data = as_training_data(check_real(Y, "Y"))
    found = data.statistic(None, dct, min(coded.n_nonzero_coefs, n))
    return Cosine(shape, dct.flops, coded.relative(max(0.0, coded.total - found.energy)))


def _base_shape(coder: Coder) -> tuple[int, ...] | None:
    """The shape of signals that a dictionary over the DCT knows."""
    first = coder.members[0]
    base = first.stages[0] if isinstance(first, Chain) else first
    return base.shape if isinstance(base, DCT) else None
