"""Types of the compiled module; src/core/bindings/ is its source."""

from collections.abc import Sequence
from types import CapsuleType  # type: ignore[attr-defined]

import numpy as np
from numpy.typing import NDArray

from fost._typing import Numbers

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
        y: Numbers,
        s: int,
        values: Numbers,
        indices: NDArray[np.int32],
        indptr: Numbers,
    ) -> int: ...
    def encode_within(
        self, y: Numbers, s: int, tol: float, threshold: float
    ) -> tuple[Numbers, NDArray[np.int32], NDArray[np.int64]] | None: ...
    def shrink(
        self,
        volume: Numbers,
        pilot: Numbers | None,
        depth: int,
        height: int,
        width: int,
        fronts: NDArray[np.int32],
        tops: NDArray[np.int32],
        lefts: NDArray[np.int32],
        level: float,
        deviations: Numbers | None,
        sharpness: float,
        sums: Numbers,
        weights: Numbers,
    ) -> None: ...
    def shrink_on(
        self,
        estimate: Numbers,
        velocity: Numbers,
        missing: NDArray[np.bool_],
        depth: int,
        height: int,
        width: int,
        fronts: NDArray[np.int32],
        tops: NDArray[np.int32],
        lefts: NDArray[np.int32],
        level: float,
        sharpness: float,
        relaxation: float,
        momentum: float,
        sums: Numbers,
        weights: Numbers,
    ) -> None: ...
    def accumulate(self, y: Numbers, s: int, matrix: NDArray[np.float64]) -> float: ...

class Plan(Coder):
    def __init__(self, n_features: int) -> None: ...
    def add_reflectors(self, vectors: NDArray[np.float64]) -> None: ...
    def add_rotations(self, pairs: NDArray[np.int32], blocks: NDArray[np.float64]) -> None: ...
    def add_cosine(self, shape: Sequence[int]) -> None: ...
    def add_dense(self, matrix: NDArray[np.float64]) -> None: ...
    def add_plan(self, other: Plan, transposed: bool = False) -> None: ...
    def apply(self, y: Numbers, out: Numbers, inverse: bool) -> bool: ...
    def decode(
        self,
        values: Numbers,
        indices: NDArray[np.int32],
        indptr: Numbers,
        out: Numbers,
    ) -> int: ...

class Bank(Coder):
    def __init__(self, base: Plan, members: Sequence[Plan]) -> None: ...

class Union:
    @property
    def uses_blas(self) -> bool: ...
    def __init__(
        self,
        base: Plan,
        members: Sequence[Plan],
        indices: NDArray[np.int32],
        atoms: NDArray[np.float64],
    ) -> None: ...
    @property
    def can_screen(self) -> bool: ...
    def by_residuals(self, rows: int, s: int, within: bool) -> bool: ...
    def pursue(
        self,
        gram: Numbers,
        y: Numbers,
        s: int,
        tol: float,
        residuals: bool,
        values: Numbers,
        indices: NDArray[np.int32],
        indptr: Numbers,
    ) -> int: ...

def code_sums(
    values: Numbers,
    indices: NDArray[np.int32],
    indptr: NDArray[np.int64],
    y: Numbers,
    matrix: NDArray[np.float64],
    products: NDArray[np.float64],
) -> None: ...
def sum_atoms(
    atoms: Numbers,
    values: Numbers,
    indices: NDArray[np.int32],
    indptr: Numbers,
    out: Numbers,
) -> int: ...
def mark_signals(y: Numbers, marks: NDArray[np.uint64]) -> None: ...
def squared_norms(rows: Numbers) -> tuple[float, float]: ...
def inner_products(atoms: Numbers, gram: Numbers) -> None: ...
def pursue(
    atoms: Numbers,
    gram: Numbers | None,
    scales: Numbers | None,
    squares: Numbers | None,
    y: Numbers,
    missing: NDArray[np.bool_] | None,
    s: int,
    tol: float,
    values: Numbers,
    indices: NDArray[np.int32],
    indptr: Numbers,
) -> int: ...
def sweep_atoms(
    atoms: Numbers,
    residual: Numbers,
    values: Numbers,
    begins: NDArray[np.int64],
    rows: NDArray[np.int32],
    places: NDArray[np.int64],
    order: NDArray[np.int32],
    entries: int,
) -> None: ...
def pursue_sparse(
    base: Plan,
    entries: Numbers,
    places: NDArray[np.int32],
    gram: Numbers,
    y: Numbers,
    s: int,
    tol: float,
    values: Numbers,
    indices: NDArray[np.int32],
    indptr: Numbers,
) -> int: ...
def set_gemm(single: CapsuleType, full: CapsuleType) -> None: ...
def set_stemr(stemr: CapsuleType) -> None: ...
def sweep_reflectors(
    statistic: NDArray[np.float64],
    vectors: NDArray[np.float64],
    order: NDArray[np.int32],
    begins: NDArray[np.int32],
    single: bool = False,
) -> None: ...
def lowest_eigenvectors(statistic: NDArray[np.float64], vectors: NDArray[np.float64]) -> None: ...
def solve_procrustes(
    statistic: NDArray[np.float64], current: NDArray[np.float64], found: NDArray[np.float64]
) -> bool: ...
def sweep_rotations(
    statistic: NDArray[np.float64],
    pairs: NDArray[np.int32],
    blocks: NDArray[np.float64],
    gains: NDArray[np.float64],
    least: float,
) -> int: ...
def greedy_rotations(
    a: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    pairs: NDArray[np.int32],
    angles: NDArray[np.float64],
    gains: NDArray[np.float64],
    least: float,
    enough: float,
) -> int: ...
def sweep_angles(
    a: NDArray[np.float64],
    d: NDArray[np.float64],
    pairs: NDArray[np.int32],
    angles: NDArray[np.float64],
    gains: NDArray[np.float64],
    backward: bool,
) -> None: ...
def propose_rotations(
    a: NDArray[np.float64],
    d: NDArray[np.float64],
    pairs: NDArray[np.int32],
    angles: NDArray[np.float64],
    partners: NDArray[np.int32],
    scores: NDArray[np.float64],
) -> None: ...
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
    every: int = 1,
) -> None: ...
def condition_members(
    means: Sequence[NDArray[np.float64]],
    covariances: Sequence[NDArray[np.float64]],
    precisions: Sequence[NDArray[np.float64]],
    log_determinants: Sequence[float],
    rows: NDArray[np.float64],
    missing: NDArray[np.bool_],
    used: NDArray[np.int64],
    begins: NDArray[np.int64],
    weights: NDArray[np.float64] | None,
    filled: NDArray[np.float64] | None,
    densities: NDArray[np.float64] | None,
    variances: NDArray[np.float64] | None,
    sums: NDArray[np.float64] | None,
) -> None: ...
def invert_covariances(
    covariances: Sequence[NDArray[np.float64]],
    inverses: Sequence[NDArray[np.float64]],
    log_determinants: NDArray[np.float64],
) -> None: ...
def find_energies(
    rows: NDArray[np.float32],
    means: NDArray[np.float32],
    precisions: NDArray[np.float32],
    energies: NDArray[np.float32],
) -> None: ...
def advance(
    estimate: Numbers,
    velocity: Numbers,
    sums: Numbers,
    weights: Numbers,
    missing: NDArray[np.bool_],
    relaxation: float,
    momentum: float,
) -> None: ...
def filter_groups(
    images: Numbers,
    pilots: Numbers,
    guide: Numbers,
    window: Numbers,
    steps: Sequence[int],
    reach: Sequence[int],
    most: int,
    level: float,
    inverse: Numbers | None,
    sums: Numbers,
    weights: Numbers,
) -> None: ...
def registers_clean() -> bool | None: ...
def available_isas() -> list[str]: ...
def get_isa() -> str: ...
def set_isa(name: str) -> None: ...
def get_num_threads() -> int: ...
def set_num_threads(n_threads: int) -> None: ...
def limit_threads(n_threads: int) -> int: ...
