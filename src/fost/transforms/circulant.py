"""Circulant dictionaries: all circular shifts of a few kernels."""

from __future__ import annotations

from math import log2

import numpy as np
import scipy.fft
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from fost import _core
from fost._cache import lazy_property
from fost._typing import DType, Float64Array, Floats
from fost._validation import check_parameters
from fost.coding.atoms import PreparedAtoms
from fost.coding.decode import check_codes, check_decode_out
from fost.coding.omp import PursuitAtoms
from fost.transforms.base import Transform
from fost.transforms.coder import MAX_MATRIX_ENTRIES
from fost.transforms.householder import Householder
from fost.transforms.pursuit_coder import PursuitCoder
from fost.transforms.sparse_dictionary import MAX_ATOMS, unit_rows

# Entries of dense codes that are decoded at once.
_PART_ENTRIES = 2**22


class Circulant(PursuitCoder):
    r"""A union of circulant matrices: the atoms are all circular shifts of a few kernels.

    The dictionary is :math:`D = [C_1 \ldots C_L]`, where column i of the circulant matrix
    :math:`C_l` is kernel l shifted by i entries (Rusu, Dumitrescu and Tsaftaris, 2014). Codes are
    found by orthogonal matching pursuit, as by `fost.omp` in the atoms. Their errors do not change
    if signals are shifted circularly. `fost.CirculantDictionary` learns the kernels. Codes have
    n_members * n_features columns: kernel l shifted by i is column l * n_features + i.

    Parameters
    ----------
    kernels : array-like of shape (n_members, n_features)
        The kernels in rows, none of them zero; they are scaled to norm one. At most 32,768 atoms.

    Examples
    --------
    >>> import fost
    >>> circulant = fost.Circulant([[3.0, 4.0, 0.0, 0.0]])
    >>> circulant
    Circulant(n_features=4, n_members=1, flops=58)
    >>> codes = circulant.encode([[0.0, 0.0, 6.0, 8.0]], n_nonzero_coefs=1)
    >>> codes.toarray().round(12)
    array([[ 0.,  0., 10.,  0.]])
    >>> circulant.decode(codes).round(12)
    array([[0., 0., 6., 8.]])
    """

    kind = "circulant"

    def __init__(self, kernels: ArrayLike) -> None:
        checked = check_parameters(kernels, "kernels", (None, None))
        if not 1 <= checked.size <= MAX_ATOMS:
            raise ValueError(
                f"kernels must have 1 to {MAX_ATOMS} entries in all, got shape {checked.shape}"
            )
        self._kernels = unit_rows(checked.copy(), "kernels")
        self._kernels.flags.writeable = False

    @property
    def kernels(self) -> Float64Array:
        """The kernels in rows, of norm one; read-only."""
        return self._kernels

    @property
    def n_features(self) -> int:
        return int(self._kernels.shape[1])

    @property
    def members(self) -> tuple[Transform, ...]:
        """The identity: a circulant matrix is not orthonormal, and the kernels have no base."""
        return (Householder(np.empty((0, self.n_features))),)

    @property
    def n_members(self) -> int:
        """Number of kernels, L."""
        return len(self._kernels)

    @property
    def n_distinct_atoms(self) -> int:
        return self.n_atoms

    @property
    def flops(self) -> int:
        """Operations for the correlations of one signal by fast Fourier transforms.

        These are L + 1 real transforms of 5/2 n log2 n operations, and 6 for each product of two
        of the n/2 + 1 frequencies.
        """
        return self._additions + 4 * self.n_members * (self.n_features // 2 + 1) + self._fourier(1)

    @property
    def _additions(self) -> int:
        return self._fourier(1.5) + 2 * self.n_members * (self.n_features // 2 + 1)

    def _fourier(self, factor: float) -> int:
        """Multiplications (factor 1) or additions (3/2) of all Fourier transforms."""
        return round(factor * (self.n_members + 1) * self.n_features * log2(self.n_features))

    @property
    def n_parameters(self) -> int:
        """Number of entries of all kernels."""
        return self._kernels.size

    @lazy_property
    def matrix(self) -> Float64Array:
        """The atoms in columns, shape (n_features, n_atoms); read-only."""
        shifts = shift_indices(self.n_features).T
        matrix = np.ascontiguousarray(self._kernels[:, shifts].reshape(self.n_atoms, -1).T)
        matrix.flags.writeable = False
        return matrix

    @property
    def _plan(self) -> _core.Plan:
        return self.members[0]._plan

    @property
    def _owner(self) -> str:
        return "this Circulant"

    def _described(self) -> dict[str, object]:
        return {"n_members": self.n_members}

    def _sums_atoms(self, codes: csr_array) -> bool:
        return self._has_matrix or self.n_features * self.n_atoms <= MAX_MATRIX_ENTRIES

    def _decode_by_transforms(self, codes: csr_array, out: Floats | None = None) -> Floats:
        """Sums of circular convolutions of codes and kernels, by Fourier transforms."""
        n = self.n_features
        codes = check_codes(codes, self.n_atoms, self._owner)
        if out is None:
            out = np.empty((codes.shape[0], n), codes.dtype)
        else:
            codes = check_decode_out(codes, n, out)
        spectra = scipy.fft.rfft(self._kernels).astype(np.result_type(codes.dtype, np.complex64))
        step = max(1, _PART_ENTRIES // self.n_atoms)
        for begin in range(0, codes.shape[0], step):
            dense = codes[begin : begin + step].toarray().reshape(-1, self.n_members, n)
            products = np.einsum("rlf,lf->rf", scipy.fft.rfft(dense), spectra)
            out[begin : begin + step] = scipy.fft.irfft(products, n)
        if not np.isfinite(out).all():
            raise ValueError(f"codes are too large: decoding them overflows {out.dtype}")
        return out

    def _decode_dense(self, codes: Floats, out: Floats | None = None) -> Floats:
        return self.decode(csr_array(codes), out)

    def _make_pursuit_atoms(self, dtype: DType, masked: bool) -> PursuitAtoms:
        atoms = PreparedAtoms(self.matrix.T, dtype, normalize=False, masked=masked)
        if not masked:
            atoms.set_inner_products(circulant_matrix(kernel_products(self._kernels)))
        return atoms


def shift_indices(n: int) -> np.ndarray[tuple[int, int], np.dtype[np.intp]]:
    """(i - j) mod n in row i and column j: column j of a circulant matrix from its kernel."""
    places = np.arange(n)
    return (places[:, None] - places) % n


def kernel_products(kernels: Float64Array) -> Float64Array:
    """Entry (a, b, k): the inner product of kernel a with kernel b shifted by k entries."""
    spectra = scipy.fft.rfft(kernels)
    return np.asarray(scipy.fft.irfft(spectra[:, None] * spectra.conj(), kernels.shape[1]))


def circulant_matrix(products: Float64Array) -> Float64Array:
    """The Gram matrix of all shifts: entry (a n + i, b n + j) is products[a, b, (j - i) mod n]."""
    count, _, n = products.shape
    blocks = products[:, :, shift_indices(n).T]
    return blocks.transpose(0, 2, 1, 3).reshape(count * n, count * n)
