"""Signals with gaps: what is missing of them, by what is usual for signals like them.

What is usual is a Gaussian, or a mixture of them (`Mixture`), whose covariances are transforms with
a variance for each coefficient. It is learned from signals that have gaps themselves (`learn`), by
sums over them.
"""

from fost.gaps.gaussian import Gaussian
from fost.gaps.learning import learn
from fost.gaps.mixture import Mixture
from fost.gaps.storage import load

__all__ = ["Gaussian", "Mixture", "learn", "load"]
