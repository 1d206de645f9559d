"""Transforms in PyTorch: operations with gradients, and a layer with trainable parameters.

PyTorch is optional (``pip install torch``), and fost never imports this module by itself.
"""

from __future__ import annotations

import numpy as np
import torch

from fost.transforms import Chain, Dense, Givens, Householder, Transform
from fost.transforms.base import Transposed

# Transforms by the number that operations pass on; an operation of PyTorch takes no other objects.
# Entries stay, because compiled graphs hold these numbers.
_TRANSFORMS: list[Transform] = []


def _number_of(transform: Transform) -> int:
    number: int | None = vars(transform).get("_torch_number")
    if number is None:
        if not isinstance(transform, Transform):
            raise TypeError(f"transform must be a transform, got {type(transform).__name__}")
        _TRANSFORMS.append(transform)
        number = vars(transform)["_torch_number"] = len(_TRANSFORMS) - 1
    return number
