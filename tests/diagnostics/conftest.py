from __future__ import annotations

import sys
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

Array = NDArray[Any]


def plain_omp(Y: Array, atoms: Array, n_nonzero_coefs: int) -> csr_array:
    """Orthogonal matching pursuit, plainly: the most correlated atom, least squares."""
    X = np.zeros((len(Y), len(atoms)))
    for y, x in zip(Y, X, strict=True):
        chosen: list[int] = []
        rest = y
        for _ in range(n_nonzero_coefs):
            chosen.append(int(np.argmax(np.abs(atoms @ rest))))
            chosen = sorted(set(chosen))
            x[chosen] = np.linalg.lstsq(atoms[chosen].T, y, rcond=None)[0]
            rest = y - x @ atoms
    return csr_array(X)


@pytest.fixture
def pursuit(monkeypatch: pytest.MonkeyPatch) -> None:
    """`fost.pursuit`, or the plain one in its place where fost has none."""
    if find_spec("fost.pursuit") is None:
        module = ModuleType("fost.pursuit")
        module.omp = plain_omp  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "fost.pursuit", module)
