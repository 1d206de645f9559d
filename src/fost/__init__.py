"""Fast orthonormal sparsifying transforms, learned from data."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from fost._threads import get_num_threads, set_num_threads
from fost.coding import select
from fost.learning import Full, LearningResult, Reflectors, Rotations, Structure, learn
from fost.pursuit import omp
from fost.transforms import DCT, Chain, Dense, Givens, Householder, Transform, load

if TYPE_CHECKING:
    from fost import baselines, diagnostics
    from fost.estimators import (
        AutoDictionary,
        GivensDictionary,
        HouseholderDictionary,
        OrthonormalDictionary,
    )
    from fost.plotting import plot_frontier

__version__ = version("fost")

__all__ = [
    "DCT",
    "AutoDictionary",
    "Chain",
    "Dense",
    "Full",
    "Givens",
    "GivensDictionary",
    "Householder",
    "HouseholderDictionary",
    "LearningResult",
    "OrthonormalDictionary",
    "Reflectors",
    "Rotations",
    "Structure",
    "Transform",
    "baselines",
    "diagnostics",
    "get_num_threads",
    "learn",
    "load",
    "omp",
    "plot_frontier",
    "select",
    "set_num_threads",
]


_LATE = {
    "AutoDictionary": "fost.estimators",
    "GivensDictionary": "fost.estimators",
    "HouseholderDictionary": "fost.estimators",
    "OrthonormalDictionary": "fost.estimators",
    "plot_frontier": "fost.plotting",
}
_LATE_MODULES = {"baselines", "diagnostics"}


def __getattr__(name: str) -> Any:
    # These come when they are asked for: scikit-learn takes a second to import.
    if name in _LATE_MODULES:
        return import_module(f"fost.{name}")
    module = _LATE.get(name)
    if module:
        return getattr(import_module(module), name)
    raise AttributeError(f"module 'fost' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
