"""Learning transforms from data by alternating minimisation.

`fost.learn` is the entry point. This package exports the interface for extensions. A new structure
derives from `Structure`, is registered by `register`, and works on a `Problem` and a `Statistic`.
"""

# Importing the modules of structures registers them.
from fost._checkpoints import CheckpointError
from fost.learning import orthonormal, reflectors, rotations  # noqa: F401
from fost.learning.registry import register, registered_structures
from fost.learning.state import InterruptedWarning, ObjectiveRoseWarning
from fost.learning.statistics import Statistic
from fost.learning.structure import CandidateSizes, Problem, Structure
from fost.learning.training_data import as_training_data

__all__ = [
    "CandidateSizes",
    "CheckpointError",
    "InterruptedWarning",
    "ObjectiveRoseWarning",
    "Problem",
    "Statistic",
    "Structure",
    "as_training_data",
    "register",
    "registered_structures",
]
