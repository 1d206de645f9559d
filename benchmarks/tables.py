"""Imputers on tables with missing values: the table of docs/benchmarks/missing_values.md.

    python -m benchmarks.tables [NAME ...] [--seeds N]

Nine tables: five of scikit-learn, and four of statsmodels, which are skipped if it is not
installed (``pip install statsmodels``). Columns are standardised for all imputers. Three patterns
of missing entries:

========= =======================================================================================
random    20 % of all entries, independently
together  the second half of the columns, in 40 % of the rows
dependent up to 40 % of each odd column, more likely the larger the column before it
========= =======================================================================================

Errors are root mean squares over the missing entries, in standard deviations of their columns, as
means over seeds, with the standard deviation over seeds of fost's. `cover` is the share of missing
entries within one and two standard deviations of `fost.Imputer.deviations`, in percent, and `raw`
that without calibration. Times are CPU times of all threads. Results for all tables are written to
``benchmarks/results/tables.json``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from threadpoolctl import threadpool_limits

import fost
from benchmarks.results import Results

Array = NDArray[np.float64]
MAX_ROWS = 1000
MAX_TREE_COLUMNS = 32  # forests take minutes for more
SCIKIT_LEARN = ("iris", "wine", "breast_cancer", "diabetes", "digits")
STATSMODELS = ("fair", "macrodata", "randhie", "star98")
PATTERNS = ("random", "together", "dependent")
TIED = 1.01  # errors within 1 % of the lowest count as tied


def forest(seed: int) -> IterativeImputer:
    trees = ExtraTreesRegressor(n_estimators=10, random_state=seed)
    return IterativeImputer(trees, max_iter=5, random_state=seed)


IMPUTERS: dict[str, Callable[[int], Any]] = {
    "mean": lambda seed: SimpleImputer(),
    "KNN": lambda seed: KNNImputer(),
    "Iterative": lambda seed: IterativeImputer(random_state=seed),
    "Iterative, trees": forest,
    "fost": lambda seed: fost.Imputer(random_state=seed),
}


def load(name: str) -> Array | None:
    """The columns of numbers of a table, standardised; None if it is not installed."""
    if name in SCIKIT_LEARN:
        values = getattr(datasets, f"load_{name}")().data
    else:
        try:
            statsmodels = import_module("statsmodels.api")
        except ImportError:
            return None
        table = getattr(statsmodels.datasets, name).load_pandas().data
        values = table.select_dtypes("number").to_numpy(np.float64)
    rows = np.random.default_rng(0).permutation(len(values))[:MAX_ROWS]
    values = values[rows]
    values = values[:, values.std(axis=0) > 0]
    standardised: Array = (values - values.mean(axis=0)) / values.std(axis=0)
    return standardised


def missing_pattern(Y: Array, kind: str, seed: int) -> NDArray[np.bool_]:
    """A mask of missing entries."""
    rng, (rows, columns) = np.random.default_rng([seed, PATTERNS.index(kind)]), Y.shape
    if kind == "random":
        return np.asarray(rng.random(Y.shape) < 0.2)
    missing = np.zeros(Y.shape, np.bool_)
    if kind == "together":
        missing[:, columns // 2 :] = rng.random((rows, 1)) < 0.4
    else:
        ranks = Y.argsort(axis=0).argsort(axis=0) / rows
        odd = columns // 2
        missing[:, 1::2] = np.less(rng.random((rows, odd)), 0.4 * ranks[:, 0 : 2 * odd : 2])
    return missing


def run(name: str, Y: Array, kind: str, seeds: int) -> dict[str, Any]:
    """The errors, times and coverages of one row of the table."""
    errors: dict[str, list[float]] = {imputer: [] for imputer in IMPUTERS}
    seconds: dict[str, list[float]] = {imputer: [] for imputer in IMPUTERS}
    ratios, raw = [], []
    for seed in range(seeds):
        missing = missing_pattern(Y, kind, seed)
        X = np.where(missing, np.nan, Y)
        for imputer, make in IMPUTERS.items():
            if imputer == "Iterative, trees" and Y.shape[1] > MAX_TREE_COLUMNS:
                continue
            model, start = make(seed), time.process_time()
            filled = model.fit_transform(X)
            seconds[imputer].append(time.process_time() - start)
            errors[imputer].append(float(np.sqrt(np.mean((filled - Y)[missing] ** 2))))
        ratios.append(np.abs(filled - Y)[missing] / model.deviations(X)[missing])
        raw.append(ratios[-1] * model.mixture_.std_scale)
    return {
        "table": name,
        "shape": list(Y.shape),
        "pattern": kind,
        "errors": errors,
        "seconds": seconds,
        "coverage": [float(np.mean(np.concatenate(ratios) < k)) for k in (1, 2)],
        "raw_coverage": [float(np.mean(np.concatenate(raw) < k)) for k in (1, 2)],
    }


def cells(row: dict[str, Any]) -> list[str]:
    """A row of the printed table; errors within 1 % of the lowest are bold."""
    means = {k: float(np.mean(v)) for k, v in row["errors"].items() if v}
    best = min(means.values())
    found = [row["table"], "{} x {}".format(*row["shape"]), row["pattern"]]
    for imputer in IMPUTERS:
        mark = "**" if imputer in means and means[imputer] <= TIED * best else ""
        found.append(f"{mark}{means[imputer]:.3f}{mark}" if imputer in means else "")
    found.append(f"{np.std(row['errors']['fost']):.3f}")
    for name in ("raw_coverage", "coverage"):
        found.append("{:.0%} / {:.0%}".format(*row[name]).replace("%", ""))
    for imputer in ("Iterative", "fost"):
        found.append(f"{np.median(row['seconds'][imputer]):.2f}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    heads = [*IMPUTERS, "±", "raw", "cover", "Iterative s", "fost s"]
    results = Results("tables")
    texts = dict.fromkeys(("table", "rows x columns", "missing"), "")
    table = results.table("imputation", {**texts, **dict.fromkeys(heads, "s")})
    won = 0
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for name in given.names or (*SCIKIT_LEARN, *STATSMODELS):
            Y = load(name)
            if Y is None:
                continue
            for kind in PATTERNS:
                row = cells(run(name, Y, kind, given.seeds))
                table.add(*row)
                won += "**" in row[3 + list(IMPUTERS).index("fost")]
    print(f"\nfost is the best or within 1 % of it in {won} of {len(table.rows)} rows")
    if not given.names:
        results.save()


if __name__ == "__main__":
    main()
