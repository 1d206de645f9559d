"""Learning transforms from data: one loop, many structures."""

from fost.learning.bank import BankOf
from fost.learning.checkpoint import CheckpointError
from fost.learning.full import Full
from fost.learning.loop import learn
from fost.learning.reflectors import Reflectors
from fost.learning.rotations import Rotations
from fost.learning.sources import as_source
from fost.learning.state import LearningResult, ObjectiveRoseWarning
from fost.learning.structure import Structure

__all__ = [
    "BankOf",
    "CheckpointError",
    "Full",
    "LearningResult",
    "ObjectiveRoseWarning",
    "Reflectors",
    "Rotations",
    "Structure",
    "as_source",
    "learn",
]
