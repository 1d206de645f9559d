from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import fost
from fost import _core
from fost._validation import check_integer, check_parameters, check_real, check_shape
from tests import cases

SIZES = ((0, 5), (1, 1), (3, 1), (1, 64), (33, 64), (65, 37), (140, 130))


@pytest.mark.parametrize("layout", cases.LAYOUTS)
@pytest.mark.parametrize("kind", cases.KINDS)
def test_the_layout_of_signals_does_not_matter(isa: str, kind: str, layout: str) -> None:
    for count, n in SIZES:
        for dtype in cases.DTYPES:
            rng = np.random.default_rng([count, n])
            transform = cases.make_transform(kind, n, rng)
            plain = cases.make_signals("normal", count, n, dtype, rng)
            Y = cases.LAYOUTS[layout](plain)
            case = f"{layout}, {transform}, {count} signals, {np.dtype(dtype)}"
            s = min(n, 3)
            assert cases.same_bits(transform.forward(Y), transform.forward(plain)), case
            assert cases.same_bits(transform.inverse(Y), transform.inverse(plain)), case
            assert cases.same_codes(transform.encode(Y, s), transform.encode(plain, s)), case
            assert cases.same_codes(transform.encode(Y, n), transform.encode(plain, n)), case
            assert cases.same_codes(fost.select(Y, s), fost.select(plain, s)), case


@pytest.mark.parametrize("layout", [name for name in cases.LAYOUTS if name != "byte-swapped"])
def test_the_layout_of_signals_does_not_matter_for_the_statistic(isa: str, layout: str) -> None:
    rng = np.random.default_rng(0)
    chain = cases.make_transform("chain", 37, rng)
    for dtype in cases.DTYPES:
        plain = cases.make_signals("normal", 600, 37, dtype, rng)
        expected, M = np.empty((37, 37)), np.empty((37, 37))
        energy = chain._plan.accumulate(plain, 4, expected)
        Y = check_real(cases.LAYOUTS[layout](plain), "Y")
        assert chain._plan.accumulate(Y, 4, M) == energy
        assert cases.same_bits(M, expected), f"{layout}, {np.dtype(dtype)}"


@pytest.mark.parametrize("kind", cases.KINDS)
@pytest.mark.parametrize("shape", [(40, 1), (1, 20), (1, 1)], ids=str)
def test_broadcast_signals(isa: str, kind: str, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    transform = cases.make_transform(kind, 20, rng)
    for dtype in cases.DTYPES:
        Y = np.broadcast_to(rng.standard_normal(shape).astype(dtype), (40, 20))
        assert cases.same_bits(transform.forward(Y), transform.forward(Y.copy()))
        assert cases.same_codes(transform.encode(Y, 3), transform.encode(Y.copy(), 3))


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.uint64, np.longdouble, ">i4", ">f8"])
def test_other_numbers_become_float64(dtype: Any) -> None:
    Y = np.random.default_rng(0).integers(0, 2, (9, 12)).astype(dtype)
    transform = fost.DCT(12)
    exact = Y.astype(np.float64)
    assert cases.same_bits(transform.forward(Y), transform.forward(exact))
    assert cases.same_codes(transform.encode(Y, 4), transform.encode(exact, 4))


SMALL_TYPES = (np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.float16, ">i2", ">u2", ">f2")


@pytest.mark.parametrize("n", [1, 5, 12, 64, 65, 150])
@pytest.mark.parametrize("dtype", SMALL_TYPES, ids=str)
def test_what_float32_holds_is_read_where_it_lies(isa: str, dtype: Any, n: int) -> None:
    rng = np.random.default_rng(n)
    plain = rng.integers(-(2**15), 2**15, (70, n)).astype(dtype)
    transform = cases.make_transform("chain", n, rng)
    for name, layout in cases.LAYOUTS.items():
        with np.errstate(invalid="ignore"):  # layouts have NaN around them, and what becomes of it
            Y = layout(plain)
        exact = np.asarray(Y).astype(np.float32)
        assert cases.same_bits(transform.forward(Y), transform.forward(exact)), name
        assert cases.same_bits(transform.inverse(Y), transform.inverse(exact)), name
        s = min(n, 4)
        assert cases.same_codes(transform.encode(Y, s), transform.encode(exact, s)), name
        assert cases.same_codes(fost.select(Y, s), fost.select(exact, s)), name


def test_every_number_of_float16(isa: str) -> None:
    numbers = np.arange(2**16, dtype=np.uint16).view(np.float16)
    numbers = numbers[np.isfinite(numbers)].reshape(-1, 64)
    assert cases.same_bits(fost.Chain([identity(64)]).forward(numbers), numbers.astype(np.float32))
    for wrong in (np.inf, -np.inf, np.nan):
        Y = numbers[:20].copy()
        Y[17, 3] = wrong
        with pytest.raises(ValueError, match="Y contains NaN or infinity"):
            fost.DCT(64).encode(Y, 4)
        with pytest.raises(ValueError, match="Y contains NaN or infinity"):
            fost.DCT(64).forward(Y)


def test_patches_that_are_no_rows_yet() -> None:
    Y = np.ones((5, 8, 8))
    hint = r"got \(5, 8, 8\); write Y.reshape\(5, -1\) if each of its 5 parts is a signal"
    for call in (
        lambda: fost.DCT((8, 8)).encode(Y, 4),
        lambda: fost.learn(Y, fost.Orthonormal(), 4),
        lambda: fost.omp(Y, np.eye(64), 4),
    ):
        with pytest.raises(ValueError, match=hint):
            call()
    with pytest.raises(ValueError, match=r"write Y\[None, :\] for a single signal"):
        fost.DCT(8).encode(np.ones(8), 4)


def identity(n: int) -> fost.Transform:
    """A transform that leaves every bit as it is."""
    return fost.Givens(np.empty((0, 2), int), np.empty((0, 2, 2)), n)


def test_learning_from_small_types() -> None:
    Y = np.random.default_rng(0).integers(0, 256, (300, 16)).astype(np.uint8)
    learned = fost.learn(Y, fost.Rotations(8), 3, base=fost.DCT(16), max_iter=3)
    same = fost.learn(Y.astype(np.float32), fost.Rotations(8), 3, base=fost.DCT(16), max_iter=3)
    assert learned.transform == same.transform


def test_lists_and_array_likes() -> None:
    class Wrapped:
        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            return np.array([[1.0, 2.0]], dtype)

    expected = fost.DCT(2).forward(np.array([[1.0, 2.0]]))
    for Y in ([[1.0, 2.0]], ((1, 2),), Wrapped(), memoryview(np.array([[1.0, 2.0]]))):
        assert cases.same_bits(fost.DCT(2).forward(Y), expected)


@pytest.mark.parametrize("dtype", cases.DTYPES)
def test_check_real_copies_only_where_it_must(dtype: Any) -> None:
    Y = np.arange(12, dtype=dtype).reshape(3, 4)
    for view in (Y, Y.T, Y[::-1, ::2], np.broadcast_to(Y[0], (5, 4)), cases.read_only(Y)):
        checked = check_real(view, "Y")
        assert np.shares_memory(checked, view)
        assert cases.same_bits(checked, view)
    for name in ("unaligned", "field of records", "byte-swapped"):
        checked = check_real(cases.LAYOUTS[name](Y), "Y")
        assert checked.flags.aligned, name
        assert cases.same_bits(checked, Y), name


def test_check_real_takes_any_dimension() -> None:
    assert check_real(3, "Y").shape == ()
    assert check_real([], "Y").shape == (0,)


OPERATIONS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "forward": ("Y", fost.DCT(4).forward),
    "inverse": ("X", fost.DCT(4).inverse),
    "encode": ("Y", lambda Y: fost.DCT(4).encode(Y, 2)),
    "decode": ("codes", fost.DCT(4).decode),
    "select": ("C", lambda C: fost.select(C, 1)),
}
each_operation = pytest.mark.parametrize(("name", "operation"), OPERATIONS.values(), ids=OPERATIONS)


@each_operation
@pytest.mark.parametrize(
    ("Y", "found"),
    [
        (np.ones((2, 4)) * 1j, "complex128"),
        (np.ones((2, 4), np.complex64), "complex64"),
        (np.ones((2, 4), object), "object"),
        ([["a", "b", "c", "d"]], "<U1"),
        (np.zeros((2, 4), "S3"), r"\|S3"),
        (np.zeros((2, 4), "M8[s]"), "datetime64"),
        (np.zeros((2, 4), "m8[s]"), "timedelta64"),
        (None, "object"),
    ],
    ids=range(8),
)
def test_signals_must_be_real_numbers(
    name: str, operation: Callable[[Any], Any], Y: Any, found: str
) -> None:
    with pytest.raises(TypeError, match=f"{name} must be real numbers, got dtype {found}"):
        operation(Y)


each_by_rows = pytest.mark.parametrize(
    ("name", "operation"), [OPERATIONS[k] for k in ("encode", "decode", "select")]
)


@each_by_rows
@pytest.mark.parametrize("shape", [(), (4,), (2, 2, 4), (0,)])
def test_signals_must_be_rows(
    name: str, operation: Callable[[Any], Any], shape: tuple[int, ...]
) -> None:
    message = rf"{name} must have shape \(n_signals, n_features\), got \("
    with pytest.raises(ValueError, match=message):
        operation(np.zeros(shape))


@each_by_rows
def test_a_single_signal_gets_a_hint(name: str, operation: Callable[[Any], Any]) -> None:
    with pytest.raises(ValueError, match=rf"got \(4,\); write {name}\[None, :\] for a single"):
        operation(np.zeros(4))


@pytest.mark.parametrize("operation", ["forward", "inverse"])
def test_a_number_is_no_signal(operation: str) -> None:
    name, call = OPERATIONS[operation]
    with pytest.raises(ValueError, match=rf"{name} must have shape \(\.\.\., n_features\)"):
        call(3.0)


@pytest.mark.parametrize("n", [0, 3, 5, 400])
@pytest.mark.parametrize("operation", ["forward", "inverse", "encode", "decode"])
def test_signals_must_have_the_transforms_features(operation: str, n: int) -> None:
    name, call = OPERATIONS[operation]
    message = f"{name} has {n} features, but this DCT transform was built for 4"
    with pytest.raises(ValueError, match=message):
        call(np.zeros((2, n)))


@pytest.mark.parametrize("operation", ["forward", "inverse", "encode", "select"])
def test_signals_must_be_dense(operation: str) -> None:
    name, call = OPERATIONS[operation]
    with pytest.raises(TypeError, match=f"{name} must be a dense array, got a sparse csr_array"):
        call(scipy.sparse.csr_array(np.eye(4)))
    with pytest.raises(TypeError, match=f"{name} must be a dense array, got a sparse coo_matrix"):
        call(scipy.sparse.coo_matrix(np.eye(4)))


def test_select_needs_a_feature() -> None:
    with pytest.raises(ValueError, match=r"C must have at least one feature, got shape \(3, 0\)"):
        fost.select(np.zeros((3, 0)), 1)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", cases.KINDS)
@pytest.mark.parametrize("dtype", cases.DTYPES)
def test_signals_must_be_finite(isa: str, kind: str, dtype: Any, bad: float) -> None:
    rng = np.random.default_rng(0)
    transform = cases.make_transform(kind, 30, rng)
    clean = cases.make_signals("normal", 70, 30, dtype, rng)
    for row in (0, 1, 31, 32, 69):
        for column in (0, 13, 29):
            Y = clean.copy()
            Y[row, column] = bad
            calls: list[tuple[str, Callable[[], Any]]] = [
                ("Y", lambda Y=Y: transform.forward(Y)),
                ("X", lambda Y=Y: transform.inverse(Y)),
                ("codes", lambda Y=Y: transform.decode(Y)),
            ]
            for s in (1, 3, 8, 9, 30):  # both algorithms of selection
                calls.append(("Y", lambda Y=Y, s=s: transform.encode(Y, s)))
                calls.append(("C", lambda Y=Y, s=s: fost.select(Y, s)))
            for name, call in calls:
                with pytest.raises(ValueError, match=f"{name} contains NaN or infinity"):
                    call()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("count", [1, 2, 8, 9])
def test_a_few_signals_must_be_finite(isa: str, count: int, bad: float) -> None:
    for n in (1, 2, 5):
        for position in (0, count * n - 1):
            for dtype in cases.DTYPES:
                C = np.zeros((count, n), dtype)
                C.flat[position] = bad
                for s in range(1, n + 1):
                    with pytest.raises(ValueError, match="C contains NaN or infinity"):
                        fost.select(C, s)


@pytest.mark.parametrize("kind", ["householder", "givens", "dct", "dense", "chain"])
@pytest.mark.parametrize("dtype", cases.DTYPES)
def test_overflow_is_an_error(isa: str, kind: str, dtype: Any) -> None:
    n = 16
    transform = cases.make_transform(kind, n, np.random.default_rng(1))
    large = np.finfo(dtype).max / dtype(1.2)
    # Entries with the signs of an atom add up to `large` times the sum of |atom|.
    atom = np.abs(transform.matrix).sum(axis=0).argmax()
    feature = np.abs(transform.matrix).sum(axis=1).argmax()
    assert np.abs(transform.matrix[:, atom]).sum() > 1.3
    assert np.abs(transform.matrix[feature]).sum() > 1.3
    Y, X = np.ones((40, n), dtype), np.ones((40, n), dtype)
    Y[33] = np.where(transform.matrix[:, atom] < 0, -large, large)
    X[7] = np.where(transform.matrix[feature] < 0, -large, large)
    message = f"is too large: its transform overflows {np.dtype(dtype)}"
    for s in (1, 8, 9, n):
        with pytest.raises(ValueError, match=f"Y {message}"):
            transform.encode(Y, s)
    with pytest.raises(ValueError, match=f"Y {message}"):
        transform.forward(Y)
    with pytest.raises(ValueError, match=f"X {message}"):
        transform.inverse(X)
    with pytest.raises(ValueError, match=f"codes {message}"):
        transform.decode(X)


@pytest.mark.parametrize("dtype", cases.DTYPES)
def test_the_largest_numbers_can_be_selected(isa: str, dtype: Any) -> None:
    C = np.full((20, 30), np.finfo(dtype).max, dtype)
    C[:, 7] *= -1
    for s in (1, 8, 9, 30):
        assert cases.same_bits(fost.select(C, s).toarray()[:, :s], C[:, :s])


BAD_COUNTS = [
    (0, ValueError, "n_nonzero_coefs must be between 1 and n_features=6, got 0"),
    (-1, ValueError, "n_nonzero_coefs must be between 1 and n_features=6, got -1"),
    (7, ValueError, "n_nonzero_coefs must be between 1 and n_features=6, got 7"),
    (2**80, ValueError, "n_nonzero_coefs must be between 1 and n_features=6"),
    (2.0, TypeError, "n_nonzero_coefs must be an integer, got 2.0"),
    (np.float64(2), TypeError, "n_nonzero_coefs must be an integer"),
    (np.True_, TypeError, "n_nonzero_coefs must be an integer"),
    ("2", TypeError, "n_nonzero_coefs must be an integer, got '2'"),
    (None, ValueError, "n_nonzero_coefs, max_error or threshold must be given"),
    ([2], TypeError, r"n_nonzero_coefs must be an integer, got \[2\]"),
]


@pytest.mark.parametrize(("s", "error", "message"), BAD_COUNTS, ids=lambda value: repr(value)[:20])
def test_bad_numbers_of_coefficients(s: Any, error: type[Exception], message: str) -> None:
    for count in (0, 1, 9):
        with pytest.raises(error, match=message):
            fost.DCT(6).encode(np.ones((count, 6)), s)
        with pytest.raises(error, match=message):
            fost.select(np.ones((count, 6)), s)


@pytest.mark.parametrize("s", [2, np.int8(2), np.uint64(2), np.array(2)], ids=repr)
def test_integers_of_any_type(s: Any) -> None:
    assert fost.select([[1.0, 3.0, 2.0]], s).toarray().tolist() == [[0.0, 3.0, 2.0]]


def test_check_integer() -> None:
    assert check_integer(3, "k", 3, 3) == 3
    assert type(check_integer(np.int16(3), "k", 1, 5)) is int
    with pytest.raises(ValueError, match=r"^k must be between 1 and 5, got 6$"):
        check_integer(6, "k", 1, 5)
    with pytest.raises(ValueError, match=r"^k must be between 1 and n=5, got 0$"):
        check_integer(0, "k", 1, 5, "n")
    with pytest.raises(TypeError, match=r"^k must be an integer, got 1\.5$"):
        check_integer(1.5, "k", 1, 5)


def test_check_shape() -> None:
    array = np.zeros((2, 3))
    check_shape(array, "a", (2, 3))
    check_shape(array, "a", (None, 3))
    for shape in ((2,), (2, 3, 1), (3, 2), (None, 2)):
        with pytest.raises(ValueError, match=r"^a must have shape \(.*\), got \(2, 3\)$"):
            check_shape(array, "a", shape)
    with pytest.raises(ValueError, match=r"a must have shape \(any, 2\)"):
        check_shape(array, "a", (None, 2))


def test_check_parameters_makes_a_read_only_copy() -> None:
    array = np.ones((2, 3), np.float32, order="F")
    checked = check_parameters(array, "a", (2, 3))
    assert checked.dtype == np.float64
    assert checked.flags.c_contiguous
    assert not checked.flags.writeable
    exact = np.ones((2, 3))
    assert not np.shares_memory(check_parameters(exact, "a", (2, 3)), exact)


def test_kernels_refuse_arrays_that_do_not_fit() -> None:
    plan = _core.Plan(4)
    Y, out = np.zeros((3, 4)), np.zeros((3, 4))
    for y, x in ((Y[:, :3], out), (Y, out[:2]), (Y, out[:, :3])):
        with pytest.raises(ValueError, match="shapes do not agree"):
            plan.apply(y, x, False)
    with pytest.raises(TypeError):
        plan.apply(Y.astype(np.float32), out, False)
    with pytest.raises(TypeError):
        plan.apply(Y, cases.read_only(out), False)
    for s in (0, 5):
        with pytest.raises(ValueError, match="shapes do not agree"):
            plan.accumulate(Y, s, np.zeros((4, 4)))
    with pytest.raises(ValueError, match="shapes do not agree"):
        plan.accumulate(Y, 1, np.zeros((3, 4)))
