"""Time against the signal length n: where a fast transform starts to pay.

    python -m benchmarks.growth [docs/growth.svg] [--quick]

Times per signal on one thread, float32, the median of interleaved runs: `forward` and `encode` of
fost's transforms, of its dense transform, and of NumPy, SciPy and PyWavelets; and ten iterations of
learning. Signals are random walks without their means. A code keeps n / 16 coefficients.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import scipy.fft
from matplotlib.figure import Figure
from numpy.typing import NDArray

import fost
from benchmarks.data import reflectors, rotations, walks
from benchmarks.harness import threads
from benchmarks.results import Results, Table
from benchmarks.svg import INK, SVG_STYLE, drawn_svg
from reproduction.charts import PALETTE

Signals = NDArray[np.float32]
Methods = dict[str, Callable[[Signals], Any]]
SIZES = [2**k for k in range(4, 14)]
LEARNED = [2**k for k in range(6, 13)]
DENSE_LEARNED = 2048  # a dense transform of more features takes minutes
BUDGET = 2**21  # entries per timed call
REFLECTORS = 16
FIGURES = {"forward": "transform", "encode": "transform and selection", "learn": "learning"}


def coders(n: int) -> dict[str, fost.Transform]:
    """The transforms of fost."""
    random = np.random.default_rng(3).standard_normal((n, n))
    return {
        "fost, DCT": fost.DCT(n),
        f"fost, {REFLECTORS} reflectors": reflectors(REFLECTORS, n),
        "fost, DCT + n rotations": fost.Chain([rotations(n, n), fost.DCT(n)]),
        "fost, dense": fost.Dense(np.linalg.qr(random)[0]),
    }


def competitors(Q: Signals) -> Methods:
    """The same by NumPy, SciPy and PyWavelets, without the selection."""
    found: Methods = {
        "NumPy, Y @ Q": lambda Y: Y @ Q,
        "SciPy, dct": lambda Y: scipy.fft.dct(Y, norm="ortho"),
    }
    try:
        import pywt
    except ImportError:
        return found
    return found | {"PyWavelets, db4": lambda Y: pywt.wavedec(Y, "db4", mode="periodization")}


def product_and_partition(Q: Signals, s: int, Y: Signals) -> Signals:
    """The s largest coefficients by NumPy."""
    C = Y @ Q
    places = np.argpartition(-np.abs(C), s - 1, axis=1)[:, :s]
    return np.take_along_axis(C, places, axis=1)


def timed(methods: Methods, Y: Signals, repeats: int) -> list[float]:
    """Microseconds per signal of each method."""
    for method in methods.values():
        method(Y)
    times = np.zeros((repeats, len(methods)))
    for row in times:
        for k, method in enumerate(methods.values()):
            start = time.process_time()
            method(Y)
            row[k] = time.process_time() - start
    return [float(t) for t in np.median(times, axis=0) / len(Y) * 1e6]


def add(results: Results, name: str, n: int, times: dict[str, float]) -> Table:
    """A row of a table whose columns are the methods of its first row."""
    table = results.tables.get(name)
    if table is None:
        table = results.table(name, {"n": ",", **dict.fromkeys(times, ".3g")})
    table.add(n, *(times.get(column) for column in list(table.columns)[1:]))
    return table


def transforms(results: Results, sizes: list[int], repeats: int) -> None:
    """The tables of `forward` and `encode`."""
    for n in sizes:
        Y, s = walks(n, max(64, BUDGET // n)), n // 16
        ours = coders(n)
        Q = ours["fost, dense"].matrix.astype(np.float32)
        forward = {name: U.forward for name, U in ours.items()} | competitors(Q)
        add(results, "forward", n, dict(zip(forward, timed(forward, Y, repeats), strict=True)))
        encode: Methods = {name: partial(U.encode, n_nonzero_coefs=s) for name, U in ours.items()}
        encode["NumPy, Y @ Q, argpartition"] = partial(product_and_partition, Q, s)
        add(results, "encode", n, dict(zip(encode, timed(encode, Y, repeats), strict=True)))


def learning(results: Results, sizes: list[int]) -> None:
    """Seconds of ten iterations."""
    for n in sizes:
        Y, s = walks(n, 5_000), max(1, n // 16)
        structures: dict[str, tuple[fost.Structure, fost.Transform | None]] = {
            f"{REFLECTORS} reflectors": (fost.Reflectors(REFLECTORS), None),
            "DCT + n rotations": (fost.Rotations(n), fost.DCT(n)),
        }
        if n <= DENSE_LEARNED:
            structures["dense (Q-DLA)"] = fost.Orthonormal(), None
        seconds = {}
        for name, (structure, base) in structures.items():
            start = time.process_time()
            fost.learn(Y, structure, s, base=base, max_iter=10, tol=0, random_state=0)
            seconds[name] = time.process_time() - start
        add(results, "learn", n, seconds)


def crossover(table: Table, ours: str, other: str) -> float:
    """The length from which on `ours` is faster than `other`, between two sizes on a log scale.

    The smallest size if it always is, infinity if it never is.
    """
    names = list(table.columns)
    rows = [row for row in table.rows if row[names.index(other)] is not None]
    sizes = np.array([row[0] for row in rows], float)
    ratios = [row[names.index(ours)] / row[names.index(other)] for row in rows]  # type: ignore[operator]
    slower = [k for k, ratio in enumerate(ratios) if ratio >= 1]
    if not slower:
        return float(sizes[0])
    if slower[-1] == len(sizes) - 1:
        return np.inf
    k = slower[-1]
    before, after = np.log(ratios[k]), np.log(ratios[k + 1])
    return float(sizes[k] * (sizes[k + 1] / sizes[k]) ** (before / (before - after)))


def crossovers(results: Results) -> None:
    """The lengths where reflectors and rotations start to be faster than a dense transform."""
    found = results.table(
        "crossover", {"": "", f"{REFLECTORS} reflectors": ",.0f", "DCT + n rotations": ",.0f"}
    )
    for name, title in FIGURES.items():
        table = results.tables[name]
        own = "" if name == "learn" else "fost, "
        dense = "dense (Q-DLA)" if name == "learn" else "fost, dense"
        others = [dense, *(c for c in table.columns if c.startswith("NumPy"))]
        for other in others:
            fast = (crossover(table, own + c, other) for c in list(found.columns)[1:])
            found.add(f"{title}, beside {other}", *fast)


def plot(results: Results) -> str:
    """All tables, log-log, as SVG; dotted lines are crossovers of rotations and fost's dense."""
    at = {name: row[2] for name, row in zip(FIGURES, _beside_dense(results), strict=True)}
    with mpl.rc_context(SVG_STYLE):
        figure = Figure(figsize=(5.4, 11), layout="constrained")
        panels = figure.subplots(len(FIGURES), 1)
        for panel, (name, title) in zip(panels, FIGURES.items(), strict=True):
            table = results.tables[name]
            sizes = [row[0] for row in table.rows]
            # The columns of learning are the last three of fost; they have the same colours.
            colors = PALETTE[1:] if name == "learn" else [*PALETTE, INK]
            for k, column in enumerate(list(table.columns)[1:], 1):
                values = np.array([row[k] for row in table.rows], float)
                own = column.startswith("fost") or name == "learn"
                style = {"marker": "o", "markersize": 3} if own else {"linestyle": "--"}
                panel.loglog(
                    sizes, values, **style, color=colors[k - 1], linewidth=1.2, label=column
                )
            panel.axvline(at[name], ymax=0.4, color=INK, linestyle=":", linewidth=1)
            ticks = sizes[::2]
            panel.set_xticks(ticks, [f"{n:,}" for n in ticks], minor=False)
            panel.set_xticks([], minor=True)
            panel.annotate(
                f"n = {at[name]:.0f}",
                (at[name], 0.02),
                xycoords=("data", "axes fraction"),
                xytext=(3, 3),
                textcoords="offset points",
            )
            panel.set(xlabel="signal length n", title=title)
            panel.set_ylabel(
                "seconds, ten iterations" if name == "learn" else "microseconds per signal"
            )
            panel.grid(alpha=0.25)
            panel.legend(fontsize=9, frameon=False)
    return drawn_svg(figure)


def _beside_dense(results: Results) -> list[list[Any]]:
    return [row for row in results.tables["crossover"].rows if "dense" in str(row[0])]


def main(arguments: list[str]) -> None:
    quick = "--quick" in arguments
    results = Results("growth")
    with threads(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        transforms(results, SIZES[:3] if quick else SIZES, 3 if quick else 9)
        learning(results, LEARNED[:2] if quick else LEARNED)
    crossovers(results)
    encode = results.tables["encode"]
    results.tables["encode_short"] = Table(encode.columns, encode.rows[::2])
    if not quick:
        results.save()
    target = next((a for a in arguments if not a.startswith("-")), None)
    if target:
        Path(target).write_text(plot(results), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
