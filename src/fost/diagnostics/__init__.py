"""Is a dictionary good, is it a local minimum, what does it cost? The paper's remarks as functions.

Each function takes a dictionary (a transform, a fitted estimator, a result of `fost.learn` or
atoms in rows) and signals in rows, passes over the signals once and returns a small result:
``print`` says in words what it means, its fields have the numbers. `report` does everything.
"""

from fost.diagnostics.bounds import SymmetricBound, symmetric_bound
from fost.diagnostics.coherence import mutual_coherence
from fost.diagnostics.disks import Gershgorin, gershgorin
from fost.diagnostics.eigenvalues import Spectrum, spectrum
from fost.diagnostics.operations import (
    Costs,
    batch_omp_flops,
    cosine_flops,
    costs,
    dense_flops,
    omp_cholesky_flops,
    reflector_flops,
)
from fost.diagnostics.plane import Plane, plane
from fost.diagnostics.reflectors import (
    EachReflector,
    OneMoreReflector,
    each_reflector,
    one_more_reflector,
)
from fost.diagnostics.remarks import (
    Procrustes,
    Symmetry,
    procrustes,
    symmetry,
)
from fost.diagnostics.summary import Report, report

__all__ = [
    "Costs",
    "EachReflector",
    "Gershgorin",
    "OneMoreReflector",
    "Plane",
    "Procrustes",
    "Report",
    "Spectrum",
    "SymmetricBound",
    "Symmetry",
    "batch_omp_flops",
    "cosine_flops",
    "costs",
    "dense_flops",
    "each_reflector",
    "gershgorin",
    "mutual_coherence",
    "omp_cholesky_flops",
    "one_more_reflector",
    "plane",
    "procrustes",
    "reflector_flops",
    "report",
    "spectrum",
    "symmetric_bound",
    "symmetry",
]
