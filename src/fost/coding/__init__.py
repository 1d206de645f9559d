"""Sparse codes: selection of coefficients, orthogonal matching pursuit, decoding.

Transforms, banks and unions encode and decode with the functions of this package.
"""

from fost.coding.atoms import Atoms
from fost.coding.omp import omp
from fost.coding.selection import select

__all__ = ["Atoms", "omp", "select"]
