"""Selection of a structure and its size: candidates, successive halving, selection criteria."""

from fost.model_selection.candidates import Candidate, Frontier

__all__ = ["Candidate", "Frontier"]
