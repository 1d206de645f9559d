"""Structures, `learn`, checkpoints, sources."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import fost
from fost.learning import CandidateSizes, as_training_data, registered_structures
from tests.fuzz.judge import Fuzz
from tests.fuzz.targets import target
from tests.fuzz.targets.coding import computed, scaled

Array = NDArray[Any]


def full(fuzz: Fuzz, n: int) -> Any:
    return fuzz.call(fost.Orthonormal)


def reflectors(fuzz: Fuzz, n: int) -> Any:
    m = "auto" if fuzz.chance(0.15) else fuzz.integer("m", 1, n, 2**31 - 1)
    orthogonal = fuzz.flag()
    order = fuzz.choice("order", ("cyclic", "random"))
    triangular = not orthogonal and fuzz.flag()
    return fuzz.call(fost.Reflectors, m, orthogonal, order, triangular)


def rotations(fuzz: Fuzz, n: int) -> Any:
    g = "auto" if fuzz.chance(0.15) else fuzz.integer("g", 1, 2 * n, 2**31 - 1)
    return fuzz.call(fost.Rotations, g)


def bank_of(fuzz: Fuzz, n: int) -> Any:
    member: Any = fuzz.pick(
        (fost.Orthonormal(), fost.Reflectors(1), fost.Rotations(max(1, n // 2)))
    )
    if fuzz.spoil():
        wrong = (
            None,
            3,
            "orthonormal",
            fost.Orthonormal,
            fost.UnionOf(fost.Orthonormal(), 2),
            fost.DCT(4),
            [],
        )
        member = fuzz.wrong("structure", *wrong)
    several = fuzz.pick((fost.BankOf, fost.UnionOf))
    return fuzz.call(several, member, fuzz.integer("n_members", 1, 3, 2**20))


def circulants(fuzz: Fuzz, n: int) -> Any:
    return fuzz.call(fost.Circulants, fuzz.integer("n_members", 1, 3, 2**20))


@target(4)
def structures(fuzz: Fuzz) -> None:
    made = fuzz.pick((full, reflectors, rotations, bank_of, circulants))(fuzz, fuzz.size())
    fuzz.expect(isinstance(made, fost.Structure) and made == made, "a structure")
    hash(made)
    repr(made)


@target(1)
def described(fuzz: Fuzz) -> None:
    """Sizes of ladders cost what they say, less than a dense matrix, and no more than a limit."""
    n = fuzz.size()
    limit = int(fuzz.rng.integers(1, 2 * fost.Orthonormal().flops(n) + 1))
    for kind in registered_structures().values():
        fuzz.expect(kind.of_size(1 if kind.structure.parts else None, n).label, "a label")
        candidates = kind.structure.candidate_sizes(n, bool(fuzz.flag()))
        fuzz.expect(candidates is None or isinstance(candidates, CandidateSizes), "a candidates")
        if candidates is None or not candidates.sizes:
            continue
        for structure in fuzz.call(candidates.structures, limit):
            fuzz.expect(structure.flops(n) <= limit, "within the limit")
        for member in fuzz.call(candidates.members, [2, 4], limit):
            fuzz.expect(2 * member.flops(n) <= limit, "two of them within the limit")


def some_structure(fuzz: Fuzz, n: int) -> Any:
    """A good structure for n features, at least 2."""
    m = int(fuzz.rng.integers(1, n + 1))
    member = fuzz.pick((fost.Orthonormal(), fost.Reflectors(m), fost.Rotations(n)))
    orthogonal = fost.Reflectors(np.int64(m) if fuzz.chance(0.3) else m, orthogonal=True)
    auto = fuzz.pick((fost.Reflectors("auto"), fost.Rotations("auto")))
    return fuzz.pick((member, member, orthogonal, auto, fost.BankOf(member, fuzz.pick((1, 2, 3)))))


def some_start(fuzz: Fuzz, structure: Any, n: int) -> Any:
    """What learning may start from."""
    if fuzz.spoil():
        wrong = ("", "nothing", 3, [], np.eye(n), b"svd", fost.DCT(n + 1), fost.Orthonormal(), 1.5)
        return fuzz.wrong("init", *wrong)
    given: Any = fuzz.transform(n)
    if isinstance(structure, fost.BankOf):
        given = fost.Bank([fost.DCT(n)])
    elif isinstance(structure, fost.UnionOf):
        kind = fuzz.pick((fost.Bank, fost.Union))
        given = kind([fost.DCT(n)] * structure.n_members)
    return fuzz.pick((None, None, *structure.starts, given))


def some_base(fuzz: Fuzz, n: int) -> Any:
    if fuzz.spoil():
        return fuzz.not_a_transform("base", n)
    return fuzz.transform(n) if fuzz.chance(0.4) else fuzz.pick((None, "none", "auto", "dct"))


def some_shape(fuzz: Fuzz, n: int) -> Any:
    """The shape of signals with n features."""
    if fuzz.spoil():
        return fuzz.wrong("signal_shape", n + 1, (n, 2), (), "square", 0, 1.5)
    return fuzz.pick((None, n, (n,), (1, n)))


def check_learned(fuzz: Fuzz, result: Any, Y: Array, s: int) -> None:
    """Orthonormal, of the error that it says it has, which never rises."""
    transform, errors = result.transform, result.errors
    U = transform.matrix
    for k in range(0, U.shape[1], len(U)):
        member = U[:, k : k + len(U)]
        fuzz.close(member.T @ member, np.eye(len(U)), "orthonormal", 10)
    fuzz.expect(len(errors) == result.n_iter, "one error per iteration")
    fuzz.expect(((errors >= 0) & (errors <= 1 + 1e-6)).all(), "errors between 0 and 1")
    # The slack that learning itself allows for.
    slack = 16 * np.finfo(Y.dtype).eps * np.sqrt(len(U))
    fuzz.expect((np.diff(errors) <= slack).all(), "errors never rise")
    largest = float(np.abs(Y).max(initial=0))
    if not largest or largest < 1e-100:
        return
    rows = Y.astype(np.float64) / largest
    kept, total = (transform.encode(rows, s).data ** 2).sum(), (rows**2).sum()
    error = max(0.0, 1 - kept / total)
    fuzz.expect(abs(error - result.error) <= 1e-9 + 20 * slack, "the error of the transform")


@target(6)
def learn(fuzz: Fuzz) -> None:
    n = min(fuzz.size(), 17) + 1
    structure = some_structure(fuzz, n)
    if fuzz.spoil():
        wrong = (None, 3, "orthonormal", fost.Orthonormal, fost.DCT(n), [], fost.Reflectors(n + 1))
        structure = fuzz.wrong("structure", *wrong)
    Y, plain = fuzz.signals("Y", n, least=1, lazy=True, columns=False)
    s = fuzz.integer("n_nonzero_coefs", 1, n)
    known = structure if isinstance(structure, fost.Structure) else fost.Orthonormal()
    options = {
        "base": some_base(fuzz, n),
        "signal_shape": some_shape(fuzz, n),
        "init": some_start(fuzz, known, n),
        "n_init": fuzz.integer("n_init", 1, 3, 2**31 - 1),
        "max_iter": fuzz.integer("max_iter", 0, 4, 2**31 - 1),
        "tol": fuzz.number("tol", 0, 1e-3, least=0),
        "random_state": fuzz.random_state(),
    }
    if fuzz.chance(0.1) and not fuzz.bad:
        options["random_state"] = fuzz.pick((None, 3))  # a generator would go on
        options["checkpoint"] = fuzz.folder / "checkpoint.safetensors"
    result = fuzz.call(fost.learn, Y, structure, s, names=("m",), **options)
    check_learned(fuzz, result, plain, int(s))
    if "checkpoint" in options:
        again = fuzz.call(fost.learn, Y, structure, s, **options)
        fuzz.expect(np.array_equal(again.errors, result.errors), "a resumed run is the same")


@target(4)
def learn_from_part(fuzz: Fuzz) -> None:
    """With gaps, weights and thresholds, in any combination."""
    n = min(fuzz.size(), 17) + 1
    structure = some_structure(fuzz, n)
    Y, plain = fuzz.signals("Y", n, least=1, lazy=True, columns=False)
    shape, options = plain.shape, {"max_iter": int(fuzz.rng.integers(0, 4)), "random_state": 0}
    s = fuzz.integer("n_nonzero_coefs", 1, n)
    if fuzz.chance(0.5):
        options["threshold"] = fuzz.number("threshold", 0, 2, least=0)
        fuzz.allow_none("threshold")
    if fuzz.chance(0.6):
        missing: Any = fuzz.rng.random(shape) < fuzz.pick((0.0, 0.3, 0.9))
        missing[0] = False  # something is observed
        if fuzz.spoil():
            wrong = (missing[:, :-1], missing.astype(int), "gaps", 3, [True], ~missing | True)
            missing = fuzz.wrong("missing", *wrong)
        fuzz.allow_gaps("Y", Y, missing)
        options["missing"] = missing
    if fuzz.chance(0.6):
        weights: Any = fuzz.rng.uniform(0.1, 3, shape[0])
        if fuzz.spoil():
            wrong = (-weights, weights[:, None], np.append(weights, 1), weights * np.nan, "w", 1j)
            weights = fuzz.wrong("sample_weight", *wrong)
        options["sample_weight"] = weights
    result = fuzz.call(fost.learn, Y, structure, s, names=("m",), **options)
    U = result.transform.matrix
    for k in range(0, U.shape[1], len(U)):
        member = U[:, k : k + len(U)]
        fuzz.close(member.T @ member, np.eye(len(U)), "orthonormal", 10)
    fuzz.expect(bool(np.isfinite(result.errors).all()), "errors")
    slack = 16 * np.finfo(plain.dtype).eps * np.sqrt(len(U))
    errors = result.errors
    fuzz.expect(bool((np.diff(errors) <= slack * (1 + errors[:-1])).all()), "errors never rise")


@target(2)
def encode_what_is_observed(fuzz: Fuzz) -> None:
    n = fuzz.size()
    coder = fuzz.transform(n) if fuzz.chance(0.6) else fuzz.bank(n)
    Y, plain = fuzz.signals("Y", n, least=1, lazy=True)
    missing: Any = fuzz.rng.random(plain.shape) < 0.3
    if fuzz.spoil():
        missing = fuzz.wrong("missing", missing[:-1], missing.astype(float), "gaps", 3)
    s = fuzz.integer("n_nonzero_coefs", 1, n)
    fuzz.allow_gaps("Y", Y, missing)
    codes = fuzz.call(coder.encode, Y, s, missing=missing, then=computed)
    fuzz.expect(codes.shape == (len(plain), coder.n_atoms), "shape of codes")
    fuzz.expect(bool((np.diff(codes.indptr) <= s).all()), "entries per code")
    blank = missing.all(axis=1)
    fuzz.expect(not np.diff(codes.indptr)[blank].any(), "empty codes where nothing is observed")


@target(2)
def as_training_data_(fuzz: Fuzz) -> None:
    n = fuzz.size()
    Y, plain = fuzz.signals("Y", n, least=1, lazy=True, columns=False, finite=False)
    source = fuzz.call(as_training_data, Y, then=lambda source: (source.n_signals, source))[1]
    fuzz.expect((source.n_signals, source.n_features) == plain.shape, "size")
    if fuzz.doubtful:
        return
    gram = source.gram(None)
    fuzz.close(gram, plain.T.astype(np.float64) @ plain, "Y^T Y", 1e3)
    rows, _ = scaled(plain)
    fuzz.close(source.rows().astype(np.float64), plain.astype(np.float64), "signals")
    fuzz.expect(len(rows) == len(plain), "signals")
