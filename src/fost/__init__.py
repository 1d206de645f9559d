"""Fast orthonormal sparsifying transforms, learned from data."""

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from fost._threads import get_num_threads, set_num_threads
from fost.coding import select
from fost.learning import Full, LearningResult, Reflectors, Rotations, Structure, learn
from fost.transforms import DCT, Chain, Dense, Givens, Householder, Transform, load

if TYPE_CHECKING:
    from fost.estimators import HouseholderDictionary, OrthonormalDictionary

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
    "Rotations",
    "Structure",
    "Transform",
    "get_num_threads",
    "learn",
    "load",
    "select",
    "set_num_threads",
]


def __getattr__(name: str) -> Any:
    # The estimators come when they are asked for: scikit-learn takes a second to import.
    if name in ("HouseholderDictionary", "OrthonormalDictionary"):
        from fost import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module 'fost' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
