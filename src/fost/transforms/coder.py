"""What codes signals by a transform and a selection: a transform, or a bank of them."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fost import _core, coding
from fost._validation import check_integer, check_signals
from fost.streams import Stream, as_stream, is_lazy

if TYPE_CHECKING:
    from fost.transforms.base import Transform


class Coder(ABC):
    """What `Transform` and `Bank` have in common."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Entries per signal, n."""

    @property
    def n_atoms(self) -> int:
        """Columns of codes: n_features, times the members of a bank."""
        return self.n_features

    @property
    @abstractmethod
    def transforms(self) -> tuple[Transform, ...]:
        """The members; a transform is its own only one."""

    @property
    def n_transforms(self) -> int:
        """How many members there are."""
        return len(self.transforms)

    @property
    @abstractmethod
    def matrix(self) -> NDArray[np.float64]:
        """The atoms in columns, shape (n_features, n_atoms), read-only."""

    @property
    @abstractmethod
    def flops(self) -> int:
        """Operations to transform one signal, by the paper's counts."""

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """Numbers that must be stored to describe it."""

    @property
    @abstractmethod
    def _plan(self) -> _core.Plan | _core.Bank:
        """Its compiled form."""

    @property
    @abstractmethod
    def _owner(self) -> str:
        """What errors call it."""

    @abstractmethod
    def _arguments(self) -> dict[str, Any]:
        """The arguments that make an equal one: arrays, tuples of integers, transforms."""

    def encode(self, Y: Any, n_nonzero_coefs: int) -> csr_array:
        """Best sparse codes: the coefficients of largest magnitude, T_s(U^T y).

        Since U is orthonormal no other code with as many entries is closer to y; a bank takes
        the member for which that is closest. Transform and selection are one pass; dense
        coefficients are never stored.

        Parameters
        ----------
        Y : array-like of shape (n_signals, n_features)
            Or anything else that `fost.learning.as_source` takes: memory maps, arrays of Zarr,
            Dask arrays, iterables of blocks.
        n_nonzero_coefs : int
            Entries to keep per signal, s. Ties go to the lower index.

        Returns
        -------
        csr_array of shape (n_signals, n_atoms)
            With sorted indices. A signal with fewer than s nonzero coefficients has fewer
            entries. For a Dask array, a lazy Dask array whose blocks are such csr_arrays.
        """
        if is_lazy(Y):
            return self._encode_stream(as_stream(Y), n_nonzero_coefs)
        Y = check_signals(Y, "Y", self.n_features, self._owner)
        return coding.encode(self._plan, Y, n_nonzero_coefs)

    def _encode_stream(self, stream: Stream, n_nonzero_coefs: int) -> Any:
        n = self.n_features
        s = check_integer(n_nonzero_coefs, "n_nonzero_coefs", 1, n, "n_features")
        if stream.n_features != n:
            raise ValueError(
                f"{stream.name} has {stream.n_features} features, but {self._owner} was built "
                f"for {n}"
            )
        return stream.map_blocks(partial(self._encode_block, s, stream.name))

    def _encode_block(self, s: int, name: str, block: NDArray[Any]) -> csr_array:
        return coding.encode(self._plan, block, s, name)

    @abstractmethod
    def decode(self, codes: Any) -> NDArray[Any]:
        """Signals with given codes, sparse (from `encode`) or dense."""

    def save(self, path: str | os.PathLike[str], metadata: Mapping[str, str] | None = None) -> None:
        """Write it to a .safetensors file, replacing the old one in one step.

        `fost.load` reads it back, and ``safetensors.numpy.load_file`` its arrays.

        Parameters
        ----------
        path : path
        metadata : mapping of str to str, optional
            Anything that should stay with it, such as what it was learned on;
            `fost.transforms.read_metadata` reads it back.
        """
        from fost.transforms.storage import save

        save(self, path, metadata)
