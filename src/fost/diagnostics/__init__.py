"""Diagnostics of dictionaries: the remarks of the paper as functions.

Each function takes a dictionary and signals in rows, and passes over the signals once. The
dictionary is a transform, a fitted estimator, a result of `fost.learn` or atoms in rows. The
function returns a small result object: ``print`` states it in words, and its attributes are the
numbers. `report` runs all of them.
"""

from fost.diagnostics.coherence import mutual_coherence
from fost.diagnostics.flops import batch_omp_flops, omp_cholesky_flops, speed_ups
from fost.diagnostics.local_minima import gershgorin, procrustes, symmetry
from fost.diagnostics.reflectors import each_reflector, one_more_reflector
from fost.diagnostics.report import report
from fost.diagnostics.spectrum import spectrum, symmetric_bound

__all__ = [
    "batch_omp_flops",
    "each_reflector",
    "gershgorin",
    "mutual_coherence",
    "omp_cholesky_flops",
    "one_more_reflector",
    "procrustes",
    "report",
    "spectrum",
    "speed_ups",
    "symmetric_bound",
    "symmetry",
]
