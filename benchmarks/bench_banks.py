"""Banks against matching pursuit in a general dictionary, and against fewer members."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fost
from benchmarks.banks import S, mixed
from benchmarks.bench_pursuit import atoms_from, imported, spams_omp
from benchmarks.harness import Report, own_threads, threads


def run(report: Report, quick: bool = False) -> None:
    train, test = mixed()
    if quick:
        train, test = train[:4096], test[:4096]
    sizes = (1, 2, 8) if quick else (1, 2, 4, 8, 16, 32)
    banks = {count: _bank(train, count) for count in sizes}
    _pursuit(report, train, test, banks[8])
    _growth(report, test, banks)
    _learning(report, train, banks)
    _two_threads(report, test, banks[8])


def _bank(Y: NDArray[Any], count: int) -> fost.Bank:
    structure = fost.BankOf(fost.Rotations(64), count)
    return fost.learn(  # type: ignore[return-value]
        Y, structure, S, base=fost.DCT((8, 8)), max_iter=10, random_state=0
    ).transform


def _pursuit(report: Report, train: NDArray[Any], Y: NDArray[Any], bank: fost.Bank) -> None:
    report.section(
        f"Banks, 8 x DCT + 64 rotations, N = {len(Y):,}, n = 64, s = {S}, {Y.dtype}, one thread",
        "ns per signal",
    )
    with threads(1):
        for count, target in ((256, ">= 5"), (64, "")):
            report.compare(
                "encode",
                partial(bank.encode, Y, S),
                f"fost.omp, {count} atoms",
                partial(fost.omp, Y, atoms_from(train, count), S),
                len(Y),
                15,
                target,
            )
        spams = imported("spams")
        if spams:
            theirs = spams_omp(spams, np.asfortranarray(Y.T), atoms_from(train, 64), S)
            report.compare(
                "encode",
                partial(bank.encode, Y, S),
                "SPAMS omp, 64 atoms",
                theirs,
                len(Y),
                15,
                ">= 5",
            )


def _growth(report: Report, Y: NDArray[Any], banks: dict[int, fost.Bank]) -> None:
    report.section("Banks of more and more members, float32, one thread", "ns per signal")
    sizes = list(banks)
    with threads(1):
        for few, many in pairwise(sizes):
            report.compare(
                f"encode, {few} members",
                partial(banks[few].encode, Y, S),
                f"{many} members",
                partial(banks[many].encode, Y, S),
                len(Y),
            )


def _learning(report: Report, Y: NDArray[Any], banks: dict[int, fost.Bank]) -> None:
    iterations = 10
    report.section(
        f"An iteration of learning, N = {len(Y):,}, float32, one thread",
        "ns per signal and iteration, DCT + 64 rotations",
    )

    def learn(count: int) -> None:
        structure = fost.BankOf(fost.Rotations(64), count)
        options: dict[str, Any] = {"base": fost.DCT((8, 8)), "init": banks[count]}
        fost.learn(Y, structure, S, max_iter=iterations, tol=0, random_state=0, **options)

    with threads(1):
        report.compare(
            "1 member",
            lambda: learn(1),
            "8 members",
            lambda: learn(8),
            len(Y) * iterations,
            7,
            "<= 10",
        )


def _two_threads(report: Report, Y: NDArray[Any], bank: fost.Bank) -> None:
    def encode(count: int) -> None:
        with own_threads(count):
            bank.encode(Y, S)

    report.section("8 members with two threads, float32", "ns per signal")
    report.compare("encode", lambda: encode(2), "one thread", lambda: encode(1), len(Y))
