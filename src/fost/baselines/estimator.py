"""Base class of the estimators of general dictionaries."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from fost._progress import progress
from fost._scaling import scale_to_safe_range
from fost._threads import single_threaded_blas
from fost._typing import Floats, Mask
from fost._validation import (
    RandomState,
    as_generator,
    check_callable,
    check_integer,
    check_number,
    check_verbose,
    not_finite,
)
from fost._warnings import external_stacklevel
from fost.baselines.factorisation import Factorisation, normalised, random_atoms
from fost.baselines.general_dictionary import GeneralDictionary
from fost.coding.atoms import Atoms, check_atom_rows
from fost.coding.decode import decode_by_atoms
from fost.estimators.base import (
    DictionaryEstimator,
    WeightedFit,
    check_rows_in_memory,
    default_entries,
    warn_not_converged,
)
from fost.learning import InterruptedWarning, as_training_data
from fost.learning.state import no_progress
from fost.learning.training_data import TrainingData
from fost.streams import Stream
from fost.streams.arrays import check_weights
from fost.transforms import SparseDictionary

# Called with the iteration, the relative error and the dictionary; True stops the learning.
DictionaryCallback = Callable[[int, float, Any], object]
# Pursuit keeps the inner products of all pairs of atoms: 8 GiB for this many.
_MAX_COMPONENTS = 2**15
# Signals that `score` encodes at once.
_BLOCK = 2**14


class GeneralDictionaryEstimator(DictionaryEstimator):
    """A general dictionary, learned step by step: subclasses define the start and a step."""

    n_components: int | None
    random_state: RandomState
    callback: DictionaryCallback | None
    verbose: bool
    dictionary_: GeneralDictionary | SparseDictionary
    _allows_missing = True

    @abstractmethod
    def _n_steps(self, n_components: int, s: int) -> int:
        """Check the parameters and return the maximum number of steps."""

    @abstractmethod
    def _start(
        self,
        Y: Floats,
        missing: Mask | None,
        n_components: int,
        s: int,
        random: np.random.Generator,
    ) -> Factorisation:
        """The initial factorisation."""

    @abstractmethod
    def _step(self, state: Factorisation, step: int, random: np.random.Generator) -> None:
        """One step of learning, which updates `state.error`."""

    def _dictionary(self, state: Factorisation) -> GeneralDictionary | SparseDictionary:
        """The dictionary of the current atoms."""
        return GeneralDictionary(normalised(state.atoms))

    def _finish(self, state: Factorisation, n_components: int) -> None:
        """Called after the last step."""

    def _fit(self, signals: Stream) -> None:
        data = as_training_data(signals)
        if isinstance(self, WeightedFit):  # sorts the signals, and merges equal ones by weights
            data = data.in_canonical_order(if_small=False)
        rows, missing = _weighted(*_filled(data.rows(), data), data)
        Y = scale_to_safe_range(rows)
        n = self.n_features_in_
        n_components = n if self.n_components is None else self.n_components
        n_components = check_integer(n_components, "n_components", 1, _MAX_COMPONENTS)
        most = min(n, n_components)
        limit = "n_features" if most == n else "n_components"
        s = self.n_nonzero_coefs
        s = default_entries(n, n_components) if s is None else s
        s = check_integer(s, "n_nonzero_coefs", 1, most, limit)
        n_steps = self._n_steps(n_components, s)
        check_callable(self.callback, "callback")
        verbose = check_verbose(self.verbose)
        random = as_generator(self.random_state)
        with single_threaded_blas:
            state = self._start(Y, missing, n_components, s, random)
            self.start_error_ = state.error
            errors: list[float] = []
            self._learn(state, errors, n_steps, random, verbose)
            self._finish(state, n_components)
        self.dictionary_ = self._dictionary(state)
        self.errors_ = np.array(errors, dtype=np.float64)
        self.error_ = float(self.errors_[-1]) if errors else self.start_error_
        self.n_iter_, self.n_nonzero_coefs_ = len(errors), s

    def _learn(
        self,
        state: Factorisation,
        errors: list[float],
        n_steps: int,
        random: np.random.Generator,
        verbose: bool,
    ) -> None:
        tol, before = getattr(self, "tol", 0.0), state.error
        full = 0  # iterations with all signals
        self.interrupted_ = False
        try:
            with progress("iteration", n_steps, verbose) as advance:
                for step in range(1, n_steps + 1):
                    self._step(state, step, random)
                    errors.append(state.error)
                    advance(step, f"relative error {100 * errors[-1]:.4f} %")
                    if self.callback and self.callback(step, errors[-1], self._dictionary(state)):
                        break
                    full += state.is_full_batch
                    if full and (
                        abs(before - errors[-1]) < tol or no_progress(errors[-full:], tol)
                    ):
                        break
                    before = errors[-1]
                else:
                    warn_not_converged(n_steps, tol)
        except KeyboardInterrupt:
            self.interrupted_ = True
            warnings.warn(
                f"learning was interrupted after {len(errors)} steps; "
                "this is the dictionary so far",
                InterruptedWarning,
                stacklevel=external_stacklevel(),
            )

    def score(self, X: ArrayLike, y: None = None, sample_weight: ArrayLike | None = None) -> float:
        """Minus the relative error ||X - decoded codes||_F^2 / ||X||_F^2; higher is better.

        Missing entries (NaN) do not count.

        Parameters
        ----------
        X : array-like of shape (n_signals, n_features)
        y : None
            Ignored.
        sample_weight : array-like of shape (n_signals,), optional
            Weights of the signals, by which their squared norms are multiplied.
        """
        check_is_fitted(self, "dictionary_")
        rows = check_rows_in_memory(self, X, reset=False)
        weights = np.ones(len(rows))
        if sample_weight is not None:
            weights = check_weights(sample_weight, len(rows), "X")
        missing = np.isnan(rows)
        Y = scale_to_safe_range(
            np.where(missing, rows.dtype.type(0), rows) if missing.any() else rows
        )
        atoms = np.ascontiguousarray(self.dictionary_.matrix.T, Y.dtype)
        lost = total = 0.0
        for begin in range(0, len(Y), _BLOCK):
            block, mask = Y[begin : begin + _BLOCK], missing[begin : begin + _BLOCK]
            where = mask if mask.any() else None
            try:
                codes = self.dictionary_.encode(block, self._entries, missing=where)
            except ValueError as error:
                raise ValueError(f"X: {error}") from error
            residual = block - decode_by_atoms(atoms, codes)
            residual[mask] = 0
            own = weights[begin : begin + _BLOCK]
            lost += float(own @ np.square(residual, dtype=np.float64).sum(axis=1))
            total += float(own @ np.square(block, dtype=np.float64).sum(axis=1))
        return -lost / total if total > 0 else 0.0


def _filled(rows: Floats, data: TrainingData) -> tuple[Floats, Mask | None]:
    """Signals with missing entries filled by the prior, and their mask; None if there are none."""
    missing = np.isnan(rows) if data.has_missing else None
    if missing is None or not missing.any():
        if not np.isfinite(rows).all():
            raise not_finite(rows, data.name)
        return rows, None
    assert data.prior is not None, "signals with missing entries have a prior"
    return data.prior.fill(rows, missing), missing


def _weighted(rows: Floats, missing: Mask | None, data: TrainingData) -> tuple[Floats, Mask | None]:
    """Signals times the square roots of their weights, without signals of weight zero.

    The squared residual of a scaled signal is its weighted error. Scaling a signal scales its code,
    since pursuit with a fixed number of entries is equivariant to the scale.
    """
    weights = data.weights
    if weights is None:
        return rows, missing
    counts = weights > 0
    roots = np.sqrt(weights[counts] / weights.max()).astype(rows.dtype)
    return rows[counts] * roots[:, None], None if missing is None else missing[counts]


def initial_atoms(
    init: str | ArrayLike | Atoms, Y: Floats, n_components: int, random: np.random.Generator
) -> Floats:
    """The initial atoms for the parameter `init`."""
    if isinstance(init, str):
        if init != "signals":
            raise ValueError(f"init must be 'signals' or an array of atoms, got {init!r}")
        return random_atoms(Y, n_components, random)
    atoms = check_atom_rows(init, "init")
    if atoms.shape != (n_components, Y.shape[1]):
        raise ValueError(
            f"init must have shape (n_components, n_features) = {(n_components, Y.shape[1])}, "
            f"got {atoms.shape}"
        )
    return normalised(atoms)


def check_iterations(max_iter: int, tol: float) -> int:
    """Check `max_iter` and `tol`; returns `max_iter`."""
    check_number(tol, "tol", 0)
    return check_integer(max_iter, "max_iter", 0, 2**31 - 1)
