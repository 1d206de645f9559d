"""Learning transforms from data: one loop, many structures."""

from fost.learning.full import Full
from fost.learning.loop import LearningResult, ObjectiveRoseWarning, learn
from fost.learning.reflectors import Reflectors
from fost.learning.rotations import Rotations
from fost.learning.sources import as_source
from fost.learning.structure import Structure

__all__ = [
    "Full",
    "LearningResult",
    "ObjectiveRoseWarning",
    "Reflectors",
    "Rotations",
    "Structure",
    "as_source",
    "learn",
]
