"""Sparse matrix factorisation Y = X D: signals, atoms, codes and residual."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from fost import _core
from fost._scaling import scaling_exponents
from fost._typing import Float64Array, Floats, Mask
from fost._validation import check_integer, not_finite
from fost.coding.decode import decode_by_atoms
from fost.coding.omp import unchecked_omp

# Atoms whose inner product has at least this magnitude are duplicates.
_DUPLICATE = 1 - 1e-6
# Batches per pass at most.
_MAX_BATCHES = 64
# With fewer iterations, one pass has each number of batches.
_MANY_ITERATIONS = 20


class Factorisation:
    """Signals Y, atoms D in rows and codes X with at most s entries per signal.

    `residual` is Y - X D, except between a change of the atoms and the next call of `encode`. All
    arrays have the type of the signals. Codes depend on the observed entries alone; missing ones
    are filled from each new code and do not count in the error.
    """

    def __init__(self, Y: Floats, atoms: Floats, s: int, missing: Mask | None = None) -> None:
        self.Y = np.ascontiguousarray(Y)
        self.missing = missing
        self.s = s
        self.energy = self._observed_energy(self.Y)
        self.set_atoms(atoms)

    def set_atoms(self, atoms: Floats) -> None:
        """Replace the atoms and encode the signals."""
        self.atoms: Floats = np.ascontiguousarray(atoms, dtype=self.Y.dtype)
        self.encode()

    def encode(self) -> None:
        """Update X by orthogonal matching pursuit."""
        s = min(self.s, len(self.atoms))
        codes = self._pursue(s)
        if codes is None:
            raise not_finite(self.Y, "Y")
        self.codes: csr_array = codes
        decoded = decode_by_atoms(self.atoms, self.codes)
        if self.missing is not None:
            self.Y = np.where(self.missing, decoded, self.Y)
        self.residual: Floats = self.Y - decoded

    def _pursue(self, s: int) -> csr_array | None:
        """Codes of all signals; None if signals are not finite."""
        return unchecked_omp(self.Y, self.atoms, s, missing=self.missing)

    def subset(self, rows: NDArray[np.intp], atoms: Floats) -> Factorisation:
        """The factorisation of some of the signals with other atoms."""
        missing = None if self.missing is None else self.missing[rows]
        return Factorisation(self.Y[rows], atoms, self.s, missing)

    @property
    def is_full_batch(self) -> bool:
        """Whether the next step uses all signals at once, so that errors are comparable."""
        return True

    @property
    def error(self) -> float:
        """The relative error ||Y - X D||_F^2 / ||Y||_F^2 of the observed entries."""
        return self._observed_energy(self.residual) / self.energy if self.energy > 0 else 0.0

    def _observed_energy(self, rows: Floats) -> float:
        """The squared norm of the observed entries."""
        known = rows if self.missing is None else np.where(self.missing, rows.dtype.type(0), rows)
        return squared_norm(known)

    @property
    def atom_energies(self) -> Float64Array:
        """The sum of the squared coefficients of each atom."""
        squares = np.square(self.codes.data, dtype=np.float64)
        sums = np.bincount(self.codes.indices, weights=squares, minlength=len(self.atoms))
        return sums.astype(np.float64, copy=False)

    def residual_without(self, k: int) -> Floats:
        """The residual without atom k, for unchanged coefficients of the others."""
        coefficients = self.codes[:, [k]].toarray()
        return np.asarray(self.residual + coefficients * self.atoms[k])

    def update_approximately(self, order: NDArray[np.int32]) -> None:
        """Update each atom of `order` and its coefficients by one step of the power method."""
        self._sweep(self.atoms, self.residual, order, self.Y.shape[1])

    def _sweep(
        self, atoms: Floats, residual: Floats, order: NDArray[np.int32], n_entries: int
    ) -> None:
        """One sweep over atoms and residual in place; new atoms have at most `n_entries`."""
        uses = self._uses()
        _core.sweep_atoms(
            atoms,
            residual,
            self.codes.data,
            uses.indptr.astype(np.int64),
            uses.indices.astype(np.int32, copy=False),
            uses.data,
            order,
            n_entries,
        )

    def update_exactly(self, order: NDArray[np.int32]) -> None:
        """Update each atom of `order` and its coefficients to the closest rank-one matrix."""
        uses = self._uses()
        for k in order:
            entries = slice(uses.indptr[k], uses.indptr[k + 1])
            signals, positions = uses.indices[entries], uses.data[entries]
            if not len(signals):
                continue
            values = self.codes.data[positions]
            rest = self.residual[signals] + values[:, None] * self.atoms[k]
            atom = leading_directions(rest, 1)[0]
            # A singular vector has two signs: take the one closer to the old atom.
            atom = (atom if atom @ self.atoms[k] >= 0 else -atom).astype(self.Y.dtype)
            values = rest @ atom
            self.residual[signals] = rest - values[:, None] * atom
            self.codes.data[positions] = values
            self.atoms[k] = atom

    def replace_unused(self, random: np.random.Generator) -> int:
        """Replace unused and duplicate atoms by random signals; returns their number.

        The codes are out of date until the next call of `encode`.
        """
        used = np.bincount(self.codes.indices, minlength=len(self.atoms))
        products = np.abs(self.atoms @ self.atoms.T)
        first, second = np.nonzero(np.triu(products > _DUPLICATE, 1))
        unused = used == 0
        unused[np.where(used[first] < used[second], first, second)] = True
        which = np.flatnonzero(unused)
        if which.size:
            self.atoms[which] = self._random_atoms(len(which), random)
        return len(which)

    def _random_atoms(self, count: int, random: np.random.Generator) -> Floats:
        """Atoms that replace others."""
        return random_atoms(self.Y, count, random)

    def _uses(self) -> csc_array:
        """Column k has the signals that use atom k, and the positions of their coefficients."""
        positions = np.arange(self.codes.nnz, dtype=np.int64)
        shape = self.codes.shape
        return csr_array((positions, self.codes.indices, self.codes.indptr), shape=shape).tocsc()


class BatchedFactorisation(Factorisation):
    """A factorisation whose atoms are updated after each batch of signals.

    Batches update the atoms several times in one pass over the signals, and their noise helps to
    escape poor local minima. The number of batches is halved after every second pass (after each
    pass if `max_iter` is less than 20), until all signals are one batch.
    """

    # Average uses of each atom in the first batches. With 24 the first passes are too noisy; with
    # 192 they find no better minimum than full batches.
    uses_per_batch = 48
    # Passes with the same number of batches. Two reach lower errors than one.
    passes_per_size = 2

    def __init__(
        self,
        Y: Floats,
        atoms: Floats,
        s: int,
        missing: Mask | None = None,
        *,
        batch_size: str | int | None = "auto",
        max_iter: int = _MANY_ITERATIONS,
    ) -> None:
        super().__init__(Y, atoms, s, missing)
        size: int | float
        if isinstance(batch_size, str):
            size = max(self.uses_per_batch * len(atoms) / s, len(Y) / _MAX_BATCHES)
        else:
            size = len(Y) if batch_size is None else int(batch_size)
        self.n_batches = max(1, int(len(Y) / max(1, size)))
        self._passes_per_size = self.passes_per_size if max_iter >= _MANY_ITERATIONS else 1
        self._n_passes = 0

    @property
    def is_full_batch(self) -> bool:
        return self.n_batches == 1

    def update_in_batches(
        self, update: Callable[[Factorisation], None], random: np.random.Generator
    ) -> None:
        """One pass: encode and update batch by batch.

        The residual of a signal is that before the update by its own batch.
        """
        for rows in np.array_split(random.permutation(len(self.Y)), self.n_batches):
            batch = self.subset(rows, self.atoms)
            self.residual[rows] = batch.residual
            if self.missing is not None:
                self.Y[rows] = batch.Y
            update(batch)
            self.atoms = batch.atoms
        self._n_passes += 1
        if self._n_passes % self._passes_per_size == 0:
            self.n_batches //= 2


def check_batch_size(batch_size: str | int | None) -> None:
    """Check that the parameter `batch_size` is "auto", a positive integer or None."""
    if isinstance(batch_size, str):
        if batch_size != "auto":
            raise ValueError(f"batch_size must be 'auto', an integer or None, got {batch_size!r}")
    elif batch_size is not None:
        check_integer(batch_size, "batch_size", 1, 2**31 - 1)


def random_atoms(Y: Floats, count: int, random: np.random.Generator) -> Float64Array:
    """Normalised random nonzero signals, or noise if there are too few of them."""
    norms = np.linalg.norm(Y, axis=1)
    candidates = np.flatnonzero(norms > 0)
    chosen = random.choice(candidates, min(count, len(candidates)), replace=False)
    # Dividing by the norms first keeps tiny signals from underflowing below.
    atoms = (Y[chosen] / norms[chosen, None]).astype(np.float64)
    noise = random.standard_normal((count - len(chosen), Y.shape[1]))
    return normalised(np.concatenate([atoms, noise]))


def leading_directions(rows: Floats, count: int) -> Float64Array:
    """The leading right singular vectors of the rows, as rows, by falling singular value."""
    n = rows.shape[1]
    wide = np.asarray(rows, dtype=np.float64)
    _, vectors = scipy.linalg.eigh(
        wide.T @ wide, subset_by_index=[max(0, n - count), n - 1], check_finite=False
    )
    return np.ascontiguousarray(vectors.T[::-1])


def normalised(atoms: Floats) -> Float64Array:
    """Atoms of norm one; zero rows stay zero."""
    wide = np.asarray(atoms, dtype=np.float64)
    exponents = scaling_exponents(np.abs(wide).max(axis=1, initial=0), wide.dtype)
    if exponents is not None:  # squares of 1e200 overflow, those of 1e-200 underflow
        wide = np.ldexp(wide, -exponents[:, None])
    norms = np.linalg.norm(wide, axis=1, keepdims=True)
    return wide / np.where(norms > 0, norms, 1)


def squared_norm(array: Floats) -> float:
    """||array||_F^2 in float64, without a float64 copy of the array."""
    return float(np.einsum("ij,ij->", array, array, dtype=np.float64, casting="same_kind"))
