"""Figures 1 to 5, and the numbers that section V mentions in its text."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import fost
from fost.diagnostics import mutual_coherence, spectrum
from reproduction.algorithms import Settings, run
from reproduction.data import ImageSet, signals
from reproduction.printed import TABLE_ONE

SPARSITIES = (2, 4, 8, 12)
REFLECTORS = (4, 8, 12, 20, 32)
ITERATED = ("QH12", "QH32", "H12", "H32", "Q-DLA", "SK-SVD")
REFERENCES = ("1-D DCT", "2-D DCT", "Q-DLA", "SK-SVD")


def figure_one(images: ImageSet, settings: Settings) -> list[dict[str, Any]]:
    """Eigenvalues of Z~ = X Y^T + Y X^T after QH12, s = 4, on peppers and on barb."""
    rows = []
    for name in ("peppers", "barb"):
        if name in images:
            rows += _eigenvalues(images.name(name), "QH12", signals(images[name]), settings)
    return rows


def figure_four(images: ImageSet, settings: Settings) -> list[dict[str, Any]]:
    """Eigenvalues of Z~ after QH12 for several s, on couple, peppers and boat together."""
    Y = images.figure_signals()
    if Y is None:
        return []
    return [row for s in SPARSITIES for row in _eigenvalues(f"s = {s}", "QH12", Y, settings, s)]


def figure_five(images: ImageSet, settings: Settings) -> list[dict[str, Any]]:
    """Eigenvalues of Z~ after QH_m for several m, s = 4, on couple, peppers and boat together."""
    Y = images.figure_signals()
    if Y is None:
        return []
    return [row for m in REFLECTORS for row in _eigenvalues(f"m = {m}", f"QH{m}", Y, settings)]


def _eigenvalues(
    curve: str, method: str, Y: NDArray[Any], settings: Settings, s: int | None = None
) -> list[dict[str, Any]]:
    """Eigenvalues in ascending order, divided by the largest magnitude."""
    s = settings.sparsity if s is None else s
    found = spectrum(run(method, Y, settings, s).dictionary, Y, s)
    return [
        {"curve": curve, "index": i + 1, "eigenvalue": float(v), "negative": i < found.n_negative}
        for i, v in enumerate(found.normalised)
    ]


def figure_two(images: ImageSet, settings: Settings) -> list[dict[str, Any]]:
    """Relative error after each iteration (each stage for SK-SVD)."""
    Y = images.figure_signals()
    if Y is None:
        return []
    return [
        {"method": method, "iteration": k, "relative_error": float(error)}
        for method in (*ITERATED, *settings.own_methods)
        for k, error in enumerate(run(method, Y, settings).errors)
    ]


def figure_three(images: ImageSet, settings: Settings) -> list[dict[str, Any]]:
    """Relative error of H_m and QH_m for each m, and of methods without m.

    Q-DLA appears twice if its K of Table I is another.
    """
    Y = images.figure_signals()
    if Y is None:
        return []
    rows = []
    for method in (*REFERENCES, *settings.own_methods):
        ks = dict.fromkeys((settings.iterations, settings.table_k(method)))
        found = run(method, Y, settings, K=max(ks))
        for k in ks if method == "Q-DLA" else (None,):
            error = found.error if k is None else float(found.errors[k])
            rows.append(_error(method, None, k, error))
    for kind in ("H", "QH"):
        for m in settings.reflectors:
            error = run(f"{kind}{m}", Y, settings).error
            rows.append(_error(kind, m, settings.iterations, error))
    return rows


def _error(method: str, m: int | None, k: int | None, error: float) -> dict[str, Any]:
    return {"method": method, "n_reflectors": m, "iterations": k, "relative_error": error}


def section_five(images: ImageSet, settings: Settings) -> list[dict[str, Any]]:
    """Numbers behind sentences of section V, by the name of the check.

    "barb": root mean squared errors of H_m and of Q-DLA on barb. "unused": iterations of Q-DLA on
    barb in which two or more atoms are used by no patch. "order": relative errors of H12 by the
    order of its updates. "coherence": mutual coherence of SK-SVD on peppers.
    """
    rows = []
    if "barb" in images:
        Y = signals(images["barb"])
        for m in (m for m in settings.reflectors if m >= 6):
            rows.append(_check("barb", f"H{m}", run(f"H{m}", Y, settings).rmse(Y)))
        ks = dict.fromkeys((settings.iterations, settings.table_k("Q-DLA")))
        dense = run("Q-DLA", Y, settings, K=max(ks))
        rows += [_check("barb", f"Q-DLA, K = {k}", dense.rmse(Y, k)) for k in ks]
        rows.append(_check("unused", f"K = {settings.iterations}", _undetermined(Y, settings)))
        if not images.bundled:
            rows.append(_check("barb", "Q-DLA in the paper", TABLE_ONE["Q-DLA"]["barb"]))
    if (Z := images.figure_signals()) is not None:
        options: dict[str, Any] = {"max_iter": settings.iterations, "tol": 0, "random_state": 0}
        for order in ("cyclic", "random"):
            structure = fost.Reflectors(12, order=order)
            result = fost.learn(Z, structure, settings.sparsity, **options)
            rows.append(_check("order", order, result.error))
    if "peppers" in images:
        dictionary = run("SK-SVD", signals(images["peppers"]), settings).dictionary
        rows.append(_check("coherence", "SK-SVD", float(mutual_coherence(dictionary))))
    return rows


def _check(check: str, case: str, value: float) -> dict[str, Any]:
    return {"check": check, "case": case, "value": value}


def _undetermined(Y: NDArray[Any], settings: Settings) -> int:
    """Iterations after which the next Q of Q-DLA is not unique.

    One unused atom is still determined, up to its sign.
    """
    s, found = settings.sparsity, 0

    def count(iteration: int, error: float, transform: fost.Coder) -> None:
        nonlocal found
        used = np.unique(transform.encode(Y, s).indices)
        found += len(used) < Y.shape[1] - 1

    fost.learn(Y, fost.Orthonormal(), s, max_iter=settings.iterations, tol=0, callback=count)
    return found
