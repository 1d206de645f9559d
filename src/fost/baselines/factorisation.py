"""Y close to X D in the making: the signals, the atoms, the codes and what is left."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fost import _core
from fost._scaling import scaling_exponents
from fost._typing import Floats
from fost._validation import not_finite
from fost.coding.decode import decode_by_atoms
from fost.coding.omp import unchecked_omp

# Two atoms closer than this (the magnitude of their inner product) are one.
_SAME = 1 - 1e-6

Gaps = NDArray[np.bool_]


class Factorisation:
    """Signals Y, atoms D in rows and codes X of at most s entries per signal.

    `residual` is Y - X D at all times but between a change of the atoms and the next `code`.
    Everything has the type of the signals. Entries that are `missing` are filled from each new
    code, which is one of the others alone, and only those count in the error.
    """

    def __init__(self, Y: Floats, atoms: Floats, s: int, missing: Gaps | None = None) -> None:
        self.Y = np.ascontiguousarray(Y)
        self.missing = missing
        self.s = s
        self.energy = self._observed(self.Y)
        self.set_atoms(atoms)

    def set_atoms(self, atoms: Floats) -> None:
        """Other atoms, with codes of their own."""
        self.atoms: Floats = np.ascontiguousarray(atoms, dtype=self.Y.dtype)
        self.code()

    def code(self) -> None:
        """X by orthogonal matching pursuit."""
        s = min(self.s, len(self.atoms))
        codes = unchecked_omp(self.Y, self.atoms, s, missing=self.missing)
        if codes is None:
            raise not_finite(self.Y, "Y")
        self.codes: csr_array = codes
        decoded = decode_by_atoms(self.atoms, self.codes)
        if self.missing is not None:
            self.Y = np.where(self.missing, decoded, self.Y)
        self.residual: Floats = self.Y - decoded

    def part(self, rows: NDArray[np.intp], atoms: Floats) -> Factorisation:
        """Some of the signals, in other atoms."""
        gaps = None if self.missing is None else self.missing[rows]
        return Factorisation(self.Y[rows], atoms, self.s, gaps)

    @property
    def is_whole(self) -> bool:
        """Whether the next step is one of all signals, so that errors can be compared."""
        return True

    @property
    def error(self) -> float:
        """||Y - X D||_F^2 / ||Y||_F^2"""
        return self._observed(self.residual) / self.energy if self.energy > 0 else 0.0

    def _observed(self, rows: Floats) -> float:
        """The squared norm of what is observed."""
        known = rows if self.missing is None else np.where(self.missing, rows.dtype.type(0), rows)
        return squared_norm(known)

    @property
    def atom_energies(self) -> NDArray[np.float64]:
        """Sums of squared coefficients of each atom."""
        squares = np.square(self.codes.data, dtype=np.float64)
        sums = np.bincount(self.codes.indices, weights=squares, minlength=len(self.atoms))
        return sums.astype(np.float64, copy=False)

    def residual_without(self, k: int) -> Floats:
        """Y - X D without atom k, all other coefficients as they are."""
        coefficients = self.codes[:, [k]].toarray()
        return np.asarray(self.residual + coefficients * self.atoms[k])

    def update_approximately(self, order: NDArray[np.int32]) -> None:
        """One step of the power method for each atom of `order`, with its coefficients."""
        uses = self._uses()
        _core.sweep_atoms(
            self.atoms,
            self.residual,
            self.codes.data,
            uses.indptr.astype(np.int64),
            uses.indices.astype(np.int32, copy=False),
            uses.data,
            order,
        )

    def update_exactly(self, order: NDArray[np.int32]) -> None:
        """The closest rank-one matrix for each atom of `order`, with its coefficients."""
        uses = self._uses()
        for k in order:
            entries = slice(uses.indptr[k], uses.indptr[k + 1])
            signals, places = uses.indices[entries], uses.data[entries]
            if not len(signals):
                continue
            values = self.codes.data[places]
            rest = self.residual[signals] + values[:, None] * self.atoms[k]
            atom = leading_directions(rest, 1)[0]
            # Of the two signs the one that is closer to what was there.
            atom = (atom if atom @ self.atoms[k] >= 0 else -atom).astype(self.Y.dtype)
            values = rest @ atom
            self.residual[signals] = rest - values[:, None] * atom
            self.codes.data[places] = values
            self.atoms[k] = atom

    def replace_useless(self, random: np.random.Generator) -> int:
        """Random signals in the place of atoms that no signal uses, or that are there twice.

        Returns how many. The codes are left behind, until the next `code`.
        """
        used = np.bincount(self.codes.indices, minlength=len(self.atoms))
        products = np.abs(self.atoms @ self.atoms.T)
        first, second = np.nonzero(np.triu(products > _SAME, 1))
        useless = used == 0
        useless[np.where(used[first] < used[second], first, second)] = True
        which = np.flatnonzero(useless)
        if which.size:
            self.atoms[which] = random_atoms(self.Y, len(which), random)
        return len(which)

    def _uses(self) -> Any:
        """Column k: the signals that use atom k, and where their coefficients stand."""
        places = np.arange(self.codes.nnz, dtype=np.int64)
        shape = self.codes.shape
        return csr_array((places, self.codes.indices, self.codes.indptr), shape=shape).tocsc()


def random_atoms(Y: Floats, count: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Random signals that are not zero, normalised; noise where there are too few of them."""
    norms = np.linalg.norm(Y, axis=1)
    candidates = np.flatnonzero(norms > 0)
    chosen = random.choice(candidates, min(count, len(candidates)), replace=False)
    # Scaled by the norm first: squares of small numbers vanish in their own type.
    atoms = (Y[chosen] / norms[chosen, None]).astype(np.float64)
    noise = random.standard_normal((count - len(chosen), Y.shape[1]))
    return normalised(np.concatenate([atoms, noise]))


def leading_directions(rows: Floats, count: int) -> NDArray[np.float64]:
    """The leading right singular vectors of the rows, as rows, the strongest first."""
    n = rows.shape[1]
    wide = np.asarray(rows, dtype=np.float64)
    _, vectors = scipy.linalg.eigh(
        wide.T @ wide, subset_by_index=[max(0, n - count), n - 1], check_finite=False
    )
    return np.ascontiguousarray(vectors.T[::-1])


def normalised(atoms: Floats) -> NDArray[np.float64]:
    """Atoms of norm one; rows of zeros stay what they are."""
    wide = np.asarray(atoms, dtype=np.float64)
    exponents = scaling_exponents(np.abs(wide).max(axis=1, initial=0), wide.dtype)
    if exponents is not None:  # squares of 1e200 overflow, those of 1e-200 vanish
        wide = np.ldexp(wide, -exponents[:, None])
    norms = np.linalg.norm(wide, axis=1, keepdims=True)
    return wide / np.where(norms > 0, norms, 1)


def squared_norm(array: Floats) -> float:
    """||array||_F^2 in float64, without a copy of it in float64."""
    return float(np.einsum("ij,ij->", array, array, dtype=np.float64, casting="same_kind"))
