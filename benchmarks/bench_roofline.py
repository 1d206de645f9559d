"""How far each kernel is from what the machine could do.

The bound of a kernel is the larger of two times: its operations at the rate of BLAS's product of
matrices, which is all but the peak of fused multiply-adds, and its bytes at the rate at
which `np.copyto` reads and writes memory. One table is of signals that stay in the second-level
cache, where only operations count, the other of more than any cache holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fost
from benchmarks.data import noise, reflectors, rotations
from benchmarks.harness import Report, least_time, threads
from fost.learning.statistics import accumulate

S = 4
N = 64
IN_CACHE, IN_MEMORY = 2048, 400_000
SIDE = 384  # of the matrices that BLAS multiplies


@dataclass(frozen=True)
class Machine:
    """What was measured on one thread: operations of each type, and bytes, per nanosecond."""

    peaks: dict[str, float]
    bandwidth: float


@dataclass(frozen=True)
class Kernel:
    """A call, and for each signal its operations by type and the bytes that it moves."""

    name: str
    call: Callable[[], Any]
    operations: dict[str, int]
    moved: int
    # A call that is a part of it, whose time does not count.
    beyond: Callable[[], Any] | None = None


def run(report: Report, quick: bool = False) -> None:
    many = IN_MEMORY // 8 if quick else IN_MEMORY
    with threads(1):
        machine = measured()
        print("\nRoofline, one thread")
        for name, peak in machine.peaks.items():
            print(f"  {peak:.0f} operations in {name} per nanosecond")
        print(f"  {machine.bandwidth:.1f} bytes per nanosecond, read or written")
        _table(machine, IN_CACHE, from_memory=False)
        _table(machine, many, from_memory=True)
        print(
            "\n  What else bounds them: rotations, loads and stores of each step; the statistic\n"
            "  of float32, conversions to float64 (with AVX2 twice its multiply-adds);\n"
            "  short transforms, the transposition of tiles on the way in and out."
        )


def measured() -> Machine:
    """The rates of this machine."""
    peaks = {}
    for dtype in (np.float32, np.float64):
        # Small enough to be done before anything else on the machine gets its turn.
        A = noise(SIDE, SIDE, dtype)
        seconds = least_time(partial(np.matmul, A, A, out=np.empty_like(A)), 200)
        peaks[A.dtype.name] = 2e-9 * SIDE**3 / seconds
    Y = noise(IN_MEMORY, N, np.float32)
    seconds = least_time(partial(np.copyto, np.empty_like(Y), Y), 10)
    return Machine(peaks, 2e-9 * Y.nbytes / seconds)


def _table(machine: Machine, n_signals: int, from_memory: bool) -> None:
    print(f"\n  {n_signals:,} signals of {N}, {'from memory' if from_memory else 'in cache'}")
    print(f"  {'kernel':<46} {'ns':>8} {'bound':>8} {'ns/bound':>9}  bound by")
    for dtype in (np.float32, np.float64):
        for kernel in _kernels(noise(n_signals, N, dtype)):
            repeats = 5 if from_memory else 30
            seconds = least_time(kernel.call, repeats)
            seconds -= least_time(kernel.beyond, repeats) if kernel.beyond else 0
            nanoseconds = seconds / n_signals * 1e9
            computing = sum(count / machine.peaks[t] for t, count in kernel.operations.items())
            moving = kernel.moved / machine.bandwidth if from_memory else 0.0
            bound, by = max((computing, "operations"), (moving, "memory"))
            print(
                f"  {f'{kernel.name}, {np.dtype(dtype)}':<46} {nanoseconds:>8.1f} {bound:>8.1f} "
                f"{nanoseconds / bound:>9.1f}  {by}",
                flush=True,
            )


def _kernels(Y: NDArray[Any]) -> Iterator[Kernel]:
    kind, row, codes = Y.dtype.name, Y.itemsize * N, S * (Y.itemsize + 4) + 4
    dct, reflected = fost.DCT((8, 8)), reflectors(12, N)
    transforms: dict[str, fost.Transform] = {
        "8 x 8 DCT": dct,
        "DCT + 64 rotations": fost.Chain([dct, rotations(64, N)]),
        "12 reflectors": reflected,
        "dense": fost.Dense(fost.DCT(N).matrix),
    }
    for name, U in transforms.items():
        yield Kernel(f"forward, {name}", partial(U.forward, Y), {kind: U.flops}, 2 * row)
        yield Kernel(f"encode, {name}", partial(U.encode, Y, S), {kind: U.flops}, row + codes)
    sparse = dct.encode(Y, S)
    yield Kernel("decode", partial(dct.decode, sparse), {kind: 2 * S * N}, row + codes)
    # What a pass of learning does with the codes: s products and sums of n numbers.
    statistic, encode = (partial(accumulate, dct._plan, Y, S), partial(dct.encode, Y, S))
    yield Kernel("statistic beyond encode, DCT", statistic, {"float64": 2 * S * N}, 0, encode)
