"""Circulant dictionaries: pursuit in all shifts of the kernels, and least squares per frequency.

1. Start with random signals as kernels, and improve them by small batches of signals.
2. Code all signals by orthogonal matching pursuit. The pass keeps only the circular correlations of
   codes with signals and of codes with codes, n numbers for each kernel and for each pair.
3. The best kernels for these codes solve one L x L system per frequency (UC-DLA, Rusu, Dumitrescu
   and Tsaftaris, 2014). Norms of kernels go to the codes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from fost._typing import Floats
from fost._validation import check_integer
from fost.learning.missing import REFILLS
from fost.learning.statistics import Statistic
from fost.learning.structure import Problem, Structure, set_checked
from fost.learning.training_data import TrainingData
from fost.learning.union import PursuitPass, max_union_members
from fost.streams import Sums
from fost.streams.base import Weights
from fost.transforms import Circulant, Coder
from fost.transforms.circulant import kernel_products

# Starts use a sample of so many signals, in batches. The noise of batches avoids poor minima:
# batches of 512 or 1024 signals, 80 batches and no batches gave larger errors on the training half
# of an electrocardiogram.
_START_SIGNALS = 4096
_BATCH_SIGNALS = 256
_BATCHES = 40
# Starts where the result matters more than the time: there are many local minima.
N_STARTS = 8


@dataclass(frozen=True)
class Circulants(Structure):
    r"""Circulant dictionaries: all circular shifts of a few kernels.

    Minimises :math:`\|Y - \sum_l C_l X_l\|_F^2` over circulant matrices :math:`C_l` and codes with
    at most `n_nonzero_coefs` entries. For given codes, the Fourier transforms of the kernels solve
    one small system per frequency. Pursuit is greedy, so that the error may increase slightly in
    some iterations; the result is the best of all iterations. Learning has many local minima, so
    use several starts: `n_init` is 1 in `fost.learn` and 8 in `fost.CirculantDictionary`. There is
    no base.

    Parameters
    ----------
    n_members : int
        Number of kernels, L; at most 2^14 / n, since a pass keeps (L n)^2 sums.

    Examples
    --------
    >>> import fost, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> pulse = np.exp(-np.arange(32) / 4.0)
    >>> Y = np.array([np.roll(pulse, shift) for shift in rng.integers(32, size=200)])
    >>> result = fost.learn(Y, fost.Circulants(1), 1, random_state=0)
    >>> result.transform, bool(result.error < 1e-12)
    (Circulant(n_features=32, n_members=1, flops=902), True)
    """

    n_members: int

    is_collection: ClassVar[bool] = True
    is_monotone: ClassVar[bool] = False
    starts = ("signals",)

    def __post_init__(self) -> None:
        set_checked(self, n_members=check_integer(self.n_members, "n_members", 1, 2**20))

    @property
    def label(self) -> str:
        return f"{self.n_members} circulants" if self.n_members > 1 else "1 circulant"

    @property
    def family(self) -> str:
        """The name of all sizes: "circulants"."""
        return "circulants"

    def flops(self, n_features: int) -> int:
        return Circulant(np.ones((self.n_members, n_features))).flops

    def storage_bits(self, n_features: int) -> int:
        return 16 * n_features * self.n_members

    def fit_to(self, problem: Problem) -> Circulants:
        if not problem.rule.is_fixed:
            raise ValueError("threshold must be None: pursuit keeps n_nonzero_coefs")
        if problem.base is not None:
            raise ValueError("base must be None for circulants, whose atoms are shifts of signals")
        most = max_union_members(problem.n_features)
        if self.n_members > most:
            raise ValueError(
                f"n_members must be at most {most} for n_features={problem.n_features}, since "
                f"learning keeps a sum for each pair of atoms and 2**28 in all, "
                f"got {self.n_members}"
            )
        return self

    def initialise(self, problem: Problem, init: str) -> Circulant:
        """Random signals as kernels (noise if there are too few nonzero ones), after batches."""
        _ = problem.signal_energy  # raises an error if signals are not finite
        data = problem.data.sample(max(_START_SIGNALS, 2 * self.n_members)).loaded()
        given = data.rows()
        filled = given if data.prior is None else data.prior.fill(given, np.isnan(given))
        rows = np.asarray(filled, dtype=np.float64)
        rows = rows[rows.any(axis=1)]
        chosen = problem.random.permutation(len(rows))[: self.n_members]
        noise = problem.random.standard_normal((self.n_members, problem.n_features))
        noise[: len(chosen)] = rows[chosen]
        return self._learn_batches(problem, data, Circulant(noise))

    def _learn_batches(self, problem: Problem, data: TrainingData, coder: Circulant) -> Circulant:
        """The kernels updated by one random batch after another."""
        if data.n_signals < 2 * _BATCH_SIGNALS:
            return coder
        for _ in range(min(_BATCHES, problem.max_iter)):
            rows = problem.random.choice(data.n_signals, _BATCH_SIGNALS, replace=False)
            batch = replace(problem, data=data.weighted_subset(rows), saved_gram=None)
            coder = self.update(batch, self.statistic(batch, coder), coder)
        return coder

    def accepts(self, coder: Coder) -> bool:
        return True  # `build` raises an error for other coders

    def build(self, problem: Problem, coder: Coder) -> Circulant:
        """The given dictionary, which is of the structure."""
        if not isinstance(coder, Circulant) or coder.n_members != self.n_members:
            raise ValueError(
                f"init must be a Circulant with {self.n_members} kernels, or a name, got {coder!r}"
            )
        return coder

    def statistic(self, problem: Problem, coder: Coder, refills: int = REFILLS) -> Statistic:
        assert isinstance(coder, Circulant)
        data = problem.data
        one_pass = CirculantPass(coder, problem.n_nonzero_coefs, data.name, data.prior, refills)
        matrix, products, imputed = data.stream.total(one_pass)
        # 2 <Y, D X> - ||D X||^2 of completed signals, as for unions.
        common = np.vdot(matrix, coder.kernels)
        kept = common - np.vdot(products, kernel_products(coder.kernels)) + common - imputed
        return Statistic(matrix, max(0.0, float(kept)), products=products)

    def update(self, problem: Problem, statistic: Statistic, current: Coder) -> Circulant:
        """The solution of L x L systems per frequency; unused kernels are kept."""
        assert isinstance(current, Circulant)
        assert statistic.products is not None
        largest = np.abs(statistic.products).max()
        if largest == 0:
            return current
        # Frequencies first: sum over b of R[f, a, b] C[f, b] = B[f, a].
        inner = np.moveaxis(scipy.fft.rfft(statistic.products / largest), -1, 0)
        cross = np.moveaxis(scipy.fft.rfft(statistic.matrix / largest), -1, 0)
        solution = np.linalg.pinv(inner, rcond=1e-10, hermitian=True) @ cross[..., None]
        kernels = scipy.fft.irfft(solution[..., 0].T, problem.n_features)
        unused = ~(np.isfinite(kernels).all(axis=1) & kernels.any(axis=1))
        return Circulant(np.where(unused[:, None], current.kernels, kernels))


@dataclass(frozen=True)
class CirculantPass(PursuitPass):
    """Circular correlations of the codes of a block of signals, and the energy of imputed entries.

    For kernels a and b and lag k, these are the sums over i of

        (X Y^T)[a n + i, i + k]    and    (X X^T)[a n + i, b n + i + k].
    """

    def __call__(self, block: Floats, weights: Weights | None = None) -> Sums:
        matrix, products, imputed = super().__call__(block, weights)
        n, count = block.shape[1], self.union.n_members
        rows = np.arange(n)[:, None]
        columns = (rows + np.arange(n)) % n
        by_lag: NDArray[np.float64] = matrix.reshape(count, n, n)[:, rows, columns].sum(axis=1)
        pairs = products.reshape(count, n, count, n).transpose(0, 2, 1, 3)
        return by_lag, pairs[:, :, rows, columns].sum(axis=2), imputed
