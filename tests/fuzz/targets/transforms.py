"""Transforms, banks, their files and copies."""

from __future__ import annotations

import pickle
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

import fost
from tests import cases, reference
from tests.fuzz.judge import Fuzz
from tests.fuzz.targets import target


def check_transform(fuzz: Fuzz, transform: fost.Transform, n: int) -> None:
    """It is orthonormal, what its parameters say, and undone by its inverse."""
    fuzz.expect(transform.n_features == n, "n_features")
    U = transform.matrix
    fuzz.close(U.T @ U, np.eye(n), "orthonormal")
    fuzz.close(U, reference.matrix(transform), "the matrix of the parameters")
    fuzz.expect(transform.flops >= 0 and transform.n_parameters >= 0, "flops")
    repr(transform)


@target()
def householder(fuzz: Fuzz) -> None:
    n = fuzz.size()
    vectors = cases.random_vectors(fuzz.rng, int(fuzz.rng.integers(0, n + 1)), n)
    if fuzz.spoil():
        more = cases.random_vectors(fuzz.rng, n + 1, n)
        wrong = (
            vectors * 3,
            np.zeros((1, 0)),
            more,
            np.full((1, n), 1e200),
            np.eye(n) / 2,
        )
        vectors = fuzz.wrong("vectors", *wrong)
        if not vectors.size and vectors.shape[1]:
            fuzz.bad.clear()
    made, _ = fuzz.array("vectors", vectors, precise=True, columns=False)
    check_transform(fuzz, fuzz.call(fost.Householder, made), n)


@target()
def givens(fuzz: Fuzz) -> None:
    n = fuzz.size() + 1
    g = int(fuzz.rng.integers(1, 2 * n))
    pairs: Any = cases.random_pairs(fuzz.rng, g, n)
    blocks = cases.random_blocks(fuzz.rng, g)
    if fuzz.spoil():
        wrong: tuple[Any, ...] = (
            [(0, n)],
            [(-1, 0)],
            [(0, 0)],
            [(0.0, 1.0)],
            [0, 1],
            "pairs",
            None,
        )
        wrong += (3, np.zeros((g + 1, 2), int), [(2**40, 0)], [(0, 1j)], [[object(), 1]], {1: 2})
        wrong += ([(10**30, 1)], [(0, 1), (2,)], [("a", "b")], np.ma.array([(0, 1)], mask=True))
        pairs = fuzz.wrong("pairs", *wrong)
    else:
        kinds = [k for k in (np.int8, np.uint8, np.int32, np.int64, np.uint64, ">i4") if n < 127]
        pairs = pairs.astype(fuzz.pick(kinds or [np.int64]))
        pairs = pairs.tolist() if fuzz.chance(0.3) else pairs
    if fuzz.spoil():
        blocks = fuzz.wrong("blocks", blocks + 1, np.ones((g + 1, 2, 2)), 1e200 * blocks)
    made, _ = fuzz.array("blocks", blocks, precise=True)
    n_features = fuzz.integer("n_features", n, n, 2**31 - 1)
    check_transform(fuzz, fuzz.call(fost.Givens, pairs, made, n_features), n)


@target()
def dct(fuzz: Fuzz) -> None:
    if fuzz.spoil():
        wrong: tuple[Any, ...] = ((), (0,), (-1, 4), (2**20, 2**20), (1.5,), "8", None, 4.0, [[2]])
        wrong += (2**31, (8, None), True, {}, np.nan, 10**40, np.zeros((2, 2), int), "ab")
        shape = fuzz.wrong("shape", *wrong)
        fuzz.call(fost.DCT, shape)
    lengths = tuple(int(fuzz.pick((1, 2, 3, 4, 5, 8, 9))) for _ in range(fuzz.pick((1, 1, 2, 3))))
    kinds: tuple[Any, ...] = (tuple, list, np.array, lambda k: k[0], lambda k: np.int8(k[0]))
    kind = fuzz.pick(kinds)
    scalar = kind in kinds[3:5]
    transform = fuzz.call(fost.DCT, kind(lengths))
    check_transform(fuzz, transform, lengths[0] if scalar else prod(lengths))


@target()
def hadamard(fuzz: Fuzz) -> None:
    shape: Any = tuple(2 ** int(k) for k in fuzz.rng.integers(0, 4, fuzz.pick((1, 1, 2, 3))))
    n = prod(shape)
    if fuzz.spoil():
        wrong: tuple[Any, ...] = ((), 0, 12, (8, 3), -8, 2**27, 2**40, 8.0, "8", None, [[8]])
        shape = fuzz.wrong("shape", *wrong, (2**20, 2**20), np.nan)
    check_transform(fuzz, fuzz.call(fost.Hadamard, shape), n)


@target()
def wavelet(fuzz: Fuzz) -> None:
    level: Any = int(fuzz.rng.integers(0, 4))
    lengths = fuzz.rng.integers(1, 4, fuzz.pick((1, 1, 2)))
    shape: Any = tuple(int(k) << level for k in lengths)
    n = prod(shape)
    name: Any = fuzz.pick(("haar", "db2", "db3", "db4", "db11", "coif1", "coif4"))
    if fuzz.spoil():
        shape = fuzz.wrong("shape", (), 0, -8, 2**31, 2**40, 8.0, "8", None, [[8]], (2**20, 2**20))
    if fuzz.spoil():
        name = fuzz.wrong("name", "db0", "", "bior2.2", "dmey", "cmor", 4, None, [], b"haar", "DB4")
    if fuzz.spoil():
        level = fuzz.wrong("level", level + 5, -1, 1.0, "1", [], 10**40, True, np.nan)
    elif fuzz.chance(0.3) and level:
        level = None
    check_transform(fuzz, fuzz.call(fost.Wavelet, shape, name, level), n)


@target()
def algebra(fuzz: Fuzz) -> None:
    """Products of signals and transforms, and of transforms."""
    n = fuzz.size()
    U, V = fuzz.transform(n), fuzz.transform(n)
    check_transform(fuzz, U.T, n)
    fuzz.expect(U.T.T == U, "U.T.T == U")
    fuzz.expect((U @ V).T == V.T @ U.T, "transposed products")
    Y, plain = fuzz.array("Y", fuzz.rng.standard_normal((3, n)), sparse=False, axes=False)
    W = U @ V.T
    product = fuzz.call(W.__rmatmul__, Y, of=W.forward)
    fuzz.close(product, plain @ (U.matrix @ V.matrix.T).astype(plain.dtype), "Y @ U @ V.T")


@target()
def dense(fuzz: Fuzz) -> None:
    n = fuzz.size()
    matrix = cases.random_orthonormal(fuzz.rng, n)
    if fuzz.spoil():
        wrong = (
            matrix + 1,
            np.zeros((n, n)),
            np.ones((n, n + 1)),
            np.zeros((0, 0)),
            matrix * 1e200,
        )
        matrix = fuzz.wrong("matrix", *wrong)
    made, _ = fuzz.array("matrix", matrix, precise=True)
    check_transform(fuzz, fuzz.call(fost.Dense, made), n)


def _some_transforms(fuzz: Fuzz, name: str, n: int) -> Any:
    members = [fuzz.transform(n) for _ in range(int(fuzz.rng.integers(1, 4)))]
    if fuzz.spoil():
        other = fuzz.not_a_transform(name, n)
        wrong: tuple[Any, ...] = (
            [*members, other],
            [],
            None,
            3,
            other,
            {},
            "ab",
            [None],
            [members],
        )
        return fuzz.pick((*wrong, fost.Bank(members), [fost.Bank(members)]))
    return fuzz.pick((tuple, list, iter))(members)


@target()
def chain(fuzz: Fuzz) -> None:
    n = fuzz.size()
    check_transform(fuzz, fuzz.call(fost.Chain, _some_transforms(fuzz, "members", n)), n)


@target()
def bank(fuzz: Fuzz) -> None:
    n = fuzz.size()
    made = fuzz.call(fost.Bank, _some_transforms(fuzz, "members", n))
    fuzz.expect(made.n_atoms == n * len(made) == made.matrix.shape[1], "n_atoms")
    for k, member in enumerate(made.members):
        atoms = made.matrix[:, k * n : (k + 1) * n]
        fuzz.close(atoms, reference.matrix(member), "the atoms of a member")
    fuzz.expect(made == fost.Bank(made.members) and hash(made) == hash(made), "equality")
    fuzz.expect(made.flops <= sum(m.flops for m in made.members), "flops")


@target()
def union(fuzz: Fuzz) -> None:
    n = fuzz.size()
    made = fuzz.call(fost.Union, _some_transforms(fuzz, "members", n))
    fuzz.expect(made.n_atoms == n * len(made) == made.matrix.shape[1], "n_atoms")
    fuzz.expect(n <= made.n_distinct_atoms <= made.n_atoms, "distinct atoms")
    fuzz.expect(made == fost.Union(made.members) and hash(made) == hash(made), "equality")
    fuzz.expect(made != fost.Bank(made.members), "not a bank")


@target()
def circulant(fuzz: Fuzz) -> None:
    n, count = fuzz.size(), int(fuzz.rng.integers(1, 4))
    kernels: Any = fuzz.rng.standard_normal((count, n)) + 0.1
    if fuzz.spoil():
        wrong = (None, "kernels", [], [1.0, 2.0], np.zeros((1, n)), [[np.nan]], np.empty((0, n)))
        kernels = fuzz.wrong("kernels", *wrong)
    made = fuzz.call(fost.Circulant, kernels)
    fuzz.close(made.matrix, reference.circulant_atoms(made.kernels).T, "the shifts")
    fuzz.expect(made == fost.Circulant(made.kernels) and hash(made) == hash(made), "equality")
    fuzz.expect(made.n_parameters == n * count, "n_parameters")


@target()
def sparse_dictionary(fuzz: Fuzz) -> None:
    n = fuzz.size()
    count, p = int(fuzz.rng.integers(1, 2 * n + 2)), int(fuzz.rng.integers(1, n + 1))
    indices: Any = np.array([fuzz.rng.permutation(n)[:p] for _ in range(count)])
    values: Any = fuzz.rng.standard_normal((count, p))
    base: Any = fuzz.transform(n)
    if fuzz.spoil():
        base = fuzz.wrong("base", None, "dct", np.eye(n), fost.Bank([fost.DCT(n)]))
    elif fuzz.spoil():
        indices = fuzz.wrong(
            "indices", indices + n, -1 - indices, indices / 2, indices[0], np.zeros((count, 0))
        )
    elif fuzz.spoil():
        values = fuzz.wrong("values", 0 * values, values[:, 1:], values * np.nan, values[None])
    made = fuzz.call(fost.SparseDictionary, base, indices, values)
    A = np.zeros((count, n))
    np.put_along_axis(A, made.indices.astype(np.intp), made.values, axis=1)
    fuzz.close(made.matrix, reference.matrix(made.base) @ A.T, "the atoms")
    copy = fost.SparseDictionary(made.base, made.indices, made.values)
    fuzz.expect(made == copy and hash(made) == hash(copy), "equality")
    Y = fuzz.rng.standard_normal((5, n))
    s = min(n, count, 3)
    codes = made.encode(Y, s)
    fuzz.close(made.decode(codes), codes.toarray() @ made.matrix.T, "decode")
    fuzz.expect((np.diff(codes.indptr) <= s).all(), "entries per code")


@target()
def as_linear_operator(fuzz: Fuzz) -> None:
    n = fuzz.size()
    transform = fuzz.transform(n)
    operator = fuzz.call(transform.as_linear_operator)
    x = fuzz.rng.standard_normal(fuzz.pick(((n,), (n, 1), (n, 3))))
    fuzz.close(operator @ x, transform.matrix @ x, "op @ x")
    fuzz.close(operator.T @ x, transform.matrix.T @ x, "op.T @ x")


@target()
def copies(fuzz: Fuzz) -> None:
    n = fuzz.size()
    made = fuzz.bank(n) if fuzz.chance(0.3) else fuzz.transform(n)
    copy = fuzz.call(pickle.dumps, made, then=pickle.loads)
    fuzz.expect(copy == made and hash(copy) == hash(made), "equal after pickling")
    fuzz.expect(made != fuzz.transform(n + 1) and made != 3, "unequal to others")


def a_path(fuzz: Fuzz, good: Path, read: bool = False) -> Any:
    """A path in some form; those that a system refuses by itself are not of interest here."""
    if fuzz.spoil():
        wrong: tuple[Any, ...] = (None, 3.5, [], {}, object(), "a\0b", Path("a\0b"), ("a",), 1j)
        return fuzz.wrong("path", *wrong)
    return fuzz.pick((good, str(good), str(good).encode() if read else good))


@target()
def save(fuzz: Fuzz) -> None:
    made = fuzz.bank(4) if fuzz.chance(0.3) else fuzz.transform(fuzz.size())
    good = fuzz.folder / "transform.safetensors"
    metadata = fuzz.pick((None, {}, {"a": "b"}, {"": "\n{}"}))
    if fuzz.spoil():
        wrong = ({"a": 1}, {1: "a"}, "ab", [("a", "b")], 3, {"a": None}, [1], {b"a": "b"})
        metadata = fuzz.wrong("metadata", *wrong)
    fuzz.call(made.save, a_path(fuzz, good), metadata)
    fuzz.expect(fost.load(good) == made, "equal after loading")
    fuzz.expect(fost.transforms.read_metadata(good) == (metadata or {}), "metadata")


@target()
def load(fuzz: Fuzz) -> None:
    good = fuzz.folder / "transform.safetensors"
    made = fuzz.transform(fuzz.size())
    made.save(good)
    if fuzz.chance(0.5):
        _damage(fuzz, good)
    function = fuzz.pick((fost.load, fost.transforms.read_metadata))
    loaded = fuzz.call(function, a_path(fuzz, good), names=(good.name.split(".")[0],))
    if function is fost.load and not fuzz.doubtful:
        fuzz.expect(loaded == made, "equal after loading")


def _damage(fuzz: Fuzz, path: Path) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(int(fuzz.rng.integers(1, 4))):
        content[int(fuzz.rng.integers(len(content)))] = int(fuzz.rng.integers(256))
    path.write_bytes(
        content[: int(fuzz.rng.integers(len(content)))] if fuzz.chance(0.3) else content
    )
    fuzz.doubtful.append("damaged file")


@target()
def set_num_threads(fuzz: Fuzz) -> None:
    count = fuzz.integer("n_threads", 1, 9, 1024)
    fuzz.call(fost.set_num_threads, count)
    fuzz.expect(fost.get_num_threads() == count, "as many threads as were set")
