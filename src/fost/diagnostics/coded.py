"""What diagnostics ask of a dictionary and signals: sums over all signals, from one pass.

With the paper's matrices (signals in columns) these are M = X Y^T, ||Y||_F^2, ||X||_F^2 and
||D X||_F^2. Everything else is n x n algebra. Codes are never stored as a dense matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fost._threads import single_threaded_blas
from fost._typing import Floats
from fost._validation import check_parameters, check_real
from fost.diagnostics.findings import check_entries
from fost.learning import as_training_data
from fost.learning.state import LearningResult
from fost.pursuit import omp
from fost.transforms import Chain, Coder, Dense, Householder, Transform, Union

# Atoms are orthonormal where max|D^T D - I| is at most this: more than rounding to float32 makes
# it, less than Dense would mend.
_ORTHONORMAL = 1e-5
# Entries of signals that are pursued at once in a dictionary that is not orthonormal.
_PURSUED = 2**22


@dataclass(frozen=True)
class Dictionary:
    """A dictionary in one form, whatever it came as."""

    atoms: NDArray[np.float64]  # in rows, of unit length
    transform: Transform | None  # where it is orthonormal
    coder: Coder | None  # what finds codes; None for matching pursuit
    base: Transform | None  # the fixed part that an estimator says it has
    name: str
    n_nonzero_coefs: int | None  # where an estimator says it

    @property
    def n_atoms(self) -> int:
        return int(self.atoms.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.atoms.shape[1])

    @property
    def is_square(self) -> bool:
        return self.n_atoms == self.n_features

    @property
    def reflectors(self) -> Householder | None:
        """The reflectors that it is made of, alone or at the end of a chain."""
        return None if self.transform is None else split_reflectors(self.transform)[1]

    @property
    def before_reflectors(self) -> Transform | None:
        """What comes before its reflectors in a chain."""
        return None if self.transform is None else split_reflectors(self.transform)[0]


@dataclass(frozen=True)
class Coded:
    """A dictionary D and the sums over signals Y and their codes X."""

    dictionary: Dictionary
    n_signals: int
    n_nonzero_coefs: int
    statistic: NDArray[np.float64]  # M = X Y^T, row i belongs to atom i
    total: float  # ||Y||_F^2
    energy: float  # ||X||_F^2
    decoded_energy: float  # ||D X||_F^2
    atom_energies: NDArray[np.float64]  # ||row i of X||^2
    rounding: float

    @property
    def n_features(self) -> int:
        return self.dictionary.n_features

    @cached_property
    def reconstruction(self) -> NDArray[np.float64]:
        """D X Y^T, n x n; its trace is the inner product of D X and Y."""
        return np.asarray(self.dictionary.atoms.T @ self.statistic)

    @property
    def error(self) -> float:
        """||Y - D X||_F^2."""
        if self.dictionary.coder is not None:  # a code is a projection on orthonormal atoms
            return max(0.0, self.total - self.energy)
        common = float(np.trace(self.reconstruction))
        return max(0.0, self.total - 2 * common + self.decoded_energy)

    def relative(self, amount: float) -> float:
        """An error or a gain as a share of ||Y||_F^2."""
        return float(amount / self.total) if self.total > 0 else 0.0

    def square_statistic(self, base: Transform | None, what: str) -> NDArray[np.float64]:
        """X (B^T Y)^T for a base B; only dictionaries of n atoms have it."""
        atoms = self.dictionary
        if not atoms.is_square:
            raise ValueError(
                f"dictionary must have as many atoms as features for {what}, "
                f"got {atoms.n_atoms} atoms of {atoms.n_features} features"
            )
        base = atoms.base if base is None else base
        if base is None:
            return self.statistic
        if not isinstance(base, Transform):
            raise TypeError(f"base must be a transform, got {type(base).__name__}")
        if base.n_features != atoms.n_features:
            raise ValueError(
                f"base has n_features={base.n_features}, but the dictionary has {atoms.n_features}"
            )
        return self.statistic @ base


def split_reflectors(transform: Transform) -> tuple[Transform | None, Householder | None]:
    """What comes before the last part of a chain, and that part if it is of reflectors."""
    *before, last = transform.stages if isinstance(transform, Chain) else (transform,)
    return Chain(before) if before else None, last if isinstance(last, Householder) else None


@single_threaded_blas
def as_dictionary(dictionary: object) -> Dictionary:
    """A transform, a bank, a result of `learn`, an estimator or atoms in rows, in one form."""
    base = getattr(dictionary, "base", None)
    base = base if isinstance(base, Transform) else None
    count = getattr(dictionary, "n_nonzero_coefs", None)
    if count is None:  # which leaves it to the estimator
        count = getattr(dictionary, "n_nonzero_coefs_", None)
    found: Any = dictionary.transform if isinstance(dictionary, LearningResult) else dictionary
    name = ""
    if not isinstance(found, Coder | np.ndarray):
        kind = type(found).__name__
        for attribute in ("dictionary_", "components_", "atoms"):
            value = getattr(found, attribute, None)
            if isinstance(value, Coder | np.ndarray):
                name, found = kind, value
                break
        else:
            if hasattr(found, "fit"):
                from sklearn.exceptions import NotFittedError

                raise NotFittedError(f"dictionary must be fitted, but this {kind} is not")
    if isinstance(found, Coder):
        name = f"{name}: {found!r}" if name else repr(found)
        if isinstance(found, Union):  # whose codes are found by pursuit, as in any atoms
            return Dictionary(found.matrix.T, None, None, base, name, count)
        single = found if isinstance(found, Transform) else None
        return Dictionary(found.matrix.T, single, found, base, name, count)
    atoms = check_atoms(found)
    n_atoms, n = atoms.shape
    name = f"{name or 'array'} of {n_atoms} atoms, {n} features"
    if n_atoms == n and np.abs(atoms @ atoms.T - np.eye(n)).max() <= _ORTHONORMAL:
        transform = Dense(atoms.T)
        return Dictionary(transform.matrix.T, transform, transform, base, name, count)
    return Dictionary(atoms, None, None, base, name, count)


def check_atoms(atoms: ArrayLike) -> NDArray[np.float64]:
    """Atoms in rows, at unit length."""
    checked = check_parameters(atoms, "dictionary", (None, None))
    if 0 in checked.shape:
        raise ValueError(
            f"dictionary must have at least one row and column, got shape {checked.shape}"
        )
    largest = np.abs(checked).max(axis=1, keepdims=True)
    zero = np.flatnonzero(largest == 0)
    if zero.size:
        raise ValueError(f"dictionary must not have atoms that are zero, but row {zero[0]} is")
    # By the largest entry first: squares of 1e200 overflow, those of 1e-200 vanish.
    checked = checked / largest
    return np.asarray(checked / np.linalg.norm(checked, axis=1, keepdims=True))


@single_threaded_blas
def code(dictionary: object, Y: ArrayLike, n_nonzero_coefs: int | None) -> Coded:
    """One pass over the signals: their codes in the dictionary, as sums."""
    form = as_dictionary(dictionary)
    signals = check_real(Y, "Y")
    source = as_training_data(signals)
    n = source.n_features
    if n != form.n_features:
        raise ValueError(f"Y has {n} features, but this dictionary was built for {form.n_features}")
    if n_nonzero_coefs is None:
        n_nonzero_coefs = form.n_nonzero_coefs
    if n_nonzero_coefs is None:
        raise ValueError("n_nonzero_coefs must be given: this dictionary does not say it")
    s = check_entries(n_nonzero_coefs, n, form.n_atoms)
    total = float(np.trace(source.gram(None)))
    if form.coder is not None:
        found = source.statistic(None, form.coder, s)
        M, energy, decoded = found.matrix, found.energy, found.energy
        # Row i of X U^T Y has the entries of row i of X where X has any.
        energies = np.einsum("ij,ij->i", M, form.atoms)
    else:
        M, gram = _pursue(signals, form.atoms, s)
        energies = np.diag(gram).copy()
        energy = float(energies.sum())
        decoded = float(np.sum(gram * (form.atoms @ form.atoms.T)))
    return Coded(form, source.n_signals, s, M, total, energy, decoded, energies, source.rounding)


def _pursue(
    signals: Floats, atoms: NDArray[np.float64], s: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """X Y^T and X X^T of codes by orthogonal matching pursuit, a block of signals at a time."""
    n_atoms, n = atoms.shape
    M, gram = np.zeros((n_atoms, n)), np.zeros((n_atoms, n_atoms))
    step = max(1, _PURSUED // n)
    for start in range(0, len(signals), step):
        block = signals[start : start + step].astype(np.float64, copy=False)
        X = omp(block, atoms, s)
        M += X.T @ block
        gram += (X.T @ X).toarray()
    return M, gram
