"""Fast orthonormal sparsifying transforms, learned from data."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fost import _core as _core  # validates environment variables on import

if TYPE_CHECKING:
    from fost import baselines, diagnostics, export, images, imputation, restoration
    from fost._threads import get_num_threads, set_num_threads
    from fost.approximation.approximate import approximate
    from fost.approximation.eigh import eigh
    from fost.baselines.sparse_ksvd import SparseKSVD
    from fost.coding.atoms import Atoms
    from fost.coding.omp import omp
    from fost.coding.selection import select
    from fost.estimators import (
        AutoDictionary,
        BankDictionary,
        CirculantDictionary,
        FastPCA,
        GivensDictionary,
        HouseholderDictionary,
        Imputer,
        OrthonormalDictionary,
        UnionDictionary,
    )
    from fost.learning import Structure
    from fost.learning.bank import BankOf
    from fost.learning.circulant import Circulants
    from fost.learning.learn import learn
    from fost.learning.orthonormal import Orthonormal
    from fost.learning.reflectors import Reflectors
    from fost.learning.rotations import Rotations
    from fost.learning.state import LearningResult
    from fost.learning.union import UnionOf
    from fost.plotting import plot_frontier
    from fost.transforms import (
        DCT,
        Bank,
        Chain,
        Circulant,
        Coder,
        Dense,
        Givens,
        Hadamard,
        Householder,
        SparseDictionary,
        Transform,
        Union,
        Wavelet,
        load,
    )

    __version__: str

__all__ = [
    "DCT",
    "Atoms",
    "AutoDictionary",
    "Bank",
    "BankDictionary",
    "BankOf",
    "Chain",
    "Circulant",
    "CirculantDictionary",
    "Circulants",
    "Coder",
    "Dense",
    "FastPCA",
    "Givens",
    "GivensDictionary",
    "Hadamard",
    "Householder",
    "HouseholderDictionary",
    "Imputer",
    "LearningResult",
    "Orthonormal",
    "OrthonormalDictionary",
    "Reflectors",
    "Rotations",
    "SparseDictionary",
    "SparseKSVD",
    "Structure",
    "Transform",
    "Union",
    "UnionDictionary",
    "UnionOf",
    "Wavelet",
    "approximate",
    "baselines",
    "diagnostics",
    "eigh",
    "export",
    "get_num_threads",
    "images",
    "imputation",
    "learn",
    "load",
    "omp",
    "plot_frontier",
    "restoration",
    "select",
    "set_num_threads",
]

# Modules of the public names, which are imported on first use: SciPy and scikit-learn take half a
# second each to import, and the command line needs neither to print its help.
_LATE = {
    "fost._threads": ("get_num_threads", "set_num_threads"),
    "fost.approximation.approximate": ("approximate",),
    "fost.approximation.eigh": ("eigh",),
    "fost.baselines.sparse_ksvd": ("SparseKSVD",),
    "fost.coding": ("Atoms", "omp", "select"),
    "fost.estimators": (
        "AutoDictionary",
        "BankDictionary",
        "CirculantDictionary",
        "FastPCA",
        "GivensDictionary",
        "HouseholderDictionary",
        "Imputer",
        "OrthonormalDictionary",
        "UnionDictionary",
    ),
    "fost.learning": ("Structure",),
    "fost.learning.bank": ("BankOf",),
    "fost.learning.circulant": ("Circulants",),
    "fost.learning.learn": ("learn",),
    "fost.learning.orthonormal": ("Orthonormal",),
    "fost.learning.reflectors": ("Reflectors",),
    "fost.learning.rotations": ("Rotations",),
    "fost.learning.state": ("LearningResult",),
    "fost.learning.union": ("UnionOf",),
    "fost.plotting": ("plot_frontier",),
    "fost.transforms": (
        "DCT",
        "Bank",
        "Chain",
        "Circulant",
        "Coder",
        "Dense",
        "Givens",
        "Hadamard",
        "Householder",
        "SparseDictionary",
        "Transform",
        "Union",
        "Wavelet",
        "load",
    ),
}
_LATE_MODULES = ("baselines", "diagnostics", "export", "images", "imputation", "restoration")
_PLACES = {name: module for module, names in _LATE.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("fost")
    elif name in _LATE_MODULES:
        value = import_module(f"fost.{name}")
    elif name in _PLACES:
        value = getattr(import_module(_PLACES[name]), name)
    else:
        raise AttributeError(f"module 'fost' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
