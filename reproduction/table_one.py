"""Table I: the error of each method on each image."""

from __future__ import annotations

from typing import Any

from reproduction.algorithms import LEARNED, OUR_METHODS, PAPER_METHODS, Settings, run
from reproduction.data import ImageSet, signals
from reproduction.printed import TABLE_IMAGES, TABLE_ONE

# Two versions of the table: with the iterations that reproduce the printed digits, and with
# K = 100 for every algorithm.
PRINTED, REACHED = "printed", "reached"


def table_one(images: ImageSet, settings: Settings) -> list[dict[str, Any]]:
    """Train each method on each image of Table I, and measure its error on the same image.

    The rows have the image, the method, the version ("printed" or "reached"), K (None for methods
    without one), operations per patch, our root mean squared error, the paper's (None where it
    prints none), and the relative difference.
    """
    rows = []
    for name in images:
        if name not in (*TABLE_IMAGES, *images.own) and not images.bundled:
            continue
        Y = signals(images.pixels[name])
        found = {}
        for method in (*PAPER_METHODS, *OUR_METHODS, *settings.own_methods):
            # Enough iterations for both versions: the error after each iteration is kept.
            most = max(settings.iterations, settings.table_k(method))
            found[method] = run(method, Y, settings, K=most if method in LEARNED else None)
        for version, methods in ((PRINTED, PAPER_METHODS), (REACHED, tuple(found))):
            for method in methods:
                k = settings.table_k(method) if version == PRINTED else settings.iterations
                k_or_none = k if method in LEARNED else None
                rmse = found[method].rmse(Y, k_or_none)
                paper = None if images.bundled else TABLE_ONE.get(method, {}).get(name)
                rows.append(
                    {
                        "image": name,
                        "method": method,
                        "version": version,
                        "iterations": k_or_none,
                        "operations": found[method].operations,
                        "rmse": rmse,
                        "paper": paper,
                        "difference": None if paper is None else rmse / paper - 1,
                    }
                )
    return rows


def same_digits(row: dict[str, Any]) -> bool:
    """Whether our error has the four printed digits."""
    return row["paper"] is not None and f"{row['rmse']:.4f}" == f"{row['paper']:.4f}"
