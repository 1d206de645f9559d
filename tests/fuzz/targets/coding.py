"""Passes over signals: forward, inverse, encode, decode, select, omp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

import fost
from tests import cases, reference
from tests.fuzz import forms
from tests.fuzz.judge import Fuzz
from tests.fuzz.targets import target

Array = NDArray[Any]


def scaled(Y: Array) -> tuple[Array, Array]:
    """Rows in float64 over a power of two, so that nothing overflows, and these powers."""
    largest = np.abs(Y).max(axis=1, keepdims=True, initial=0).astype(np.float64)
    powers = np.where(largest > 0, np.frexp(largest)[1], 0)
    return np.ldexp(Y.astype(np.float64), -powers), powers


def at_scale(function: Callable[[Array], Array], Y: Array) -> Array:
    """A linear function of rows, whatever their scale, in the type of the rows."""
    rows, powers = scaled(Y)
    with np.errstate(all="ignore"):
        return np.ldexp(function(rows), powers).astype(Y.dtype)


def check_threads(fuzz: Fuzz, call: Callable[[], Any]) -> None:
    """Another number of threads does not change a bit."""
    if fuzz.chance(0.8):
        return
    first = call()
    fost.set_num_threads(int(fuzz.rng.integers(1, 9)))
    second = call()
    same = cases.same_codes if scipy.sparse.issparse(first) else cases.same_bits
    fuzz.expect(same(first, second), "threads change the result")


def preallocated(fuzz: Fuzz, shape: tuple[int, ...], dtype: Any) -> Any:
    """An argument `out` for a result of this shape and type: often None, sometimes invalid."""
    if fuzz.chance(0.7):
        return None
    if fuzz.spoil():
        other = np.float32 if dtype == np.float64 else np.float64
        invalid = "out", [], np.empty((*shape, 1), dtype), np.empty(shape, other)
        return fuzz.wrong("out", *invalid, cases.read_only(np.empty(shape, dtype)))
    return np.empty(shape, dtype)


def check_codes(fuzz: Fuzz, codes: Any, C: Array, s: int) -> None:
    """They are the s largest of given coefficients, bit for bit."""
    fuzz.expect(codes.shape == C.shape and codes.dtype == C.dtype, "shape and type of codes")
    values, indices, indptr = reference.compact(reference.select_rows(C, s), C.dtype)
    fuzz.expect(np.array_equal(codes.indptr, indptr), "entries per code")
    fuzz.expect(np.array_equal(codes.indices, indices), "places of entries")
    fuzz.expect(cases.same_bits(codes.data, values), "values of entries")


@target(8)
def forward(fuzz: Fuzz) -> None:
    n = fuzz.size()
    transform = fuzz.transform(n)
    Y, plain = fuzz.signals("Y", n, axes=False)
    out = preallocated(fuzz, plain.shape, plain.dtype)
    C = fuzz.call(transform.forward, Y, out)
    fuzz.expect(out is None or C is out, "the result is out")
    fuzz.expect(C.dtype == plain.dtype, "type")
    fuzz.close(C, at_scale(lambda rows: reference.forward(transform, rows), plain), "Y @ U")
    check_threads(fuzz, lambda: transform.forward(plain))


@target(8)
def inverse(fuzz: Fuzz) -> None:
    n = fuzz.size()
    transform = fuzz.transform(n)
    X, plain = fuzz.signals("X", n, axes=False)
    out = preallocated(fuzz, plain.shape, plain.dtype)
    Y = fuzz.call(transform.inverse, X, out)
    fuzz.expect(out is None or Y is out, "the result is out")
    fuzz.close(Y, at_scale(lambda rows: reference.inverse(transform, rows), plain), "X @ U.T")
    check_threads(fuzz, lambda: transform.inverse(plain))
    if not fuzz.doubtful:
        fuzz.close(transform.forward(Y), plain, "forward undoes inverse")


def computed(result: Any) -> Any:
    """What a Dask array of codes holds."""
    if not hasattr(result, "compute"):
        return result
    parts = [part.compute() for part in result.to_delayed().ravel()]
    return scipy.sparse.vstack(parts, format="csr")


@target(8)
def encode(fuzz: Fuzz) -> None:
    n = fuzz.size()
    transform = fuzz.transform(n)
    Y, plain = fuzz.signals("Y", n, lazy=True)
    s = fuzz.integer("n_nonzero_coefs", 1, n)
    codes = fuzz.call(transform.encode, Y, s, then=computed)
    C = transform.forward(plain)
    if isinstance(Y, np.ndarray):
        check_codes(fuzz, codes, C, int(s))
        check_threads(fuzz, lambda: transform.encode(plain, int(s)))
    else:  # in blocks, whose sizes a dense stage may round by
        fuzz.expect(codes.shape == C.shape, "shape of codes")
        fuzz.expect((np.diff(codes.indptr) <= s).all(), "entries per code")
        fuzz.close(codes.sum(axis=1), fost.select(C, int(s)).sum(axis=1), "sums of codes", 1e3)


@target(4)
def encode_in_a_bank(fuzz: Fuzz) -> None:
    n = fuzz.size()
    bank = fuzz.bank(n)
    Y, plain = fuzz.signals("Y", n, lazy=True)
    s = fuzz.integer("n_nonzero_coefs", 1, n)
    codes = fuzz.call(bank.encode, Y, s, then=computed)
    fuzz.expect(codes.shape == (len(plain), bank.n_atoms), "shape of codes")
    members = codes.indices // n
    first = np.repeat(bank.chosen(codes), np.diff(codes.indptr))
    fuzz.expect((members == first).all(), "one member per code")
    rows, powers = scaled(plain)
    kept = [np.sort(reference.forward(m, rows) ** 2)[:, ::-1][:, : int(s)] for m in bank.members]
    best = np.max([k.sum(axis=1) for k in kept], axis=0)
    dense = np.ldexp(codes.toarray().astype(np.float64), -powers)
    have = (dense**2).sum(axis=1, keepdims=True).astype(plain.dtype)
    fuzz.close(have, best[:, None], "the energy of the best member", 10)


@target(3)
def encode_in_a_union(fuzz: Fuzz) -> None:
    n = fuzz.size()
    union = fost.Union(fuzz.bank(n).members)
    Y, plain = fuzz.signals("Y", n, lazy=True)
    s = fuzz.integer("n_nonzero_coefs", 1, n)
    codes = fuzz.call(union.encode, Y, s, then=computed)
    fuzz.expect(codes.shape == (len(plain), union.n_atoms), "shape of codes")
    fuzz.expect((np.diff(codes.indptr) <= int(s)).all(), "entries per code")
    rows, powers = scaled(plain)
    dense = np.ldexp(codes.toarray().astype(np.float64), -powers)
    left = np.square(rows - dense @ union.matrix.T).sum(axis=1)
    energy = np.square(rows).sum(axis=1)
    # The first atom is the best of all members, and more of them make nothing worse.
    best = np.max([np.abs(reference.forward(m, rows)).max(axis=1) for m in union.members], axis=0)
    room = 1e-3 if plain.dtype == np.float32 else 1e-6
    fuzz.expect((left <= energy - best**2 + room * energy).all(), "no worse than one atom")


def some_codes(fuzz: Fuzz, count: int, width: int) -> tuple[Any, Array]:
    """Sparse codes of any format, dense ones, or damaged ones; and what they are."""
    values = fuzz.values(count, width)
    values[fuzz.rng.random(values.shape) < 0.6] = 0
    if fuzz.chance(0.3):
        return fuzz.array("codes", values, sparse=False)
    kind, shape = fuzz.pick(forms.FORMATS), fuzz.pick(("array", "matrix"))
    plain = values.astype(fuzz.pick((np.float32, np.float64, np.float64)))
    if not np.isfinite(plain).all():
        plain = values
    codes = getattr(scipy.sparse, f"{kind}_{shape}")(plain)
    if fuzz.spoil():
        return _damaged(fuzz, codes, plain), plain
    if kind in ("csr", "csc", "bsr") and fuzz.chance(0.3):
        codes.indices, codes.indptr = codes.indices.astype(np.int64), codes.indptr.astype(np.int64)
    return codes, plain


def _damaged(fuzz: Fuzz, codes: Any, plain: Array) -> Any:
    """Codes of another width or type, or whose indices point anywhere."""
    kind = codes.format
    wrong = fuzz.pick(("width", "complex", "object", "nan", "indices", "indptr"))
    if wrong == "width":
        return fuzz.note_bad("codes", type(codes)(np.pad(plain, [(0, 0), (0, 1)])))
    if wrong == "complex" and codes.nnz:
        return fuzz.note_bad("codes", (codes * 1j).asformat(kind))
    if wrong == "nan" and codes.nnz and kind in ("csr", "csc", "coo"):
        codes.data[0] = np.nan
        return fuzz.note_bad("codes", codes)
    anywhere = fuzz.pick((-1, 2**31 - 1, -(2**31), max(codes.shape)))
    if wrong == "indices" and kind in ("csr", "csc", "bsr") and codes.nnz:
        codes.indices[int(fuzz.rng.integers(len(codes.indices)))] = anywhere
        return fuzz.note_bad("codes", codes)
    if wrong == "indices" and kind == "coo" and codes.nnz:
        codes.col[int(fuzz.rng.integers(codes.nnz))] = anywhere
        return fuzz.note_bad("codes", codes)
    if wrong == "indptr" and kind in ("csr", "csc", "bsr") and len(codes.indptr) > 2:
        codes.indptr[int(fuzz.rng.integers(1, len(codes.indptr)))] = fuzz.pick((-1, 2**31 - 1))
        return fuzz.note_bad("codes", codes)
    return fuzz.wrong("codes", None, 3, "codes", [], scipy.sparse.coo_array([1.0]))


@target(8)
def decode(fuzz: Fuzz) -> None:
    n = fuzz.size()
    transform = fuzz.transform(n)
    codes, plain = some_codes(fuzz, fuzz.count(), n)
    out = preallocated(fuzz, (len(plain), n), plain.dtype)
    Y = fuzz.call(transform.decode, codes, out)
    fuzz.expect(out is None or Y is out, "the result is out")
    fuzz.expect(Y.dtype == plain.dtype, "type")
    fuzz.close(Y, at_scale(lambda rows: reference.decode(transform, rows), plain), "codes @ atoms")


@target(4)
def decode_in_a_bank(fuzz: Fuzz) -> None:
    n = fuzz.size()
    bank = fuzz.bank(n)
    codes, plain = some_codes(fuzz, fuzz.count(), bank.n_atoms)
    atoms = np.concatenate([reference.matrix(member) for member in bank.members], axis=1).T
    if fuzz.chance(0.3):
        members = fuzz.call(bank.chosen, codes)
        first = np.argmax(plain != 0, axis=1) // n
        fuzz.expect(np.array_equal(members, first), "the member of the first entry")
        return
    out = preallocated(fuzz, (len(plain), n), plain.dtype)
    Y = fuzz.call(bank.decode, codes, out)
    fuzz.expect(out is None or Y is out, "the result is out")
    fuzz.close(Y, at_scale(lambda rows: rows @ atoms, plain), "codes @ atoms", 4)


@target(8)
def select(fuzz: Fuzz) -> None:
    n = fuzz.size()
    C, plain = fuzz.signals("C", n, columns=False)
    s = fuzz.integer("n_nonzero_coefs", 1, n)
    check_codes(fuzz, fuzz.call(fost.select, C, s), plain, int(s))


def some_atoms(fuzz: Fuzz, n: int, **wrong: bool) -> tuple[Any, Array]:
    """Atoms of unit length, of any length, or of none."""
    atoms = cases.random_vectors(fuzz.rng, int(fuzz.rng.integers(1, 2 * n + 2)), n)
    if fuzz.chance(0.2):
        atoms *= fuzz.pick((2.0, 1e-3, 1e100, 1e-100, 1e160, 1e-200))
        fuzz.doubtful.append("scaled atoms")
    elif fuzz.spoil():
        atoms[0] = 0
        fuzz.note_bad("atoms", "a row of zeros")
    return fuzz.array("atoms", atoms, precise=True, **wrong)


@target(2)
def prepared_atoms(fuzz: Fuzz) -> None:
    atoms, D = some_atoms(fuzz, min(fuzz.size(), 33), columns=False)
    made = fuzz.call(fost.Atoms, atoms)
    fuzz.expect(np.array_equal(made.atoms, D), "the atoms, as they are")
    fuzz.expect(np.array_equal(np.asarray(made), D), "as an array")
    repr(made)


@target(6)
def omp(fuzz: Fuzz) -> None:
    n = min(fuzz.size(), 33)
    atoms, D = some_atoms(fuzz, n)
    Y, plain = fuzz.signals("Y", n)
    s = fuzz.integer("n_nonzero_coefs", 1, min(n, len(D)), len(D))
    options: dict[str, Any] = {"normalize": fuzz.flag()}
    if fuzz.chance(0.2):
        options["max_error"] = fuzz.number("max_error", 0, 1, least=0)
    if fuzz.chance(0.2):
        options["missing"] = fuzz.rng.random(plain.shape) < 0.3
        if fuzz.spoil():
            wrong = (
                np.zeros((1, 1), bool),
                3,
                "mask",
                [[1, 0]],
                options["missing"] * 1.0,
                [[True], []],
            )
            options["missing"] = fuzz.wrong("missing", *wrong)
    for wrong in ("too narrow", "too wide"):
        if {f"atoms is {wrong}", f"Y is {wrong}"} <= set(fuzz.bad):
            return  # so they go together
    if (s is None) != (options.get("max_error") is None):  # one of them is enough
        fuzz.bad = [b for b in fuzz.bad if b not in ("n_nonzero_coefs=None", "tol=None")]
    codes = fuzz.call(fost.omp, Y, atoms, s, **options)
    fuzz.expect(codes.shape == (len(plain), len(D)) and codes.dtype == plain.dtype, "shape, type")
    if s is None:
        return
    fuzz.expect((np.diff(codes.indptr) <= s).all(), "entries per code")
    if {"missing", "max_error"} & set(options):
        return
    check_pursuit(fuzz, codes, plain, D.astype(np.float64))
    prepared = fost.omp(plain, fost.Atoms(D), int(s), **options)
    same = (prepared.data == codes.data).all() and (prepared.indices == codes.indices).all()
    fuzz.expect(prepared.nnz == codes.nnz and same, "other codes in prepared atoms")
    check_threads(fuzz, lambda: fost.omp(plain, D, int(s), **options))


def check_pursuit(fuzz: Fuzz, codes: Any, Y: Array, D: Array) -> None:
    """Codes are least squares, and the first atom is taken by correlation, at any scale."""
    rows, row_powers = scaled(Y)
    atoms, atom_powers = scaled(np.reshape(D, (1, -1)))
    atoms = atoms.reshape(D.shape)
    with np.errstate(all="ignore"):
        X = np.ldexp(codes.toarray().astype(np.float64), atom_powers - row_powers)
        left = rows - X @ atoms
    room = (1e-3 if Y.dtype == np.float32 else 1e-7) * np.linalg.norm(rows, axis=1)
    norms = np.linalg.norm(left, axis=1)
    fuzz.expect((norms <= np.linalg.norm(rows, axis=1) + room).all(), "a residual above the signal")
    strongest = np.abs(rows @ atoms.T).max(axis=1, initial=0) / np.linalg.norm(atoms, axis=1).max()
    empty = (np.diff(codes.indptr) == 0) & (strongest > room)
    fuzz.expect(not empty.any(), "an empty code of a signal that atoms resemble")
    for k in np.flatnonzero(np.diff(codes.indptr))[:3]:
        used = atoms[codes.indices[codes.indptr[k] : codes.indptr[k + 1]]]
        condition = np.linalg.cond(used)
        if condition < 100:
            slopes = np.abs(used @ left[k]).max() / np.linalg.norm(used, axis=1).max()
            fuzz.expect(slopes <= condition * room[k], "a residual that is not least squares")


@target(6)
def codes_to_an_error(fuzz: Fuzz) -> None:
    """By a tolerance or a threshold, in a transform, in a bank or of given coefficients."""
    n = fuzz.size()
    coder = fuzz.transform(n) if fuzz.chance(0.6) else fuzz.bank(n)
    Y, plain = fuzz.signals("Y", n, lazy=True)
    rule = fuzz.pick(("max_error", "threshold"))
    limit = fuzz.number(rule, 0, float(fuzz.pick((1e-6, 1, 1e4))), least=0)
    s = fuzz.integer("n_nonzero_coefs", 1, n) if fuzz.chance(0.3) else None
    if limit is not None:
        fuzz.allow_none("n_nonzero_coefs")
    elif s is not None:
        fuzz.allow_none(rule)
    codes = fuzz.call(coder.encode, Y, s, then=computed, **{rule: limit})
    fuzz.expect(codes.shape == (len(plain), coder.n_atoms), "shape of codes")
    counts = np.diff(codes.indptr)
    fuzz.expect(bool((counts <= (n if s is None else s)).all()), "entries per code")
    fuzz.expect(bool((codes.data != 0).all()), "zeros are not stored")
    if limit is None:
        return
    if rule == "threshold":
        fuzz.expect(bool((np.abs(codes.data) > limit).all()), "entries above the threshold")
    elif s is None and not fuzz.doubtful:
        rows, powers = scaled(plain)
        dense = np.ldexp(codes.toarray().astype(np.float64), -powers)
        with np.errstate(all="ignore"):
            energies = (rows**2).sum(axis=1)
            left = energies - (dense**2).sum(axis=1)
            allowed = np.ldexp(float(limit), -2 * powers[:, 0])
        slack = 2e-4 if plain.dtype == np.float32 else 1e-10
        fuzz.expect(bool((left <= allowed + slack * energies).all()), "the error of a signal")
    if isinstance(Y, np.ndarray):
        check_threads(fuzz, lambda: coder.encode(plain, s, **{rule: limit}))
