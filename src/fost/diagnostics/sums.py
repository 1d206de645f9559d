"""Sums over signals and their codes in one pass, from which all diagnostics follow.

In the paper's notation (signals in columns) they are M = X Y^T, ||Y||_F^2, ||X||_F^2 and
||D X||_F^2. Everything else is n x n algebra. Codes are never stored as a dense matrix.

At the end are the base class of all results, and the formatting of numbers in them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from fost._cache import lazy_property
from fost._threads import single_threaded_blas
from fost._typing import Float64Array, Floats
from fost._validation import check_integer, check_parameters, check_real
from fost.coding.omp import omp
from fost.learning import as_training_data
from fost.learning.state import LearningResult
from fost.transforms import Chain, Coder, Dense, Householder, PursuitCoder, Transform
from fost.transforms.bases import make_base

# Atoms count as orthonormal if max|D^T D - I| is at most this: more than the rounding error of
# float32, less than the deviation that Dense corrects.
_ORTHONORMAL_TOL = 1e-5
# Entries of signals that are processed at once by matching pursuit.
_BLOCK_ENTRIES = 2**22


@dataclass(frozen=True)
class CanonicalDictionary:
    """The common form of all kinds of dictionaries.

    `coder` encodes signals; None means orthogonal matching pursuit.
    """

    atoms: Float64Array  # in rows, of norm one
    transform: Transform | None  # if the atoms are orthonormal
    coder: Coder | None
    base: Transform | None  # the fixed transform of an estimator
    name: str
    n_nonzero_coefs: int | None  # that of an estimator
    pursuit: PursuitCoder | None = None  # the union, sparse dictionary or circulants, if any

    @property
    def n_atoms(self) -> int:
        return int(self.atoms.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.atoms.shape[1])

    @property
    def is_square(self) -> bool:
        return self.n_atoms == self.n_features

    def split_reflectors(self) -> tuple[Transform | None, Householder | None]:
        """The stages before the last one, and the last one if it consists of reflectors."""
        return (None, None) if self.transform is None else split_reflectors(self.transform)


@dataclass(frozen=True)
class CodingSums:
    """A dictionary D, and sums over signals Y and their codes X."""

    dictionary: CanonicalDictionary
    n_signals: int
    n_nonzero_coefs: int
    statistic: Float64Array  # M = X Y^T, row i belongs to atom i
    total: float  # ||Y||_F^2
    energy: float  # ||X||_F^2
    decoded_energy: float  # ||D X||_F^2
    atom_energies: Float64Array  # ||row i of X||^2
    rounding: float

    @property
    def n_features(self) -> int:
        return self.dictionary.n_features

    @lazy_property
    def reconstruction(self) -> Float64Array:
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

    def square_statistic(self, base: str | Transform | None, what: str) -> Float64Array:
        """X (B^T Y)^T for a base B; only for dictionaries of n atoms."""
        atoms = self.dictionary
        if not atoms.is_square:
            raise ValueError(
                f"dictionary must have as many atoms as features for {what}, "
                f"got {atoms.n_atoms} atoms of {atoms.n_features} features"
            )
        if isinstance(base, str):
            base = make_base(base, atoms.n_features)
        elif base is None:
            base = atoms.base
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
    """The stages of a chain before the last one, and the last one if it consists of reflectors."""
    *before, last = transform.stages if isinstance(transform, Chain) else (transform,)
    return Chain(before) if before else None, last if isinstance(last, Householder) else None


@single_threaded_blas
def canonical_dictionary(dictionary: object) -> CanonicalDictionary:
    """The canonical form of a coder, a result of `learn`, an estimator or atoms in rows."""
    base = getattr(dictionary, "base_", None)
    base = base if isinstance(base, Transform) else None
    count = getattr(dictionary, "n_nonzero_coefs", None)
    if count is None:  # the estimator has selected it in `fit`
        count = getattr(dictionary, "n_nonzero_coefs_", None)
    found = dictionary.transform if isinstance(dictionary, LearningResult) else dictionary
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
        if isinstance(found, PursuitCoder):  # codes by matching pursuit in its atoms
            return CanonicalDictionary(found.matrix.T, None, None, base, name, count, found)
        single = found if isinstance(found, Transform) else None
        return CanonicalDictionary(found.matrix.T, single, found, base, name, count)
    atoms = _unit_atoms(cast(ArrayLike, found))
    n_atoms, n = atoms.shape
    name = f"{name or 'array'} of {n_atoms} atoms, {n} features"
    if n_atoms == n and np.abs(atoms @ atoms.T - np.eye(n)).max() <= _ORTHONORMAL_TOL:
        transform = Dense(atoms.T)
        return CanonicalDictionary(transform.matrix.T, transform, transform, base, name, count)
    return CanonicalDictionary(atoms, None, None, base, name, count)


def _unit_atoms(atoms: ArrayLike) -> Float64Array:
    """Checked atoms in rows, normalised."""
    checked = check_parameters(atoms, "dictionary", (None, None))
    if 0 in checked.shape:
        raise ValueError(
            f"dictionary must have at least one row and column, got shape {checked.shape}"
        )
    largest = np.abs(checked).max(axis=1, keepdims=True)
    zero = np.flatnonzero(largest == 0)
    if zero.size:
        raise ValueError(f"dictionary must not have atoms that are zero, but row {zero[0]} is")
    # Dividing by the largest entry first avoids overflow and underflow of squares.
    checked = checked / largest
    return np.asarray(checked / np.linalg.norm(checked, axis=1, keepdims=True))


@single_threaded_blas
def coding_sums(dictionary: object, Y: ArrayLike, n_nonzero_coefs: int | None) -> CodingSums:
    """Encode the signals and add up the sums, in one pass."""
    form = canonical_dictionary(dictionary)
    signals = check_real(Y, "Y")
    source = as_training_data(signals)
    n = source.n_features
    if n != form.n_features:
        raise ValueError(f"Y has {n} features, but this dictionary was built for {form.n_features}")
    if n_nonzero_coefs is None:
        n_nonzero_coefs = form.n_nonzero_coefs
    if n_nonzero_coefs is None:
        raise ValueError("n_nonzero_coefs must be given: this dictionary does not define it")
    s = check_entries(n_nonzero_coefs, n, form.n_atoms)
    total = float(np.trace(source.gram(None)))
    if form.coder is not None:
        found = source.statistic(None, form.coder, s)
        M, energy, decoded = found.matrix, found.energy, found.energy
        # Where X is nonzero, its entries are those of U^T Y: the diagonal of X Y^T U.
        energies = np.einsum("ij,ij->i", M, form.atoms)
    else:
        M, gram = _pursue(signals, form.atoms, s)
        energies = np.diag(gram).copy()
        energy = float(energies.sum())
        decoded = float(np.sum(gram * (form.atoms @ form.atoms.T)))
    return CodingSums(
        dictionary=form,
        n_signals=source.n_signals,
        n_nonzero_coefs=s,
        statistic=M,
        total=total,
        energy=energy,
        decoded_energy=decoded,
        atom_energies=energies,
        rounding=source.rounding,
    )


def _pursue(signals: Floats, atoms: Float64Array, s: int) -> tuple[Float64Array, Float64Array]:
    """X Y^T and X X^T of codes by orthogonal matching pursuit, in blocks of signals."""
    n_atoms, n = atoms.shape
    M, gram = np.zeros((n_atoms, n)), np.zeros((n_atoms, n_atoms))
    step = max(1, _BLOCK_ENTRIES // n)
    for start in range(0, len(signals), step):
        block = signals[start : start + step].astype(np.float64, copy=False)
        X = omp(block, atoms, s)
        M += X.T @ block
        gram += (X.T @ X).toarray()
    return M, gram


class DiagnosticResult:
    """A frozen dataclass of numbers whose `str` states their meaning in words.

    `repr` shows the fields that are not arrays, to four digits.
    """

    @property
    def sentence(self) -> str:
        """The result in words."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        shown = [f.name for f in fields(self) if f.repr]  # type: ignore[arg-type]
        items = ", ".join(f"{name}={_short(getattr(self, name))}" for name in shown)
        return f"{type(self).__name__}({items})"


def percent(share: float) -> str:
    """A share as a percentage: '12.3%', '0.0042%', 'under 0.0001%'."""
    size = abs(100 * share)
    if size == 0:
        return "0%"
    if size < 1e-4:
        return "under 0.0001%"
    if size >= 99.95:
        return f"{100 * share:.4g}%"
    return f"{100 * share:.3g}%"


def distinct_percents(before: float, after: float) -> tuple[str, str]:
    """Two shares as percentages, with enough digits to distinguish them."""
    for digits in range(3, 9):
        texts = f"{100 * before:.{digits}g}%", f"{100 * after:.{digits}g}%"
        if texts[0] != texts[1]:
            break
    return texts


def plural(count: int, noun: str) -> str:
    """'1 reflector', '12 reflectors'."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def check_entries(n_nonzero_coefs: object, n_features: int, n_atoms: int) -> int:
    """Entries per code: at most the number of features and the number of atoms."""
    limit, name = (n_features, "n_features") if n_features <= n_atoms else (n_atoms, "n_atoms")
    return check_integer(n_nonzero_coefs, "n_nonzero_coefs", 1, limit, name)


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else repr(value)
