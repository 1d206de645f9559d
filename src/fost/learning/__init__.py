"""Learning transforms from data: one loop, many structures."""

from fost.learning.bank import BankOf
from fost.learning.checkpoint import CheckpointError
from fost.learning.ladder import Ladder
from fost.learning.loop import learn
from fost.learning.orthonormal import Orthonormal
from fost.learning.reflectors import Reflectors
from fost.learning.registry import kinds, register
from fost.learning.rotations import Rotations
from fost.learning.sources import Source, Statistic, as_source
from fost.learning.state import InterruptedWarning, LearningResult, ObjectiveRoseWarning
from fost.learning.structure import Problem, Structure
from fost.learning.union import UnionOf

__all__ = [
    "BankOf",
    "CheckpointError",
    "InterruptedWarning",
    "Ladder",
    "LearningResult",
    "ObjectiveRoseWarning",
    "Orthonormal",
    "Problem",
    "Reflectors",
    "Rotations",
    "Source",
    "Statistic",
    "Structure",
    "UnionOf",
    "as_source",
    "kinds",
    "learn",
    "register",
]
