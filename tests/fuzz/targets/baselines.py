"""General dictionaries and the estimators that learn them."""

from __future__ import annotations

from typing import Any

import numpy as np

import fost
from fost import baselines
from tests import cases
from tests.fuzz.judge import Fuzz
from tests.fuzz.targets import target
from tests.fuzz.targets.coding import at_scale, computed, some_atoms, some_codes
from tests.fuzz.targets.estimators import use


@target(2)
def general_dictionary(fuzz: Fuzz) -> None:
    atoms, D = some_atoms(fuzz, min(fuzz.size(), 33), columns=False)
    made = fuzz.call(baselines.GeneralDictionary, atoms)
    fuzz.expect(np.array_equal(made.atoms, D.astype(np.float64)), "the atoms, as they are")
    repr(made)


@target(2)
def general_encode(fuzz: Fuzz) -> None:
    n = min(fuzz.size(), 33)
    made = baselines.GeneralDictionary(cases.random_vectors(fuzz.rng, n + 2, n))
    Y, plain = fuzz.signals("Y", n, least=1, lazy=True)
    s = fuzz.integer("n_nonzero_coefs", 1, n, made.n_atoms)
    codes = fuzz.call(made.encode, Y, s, then=computed)
    fuzz.expect(codes.shape == (len(plain), made.n_atoms), "shape of codes")
    fuzz.expect((np.diff(codes.indptr) <= s).all(), "entries per code")


@target(2)
def general_decode(fuzz: Fuzz) -> None:
    n = min(fuzz.size(), 33)
    made = baselines.GeneralDictionary(cases.random_vectors(fuzz.rng, n + 2, n))
    codes, plain = some_codes(fuzz, fuzz.count(), n + 2)
    Y = fuzz.call(made.decode, codes)
    fuzz.close(Y, at_scale(lambda rows: rows @ made.atoms, plain), "codes @ atoms")


def common(fuzz: Fuzz, n: int) -> dict[str, Any]:
    k = fuzz.optional("n_components", 1, n + 3, 2**31 - 1)
    known = not any(b.startswith("n_components") for b in fuzz.bad)
    most = min(n, int(k)) if known and k is not None else n
    return {
        "n_components": k,
        "n_nonzero_coefs": fuzz.integer("n_nonzero_coefs", 1, most),
        "random_state": fuzz.random_state(),
        "sparse_output": fuzz.flag(),
    }


def steps(fuzz: Fuzz, n: int, k: Any) -> dict[str, Any]:
    init: Any = "signals"
    if fuzz.spoil():
        init = fuzz.wrong("init", "svd", np.zeros((n, n)), np.ones(3), None, [[]], 3)
    elif fuzz.chance(0.2) and not fuzz.bad:
        init = cases.random_vectors(fuzz.rng, n if k is None else int(k), n)
    max_iter = fuzz.integer("max_iter", 0, 2, 2**31 - 1)
    return {"init": init, "max_iter": max_iter, "tol": fuzz.number("tol", 0, 0.01, least=0)}


@target(2)
def ksvd(fuzz: Fuzz) -> None:
    n = min(fuzz.size(), 9) + 1
    shared = common(fuzz, n)
    more = steps(fuzz, n, shared["n_components"])
    batch_size: Any = fuzz.optional("batch_size", 1, 20, 2**31 - 1)
    if not fuzz.bad and fuzz.chance(0.5):
        batch_size = "auto"
    more |= {"approximate": fuzz.flag(), "batch_size": batch_size}
    use(fuzz, baselines.KSVD(**shared, **more), n, lazy=False)


@target(2)
def sparse_ksvd(fuzz: Fuzz) -> None:
    n = min(fuzz.size(), 9) + 1
    base: Any = fuzz.pick(("auto", "dct", "none", None, fost.DCT(n)))
    if fuzz.spoil():
        base = fuzz.wrong(
            "base", "fourier", 3, np.eye(n), fost.DCT(n + 1), fost.Bank([fost.DCT(n)])
        )
    estimator = fost.SparseKSVD(
        **common(fuzz, n),
        n_entries=fuzz.optional("n_entries", 1, n),
        base=base,
        max_iter=fuzz.integer("max_iter", 0, 2, 2**31 - 1),
        tol=fuzz.number("tol", 0, 0.01, least=0),
    )
    use(fuzz, estimator, n, lazy=False)


@target(2)
def mod(fuzz: Fuzz) -> None:
    n = min(fuzz.size(), 9) + 1
    shared = common(fuzz, n)
    use(fuzz, baselines.MOD(**shared, **steps(fuzz, n, shared["n_components"])), n, lazy=False)


@target(2)
def stagewise_ksvd(fuzz: Fuzz) -> None:
    n = min(fuzz.size(), 9) + 1
    estimator = baselines.StagewiseKSVD(
        **common(fuzz, n),
        atoms_per_stage=fuzz.integer("atoms_per_stage", 2, 4, 2**31 - 1),
        full_every=fuzz.integer("full_every", 1, 3, 2**31 - 1),
        n_inner=fuzz.integer("n_inner", 0, 2, 2**31 - 1),
        n_final=fuzz.integer("n_final", 0, 2, 2**31 - 1),
        drop_first=fuzz.flag(),
        share=fuzz.number("share", 0.01, 1, least=0, most=1),
    )
    use(fuzz, estimator, n, lazy=False)
