"""General dictionaries with the coding methods of a transform."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse, sparray

from fost._typing import Floats
from fost._validation import check_integer, check_signals
from fost.coding.atoms import Atoms, check_atom_rows
from fost.coding.decode import aligned_atoms, decode_by_atoms, prepare_codes
from fost.coding.omp import omp
from fost.streams import as_stream, is_lazy
from fost.transforms.pursuit_coder import pursuit_flops


class GeneralDictionary:
    """Dictionary of general atoms, with codes by orthogonal matching pursuit.

    Parameters
    ----------
    atoms : array-like of shape (n_atoms, n_features), or Atoms
        Atoms in rows, none of them zero. They are stored in float64 without normalisation; their
        inner products are kept after the first call of `encode`.

    Examples
    --------
    >>> from fost.baselines import GeneralDictionary
    >>> dictionary = GeneralDictionary([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    >>> dictionary
    GeneralDictionary(n_features=2, n_atoms=3)
    >>> codes = dictionary.encode([[3.0, 4.0]], n_nonzero_coefs=1)
    >>> dictionary.decode(codes)
    array([[3., 4.]])
    """

    def __init__(self, atoms: ArrayLike | Atoms) -> None:
        wide = check_atom_rows(atoms).astype(np.float64)
        same = isinstance(atoms, Atoms) and atoms.atoms.dtype == np.float64
        self._prepared = atoms if isinstance(atoms, Atoms) and same else Atoms(wide)

    @property
    def atoms(self) -> NDArray[np.float64]:
        """The atoms in rows, read-only."""
        return self._prepared.atoms.astype(np.float64, copy=False)

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The atoms in columns, of shape (n_features, n_atoms)."""
        return self.atoms.T

    @property
    def n_atoms(self) -> int:
        """The number of atoms."""
        return len(self.atoms)

    @property
    def n_features(self) -> int:
        """Entries per signal."""
        return int(self.atoms.shape[1])

    @property
    def n_parameters(self) -> int:
        """The number of entries of all atoms."""
        return self.atoms.size

    @property
    def flops(self) -> int:
        """Operations for the correlations of one signal with all atoms, 2 n K."""
        return 2 * self.atoms.size

    def encode_flops(self, n_nonzero_coefs: int) -> int:
        """Operations to encode one signal: `flops` and the pursuit, as `Coder.encode_flops`.

        Parameters
        ----------
        n_nonzero_coefs : int
            Entries per code, s.

        Examples
        --------
        >>> from fost.baselines import GeneralDictionary
        >>> dictionary = GeneralDictionary([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
        >>> dictionary.flops, dictionary.encode_flops(1), dictionary.storage_bits()
        (12, 25, 96)
        """
        s = check_integer(n_nonzero_coefs, "n_nonzero_coefs", 1, self.n_features, "n_features")
        return self.flops + pursuit_flops(s, self.n_atoms)

    def storage_bits(self, bits_per_value: int = 16) -> int:
        """Bits to store the entries of all atoms.

        Parameters
        ----------
        bits_per_value : int
            Bits per entry, from 1 to 64.
        """
        return self.atoms.size * check_integer(bits_per_value, "bits_per_value", 1, 64)

    def encode(
        self,
        Y: ArrayLike,
        n_nonzero_coefs: int | None = None,
        *,
        max_error: float | None = None,
        missing: object = None,
    ) -> csr_array:
        """Sparse codes by `fost.omp`, of shape (n_signals, n_atoms).

        Y may be anything that `fost.learning.as_training_data` accepts. `missing` is a mask of
        the same kind, or "nan".
        """
        if not is_lazy(Y) and missing is None:
            return omp(Y, self._prepared, n_nonzero_coefs, max_error=max_error)
        stream = as_stream(Y, missing=missing)
        encode = partial(
            self._encode_block,
            n_nonzero_coefs=n_nonzero_coefs,
            max_error=max_error,
            may_miss=stream.has_missing,
            name=stream.name,
        )
        return stream.map_blocks(encode)

    def _encode_block(
        self,
        block: Floats,
        *,
        n_nonzero_coefs: int | None,
        max_error: float | None,
        may_miss: bool,
        name: str,
    ) -> csr_array:
        missing = np.isnan(block) if may_miss else None
        if missing is not None and not missing.any():
            missing = None
        try:
            return omp(block, self._prepared, n_nonzero_coefs, missing=missing, max_error=max_error)
        except ValueError as error:  # `omp` calls the signals Y, but their stream has its own name
            raise ValueError(re.sub(r"^Y\b", name, str(error))) from error

    def decode(self, codes: sparray | ArrayLike, out: Floats | None = None) -> Floats:
        """Signals of sparse or dense codes, codes @ atoms, written to `out` if that is given."""
        owner = "this dictionary"
        if not issparse(codes):
            codes = csr_array(check_signals(codes, "codes", self.n_atoms, owner))
        codes = prepare_codes(codes, self.n_atoms, owner)
        with np.errstate(over="ignore"):
            atoms = aligned_atoms(self.atoms, codes.dtype)
        return decode_by_atoms(atoms, codes, out)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GeneralDictionary):
            return NotImplemented
        return np.array_equal(self.atoms, other.atoms)

    def __hash__(self) -> int:
        return hash((self.atoms.shape, self.atoms.tobytes()))

    def __repr__(self) -> str:
        return f"GeneralDictionary(n_features={self.n_features}, n_atoms={self.n_atoms})"
