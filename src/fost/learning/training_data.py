"""Training data: signals as learning sees them, as sums over a stream and as samples.

Learning never works on signals, only on sums over them: the statistic M = X Y^T with ||X||_F^2, the
Gram matrix Y^T Y and ||Y||_F^2. A memory map, a stream of blocks and a Dask cluster are three ways
to add up the same sums (see `fost.streams`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from fost._cache import lazy_property
from fost._typing import Floats
from fost.coding.encode import apply_plan
from fost.coding.selection import SelectionRule
from fost.learning.canonical_order import (
    ContentHashPass,
    WeightedRows,
    as_copies,
    canonical_order,
    content_hashes,
)
from fost.learning.missing import REFILLS, GaussianPrior
from fost.learning.statistics import (
    BlockEncoder,
    EnergyPass,
    GramPass,
    PairwiseMomentPass,
    Statistic,
    StatisticPass,
    error_from_energy,
    impute_moments,
    overflow,
)
from fost.streams import Stream, as_stream
from fost.streams.arrays import ArrayStream
from fost.streams.base import Weights
from fost.transforms import Coder, Transform, with_base

# Squares below the smallest normal number lose digits. Above this total energy the loss is
# negligible.
MIN_ENERGY = float(np.finfo(np.float64).tiny / np.finfo(np.float64).eps)
# Entries of signals that are copied into canonical order before learning: 2 MiB, so that sorting
# takes about as long as one iteration.
_MAX_SORTED_ENTRIES = 2**18
# Signals whose content hashes are sorted, which takes about 30 bytes for each.
_MAX_HASHED = 2**22

T = TypeVar("T")


class TrainingData:
    """A stream of signals with the sums over them that learning needs.

    Attributes
    ----------
    stream : Stream
        The signals.
    is_canonical : bool
        Whether the signals are in an order that learning chose, instead of the order in which
        they were given.
    random : Generator or None
        The random numbers of samples; None for fixed samples.
    sample_seed : int or None
        The seed of samples, which the first sample draws from `random`. All samples of the same
        size are therefore equal.

    Examples
    --------
    >>> import fost, numpy as np
    >>> data = fost.learning.as_training_data([np.eye(4), 2 * np.eye(4)])  # two blocks
    >>> data.n_signals, data.n_features, data.energy
    (8, 4, 20.0)
    """

    def __init__(
        self,
        stream: Stream,
        *,
        is_canonical: bool = False,
        n_given: int | None = None,
        prior: GaussianPrior | None = None,
        random: np.random.Generator | None = None,
    ) -> None:
        self.stream, self.is_canonical, self.random = stream, is_canonical, random
        self.sample_seed: int | None = None
        self.name, self.n_features = stream.name, stream.n_features
        self.has_missing = stream.has_missing
        self._n_given, self._prior = n_given, prior
        self._cache: dict[Hashable, object] = {}

    @classmethod
    def from_rows(
        cls, rows: Floats, name: str = "Y", *, is_canonical: bool = False
    ) -> TrainingData:
        """Checked signals in memory without missing entries and weights."""
        return cls(ArrayStream(rows, name), is_canonical=is_canonical)

    # Properties of the signals

    @property
    def n_signals(self) -> int:
        if self.stream.n_signals is None:
            _ = self._moments  # a first pass counts the signals
        assert self.stream.n_signals is not None
        return self.stream.n_signals

    @property
    def n_given(self) -> int:
        """The number of signals before equal signals were merged."""
        return self.n_signals if self._n_given is None else self._n_given

    @property
    def weights(self) -> Weights | None:
        """The weight of each signal; None if all are one."""
        return self.stream.weights_at(np.arange(self.n_signals)) if self.stream.weighted else None

    @property
    def rounding(self) -> float:
        """The relative rounding error of the type of the signals."""
        return float(np.finfo(self.stream.dtype).eps)

    @property
    def smallest(self) -> float:
        """The smallest positive number of the type of the signals."""
        return float(np.finfo(self.stream.dtype).smallest_subnormal)

    @property
    def prior(self) -> GaussianPrior | None:
        """The prior that first fills missing entries; None if nothing is missing."""
        if self._prior is None and self.has_missing:
            self._prior = GaussianPrior.from_moments(self._moments[0])
        return self._prior

    def cached(self, key: Hashable, compute: Callable[[], T]) -> T:
        """The value of `compute`, which depends on these signals and the key only."""
        if key not in self._cache:
            self._cache[key] = compute()
        return cast(T, self._cache[key])

    # Sums over the signals

    def statistic(
        self,
        base: Transform | None,
        coder: Coder,
        rule: SelectionRule | int,
        *,
        with_energy: bool = False,
        refills: int = REFILLS,
    ) -> Statistic:
        """The statistic of Y = base.forward(signals) and their codes, in one pass.

        Parameters
        ----------
        base : Transform or None
            The fixed base.
        coder : Coder
            The transform, bank or union of the coefficients of the base.
        rule : SelectionRule or int
            The selection rule, or the number of entries per code.
        with_energy : bool
            Whether the pass also computes ||Y||_F^2.
        refills : int
            How often missing entries are filled from the codes.
        """
        complete = coder if base is None else with_base(base, coder)
        _ = complete._plan  # compiled once, before the threads of a scheduler ask for it
        encoder = self.encoder(complete, rule, refills)
        one_pass = StatisticPass(encoder, with_energy)
        matrix, energy, total, nonzero = self.stream.total(one_pass)
        self._check_energy(total, nonzero)
        if base is not None:
            # X (B^T Y)^T = (X Y^T) B: the base is applied to the sums instead of the signals.
            matrix = apply_plan(base._plan, matrix, inverse=False, name=self.name)
        return Statistic(matrix, energy, total if with_energy else None)

    def encoder(
        self, coder: Coder, rule: SelectionRule | int, refills: int = REFILLS
    ) -> BlockEncoder:
        """The encoder of blocks of these signals."""
        rule = rule if isinstance(rule, SelectionRule) else SelectionRule(rule)
        return BlockEncoder(coder, rule, self.name, self.prior, refills)

    def gram(self, base: Transform | None) -> NDArray[np.float64]:
        """Y^T Y of Y = base.forward(signals) in rows; its trace is ||Y||_F^2.

        With missing entries it is imputed from the mean product of each pair of entries.
        """
        gram = self._moments[0]
        if base is None:
            return gram
        return self.cached(("gram", base), lambda: _change_basis(gram, base))

    @property
    def energy(self) -> float:
        """||Y||_F^2 of the observed entries."""
        return self._moments[1]

    def relative_error(self, coder: Coder, rule: SelectionRule | int) -> float:
        """||Y - U X||_F^2 / ||Y||_F^2 of the codes X of `encode`, in one pass."""
        rule = rule if isinstance(rule, SelectionRule) else SelectionRule(rule)
        one_pass = EnergyPass(coder, rule, self.has_missing, self.name)
        kept, total, nonzero = self.stream.total(one_pass)
        self._check_energy(total, nonzero)
        return error_from_energy(kept, total)

    @lazy_property
    def _moments(self) -> tuple[NDArray[np.float64], float]:
        """Y^T Y, imputed if entries are missing, and ||Y||_F^2 of the observed entries."""
        if not (self.has_missing or self.stream.weighted):
            gram, nonzero = self.stream.total(GramPass(self.name))
            energy = float(np.trace(gram))
            self._check_energy(energy, nonzero)
            return np.asarray(gram), energy
        sums, counts, nonzero = self.stream.total(PairwiseMomentPass(self.has_missing, self.name))
        energy = float(np.trace(sums))
        if not counts.any():
            weights = ", or sample_weight is zero" if self.stream.weighted else ""
            raise ValueError(f"{self.name} has no observed entries, all are missing{weights}")
        self._check_energy(energy, nonzero)
        return impute_moments(sums, counts) if self.has_missing else sums, energy

    def _check_energy(self, total: float, nonzero: int) -> None:
        """Raises a ValueError if squares of signals overflow or underflow."""
        if not np.isfinite(total):
            raise overflow(self.name)
        if nonzero and total < MIN_ENERGY:
            raise ValueError(
                f"{self.name} is too small: the squares of its entries vanish in float64"
            )

    # Canonical order and samples

    @lazy_property
    def distinct(self) -> WeightedRows:
        """Row numbers of the distinct signals in canonical order, and their weights.

        More than four million signals are neither sorted nor compared.
        """
        if self.is_canonical or self.n_signals > _MAX_HASHED:
            return np.arange(self.n_signals), self.weights
        if self.stream.in_memory:
            rows = self.rows()
            return canonical_order(content_hashes(rows), self.weights, rows)
        (found,) = self.stream.total(ContentHashPass())
        return canonical_order(found.array, self.weights)

    def in_canonical_order(self, *, if_small: bool = True) -> TrainingData:
        """The same signals in memory in canonical order.

        Learning then gives bit-identical results for any order of the signals, and for integer
        weights and copies. With `if_small` only few signals with random access are sorted.
        """
        stream = self.stream
        if if_small and not (
            stream.random_access and self.n_signals * self.n_features <= _MAX_SORTED_ENTRIES
        ):
            return self
        if self.is_canonical:
            return self
        if not stream.in_memory:
            return self.loaded().in_canonical_order(if_small=False)
        rows, weights = self.distinct
        ordered = ArrayStream(stream.take(rows), self.name, self.has_missing, weights)
        return TrainingData(ordered, is_canonical=True, n_given=self.n_signals, random=self.random)

    def with_random(self, random: np.random.Generator, seed: int | None = None) -> TrainingData:
        """The same signals and sums, with other samples."""
        other = copy.copy(self)
        other.random, other.sample_seed, other._cache = random, seed, {}
        return other

    def sample(self, count: int) -> TrainingData:
        """About `count` random signals; all signals if there are fewer.

        The sample depends on the set of signals and on `sample_seed`, not on their order. A signal
        of weight w is drawn like w copies, and its weight in the sample is the number of copies
        drawn.
        """
        if count >= self.n_signals and (self.is_canonical or not self.stream.in_memory):
            return self
        rows, weights = self.distinct
        if count >= len(rows):
            return self.subset(rows, weights)
        if self.sample_seed is None:
            self.sample_seed = 0 if self.random is None else int(self.random.integers(2**63))
        random = np.random.default_rng(self.sample_seed)
        if weights is None:
            return self.subset(rows[np.sort(random.choice(len(rows), count, replace=False))])
        ends = np.cumsum(weights)
        copies = max(count, round(min(ends[-1], 2.0**53)))
        drawn = np.sort(random.choice(copies, count, replace=False)) + 0.5
        found, times = np.unique(
            np.searchsorted(ends, drawn * (ends[-1] / copies)), return_counts=True
        )
        return self.subset(*as_copies(rows[found], times.astype(np.float64)))

    def subset(self, rows: NDArray[np.int64], weights: Weights | None = None) -> TrainingData:
        """The signals with these row numbers in that order, in memory, with these weights.

        Missing entries are filled by the prior of all signals.
        """
        if self.stream.in_memory:
            taken = self.stream.take(rows)
        else:  # read in the order of the file
            order = np.argsort(rows, kind="stable")
            taken = np.empty((len(rows), self.n_features), self.stream.dtype)
            taken[order] = self.stream.take(rows[order])
        return self._in_memory(taken, weights, is_canonical=True)

    def weighted_subset(self, rows: NDArray[np.int64]) -> TrainingData:
        """The signals with these row numbers, with the weights that they have here."""
        return self.subset(rows, self.stream.weights_at(rows))

    def loaded(self) -> TrainingData:
        """All signals in memory."""
        return self._in_memory(self.rows(), self.weights, is_canonical=self.is_canonical)

    def _in_memory(self, rows: Floats, weights: Weights | None, is_canonical: bool) -> TrainingData:
        stream = ArrayStream(rows, self.name, self.has_missing, weights)
        return TrainingData(stream, is_canonical=is_canonical, prior=self.prior, random=self.random)

    def rows(self) -> Floats:
        """All signals as one array."""
        if isinstance(self.stream, ArrayStream):
            return self.stream.rows
        blocks = list(self.stream.blocks())
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


def _change_basis(gram: NDArray[np.float64], base: Transform) -> NDArray[np.float64]:
    """B^T G B of a Gram matrix G: that of the coefficients in the base B."""
    half = apply_plan(base._plan, gram, inverse=False, name="Y")
    return np.asarray(apply_plan(base._plan, np.ascontiguousarray(half.T), inverse=False, name="Y"))


def as_training_data(
    Y: object, missing: object = None, sample_weight: object = None
) -> TrainingData:
    """Signals in rows, in any supported form, as training data.

    Parameters
    ----------
    Y : array-like, memmap, Dask array, Zarr or HDF5 array, path, or blocks
        Array-likes are kept in memory. Memory maps (``np.memmap``,
        ``np.load(path, mmap_mode="r")``), arrays of Zarr and h5py, and iterables are read block by
        block, once per pass. Blocks may also be a list or tuple of matrices, or a function that
        yields them. A path leads to a .npy or .zarr file. Passes over a `dask.array.Array` run
        where its chunks are.
    missing : array of bool of the shape of Y, or "nan", optional
        True where an entry is unobserved, whatever its value. ``"nan"``: where Y is NaN. If Y is
        read block by block, the mask may be too.
    sample_weight : array-like of shape (n_signals,), optional
        The weight of each signal.

    Returns
    -------
    TrainingData

    Examples
    --------
    An object whose ``__iter__`` yields blocks of rows, the same in every pass:

    >>> import fost, numpy as np
    >>> class Months:
    ...     def __iter__(self):
    ...         for month in range(1, 13):  # read a file here
    ...             yield np.random.default_rng(month).standard_normal((30, 16))
    >>> fost.learn(Months(), fost.Reflectors(3), n_nonzero_coefs=2).transform
    Householder(n_features=16, n_reflectors=3, flops=192)
    >>> fost.learning.as_training_data(Months()).n_signals
    360
    """
    if isinstance(Y, TrainingData) and missing is None and sample_weight is None:
        return Y
    return TrainingData(as_stream(Y, missing=missing, sample_weight=sample_weight))
