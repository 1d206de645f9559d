"""Baselines: general (overcomplete, non-orthonormal) dictionaries to compare with.

Signals are coded in them by orthogonal matching pursuit (`fost.omp`), which is slower than the
transform and selection of an orthonormal dictionary.
"""

from fost.baselines.general_dictionary import GeneralDictionary
from fost.baselines.ksvd import KSVD
from fost.baselines.mod import MOD
from fost.baselines.stagewise_ksvd import StagewiseKSVD

__all__ = ["KSVD", "MOD", "GeneralDictionary", "StagewiseKSVD"]
