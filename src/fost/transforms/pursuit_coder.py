"""Coders whose codes are found by orthogonal matching pursuit."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from scipy.sparse import csr_array

from fost import _core
from fost._cache import lazy_property
from fost._threads import single_threaded_blas
from fost._typing import DType, Floats, Numbers
from fost._validation import check_integer, float_type, hint_at_missing, not_finite
from fost.coding.omp import PursuitAtoms, scaled_omp
from fost.coding.selection import SelectionRule
from fost.transforms.coder import Coder


class PursuitCoder(Coder):
    """A coder whose atoms are not orthogonal, so that codes are found by matching pursuit."""

    @property
    @abstractmethod
    def n_distinct_atoms(self) -> int:
        """Number of distinct atoms."""

    @abstractmethod
    def _make_pursuit_atoms(self, dtype: DType, masked: bool) -> PursuitAtoms:
        """The atoms in the form that the core takes for signals of a type, perhaps with gaps."""

    @lazy_property
    def _prepared(self) -> dict[tuple[DType, bool], PursuitAtoms]:
        return {}

    def _pursuit_atoms(self, dtype: DType, masked: bool) -> PursuitAtoms:
        """The same, kept for later calls."""
        key = dtype, masked
        if key not in self._prepared:
            self._prepared[key] = self._make_pursuit_atoms(dtype, masked)
        return self._prepared[key]

    def encode_flops(self, n_nonzero_coefs: int) -> int:
        r"""Operations to encode one signal: `flops` for the correlations, and the pursuit.

        With K distinct atoms, Batch-OMP takes :math:`s^2 K + 3 s K + s^3` operations. If it is
        faster, the rotations of the members of a union are applied to residuals instead, which
        this count ignores.

        Parameters
        ----------
        n_nonzero_coefs : int
            Entries per code, s.

        Examples
        --------
        >>> import fost, numpy as np
        >>> union = fost.Union([fost.DCT(4), fost.Dense(np.eye(4))])
        >>> union.flops, union.encode_flops(2)
        (42, 130)
        """
        s = check_integer(n_nonzero_coefs, "n_nonzero_coefs", 1, self.n_features, "n_features")
        return self.flops + pursuit_flops(s, self.n_distinct_atoms)

    def _encode_block(
        self, rule: SelectionRule, has_missing: bool, name: str, block: Numbers
    ) -> csr_array:
        if rule.threshold is not None:
            raise ValueError(
                f"threshold must be None for a {type(self).__name__}, whose codes are found by "
                "pursuit"
            )
        signals = block.astype(float_type(block.dtype), copy=False)
        missing = np.isnan(signals) if has_missing else None
        atoms = self._pursuit_atoms(signals.dtype, masked=has_missing)
        s = min(rule.s, self.n_distinct_atoms)
        codes = scaled_omp(atoms, signals, s, missing, rule.max_error)
        if codes is None:
            error = not_finite(block, name)
            raise error if has_missing else hint_at_missing(error)
        return codes

    def energy_kept(self, Y: Floats, codes: csr_array) -> float:
        residual = Y - self.decode(codes)
        with np.errstate(over="ignore", invalid="ignore"):
            total, lost = (np.sum(np.square(part, dtype=np.float64)) for part in (Y, residual))
            return float(total - lost)


def pursuit_flops(s: int, n_atoms: int) -> int:
    """Operations of Batch-OMP without the correlations with the signal."""
    return s * s * n_atoms + 3 * s * n_atoms + s**3


def padded_gram(atoms: Floats, dtype: DType) -> Floats:
    """Inner products of atoms in rows, each row padded by zeros for the core."""
    pitch = -(-len(atoms) // _core.PITCH) * _core.PITCH
    gram: Floats = np.zeros((len(atoms), pitch), dtype)
    with single_threaded_blas:
        gram[:, : len(atoms)] = atoms @ atoms.T
    return gram
