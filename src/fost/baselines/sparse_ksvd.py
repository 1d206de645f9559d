"""Sparse K-SVD as a scikit-learn estimator."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fost._typing import Floats, Mask
from fost._validation import RandomState, check_integer
from fost.baselines.estimator import (
    DictionaryCallback,
    GeneralDictionaryEstimator,
    check_iterations,
)
from fost.baselines.factorisation import (
    BatchedFactorisation,
    Factorisation,
    normalised,
    random_atoms,
)
from fost.baselines.ksvd import ksvd_iteration
from fost.coding.omp import scaled_omp
from fost.coding.selection import SelectionRule
from fost.estimators.base import WeightedFit, default_entries
from fost.learning import as_training_data
from fost.learning.trials import possible_bases
from fost.transforms import Givens, SparseDictionary, Transform
from fost.transforms.bases import make_base
from fost.transforms.sparse_dictionary import CombinedAtoms, largest_entries

# Signals and iterations by which bases are compared.
_TRIAL_SIGNALS = 4096
_TRIAL_ITERATIONS = 8


class SparseFactorisation(BatchedFactorisation):
    """A factorisation whose atoms have `n_entries` coefficients in a base."""

    # Atoms with few entries tolerate smaller batches than general atoms. Of 6, 12 and 24 uses and
    # of 2 and 4 passes, these had the lowest errors on patches.
    uses_per_batch = 12
    passes_per_size = 4

    def __init__(
        self,
        Y: Floats,
        atoms: Floats,
        s: int,
        missing: Mask | None = None,
        *,
        base: Transform,
        n_entries: int,
        batch_size: int | str | None = "auto",
    ) -> None:
        self.base, self.n_entries = base, n_entries
        super().__init__(Y, self._projected(atoms), s, missing, batch_size=batch_size)

    def update_approximately(self, order: NDArray[np.int32]) -> None:
        atoms, residual = self.base.forward(self.atoms), self.base.forward(self.residual)
        self._sweep(atoms, residual, order, self.n_entries)
        self.atoms, self.residual = self.base.inverse(atoms), self.base.inverse(residual)

    def subset(self, rows: NDArray[np.intp], atoms: Floats) -> SparseFactorisation:
        missing = None if self.missing is None else self.missing[rows]
        return SparseFactorisation(
            self.Y[rows],
            atoms,
            self.s,
            missing,
            base=self.base,
            n_entries=self.n_entries,
            batch_size=None,
        )

    def dictionary(self) -> SparseDictionary:
        """The dictionary of the current atoms."""
        coefficients = self.base.forward(normalised(self.atoms))
        return SparseDictionary(self.base, *largest_entries(coefficients, self.n_entries))

    def _pursue(self, s: int) -> csr_array | None:
        if self.missing is not None:
            return super()._pursue(s)
        return scaled_omp(CombinedAtoms(self.dictionary(), self.Y.dtype), self.Y, s, None, None)

    def _random_atoms(self, count: int, random: np.random.Generator) -> Floats:
        return self._projected(random_atoms(self.Y, count, random))

    def _projected(self, atoms: Floats) -> Floats:
        """Atoms of norm one with the largest coefficients in the base of the given ones."""
        coefficients = self.base.forward(atoms)
        indices, values = largest_entries(coefficients, self.n_entries)
        sparse = np.zeros_like(coefficients)
        np.put_along_axis(sparse, indices.astype(np.intp), values, axis=1)
        return self.base.inverse(normalised(sparse))


class SparseKSVD(WeightedFit, GeneralDictionaryEstimator):
    r"""Sparse K-SVD: a dictionary of sparse combinations of the atoms of a fast base.

    Minimises :math:`\|Y - D X\|_F^2` over codes X with at most `n_nonzero_coefs` entries per signal
    and atoms D of norm one (Rubinstein, Zibulevsky and Elad, 2010). Codes and atoms are columns.
    Each atom has `n_entries` coefficients in a base. Codes take fewer operations than with `KSVD`,
    and atoms less memory.

    Iterations are those of `KSVD`. An atom is updated to the best one with `n_entries` entries for
    its coefficients. For an orthonormal base B, the residual E without this atom and its
    coefficients x, this is :math:`\mathcal{T}_p(B^T E x)`, normalised.

    Parameters
    ----------
    n_components : int, optional
        Number of atoms, at most 32,768, since the inner products of all pairs are kept. If None,
        the number of features.
    n_entries : int, optional
        Coefficients of an atom in the base, p. If None, a sixteenth of the features, but at least
        4 if possible.
    base : Transform, {"auto", "dct", "hadamard", "wavelet", "none"} or None
        The base. ``"auto"`` compares no base, the DCT and, if PyWavelets is installed, a wavelet,
        by the error after a few iterations on a sample.
    n_nonzero_coefs : int or None
        Entries per code, s. If None, a sixteenth of the features, but at least 4 if possible.
    signal_shape : int or tuple of int, optional
        Shape of a signal, such as (8, 8) for patches, for a base that is given by name. If None,
        signals have one axis; ``"auto"`` also tries squares.
    max_iter : int
        Maximum number of iterations.
    tol : float
        Stop when the relative error changes by less than this; 0 never stops early.
    random_state : int, Generator, RandomState or None
        For the initial atoms, which are random signals, the batches of the first iterations, and
        the random signals that replace unused atoms.
    callback : callable, optional
        Called as ``callback(iteration, error, dictionary)``; stops learning by returning True.
    verbose : bool
        Show progress on stderr.
    sparse_output : bool
        Whether `transform` returns a csr_array instead of an ndarray; dense by default, since
        many steps of a pipeline refuse sparse codes.

    Attributes
    ----------
    dictionary_ : SparseDictionary
        The learned dictionary.
    base_ : Transform or None
        The base, given or chosen.
    components_ : ndarray of shape (n_components, n_features)
        Its atoms in rows, of norm one.
    n_nonzero_coefs_ : int
        Entries per code in `fit`.
    error_ : float
        Relative error after the last iteration, or of the initial atoms if there was none.
    errors_ : ndarray of shape (n_iter_,)
        Relative error after each iteration; during batches, that of each batch before its
        update. It may rise, unlike that of an orthonormal dictionary: matching pursuit is greedy.
    start_error_ : float
        Relative error of the initial atoms.
    n_iter_ : int
        Number of iterations.
    interrupted_ : bool
        Whether Ctrl-C ended the learning.

    Examples
    --------
    >>> import fost, numpy as np
    >>> Y = np.cumsum(np.random.default_rng(0).standard_normal((500, 16)), axis=1)
    >>> ksvd = fost.SparseKSVD(32, 4, base="dct", n_nonzero_coefs=3, random_state=0).fit(Y)
    >>> ksvd.dictionary_
    SparseDictionary(n_features=16, n_atoms=32, n_entries=4, flops=374)
    >>> ksvd.transform(Y).shape
    (500, 32)
    """

    dictionary_: SparseDictionary

    def __init__(
        self,
        n_components: int | None = None,
        n_entries: int | None = None,
        base: str | Transform | None = "auto",
        n_nonzero_coefs: int | None = None,
        *,
        signal_shape: int | tuple[int, ...] | None = None,
        max_iter: int = 300,
        tol: float = 1e-6,
        random_state: RandomState = None,
        callback: DictionaryCallback | None = None,
        verbose: bool = False,
        sparse_output: bool = False,
    ) -> None:
        self.n_components = n_components
        self.n_entries = n_entries
        self.base = base
        self.n_nonzero_coefs = n_nonzero_coefs
        self.signal_shape = signal_shape
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose
        self.sparse_output = sparse_output

    def _n_steps(self, n_components: int, s: int) -> int:
        return check_iterations(self.max_iter, self.tol)

    def _start(
        self,
        Y: Floats,
        missing: Mask | None,
        n_components: int,
        s: int,
        random: np.random.Generator,
    ) -> Factorisation:
        n = Y.shape[1]
        p = default_entries(n) if self.n_entries is None else self.n_entries
        p = check_integer(p, "n_entries", 1, n, "n_features")
        atoms = random_atoms(Y, n_components, random)
        if isinstance(self.base, str) and self.base == "auto":
            self.base_ = self._choose_base(Y, missing, atoms, s, p)
        else:
            self.base_ = make_base(self.base, n, self.signal_shape)
        base = _transform(self.base_, n)
        return SparseFactorisation(Y, atoms, s, missing, base=base, n_entries=p)

    def _choose_base(
        self, Y: Floats, missing: Mask | None, atoms: Floats, s: int, p: int
    ) -> Transform | None:
        """The base with the smallest error after a few iterations on a sample."""
        step = -(-len(Y) // _TRIAL_SIGNALS)
        some, mask = Y[::step], None if missing is None else missing[::step]
        bases = possible_bases(as_training_data(some), SelectionRule(s), self.signal_shape)
        errors = []
        for base in bases:
            transform = _transform(base, Y.shape[1])
            state = SparseFactorisation(some, atoms, s, mask, base=transform, n_entries=p)
            random = np.random.default_rng(0)
            for _ in range(_TRIAL_ITERATIONS):
                _iterate(state, random)
            state.encode()
            errors.append(state.error)
        return bases[int(np.argmin(errors))]

    def _step(self, state: Factorisation, step: int, random: np.random.Generator) -> None:
        assert isinstance(state, SparseFactorisation), "_start returns one"
        _iterate(state, random)

    def _dictionary(self, state: Factorisation) -> SparseDictionary:
        assert isinstance(state, SparseFactorisation), "_start returns one"
        return state.dictionary()


def _iterate(state: SparseFactorisation, random: np.random.Generator) -> None:
    """One iteration of K-SVD, by batches at first."""
    if state.is_full_batch:
        ksvd_iteration(state, random)
    else:
        state.update_in_batches(_update_all, random)


def _update_all(batch: Factorisation) -> None:
    batch.update_approximately(np.arange(len(batch.atoms), dtype=np.int32))


def _transform(base: Transform | None, n_features: int) -> Transform:
    """The base; the identity, a transform without rotations, if there is none."""
    return Givens([], [], n_features) if base is None else base
