"""Learned transforms outside Python: C code, in floating-point and integer arithmetic."""

from fost.export.c import to_c
from fost.export.quantised import Quantised

__all__ = ["Quantised", "to_c"]
