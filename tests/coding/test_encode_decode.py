from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import fost
from fost import _core
from fost.coding import decode as decoding
from tests import cases, reference

Array = NDArray[Any]


def assert_selected(codes: Any, C: Array, s: int, case: str) -> None:
    """That `codes` is T_s(C) bit for bit, in canonical form."""
    assert isinstance(codes, scipy.sparse.csr_array), case
    assert codes.shape == C.shape, case
    assert codes.dtype == C.dtype, case
    values, indices, indptr = reference.compact(reference.select_rows(C, s), C.dtype)
    assert codes.indices.dtype == codes.indptr.dtype == np.int32, case
    assert np.array_equal(codes.indptr, indptr), f"{case}: numbers of entries differ"
    assert np.array_equal(codes.indices, indices), f"{case}: indices differ"
    assert cases.same_bits(codes.data, values), f"{case}: values differ"
    # The flags that SciPy trusts are set, and a fresh array agrees.
    fresh = scipy.sparse.csr_array((codes.data, codes.indices, codes.indptr), shape=codes.shape)
    fresh.check_format(full_check=True)
    assert codes.has_sorted_indices, case
    assert codes.has_canonical_format, case
    assert fresh.has_canonical_format, case
    assert np.count_nonzero(codes.data) == codes.nnz, f"{case}: explicit zeros"


@given(
    data=st.data(),
    kind=cases.kinds,
    n=cases.n_features,
    count=cases.n_signals,
    signals=cases.signal_kinds,
    dtype=cases.dtypes,
    seed=cases.seeds,
)
def test_encode_selects_from_forward(
    isa: str,
    data: st.DataObject,
    kind: str,
    n: int,
    count: int,
    signals: str,
    dtype: Any,
    seed: int,
) -> None:
    s = data.draw(st.integers(1, n), label="s")
    rng = np.random.default_rng(seed)
    transform = cases.make_transform(kind, n, rng)
    Y = cases.make_signals(signals, count, n, dtype, rng)
    assert_selected(transform.encode(Y, s), transform.forward(Y), s, f"{transform}, {signals}")


@given(
    data=st.data(),
    n=cases.n_features,
    count=cases.n_signals,
    signals=cases.signal_kinds,
    dtype=cases.dtypes,
    seed=cases.seeds,
)
def test_select(
    isa: str, data: st.DataObject, n: int, count: int, signals: str, dtype: Any, seed: int
) -> None:
    s = data.draw(st.integers(1, n), label="s")
    C = cases.make_signals(signals, count, n, dtype, np.random.default_rng(seed))
    assert_selected(fost.select(C, s), C, s, f"{signals} coefficients")


# Up to 8 entries are selected by a network, more by bisection; features are collected in
# blocks of 64.
@pytest.mark.parametrize("n", [20, 63, 64, 65, 128, 130])
@pytest.mark.parametrize("s", range(1, 21))
def test_select_around_the_switch_of_algorithms(isa: str, s: int, n: int) -> None:
    rng = np.random.default_rng([s, n])
    for dtype in cases.DTYPES:
        for signals in cases.SIGNALS:
            C = cases.make_signals(signals, 35, n, dtype, rng)
            assert_selected(fost.select(C, s), C, s, f"{signals}, {np.dtype(dtype)}")


@pytest.mark.parametrize("n", [33, 64, 100, 150, 300])
@pytest.mark.parametrize("rank", [15, 16, 17, 31, 32, 33, 63, 64, 65, 70])
def test_select_around_the_sizes_of_networks(isa: str, rank: int, n: int) -> None:
    rng = np.random.default_rng([rank, n])
    for s in {rank, n - rank, n - rank + 1} & set(range(1, n + 1)):
        for dtype in cases.DTYPES:
            for signals in cases.SIGNALS:
                C = cases.make_signals(signals, 35, n, dtype, rng)
                assert_selected(fost.select(C, s), C, s, f"{signals}, {np.dtype(dtype)}, s={s}")


@pytest.mark.parametrize("dtype", cases.DTYPES)
@pytest.mark.parametrize("s", [4, 9, 70])
def test_selection_detects_nonfinite_coefficients(isa: str, s: int, dtype: Any) -> None:
    rng = np.random.default_rng(s)
    for n in (70, 200):
        for wrong in (np.nan, np.inf, -np.inf):
            C = rng.standard_normal((40, n)).astype(dtype)
            C[rng.integers(40), rng.integers(n)] = wrong
            with pytest.raises(ValueError, match="C contains NaN or infinity"):
                fost.select(C, s)


@pytest.mark.parametrize("dtype", cases.DTYPES)
@pytest.mark.parametrize("n", [1, 2, 8, 9, 64, 65, 200])
def test_ties_go_to_the_lower_index(isa: str, n: int, dtype: Any) -> None:
    rng = np.random.default_rng(n)
    alternating = np.tile(dtype(-1) ** np.arange(n, dtype=dtype), (20, 1))
    few_above = alternating.copy()
    few_above[np.arange(20), rng.integers(0, n, 20)] = 3
    blocks = np.repeat(rng.integers(0, 3, (20, -(-n // 3))), 3, axis=1)[:, :n].astype(dtype)
    neighbours = np.where(rng.random((20, n)) < 0.5, dtype(1), np.nextafter(dtype(1), dtype(2)))
    for s in {1, 2, 3, 7, 8, 9, 10, n // 2, n - 1, n} & set(range(1, n + 1)):
        for name, C in {
            "one magnitude": alternating,
            "few above": few_above,
            "blocks": blocks,
            "neighbouring numbers": neighbours,
        }.items():
            assert_selected(fost.select(C, s), C, s, f"{name}, s={s}")


@pytest.mark.parametrize("dtype", cases.DTYPES)
@pytest.mark.parametrize("s", [1, 4, 8, 9, 12])
def test_zeros_are_never_stored(isa: str, s: int, dtype: Any) -> None:
    C = np.zeros((6, 12), dtype)
    C[1] = -0.0
    C[2, 5] = np.finfo(dtype).smallest_subnormal
    C[3, 11] = -np.finfo(dtype).smallest_subnormal
    C[4, ::2] = -0.0
    C[4, 1] = 7
    codes = fost.select(C, s)
    assert codes.nnz == 3
    assert_selected(codes, C, s, "zeros of both signs and the smallest numbers")


@pytest.mark.parametrize("kind", cases.KINDS)
def test_encode_without_signals(isa: str, kind: str) -> None:
    transform = cases.make_transform(kind, 10, np.random.default_rng(0))
    for dtype in cases.DTYPES:
        for s in (1, 10):
            codes = transform.encode(np.empty((0, 10), dtype), s)
            assert_selected(codes, np.empty((0, 10), dtype), s, kind)
            assert transform.decode(codes).shape == (0, 10)
            assert transform.decode(codes).dtype == dtype


@pytest.mark.parametrize("kind", cases.KINDS)
def test_keeping_all_coefficients_loses_nothing(isa: str, kind: str) -> None:
    rng = np.random.default_rng(0)
    transform = cases.make_transform(kind, 50, rng)
    Y = cases.make_signals("normal", 40, 50, np.float64, rng)
    codes = transform.encode(Y, 50)
    assert cases.same_bits(codes.toarray(), transform.forward(Y))
    np.testing.assert_allclose(transform.decode(codes), Y, rtol=0, atol=1e-13)


@pytest.mark.parametrize("kind", cases.KINDS)
def test_the_error_is_the_energy_that_was_not_kept(kind: str) -> None:
    rng = np.random.default_rng(0)
    transform = cases.make_transform(kind, 50, rng)
    Y = cases.make_signals("normal", 40, 50, np.float64, rng)
    for s in (1, 5, 20):
        codes = transform.encode(Y, s)
        lost = np.sum((Y - transform.decode(codes)) ** 2)
        np.testing.assert_allclose(lost, np.sum(Y**2) - np.sum(codes.data**2), rtol=1e-12)


# RMSE of 8 x 8 patches without their mean, grey values from 0 to 1, four coefficients each:
# measured once with SciPy's DCT and full sorting, to four digits.
@pytest.mark.parametrize(
    ("picture", "rmse"), [("peppers", 0.0280), ("boat", 0.0324), ("barb", 0.0395)]
)
def test_codes_of_images(paper_images: dict[str, Array], picture: str, rmse: float) -> None:
    patches = paper_images[picture].reshape(64, 8, 64, 8).swapaxes(1, 2).reshape(-1, 64) / 255
    Y = patches - patches.mean(axis=1, keepdims=True)
    dct = fost.DCT((8, 8))
    codes = dct.encode(Y, 4)
    assert_selected(codes, dct.forward(Y), 4, picture)
    assert np.sqrt(np.mean((Y - dct.decode(codes)) ** 2)) == pytest.approx(rmse, abs=5e-5)


def random_codes(count: int, n: int, s: int, dtype: Any, rng: np.random.Generator) -> Any:
    """Codes of unit norm, with some empty rows."""
    C = cases.make_signals("normal", count, n, dtype, rng)
    C[rng.random(count) < 0.1] = 0
    return fost.select(C, s)


# A code of unit norm sums at most n = 300 atoms, or runs backwards through at most 900
# rotations or 20 reflectors.
def decode_tolerance(dtype: Any) -> float:
    return 2e-6 if dtype == np.float32 else 1e-14


@given(
    data=st.data(),
    kind=cases.kinds,
    n=cases.n_features,
    count=cases.n_signals.filter(bool),
    dtype=cases.dtypes,
    seed=cases.seeds,
)
def test_both_ways_to_decode_equal_the_product(
    isa: str, data: st.DataObject, kind: str, n: int, count: int, dtype: Any, seed: int
) -> None:
    s = data.draw(st.integers(1, n), label="s")
    rng = np.random.default_rng(seed)
    transform = cases.make_transform(kind, n, rng)
    codes = random_codes(count, n, s, dtype, rng)
    expected = reference.decode(transform, codes)
    for name, result in {
        "stages": decoding.decode_by_stages(transform._plan, codes, n),
        "atoms": decoding.decode_by_atoms(transform._atoms(np.dtype(dtype)), codes),
        "either": transform.decode(codes),
        "dense": transform.decode(codes.toarray()),
    }.items():
        assert result.dtype == dtype, name
        assert result.shape == (count, n), name
        error = np.abs(result - expected).max(initial=0)
        assert error <= decode_tolerance(dtype), f"{name}: {error:.2g}, {transform}"


def shuffled(codes: Any) -> Any:
    """The same codes with the entries of each row in reverse order."""
    out = codes.copy()
    for begin, end in zip(codes.indptr[:-1], codes.indptr[1:], strict=True):
        out.indices[begin:end] = codes.indices[begin:end][::-1]
        out.data[begin:end] = codes.data[begin:end][::-1]
    out.has_sorted_indices = False
    return out


def duplicated(codes: Any) -> Any:
    """The same codes with every entry split in two."""
    data, indices = np.repeat(codes.data / 2, 2), np.repeat(codes.indices, 2)
    return scipy.sparse.csr_array((data, indices, 2 * codes.indptr), shape=codes.shape)


def with_room(codes: Any) -> Any:
    """The same codes in arrays that are longer than they need to be."""
    out = codes.copy()
    out.data = np.append(codes.data, np.full(5, 9.0, codes.dtype))
    out.indices = np.append(codes.indices, np.full(5, 1, np.int32))
    return out


def wide_indices(codes: Any) -> Any:
    out = codes.copy()
    out.indices, out.indptr = out.indices.astype(np.int64), out.indptr.astype(np.int64)
    return out


def frozen(codes: Any) -> Any:
    out = codes.copy()
    for array in (out.data, out.indices, out.indptr):
        array.flags.writeable = False
    return out


FORMATS: dict[str, Callable[[Any], Any]] = {
    "csr_array": scipy.sparse.csr_array,
    "csr_matrix": scipy.sparse.csr_matrix,
    "csc_array": scipy.sparse.csc_array,
    "csc_matrix": scipy.sparse.csc_matrix,
    "coo_array": scipy.sparse.coo_array,
    "coo_matrix": scipy.sparse.coo_matrix,
    "lil_array": scipy.sparse.lil_array,
    "dok_array": scipy.sparse.dok_array,
    "dia_array": scipy.sparse.dia_array,
    "bsr_array": scipy.sparse.bsr_array,
    "int64 indices": wide_indices,
    "unsorted": shuffled,
    "duplicates": duplicated,
    "explicit zeros": lambda codes: scipy.sparse.csr_array(codes) * 1.0 - codes + codes,
    "room to spare": with_room,
    "read-only": frozen,
    "list": lambda codes: codes.toarray().tolist(),
    "Fortran order": lambda codes: np.asfortranarray(codes.toarray()),
}


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", ["dct", "dense"])
def test_decode_takes_codes_of_any_form(kind: str, form: str) -> None:
    rng = np.random.default_rng(0)
    transform = cases.make_transform(kind, 12, rng)
    for dtype in cases.DTYPES:
        codes = random_codes(30, 12, 4, dtype, rng)
        given_codes = FORMATS[form](codes)
        expected = reference.decode(transform, codes)
        result = transform.decode(given_codes)
        if form != "list":
            assert result.dtype == dtype
        assert np.abs(result - expected).max() <= decode_tolerance(dtype)
        if scipy.sparse.issparse(given_codes):
            checked = decoding.check_codes(given_codes, 12, "this")
            by_stages = decoding.decode_by_stages(transform._plan, checked, 12)
            by_atoms = decoding.decode_by_atoms(transform._atoms(np.dtype(dtype)), checked)
            assert np.abs(by_stages - expected).max() <= decode_tolerance(dtype)
            assert np.abs(by_atoms - expected).max() <= decode_tolerance(dtype)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.bool_, np.uint16])
def test_decode_takes_codes_of_integers(dtype: Any) -> None:
    codes = scipy.sparse.csr_array(np.eye(5, 12, dtype=dtype))
    result = fost.DCT(12).decode(codes)
    assert result.dtype == np.result_type(dtype, np.float32)
    tolerance = decode_tolerance(result.dtype)
    np.testing.assert_allclose(result, fost.DCT(12).matrix.T[:5], rtol=0, atol=tolerance)


def test_decode_leaves_the_codes_alone() -> None:
    codes = with_room(shuffled(random_codes(30, 12, 4, np.float64, np.random.default_rng(0))))
    data, indices, indptr = codes.data, codes.indices, codes.indptr
    copies = data.copy(), indices.copy(), indptr.copy()
    fost.DCT(12).decode(codes)
    assert codes.data is data
    assert codes.indices is indices
    assert codes.indptr is indptr
    for array, copy in zip((data, indices, indptr), copies, strict=True):
        assert cases.same_bits(array, copy)


@pytest.mark.parametrize("dtype", cases.DTYPES)
def test_both_ways_to_decode_no_codes(dtype: Any) -> None:
    transform, codes = fost.DCT(12), fost.select(np.empty((0, 12), dtype), 4)
    expected = np.empty((0, 12), dtype)
    assert cases.same_bits(decoding.decode_by_stages(transform._plan, codes, 12), expected)
    atoms = transform._atoms(np.dtype(dtype))
    assert cases.same_bits(decoding.decode_by_atoms(atoms, codes), expected)


def test_decode_of_empty_codes() -> None:
    for shape in ((0, 12), (1, 12), (100, 12)):
        for form in ("csr", "csc", "coo"):
            codes = scipy.sparse.coo_array(shape).asformat(form)
            for transform in (fost.DCT(12), fost.Dense(np.eye(12))):
                assert cases.same_bits(transform.decode(codes), np.zeros(shape))


def test_decode_chooses_the_cheaper_method() -> None:
    dense, dct = fost.Dense(np.eye(64)), fost.DCT((8, 8))
    Y = np.random.default_rng(0).standard_normal((1000, 64))
    for transform, s, sums in (
        (dense, 4, True),
        (dct, 1, True),
        (dct, 64, False),
    ):
        assert transform._sums_atoms(fost.select(Y, s)) == sums
    # A matrix is not made for a few signals.
    assert not fost.DCT((8, 8))._sums_atoms(fost.select(Y[:3], 4))


def test_unchecked_codes_equal_those_of_the_constructor_of_scipy() -> None:
    codes = fost.DCT(8).encode(np.random.default_rng(0).standard_normal((5, 8)), 3)
    fresh = scipy.sparse.csr_array((codes.data, codes.indices, codes.indptr), shape=codes.shape)
    fresh.has_sorted_indices = fresh.has_canonical_format = True
    assert vars(codes).keys() == vars(fresh).keys()
    others = vars(codes).keys() - {"data", "indices", "indptr"}
    assert all(vars(codes)[name] == vars(fresh)[name] for name in others)
    again = fost.DCT(8).encode(np.zeros((5, 8)), 3)
    assert (again.nnz, codes.nnz) == (0, 15)
    copied = pickle.loads(pickle.dumps(codes))
    assert cases.same_codes(copied, codes)
    assert cases.same_codes(codes[1:3], fresh[1:3])


@pytest.mark.parametrize("n", [1, 3, 7, 8, 9, 15, 16, 31, 33, 63, 64, 65, 127, 128, 129, 200, 257])
def test_sums_of_atoms_of_any_length(isa: str, n: int) -> None:
    rng = np.random.default_rng(n)
    for dtype in cases.DTYPES:
        atoms = rng.standard_normal((40, n)).astype(dtype)
        codes = random_codes(21, 40, 5, dtype, rng)
        expected = codes.toarray().astype(np.float64) @ atoms.astype(np.float64)
        error = np.abs(decoding.decode_by_atoms(atoms, codes) - expected).max()
        assert error <= 40 * np.finfo(dtype).eps


@pytest.mark.parametrize("n", [1, 3, 7, 8, 9, 16, 17, 31, 33, 64, 65, 79, 80, 81, 129, 257])
def test_single_atoms_at_any_alignment(isa: str, n: int) -> None:
    """Products of one value each, rounded once, for any alignment of the rows."""
    rng = np.random.default_rng(n)
    for dtype in cases.DTYPES:
        atoms: Array = rng.standard_normal((10, n)).astype(dtype)
        values: Array = rng.standard_normal(6).astype(dtype)
        indices = np.arange(6, dtype=np.int32)
        values[2] = 0
        for begin in range(17):
            room = np.full(begin + 6 * n + 16, 7, dtype)
            out = room[begin : begin + 6 * n].reshape(6, n)
            assert not _core.sum_atoms(atoms, values, indices, np.arange(7, dtype=np.int32), out)
            assert cases.same_bits(out, values[:, None] * atoms[:6] + dtype(0))
            assert (room[:begin] == 7).all()
            assert (room[begin + 6 * n :] == 7).all()


def test_atoms_start_at_a_cache_line() -> None:
    for n in (3, 8, 64):
        for dtype in (np.dtype(np.float32), np.dtype(np.float64)):
            atoms = fost.DCT(n)._atoms(dtype)
            assert atoms.ctypes.data % 64 == 0
            assert atoms.flags.c_contiguous
            assert cases.same_bits(atoms, fost.DCT(n).matrix.T.astype(dtype))


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", ["dct", "dense"])
def test_modified_codes_are_checked(kind: str, wrong: float) -> None:
    transform = cases.make_transform(kind, 12, np.random.default_rng(0))
    for dtype in cases.DTYPES:
        codes = fost.select(np.random.default_rng(0).standard_normal((50, 12)).astype(dtype), 3)
        transform.decode(codes)
        codes.data[77] = wrong
        with pytest.raises(ValueError, match="codes contain NaN or infinity"):
            transform.decode(codes)


BAD_CODES = [
    (np.eye(4, 5), ValueError, "codes have 5 columns, but this DCT transform was built for 4"),
    (np.eye(4, 3), ValueError, "codes have 3 columns, but this DCT transform was built for 4"),
    (np.eye(4) * np.nan, ValueError, "codes contain NaN or infinity"),
    (np.diag([1.0, np.inf, 1.0, 1.0]), ValueError, "codes contain NaN or infinity"),
    (np.diag([1.0, 1.0, 1.0, -np.inf]), ValueError, "codes contain NaN or infinity"),
    (np.eye(4) * 1j, TypeError, "codes must be real numbers, got dtype complex128"),
]


@pytest.mark.parametrize(("codes", "error", "message"), BAD_CODES, ids=range(len(BAD_CODES)))
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_bad_codes(codes: Array, error: type[Exception], message: str, form: str) -> None:
    with pytest.raises(error, match=message):
        fost.DCT(4).decode(scipy.sparse.coo_array(codes).asformat(form))


def test_codes_of_one_dimension() -> None:
    with pytest.raises(TypeError, match="codes must be a two-dimensional sparse array"):
        fost.DCT(4).decode(scipy.sparse.coo_array(np.ones(4)))


DAMAGES: dict[str, Callable[[Any], None]] = {
    "index too large": lambda codes: codes.indices.__setitem__(7, 12),
    "index far too large": lambda codes: codes.indices.__setitem__(7, 2**31 - 1),
    "negative index": lambda codes: codes.indices.__setitem__(7, -1),
    "pointer too large": lambda codes: codes.indptr.__setitem__(-1, 10**6),
    "pointers decrease": lambda codes: codes.indptr.__setitem__(3, 0),
    "pointer far too large": lambda codes: codes.indptr.__setitem__(3, 10**6),
    "negative pointer": lambda codes: codes.indptr.__setitem__(3, -5),
    "first pointer": lambda codes: codes.indptr.__setitem__(0, 1),
    "fewer values": lambda codes: setattr(codes, "data", codes.data[:-3]),
    "fewer indices": lambda codes: setattr(codes, "indices", codes.indices[:-3]),
    "fewer pointers": lambda codes: setattr(codes, "indptr", codes.indptr[:-3]),
    "more pointers": lambda codes: setattr(codes, "indptr", np.append(codes.indptr, 120)),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", ["dct", "dense"])
@pytest.mark.parametrize("wide", [False, True])
def test_damaged_codes_are_refused(kind: str, damage: str, wide: bool) -> None:
    rng = np.random.default_rng(0)
    transform = cases.make_transform(kind, 12, rng)
    codes = fost.select(cases.make_signals("normal", 30, 12, np.float64, rng), 4)
    codes = wide_indices(codes) if wide else codes
    DAMAGES[damage](codes)
    with pytest.raises(ValueError, match=r"ind|point|size"):
        transform.decode(codes)


def test_row_pointers_out_of_range_in_between() -> None:
    """SciPy looks at the first and the last pointer alone."""
    codes = scipy.sparse.csr_array(np.eye(5, 8))
    codes.indptr[:] = [0, 2**30, 2**30, 2**30, 2**30, 0]
    with pytest.raises(ValueError, match="codes are damaged: an index is outside of 0 to 5"):
        fost.DCT(8).decode(codes)


def small_codes(form: str) -> Any:
    codes = getattr(scipy.sparse, form)(np.eye(6, 8) + np.eye(6, 8, 3))
    return codes.tobsr((2, 4)) if form.startswith("bsr") else codes


def grown(array: Any, entry: Any) -> Any:
    """The array with another last entry."""
    made = array.copy()
    made[-1] = entry
    return made


SPARSE = [
    f"{name}_{kind}"
    for name in ("csr", "csc", "bsr", "coo", "lil", "dok", "dia")
    for kind in ("array", "matrix")
]
SPOILT: dict[str, dict[str, Callable[[Any], Any]]] = {
    form: {
        "index too large": lambda c: setattr(c, "indices", grown(c.indices, 8)),
        "index wraps": lambda c: setattr(c, "indices", grown(c.indices.astype(np.int64), 2**32)),
        "negative index": lambda c: setattr(c, "indices", grown(c.indices, -1)),
        "index of floats": lambda c: setattr(c, "indices", c.indices.astype(float)),
        "pointers fall": lambda c: setattr(c, "indptr", c.indptr[::-1].copy()),
        "pointers leave": lambda c: c.indptr.__setitem__(1, 2**30),
        "pointer too large": lambda c: setattr(c, "indptr", grown(c.indptr, 2**31 - 1)),
        "fewer pointers": lambda c: setattr(c, "indptr", c.indptr[:-1]),
        "no pointers": lambda c: setattr(c, "indptr", c.indptr[:0]),
        "fewer values": lambda c: setattr(c, "data", c.data[:2]),
        "values of another shape": lambda c: setattr(c, "data", c.data.ravel()[:, None]),
    }
    for form in ("csr", "csc", "bsr")
}
SPOILT["coo"] = {
    "row too large": lambda c: setattr(c, "coords", (grown(c.row, 6), c.col)),
    "column too large": lambda c: setattr(c, "coords", (c.row, grown(c.col, 8))),
    "negative column": lambda c: setattr(c, "coords", (c.row, grown(c.col, -1))),
    "fewer rows": lambda c: setattr(c, "coords", (c.row[:-1], c.col)),
    "fewer values": lambda c: setattr(c, "data", c.data[:-1]),
}
SPOILT["lil"] = {
    "column too large": lambda c: c.rows[5].append(8) or c.data[5].append(1.0),
    "column far too large": lambda c: c.rows[5].append(2**70) or c.data[5].append(1.0),
    "negative column": lambda c: c.rows[5].append(-1) or c.data[5].append(1.0),
    "fewer values": lambda c: c.rows[5].append(1),
    "more values": lambda c: c.data[5].append(1.0),
    "fewer lists": lambda c: setattr(c, "rows", c.rows[:-1]),
    "no list": lambda c: c.rows.__setitem__(2, None),
}
SPOILT["dok"] = {
    "column too large": lambda c: c._dict.__setitem__((0, 8), 1.0),
    "column far too large": lambda c: c._dict.__setitem__((0, 2**40), 1.0),
    "negative row": lambda c: c._dict.__setitem__((-1, 0), 1.0),
}
SPOILT["dia"] = {
    "fewer values": lambda c: setattr(c, "data", c.data[:1]),
    "fewer offsets": lambda c: setattr(c, "offsets", c.offsets[:1]),
}


@pytest.mark.parametrize("form", SPARSE)
def test_every_sparse_format_is_decoded(form: str) -> None:
    codes = small_codes(form)
    expected = codes.toarray() @ fost.DCT(8).matrix.T
    # The same sums, in another order.
    np.testing.assert_allclose(fost.DCT(8).decode(codes), expected, atol=1e-14)


@pytest.mark.parametrize(
    ("form", "damage"), [(form, name) for form in SPARSE for name in SPOILT[form[:3]]]
)
def test_damage_in_every_sparse_format_is_refused(form: str, damage: str) -> None:
    codes = small_codes(form)
    SPOILT[form[:3]][damage](codes)
    for transform in (fost.DCT(8), fost.Dense(np.eye(8))):
        with pytest.raises(ValueError, match="codes are damaged"):
            transform.decode(codes)


def test_diagonals_outside_of_the_matrix_are_ignored() -> None:
    codes = scipy.sparse.dia_array((np.ones((2, 8)), [0, 1]), shape=(6, 8))
    codes.offsets = np.array([0, 2**62])
    np.testing.assert_array_equal(fost.Dense(np.eye(8)).decode(codes), np.eye(6, 8))


def test_codes_with_false_attributes() -> None:
    class Liar(scipy.sparse.csr_array):
        def check_format(self, full_check: bool = True) -> None:
            pass

        @property
        def shape(self) -> tuple[int, int]:
            return getattr(self, "said", (5, 8))

    codes = Liar(scipy.sparse.csr_array(np.eye(5, 8)))
    codes.said = (500_000, 8)
    with pytest.raises(ValueError, match="codes are damaged: 500001 indices are expected"):
        fost.DCT(8).decode(codes)


def test_entries_after_the_last_row_are_ignored() -> None:
    codes = scipy.sparse.csr_array(np.eye(5, 8))
    more = scipy.sparse.csr_array(np.eye(5, 8))
    more.data = np.append(more.data, np.nan)
    more.indices = np.append(more.indices, 99)
    assert cases.same_bits(fost.DCT(8).decode(more), fost.DCT(8).decode(codes))


def test_more_columns_than_indices_can_count() -> None:
    n = 2**31
    codes = scipy.sparse.coo_array(([1.0], ([0], [n - 1])), shape=(1, n))
    with pytest.raises(ValueError, match="codes have 2147483648 columns, fost decodes at most"):
        decoding.check_codes(codes, n, "a bank")


@pytest.mark.parametrize("kind", ["dct", "dense"])
@pytest.mark.parametrize("dtype", cases.DTYPES)
def test_overflow_of_codes_is_an_error(kind: str, dtype: Any) -> None:
    transform = cases.make_transform(kind, 12, np.random.default_rng(0))
    large = np.finfo(dtype).max / dtype(1.2)
    X = np.where(transform.matrix[:1] < 0, -large, large).astype(dtype)
    with pytest.raises(ValueError, match="overflows"):
        transform.decode(X)
    with pytest.raises(ValueError, match="overflows"):
        transform.decode(scipy.sparse.csr_array(X))
