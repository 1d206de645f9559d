"""Types of the compiled module; src/core/*bindings.cpp are its source."""

from collections.abc import Sequence
from types import CapsuleType  # type: ignore[attr-defined]
from typing import Any

import numpy as np
from numpy.typing import NDArray

NOT_FINITE: int
PITCH: int
FEW_SIGNALS: int

class Coder:
    @property
    def n_features(self) -> int: ...
    @property
    def n_atoms(self) -> int: ...
    @property
    def uses_blas(self) -> bool: ...
    @property
    def operations(self) -> float: ...
    def encode(
        self,
        y: NDArray[Any],
        s: int,
        values: NDArray[Any],
        indices: NDArray[np.int32],
        indptr: NDArray[Any],
    ) -> int: ...
    def encode_within(
        self, y: NDArray[Any], s: int, tol: float, threshold: float
    ) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int64]] | None: ...
    def shrink(
        self,
        image: NDArray[Any],
        pilot: NDArray[Any] | None,
        height: int,
        width: int,
        tops: NDArray[np.int32],
        lefts: NDArray[np.int32],
        level: float,
        sharpness: float,
        sums: NDArray[Any],
        weights: NDArray[Any],
    ) -> None: ...
    def accumulate(self, y: NDArray[Any], s: int, matrix: NDArray[np.float64]) -> float: ...

class Plan(Coder):
    def __init__(self, n_features: int) -> None: ...
    def add_reflectors(self, vectors: NDArray[np.float64]) -> None: ...
    def add_rotations(self, pairs: NDArray[np.int32], blocks: NDArray[np.float64]) -> None: ...
    def add_cosine(self, shape: Sequence[int]) -> None: ...
    def add_dense(self, matrix: NDArray[np.float64]) -> None: ...
    def add_plan(self, other: Plan, transposed: bool = False) -> None: ...
    def apply(self, y: NDArray[Any], out: NDArray[Any], inverse: bool) -> bool: ...
    def decode(
        self,
        values: NDArray[Any],
        indices: NDArray[np.int32],
        indptr: NDArray[Any],
        out: NDArray[Any],
    ) -> int: ...

class Bank(Coder):
    def __init__(self, base: Plan, members: Sequence[Plan]) -> None: ...

class Union:
    @property
    def uses_blas(self) -> bool: ...
    def __init__(self, base: Plan, members: Sequence[Plan], atoms: NDArray[np.int32]) -> None: ...
    def pursue(
        self,
        gram: NDArray[Any],
        y: NDArray[Any],
        s: int,
        tol: float,
        values: NDArray[Any],
        indices: NDArray[np.int32],
        indptr: NDArray[Any],
    ) -> int: ...

def code_sums(
    values: NDArray[Any],
    indices: NDArray[np.int32],
    indptr: NDArray[np.int64],
    y: NDArray[Any],
    matrix: NDArray[np.float64],
    products: NDArray[np.float64],
) -> None: ...
def sum_atoms(
    atoms: NDArray[Any],
    values: NDArray[Any],
    indices: NDArray[np.int32],
    indptr: NDArray[Any],
    out: NDArray[Any],
) -> int: ...
def squared_norms(rows: NDArray[Any], out: NDArray[np.float64]) -> None: ...
def inner_products(atoms: NDArray[Any], gram: NDArray[Any]) -> None: ...
def pursue(
    atoms: NDArray[Any],
    gram: NDArray[Any] | None,
    scales: NDArray[Any] | None,
    squares: NDArray[Any] | None,
    y: NDArray[Any],
    missing: NDArray[np.bool_] | None,
    s: int,
    tol: float,
    values: NDArray[Any],
    indices: NDArray[np.int32],
    indptr: NDArray[Any],
) -> int: ...
def sweep_atoms(
    atoms: NDArray[Any],
    residual: NDArray[Any],
    values: NDArray[Any],
    begins: NDArray[np.int64],
    rows: NDArray[np.int32],
    places: NDArray[np.int64],
    order: NDArray[np.int32],
) -> None: ...
def set_gemm(single: CapsuleType, full: CapsuleType) -> None: ...
def set_stemr(stemr: CapsuleType) -> None: ...
def sweep_reflectors(
    statistic: NDArray[np.float64],
    vectors: NDArray[np.float64],
    order: NDArray[np.int32],
    begins: NDArray[np.int32],
) -> None: ...
def lowest_eigenvectors(statistic: NDArray[np.float64], vectors: NDArray[np.float64]) -> None: ...
def sweep_rotations(
    statistic: NDArray[np.float64],
    pairs: NDArray[np.int32],
    blocks: NDArray[np.float64],
    gains: NDArray[np.float64],
    least: float,
) -> int: ...
def condition(
    mean: NDArray[np.float64],
    covariance: NDArray[np.float64],
    precision: NDArray[np.float64],
    log_determinant: float,
    rows: NDArray[np.float64],
    missing: NDArray[np.bool_],
    weights: NDArray[np.float64] | None,
    densities: NDArray[np.float64] | None,
    variances: NDArray[np.float64] | None,
    sum: NDArray[np.float64] | None,
) -> None: ...
def registers_clean() -> bool | None: ...
def available_isas() -> list[str]: ...
def get_isa() -> str: ...
def set_isa(name: str) -> None: ...
def get_num_threads() -> int: ...
def set_num_threads(n_threads: int) -> None: ...
def limit_threads(n_threads: int) -> int: ...
