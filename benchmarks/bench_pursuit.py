"""Matching pursuit and K-SVD against scikit-learn, SPAMS and dictlearn."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import sparse_encode

import fost
from benchmarks.bench_learn import training_set
from benchmarks.harness import Report, own_threads, threads

S = 4


def run(report: Report, quick: bool = False) -> None:
    for dtype in (np.float32, np.float64):
        Y = training_set(dtype)
        with threads(1):
            _pursuit(report, Y[:2048] if quick else Y)
            _batches(report, Y[:2048] if quick else Y)
            _sparse(report, Y[:2048] if quick else Y)
            _one_signal(report, dtype)
    _missing(report, training_set(np.float32), quick)
    _two_threads(report, training_set(np.float32))
    _ksvd(report, training_set(np.float64), iterations=3 if quick else 20)
    for iterations in (50,) if quick else (50, 200, 800):
        _equal_errors(report, training_set(np.float64), iterations)


def atoms_from(Y: NDArray[Any], count: int) -> NDArray[Any]:
    """Atoms such as one would code with: a few iterations of K-SVD."""
    ksvd = fost.baselines.KSVD(count, S, max_iter=5, random_state=0).fit(Y)
    return np.ascontiguousarray(ksvd.components_, dtype=Y.dtype)


def _pursuit(report: Report, Y: NDArray[Any]) -> None:
    report.section(f"OMP, N = {len(Y):,}, n = 64, s = {S}, {Y.dtype}, one thread", "ns per signal")
    few = Y[: len(Y) // 8]  # scikit-learn takes long
    for count in (64, 256):
        D = atoms_from(Y, count)
        report.compare(
            f"{count} atoms",
            partial(fost.omp, few, D, S),
            "sklearn sparse_encode(omp)",
            partial(sparse_encode, few, D, algorithm="omp", n_nonzero_coefs=S),
            len(few),
            3,
            ">= 50",
        )


def _batches(report: Report, Y: NDArray[Any]) -> None:
    spams = imported("spams")
    if not spams:
        return
    report.section(f"OMP, N = {len(Y):,}, n = 64, {Y.dtype}, one thread", "ns per signal")
    columns = np.asfortranarray(Y.T)
    for count in (64, 256, 1024):
        D = atoms_from(Y, count)
        for s in (4, 8, 16):
            report.compare(
                f"{count} atoms, s = {s}",
                partial(fost.omp, Y, D, s),
                "SPAMS omp",
                spams_omp(spams, columns, D, s),
                len(Y),
                5,
                ">= 2",
            )


def _sparse(report: Report, Y: NDArray[Any]) -> None:
    """Dictionaries of sparse atoms over the DCT, against general atoms, both prepared."""
    report.section(f"sparse dictionaries, n = 64, s = {S}, {Y.dtype}, one thread", "ns per signal")
    atoms = fost.Atoms(atoms_from(Y, 256))
    options: dict[str, Any] = {"n_nonzero_coefs": S, "max_iter": 5, "tol": 0, "random_state": 0}
    for p in (4, 8):
        sparse = fost.SparseKSVD(256, p, fost.DCT((8, 8)), **options).fit(Y).dictionary_
        report.compare(
            f"256 atoms of {p} entries",
            partial(sparse.encode, Y, S),
            "omp, 256 prepared atoms",
            partial(fost.omp, Y, atoms, S),
            len(Y),
            15,
            ">= 1.3",
        )


def spams_omp(spams: Any, columns: NDArray[Any], D: NDArray[Any], s: int) -> Callable[[], object]:
    """SPAMS' pursuit of signals in columns, once it has been seen to do all of its steps.

    Its default `eps` ends pursuits of float32 before the first one, at times.
    """
    call = partial(spams.omp, columns, np.asfortranarray(D.T), L=s, eps=0.0, numThreads=1)
    entries = call().nnz / columns.shape[1]
    if entries < 0.9 * s:
        raise RuntimeError(f"SPAMS found {entries:g} entries per signal instead of {s}")
    return call


def _one_signal(report: Report, dtype: Any) -> None:
    spams = imported("spams")
    if not spams:
        return
    report.section(f"OMP of one signal, {np.dtype(dtype)}, one thread", "nanoseconds")
    rng = np.random.default_rng(0)
    for n, count in ((64, 64), (64, 1024), (256, 1024)):
        D = rng.standard_normal((count, n)).astype(dtype)
        D /= np.linalg.norm(D, axis=1, keepdims=True)
        y = rng.standard_normal((1, n)).astype(dtype)
        for s in (4, 10):
            theirs = spams_omp(spams, np.asfortranarray(y.T), D, s)
            for name, atoms in (("", D), (", fost.Atoms", fost.Atoms(D))):
                report.compare(
                    f"{count} atoms of {n}, s = {s}{name}",
                    partial(fost.omp, y, atoms, s),
                    "SPAMS omp",
                    theirs,
                    1,
                    51,
                    ">= 1",
                )


def _missing(report: Report, Y: NDArray[Any], quick: bool) -> None:
    report.section("OMP with 40 % missing entries, float32, one thread", "ns per signal")
    missing = np.random.default_rng(0).random(Y.shape) < 0.4
    count = 50 if quick else 500
    with threads(1):
        D = atoms_from(Y, 64)
        report.compare(
            "64 atoms",
            lambda: fost.omp(Y[:count], D, S, missing=missing[:count]),
            "the NumPy twin",
            lambda: _masked_twin(Y[:count], D, missing[:count]),
            count,
            3,
        )
        report.compare(
            "64 atoms, whole signals",
            lambda: fost.omp(Y, D, S),
            "missing entries",
            lambda: fost.omp(Y, D, S, missing=missing),
            len(Y),
        )


def _masked_twin(Y: NDArray[Any], D: NDArray[Any], missing: NDArray[Any]) -> None:
    from tests import reference

    for y, gaps in zip(Y, missing, strict=True):
        reference.omp(y, D, S, gaps)


def _two_threads(report: Report, Y: NDArray[Any]) -> None:
    report.section("OMP with two threads, float32", "ns per signal")
    for count in (64, 256):
        D = atoms_from(Y, count)
        report.compare(
            f"{count} atoms",
            partial(_with_threads, 2, Y, D),
            "one thread",
            partial(_with_threads, 1, Y, D),
            len(Y),
            target=">= 1.6",
        )


def _with_threads(count: int, Y: NDArray[Any], D: NDArray[Any]) -> None:
    with own_threads(count):
        fost.omp(Y, D, S)


def _ksvd(report: Report, Y: NDArray[Any], iterations: int) -> None:
    dictlearn = imported("dictlearn")
    if not dictlearn:
        return
    numba = "with" if imported("numba") else "without"
    report.section(
        f"K-SVD, N = {len(Y):,}, s = {S}, K = {iterations}, float64, one thread",
        f"ns per signal and iteration; dictlearn {numba} Numba, from the same start",
    )
    for count in (64, 256):
        start = fost.baselines.KSVD(count, S, max_iter=0, random_state=0).fit(Y).components_
        ours = fost.baselines.KSVD(count, S, init=start, max_iter=iterations, tol=0, random_state=0)
        theirs = dictlearn.DictionaryLearning(
            count,
            fit_algorithm="aksvd",
            n_nonzero_coefs=S,
            max_iter=iterations,
            dict_init=start,
            random_state=0,
        )
        with threads(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report.compare(
                f"{count} atoms",
                partial(ours.fit, Y),
                "dictlearn aksvd",
                partial(theirs.fit, Y),
                len(Y) * iterations,
                3,
                ">= 3",
            )
        errors = [ours.errors_[-1], theirs.error_[-1] ** 2 / np.mean(Y**2)]
        print(f"  {count} atoms: relative error {errors[0]:.6f}, dictlearn {errors[1]:.6f}")


def _equal_errors(report: Report, Y: NDArray[Any], iterations: int) -> None:
    """K-SVD with as many iterations as it needs to end where SPAMS does."""
    spams = imported("spams")
    if not spams:
        return
    report.section(
        f"K-SVD to an error, N = {len(Y):,}, s = {S}, float64, one thread",
        f"ns per signal; SPAMS with {iterations} batches of 512, from the same start",
    )
    columns = np.asfortranarray(Y.T)
    for count in (64, 128, 256):
        start = fost.baselines.KSVD(count, S, max_iter=0, random_state=0).fit(Y).components_
        theirs = partial(
            spams.trainDL,
            columns,
            D=np.asfortranarray(start.T),
            lambda1=S,
            mode=3,
            iter=iterations,
            batchsize=512,
            numThreads=1,
            verbose=False,
        )
        with threads(1):
            goal = _coding_error(Y, np.ascontiguousarray(theirs().T))
            ours = fost.baselines.KSVD(count, S, init=start, max_iter=1, tol=0, random_state=0)
            while _coding_error(Y, ours.fit(Y).components_) > goal and ours.max_iter < 50:
                ours.max_iter += 1
            report.compare(
                f"{count} atoms, {ours.max_iter} iterations to {goal:.4f}",
                partial(ours.fit, Y),
                "SPAMS trainDL",
                theirs,
                len(Y),
                5,
                ">= 1",
            )


def _coding_error(Y: NDArray[Any], D: NDArray[Any]) -> float:
    """What is lost of signals in codes by matching pursuit, relative to them."""
    return float(np.square(Y - fost.omp(Y, D, S) @ D).sum() / np.square(Y).sum())


def imported(name: str) -> Any:
    try:
        return __import__(name)
    except ImportError:
        print(f"  {name} is not installed, so it is left out")
        return None
