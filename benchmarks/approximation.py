"""Eigenvectors of given matrices as chains of rotations, against pyfaust's `eigtj`.

    python -m benchmarks.approximation RESULT.json [--quick]

prints the tables of docs/explanation/approximation.md and writes all figures. All medians are
over five seeds that no development used. Without pyfaust its rows come from the
same algorithm in fost (``effort="greedy"``, one rotation per factor), and the table says so.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ortho_group
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

import fost

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyfaust.fact import eigtj  # type: ignore[import-not-found]
except ImportError:
    eigtj = None

Array = NDArray[np.float64]
SEEDS = range(100, 105)


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


def against_eigtj(sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    rows = []
    for n in sizes:
        for name in ("sensor", "community"):
            for part in (1.0, 0.5):
                g = round(part * n * log2(n))
                errors = []
                for seed in SEEDS:
                    S = FAMILIES[name](n, seed)
                    ours = [fost.eigh(S, g, effort=e).error for e in ("greedy", "grow", "full")]
                    errors.append([faust_error(S, g, None), faust_error(S, g, 1), *ours])
                layers, single, greedy, grow, full = np.median(errors, axis=0)
                ratio = float(np.median(np.array(errors)[:, 4] / np.array(errors)[:, 1]))
                row = {"graph": name, "n": n, "g": g, "eigtj layers": layers, "eigtj 1": single}
                row |= {"greedy": greedy, "grow": grow, "full": full, "full / eigtj 1": ratio}
                row["target"] = 0.55 if part == 1 else 0.75
                rows.append(row)
                print("  ".join(f"{k} {v:.4g}" if k != "graph" else v for k, v in row.items()))
    return rows


def to_five_percent(n: int) -> dict[str, Any]:
    found = []
    for seed in SEEDS:
        S = sensor(n, seed)
        start = time.process_time()
        result = fost.eigh(S, tol=0.05, effort="full")
        found.append([result.U.flops // 6, time.process_time() - start, result.centred_error])
    rotations, seconds, centred = np.median(found, axis=0)
    row = {"n": n, "rotations": rotations, "cpu seconds": seconds, "centred error": centred}
    print(row)
    return row


def speed(n: int) -> dict[str, Any]:
    """CPU time of the greedy search and of applying its result, one thread."""
    S, g = sensor(n, 100), 5 * n
    row: dict[str, Any] = {"n": n, "g": g}
    row["greedy seconds"] = cpu_time(lambda: fost.eigh(S, g, effort="greedy"))
    row["greedy error"] = fost.eigh(S, g, effort="greedy").error
    U = fost.eigh(S, g, effort="greedy").U
    Y = np.random.default_rng(0).standard_normal((10_000, n)).astype(np.float32)
    dense = U.matrix.astype(np.float32)
    out = np.empty_like(Y)
    row["apply ms"] = 1e3 * cpu_time(lambda: U.forward(Y, out=out))
    row["dense ms"] = 1e3 * cpu_time(lambda: np.matmul(Y, dense, out=out))
    if eigtj is not None:
        options = {"nGivens": g, "enable_large_Faust": True, "order": "undef"}
        row["eigtj seconds"] = cpu_time(lambda: eigtj(S, nGivens_per_fac=1, **options), 3)
        row["eigtj error"] = faust_error(S, g, 1)
        columns = np.asfortranarray(Y.T)
        # One rotation per factor took minutes to apply.
        V = eigtj(S, **options)[1].astype(np.float32)
        row["Faust ms, layers"] = 1e3 * cpu_time(lambda: V.T @ columns, 3)
    print(row)
    return row


def digits() -> list[dict[str, Any]]:
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
    rows = []
    for name, reducer in reducers.items():
        classifier = make_pipeline(reducer, KNeighborsClassifier())
        scores = [
            cross_val_score(
                classifier, X, y, cv=StratifiedKFold(5, shuffle=True, random_state=seed)
            ).mean()
            for seed in SEEDS
        ]
        variance = reducer.fit(X).explained_variance_.sum()
        row = {"components": name, "accuracy": float(np.median(scores)), "variance": variance}
        rows.append(row)
        print(row)
    return rows


def curves(sizes: tuple[int, ...], effort: str) -> list[dict[str, Any]]:
    """Median errors by the number of rotations in units of (n / 2) log2 n."""
    units = (0.5, 1.0, 2.0)
    rows = []
    for name, make in FAMILIES.items():
        for n in sizes:
            base = fost.DCT(n) if "DCT" in name else None
            errors = []
            for seed in SEEDS if name not in ("ring", "grid") else SEEDS[:1]:
                S = make(n, seed)
                counts = [round(u * n / 2 * log2(n)) for u in units]
                found = [fost.eigh(S, g, base=base, effort=effort) for g in counts]
                errors.append([[r.error, r.centred_error] for r in found])
            median = np.median(errors, axis=0)
            row = {"matrix": name, "n": n, "effort": effort, "units": units}
            row |= {"error": median[:, 0].tolist(), "centred error": median[:, 1].tolist()}
            rows.append(row)
            print(name, n, effort, median[:, 0].round(4), median[:, 1].round(4), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("result", type=Path, help="JSON file to write")
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    arguments = parser.parse_args()
    fost.set_num_threads(1)
    print("eigtj is", "pyfaust's" if eigtj is not None else "missing: greedy rows instead")
    result: dict[str, Any] = {"pyfaust": eigtj is not None}

    def add(name: str, call: Callable[..., Any], *values: Any) -> None:
        print(f"\n{name}")
        result[name] = call(*values)
        arguments.result.write_text(json.dumps(result, indent=1, default=float), encoding="utf-8")

    with threadpool_limits(1):
        quick = arguments.quick
        add("digits", digits)
        add("speed", speed, 128 if quick else 1024)
        add("five percent", to_five_percent, 128 if quick else 1024)
        add("against eigtj", against_eigtj, (64,) if quick else (128, 256, 512))
        add("curves, full", curves, (64,) if quick else (64, 256), "full")
        add("curves, grow", curves, (64,) if quick else (1024,), "grow")


if __name__ == "__main__":
    main()
