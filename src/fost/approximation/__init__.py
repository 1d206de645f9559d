"""Given matrices as fast transforms: eigenvectors and orthonormal matrices by short chains."""

from fost.approximation.approximate import Approximation, approximate
from fost.approximation.eigh import EighResult, eigh

__all__ = ["Approximation", "EighResult", "approximate", "eigh"]
