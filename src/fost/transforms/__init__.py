"""Orthonormal transforms, banks and unions; `fost.learning` learns them."""

from fost.transforms.bank import Bank, with_base, without_base
from fost.transforms.base import Chain, Transform
from fost.transforms.coder import Coder
from fost.transforms.dct import DCT
from fost.transforms.dense import Dense
from fost.transforms.givens import Givens
from fost.transforms.hadamard import Hadamard
from fost.transforms.householder import Householder
from fost.transforms.storage import load, read_metadata
from fost.transforms.union import Union
from fost.transforms.wavelet import Wavelet

__all__ = [
    "DCT",
    "Bank",
    "Chain",
    "Coder",
    "Dense",
    "Givens",
    "Hadamard",
    "Householder",
    "Transform",
    "Union",
    "Wavelet",
    "load",
    "read_metadata",
    "with_base",
    "without_base",
]
