"""Unions against matching pursuit in general dictionaries, fost's and SPAMS'."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fost
from benchmarks.banks import LARGE, LARGE_S, S, mixed
from benchmarks.bench_pursuit import imported, spams_omp
from benchmarks.harness import Report, threads


def run(report: Report, quick: bool = False) -> None:
    with threads(1):
        _compare(report, *mixed(), 8, S, 256, ">= 1.5", quick)
        _compare(report, *mixed(LARGE), LARGE, LARGE_S, 1024, ">= 4", quick)


def _compare(
    report: Report,
    train: NDArray[Any],
    test: NDArray[Any],
    patch: int,
    s: int,
    n_atoms: int,
    target: str,
    quick: bool,
) -> None:
    """As many rotations as features in each of 8 members, against so many free atoms."""
    if quick:
        train, test = train[:2048], test[:2048]
    n = patch * patch
    report.section(
        f"Unions, 8 x DCT + {n} rotations, N = {len(test):,}, s = {s}, float32, one thread",
        "ns per signal",
    )
    options: dict[str, Any] = {"base": fost.DCT((patch, patch)), "random_state": 0}
    structure = fost.UnionOf(fost.Rotations(n), 8)
    union = fost.learn(train, structure, s, max_iter=3, **options).transform
    ksvd = fost.baselines.KSVD(n_atoms, s, max_iter=3, random_state=0).fit(train)
    atoms = np.ascontiguousarray(ksvd.components_, dtype=np.float32)
    encode = partial(union.encode, test, s)
    prepared = partial(fost.omp, test, fost.Atoms(atoms), s)
    report.compare("encode", encode, f"fost.omp, {n_atoms:,} atoms", prepared, len(test), 9, target)
    spams = imported("spams")
    if spams:
        theirs = spams_omp(spams, np.asfortranarray(test.T), atoms, s)
        name = f"SPAMS omp, {n_atoms:,} atoms"
        report.compare("encode", encode, name, theirs, len(test), 5, ">= 3")
