"""Eigenvectors of given matrices as chains of rotations, against pyfaust's `eigtj`.

    python -m benchmarks.approximation [PART ...]

measures the named parts, all by default: digits, speed, five_percent, eigtj_N for N = 128, 256,
512, and curves_N for N = 64 to 1,024. Each is a table of benchmarks/results/approximation.json.
docs/explanation/approximation.svg is drawn from the curves. Medians are over five seeds that no
development used, one for the curves at n = 1,024. Without pyfaust its columns come from the
same algorithm in fost (``effort="greedy"``).
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from math import log2
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import ortho_group
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

import fost
from benchmarks.results import Results, Table, load
from benchmarks.svg import SVG_STYLE, drawn_svg

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyfaust.fact import eigtj
except ImportError:
    eigtj = None

Array = NDArray[np.float64]
SEEDS = range(100, 105)
UNITS = (0.25, 0.5, 1.0, 2.0)
SIZES = (64, 128, 256, 512, 1024)


# Matrices


def laplacian(W: Array) -> Array:
    return np.diag(W.sum(axis=1)) - W


def sensor(n: int, seed: int) -> Array:
    """Random points in a square, each connected to its six nearest neighbours."""
    points = np.random.default_rng(seed).random((n, 2))
    squares = np.square(points[:, None] - points[None]).sum(axis=-1)
    nearest = np.argsort(squares, axis=1)[:, 1:7]
    scale = np.take_along_axis(squares, nearest, axis=1)
    W = np.zeros((n, n))
    np.put_along_axis(W, nearest, np.exp(-scale / (2 * scale.mean())), axis=1)
    return laplacian(np.maximum(W, W.T))


def random_graph(P: Array, seed: int) -> Array:
    W = np.triu(np.random.default_rng(seed).random(P.shape) < P, 1).astype(float)
    return laplacian(W + W.T)


def community(n: int, seed: int) -> Array:
    """sqrt(n) / 2 communities with edges of probability 0.7 inside and 1 / n between them."""
    labels = np.sort(np.random.default_rng(seed).integers(0, round(np.sqrt(n) / 2), n))
    return random_graph(0.7 * (labels[:, None] == labels[None]) + 1 / n, seed)


def erdos_renyi(n: int, seed: int) -> Array:
    return random_graph(np.full((n, n), 0.1), seed)


def ring(n: int, seed: int) -> Array:
    return laplacian(np.roll(np.eye(n), 1, axis=0) + np.roll(np.eye(n), -1, axis=0))


def grid(n: int, seed: int) -> Array:
    side = round(np.sqrt(n))
    path = np.eye(side, k=1) + np.eye(side, k=-1)
    return laplacian(np.kron(path, np.eye(side)) + np.kron(np.eye(side), path))


def random_eigenbasis(n: int, seed: int) -> Array:
    Q = np.asarray(ortho_group.rvs(n, random_state=seed))
    return np.asarray(Q * np.linspace(0, 1, n) @ Q.T)


def covariance(n: int, seed: int) -> Array:
    """Of a smooth process with a random, varying correlation length."""
    rng = np.random.default_rng(seed)
    t = np.arange(n)
    scale = np.exp(np.interp(t, np.linspace(0, n, 5), rng.normal(np.log(0.1), 0.3, 5))) * n
    pairs = np.sqrt(scale[:, None] * scale[None])
    return np.asarray(np.exp(-np.abs(t[:, None] - t[None]) / pairs))


FAMILIES: dict[str, Callable[[int, int], Array]] = {
    "sensor": sensor,
    "community": community,
    "ring": ring,
    "grid": grid,
    "Erdos-Renyi": erdos_renyi,
    "covariance": covariance,
    "covariance over the DCT": covariance,
    "random eigenbasis": random_eigenbasis,
}


# Measurements


def faust_error(S: Array, g: int, per_factor: int | None) -> float:
    if eigtj is None:
        return fost.eigh(S, g, effort="greedy").error
    options = {"enable_large_Faust": True, "order": "undef", "nGivens_per_fac": per_factor}
    w, _ = eigtj(S, nGivens=g, **options)
    # w is the diagonal of V^T S V; a dense V from thousands of factors would take minutes.
    total = np.square(S).sum()
    return float(np.sqrt(max(0.0, 1 - w @ w / total)))


def cpu_time(function: Callable[[], Any], repeats: int = 5) -> float:
    """The median CPU time of several calls, after one that does not count."""
    function()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return float(np.median(times))


def against_eigtj(n: int, results: Results) -> None:
    table = results.table(
        f"eigtj_{n}",
        {"graph": "", "rotations": ",", "`eigtj`, layers": ".4f", "`eigtj`, 1 per factor": ".4f"}
        | {"greedy": ".4f", "grow": ".4f", "full": ".4f", "ratio": ".3f", "target": ".2f"},
    )
    for name in ("sensor", "community"):
        for part, target in ((1.0, 0.55), (0.5, 0.75)):
            g = round(part * n * log2(n))
            errors = []
            for seed in SEEDS:
                S = FAMILIES[name](n, seed)
                ours = [fost.eigh(S, g, effort=e).error for e in ("greedy", "grow", "full")]
                errors.append([faust_error(S, g, None), faust_error(S, g, 1), *ours])
            ratio = np.median([row[4] / row[1] for row in errors])
            table.add(name, g, *np.median(errors, axis=0), ratio, target)


def five_percent(results: Results) -> None:
    found = []
    for seed in SEEDS:
        S = sensor(1024, seed)
        start = time.process_time()
        result = fost.eigh(S, tol=0.05, effort="full")
        found.append([result.U.flops // 6, time.process_time() - start, 100 * result.centred_error])
    table = results.table(
        "five_percent", {"rotations": ",.0f", "CPU time, s": ".1f", "centred error, %": ".1f"}
    )
    table.add(*np.median(found, axis=0))


def speed(results: Results) -> None:
    """CPU time of the greedy search and of applying its result, one thread, n = 1,024."""
    n, g = 1024, 5 * 1024
    S = sensor(n, SEEDS[0])
    U = fost.eigh(S, g, effort="greedy").U
    Y = np.random.default_rng(0).standard_normal((10_000, n)).astype(np.float32)
    dense, out = U.matrix.astype(np.float32), np.empty_like(Y)
    search = cpu_time(lambda: fost.eigh(S, g, effort="greedy"))
    apply = 1e3 * cpu_time(lambda: U.forward(Y, out=out))
    table = results.table("speed", {"": "", "fost": ".4g", "other": ".4g", "ratio": ".1f"})

    def add(name: str, ours: float, other: float) -> None:
        table.add(name, ours, other, other / ours)

    if eigtj is not None:
        options = {"nGivens": g, "enable_large_Faust": True, "order": "undef"}
        # One rotation per factor took minutes to apply.
        V, columns = eigtj(S, **options)[1].astype(np.float32), np.asfortranarray(Y.T)
        factors = cpu_time(lambda: eigtj(S, nGivens_per_fac=1, **options), 3)
        add("find 5,120 rotations greedily, s; `eigtj`", search, factors)
        layers = 1e3 * cpu_time(lambda: V.T @ columns, 3)
        add("apply them to 10,000 float32 signals, ms; Faust of layers", apply, layers)
    product = 1e3 * cpu_time(lambda: np.matmul(Y, dense, out=out))
    add("the same; dense BLAS", apply, product)


def digits(results: Results) -> None:
    """Accuracy of a 5-nearest-neighbour classifier on 16 components, fitted on training folds."""
    X, y = load_digits(return_X_y=True)
    image = fost.DCT((8, 8))
    reducers: dict[str, Any] = {
        "PCA": PCA(16),
        "FastPCA(16, 32), no base": fost.FastPCA(16, 32, None),
        "FastPCA(16, 32), DCT": fost.FastPCA(16, 32, image),
        "FastPCA(16), auto": fost.FastPCA(16),
        "FastPCA(16, 1), DCT": fost.FastPCA(16, 1, image),
    }
    table = results.table(
        "digits", {"components": "", "accuracy, %": ".1f", "variance, % of PCA's": ".0f"}
    )
    full = reducers["PCA"].fit(X).explained_variance_.sum()
    for name, reducer in reducers.items():
        classifier = make_pipeline(reducer, KNeighborsClassifier())
        scores = [
            cross_val_score(
                classifier, X, y, cv=StratifiedKFold(5, shuffle=True, random_state=seed)
            ).mean()
            for seed in SEEDS
        ]
        variance = reducer.fit(X).explained_variance_.sum() / full
        table.add(name, 100 * np.median(scores), 100 * variance)


def curves(n: int, results: Results) -> None:
    """Median errors in % by the number of rotations in units of (n / 2) log2 n."""
    columns = {f"{unit:g}": ".3g" for unit in UNITS}
    centred = {f"{unit:g}, centred": ".3g" for unit in UNITS}
    table = results.table(f"curves_{n}", {"matrix": ""} | columns | centred)
    seeds = SEEDS[: 1 if n == 1024 else 5]
    for name, make in FAMILIES.items():
        errors = []
        for seed in seeds if name not in ("ring", "grid") else seeds[:1]:
            S = make(n, seed)
            size = len(S)  # grids are squares of about n nodes
            base = fost.DCT(size) if "DCT" in name else None
            counts = [round(unit * size / 2 * log2(size)) for unit in UNITS]
            found = [fost.eigh(S, g, base=base, effort="full") for g in counts]
            errors.append([r.error for r in found] + [r.centred_error for r in found])
        table.add(name, *(100 * np.median(errors, axis=0)))


def drawn(tables: dict[str, Table]) -> str:
    """Centred errors against rotations, one panel per family, one line per size."""
    with mpl.rc_context(SVG_STYLE):
        figure = Figure(figsize=(9, 4.6), layout="constrained")
        axes = figure.subplots(2, 4, sharex=True, sharey=True)
        shades = mpl.colormaps["viridis"](np.linspace(0.25, 0.85, len(SIZES)))
        for k, (name, ax) in enumerate(zip(FAMILIES, axes.flat, strict=True)):
            for n, shade, mark in zip(SIZES, shades, "osD^v", strict=True):
                if f"curves_{n}" in tables:
                    cells = tables[f"curves_{n}"].rows[k][1 + len(UNITS) :]
                    ax.loglog(UNITS, cells, mark + "-", color=shade, ms=4, lw=1.2, label=f"n = {n}")
            ax.set_title(name, fontsize=10)
            ax.grid(alpha=0.3)
            ax.set_xticks(UNITS, [f"{unit:g}" for unit in UNITS])
            ax.set_yticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
            ax.minorticks_off()
        figure.supxlabel("rotations in units of (n/2) log2 n", fontsize=10)
        figure.supylabel("centred error, %", fontsize=10)
        marks = axes.flat[0].get_legend_handles_labels()
        figure.legend(*marks, loc="outside upper center", ncols=5, frameon=False)
        return drawn_svg(figure)


PARTS: dict[str, Callable[[Results], None]] = {
    "digits": digits,
    "speed": speed,
    "five_percent": five_percent,
    **{f"eigtj_{n}": partial(against_eigtj, n) for n in (128, 256, 512)},
    **{f"curves_{n}": partial(curves, n) for n in SIZES},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    chosen = parser.parse_args().parts or list(PARTS)
    fost.set_num_threads(1)
    print("eigtj is", "pyfaust's" if eigtj is not None else "missing: greedy rows instead")
    with threadpool_limits(1):
        for part in chosen:
            results = Results("approximation")
            PARTS[part](results)
            results.save()
    picture = drawn(load("approximation").tables)
    Path("docs/explanation/approximation.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
