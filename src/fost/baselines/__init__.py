"""General dictionaries, the strong and slow relatives that fost is compared with.

Their atoms are free: not orthonormal, and as many as one likes. Coding takes orthogonal
matching pursuit (`fost.omp`) instead of a transform and a selection.
"""

from fost.baselines.dictionary import GeneralDictionary
from fost.baselines.ksvd import KSVD
from fost.baselines.mod import MOD
from fost.baselines.stagewise import StagewiseKSVD

__all__ = ["KSVD", "MOD", "GeneralDictionary", "StagewiseKSVD"]
