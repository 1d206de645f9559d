"""Fast orthonormal sparsifying transforms, learned from data."""

from importlib.metadata import version

from fost._threads import get_num_threads, set_num_threads
from fost.coding import select
from fost.estimators import HouseholderDictionary, OrthonormalDictionary
from fost.learning import Full, LearningResult, Reflectors, Structure, learn
from fost.transforms import DCT, Chain, Dense, Givens, Householder, Transform, load

__version__ = version("fost")

__all__ = [
    "DCT",
    "Chain",
    "Dense",
    "Full",
    "Givens",
    "Householder",
    "HouseholderDictionary",
    "LearningResult",
    "OrthonormalDictionary",
    "Reflectors",
    "Structure",
    "Transform",
    "get_num_threads",
    "learn",
    "load",
    "select",
    "set_num_threads",
]
