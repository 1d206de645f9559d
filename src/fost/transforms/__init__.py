"""Orthonormal transforms, banks and unions; `fost.learning` learns them."""

from fost.transforms.bank import Bank, with_base, without_base
from fost.transforms.base import Chain, Transform
from fost.transforms.circulant import Circulant
from fost.transforms.coder import Coder
from fost.transforms.dct import DCT
from fost.transforms.dense import Dense
from fost.transforms.givens import Givens
from fost.transforms.hadamard import Hadamard
from fost.transforms.householder import Householder
from fost.transforms.pursuit_coder import PursuitCoder
from fost.transforms.sparse_dictionary import SparseDictionary
from fost.transforms.storage import load, read_metadata
from fost.transforms.union import Union
from fost.transforms.wavelet import Wavelet

__all__ = [
    "DCT",
    "Bank",
    "Chain",
    "Circulant",
    "Coder",
    "Dense",
    "Givens",
    "Hadamard",
    "Householder",
    "PursuitCoder",
    "SparseDictionary",
    "Transform",
    "Union",
    "Wavelet",
    "load",
    "read_metadata",
    "with_base",
    "without_base",
]
