"""Properties of all kinds of transforms."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fost
from tests import cases, reference

VECTORS = cases.random_vectors(np.random.default_rng(0), 3, 12)
PAIRS = np.array([(0, 5), (11, 2), (3, 4), (0, 1)])
BLOCKS = cases.random_blocks(np.random.default_rng(1), 4)
MATRIX = cases.random_orthonormal(np.random.default_rng(2), 12)

# One of each kind, built anew for every test.
MAKERS: dict[str, Callable[[], Any]] = {
    "householder": lambda: fost.Householder(VECTORS),
    "givens": lambda: fost.Givens(PAIRS, BLOCKS, 12),
    "dct": lambda: fost.DCT((3, 4)),
    "dense": lambda: fost.Dense(MATRIX),
    "chain": lambda: fost.Chain([fost.DCT(12), fost.Givens(PAIRS, BLOCKS, 12)]),
    "dense chain": lambda: fost.Chain([fost.Dense(MATRIX), fost.Householder(VECTORS)]),
}
each_kind = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


# The round trip rounds twice as often as the 3 n rotations or 20 reflectors of the longest
# transforms here; 1e-13 and 1e-5 are 450 and 80 eps of the largest entry.
@given(
    kind=cases.kinds,
    n=cases.n_features,
    count=cases.n_signals,
    signals=cases.signal_kinds.filter(lambda kind: kind != "denormal"),
    dtype=cases.dtypes,
    seed=cases.seeds,
)
def test_round_trip(
    isa: str, kind: str, n: int, count: int, signals: str, dtype: Any, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    transform = cases.make_transform(kind, n, rng)
    Y = cases.make_signals(signals, count, n, dtype, rng)
    limit = 1e-5 if dtype == np.float32 else 1e-13
    scale = np.abs(Y).max(axis=1, keepdims=True)
    for there, back in (
        (transform.forward, transform.inverse),
        (transform.inverse, transform.forward),
    ):
        result = back(there(Y))
        assert result.dtype == dtype
        assert (np.abs(result - Y) <= limit * scale).all(), f"{transform}, {signals} signals"


@given(kind=cases.kinds, n=st.integers(1, 150), seed=cases.seeds)
def test_matrix_is_orthonormal_and_equals_the_reference(isa: str, kind: str, n: int, seed: int):
    transform = cases.make_transform(kind, n, np.random.default_rng(seed))
    U = transform.matrix
    assert U.dtype == np.float64
    assert U.shape == (n, n)
    assert np.abs(U.T @ U - np.eye(n)).max() < 1e-13, f"{transform} is not orthonormal"
    assert np.abs(U - reference.matrix(transform)).max() < 1e-13, f"{transform}"


@each_kind
def test_forward_and_inverse_are_products_with_the_matrix(make: Callable[[], Any]) -> None:
    transform = make()
    Y = np.random.default_rng(0).standard_normal((5, 12))
    np.testing.assert_allclose(transform.forward(Y), Y @ transform.matrix, rtol=0, atol=1e-14)
    np.testing.assert_allclose(transform.inverse(Y), Y @ transform.matrix.T, rtol=0, atol=1e-14)


@each_kind
def test_transforms_preserve_energy(make: Callable[[], Any]) -> None:
    Y = np.random.default_rng(0).standard_normal((5, 12))
    np.testing.assert_allclose(
        np.linalg.norm(make().forward(Y), axis=1), np.linalg.norm(Y, axis=1), rtol=1e-14
    )


@each_kind
def test_input_is_not_changed(make: Callable[[], Any]) -> None:
    transform = make()
    for order in "CF":
        Y = np.array(np.random.default_rng(0).standard_normal((50, 12)), order=order)
        before = Y.copy()
        transform.forward(Y)
        transform.inverse(Y)
        codes = transform.encode(Y, 3)
        entries = codes.data.copy()
        transform.decode(codes)
        transform.decode(Y)
        assert cases.same_bits(Y, before), order
        assert cases.same_bits(codes.data, entries), order


@each_kind
def test_linear_operator_passes_the_dot_test(make: Callable[[], Any]) -> None:
    operator = make().as_linear_operator()
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 12))
    assert operator.shape == (12, 12)
    assert operator.dtype == np.float64
    # <U x, y> = <x, U^T y>
    np.testing.assert_allclose((operator @ x) @ y, x @ (operator.T @ y), rtol=1e-13)
    np.testing.assert_allclose((operator @ x) @ y, x @ (operator.H @ y), rtol=1e-13)
    np.testing.assert_allclose((operator @ x) @ y, x @ operator.rmatvec(y), rtol=1e-13)


@each_kind
@pytest.mark.parametrize("k", [0, 1, 5, 40])
def test_linear_operator_on_several_columns(make: Callable[[], Any], k: int) -> None:
    transform = make()
    operator = transform.as_linear_operator()
    X = np.random.default_rng(0).standard_normal((12, k))
    expected = transform.matrix @ X
    adjoint = transform.matrix.T @ X
    np.testing.assert_allclose(operator.matmat(X), expected, rtol=0, atol=1e-14)
    np.testing.assert_allclose(operator @ X, expected, rtol=0, atol=1e-14)
    np.testing.assert_allclose(operator.rmatmat(X), adjoint, rtol=0, atol=1e-14)
    np.testing.assert_allclose(operator.T @ X, adjoint, rtol=0, atol=1e-14)
    for j in range(k):
        column = X[:, j : j + 1]
        assert operator.matvec(column).shape == (12, 1)
        np.testing.assert_allclose(operator.matvec(column), expected[:, j : j + 1], atol=1e-14)
        np.testing.assert_allclose(operator.rmatvec(X[:, j]), adjoint[:, j], atol=1e-14)


@each_kind
def test_equality_and_hash(make: Callable[[], Any]) -> None:
    transform, again = make(), make()
    assert transform == again
    assert not transform.__ne__(again)
    assert hash(transform) == hash(again)
    transform.matrix  # noqa: B018  cached values are not compared
    transform.decode(transform.encode(np.ones((200, 12)), 1))
    assert transform == again
    assert hash(transform) == hash(again)
    assert len({transform, again}) == 1
    for name, other in MAKERS.items():
        assert (other() == transform) == (other is make), name
    assert transform != "a transform"
    assert transform != None  # noqa: E711
    assert transform.__eq__(3) is NotImplemented


def test_any_change_makes_a_transform_unequal() -> None:
    turned = np.array(BLOCKS)
    turned[2] = turned[2].T
    others = [
        fost.Householder(-VECTORS),
        fost.Householder(VECTORS[::-1]),
        fost.Householder(VECTORS[:2]),
        fost.Householder(np.insert(VECTORS, 3, 0, axis=0)),
        fost.Householder(np.pad(VECTORS, ((0, 0), (0, 1)))),
        fost.Givens(PAIRS, turned, 12),
        fost.Givens(PAIRS, BLOCKS, 13),
        fost.Givens(PAIRS[:, ::-1], BLOCKS, 12),
        fost.DCT((4, 3)),
        fost.Dense(-MATRIX),
        fost.Dense(MATRIX.T),
    ]
    everything = [*others, *(make() for make in MAKERS.values())]
    for k, a in enumerate(everything):
        for j, b in enumerate(everything):
            assert (a == b) == (k == j), f"{a!r} and {b!r}"


def test_negative_zeros_are_equal_and_hash_alike() -> None:
    zero, negative = (fost.Householder([[1.0, sign * 0.0]]) for sign in (1, -1))
    assert zero == negative
    assert hash(zero) == hash(negative)
    zero, negative = (fost.Dense([[1.0, sign * 0.0], [0.0, 1.0]]) for sign in (1, -1))
    assert zero == negative
    assert hash(zero) == hash(negative)


@each_kind
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(make: Callable[[], Any], protocol: int) -> None:
    transform = make()
    again = pickle.loads(pickle.dumps(transform, protocol))
    assert type(again) is type(transform)
    assert again == transform
    Y = np.random.default_rng(0).standard_normal((5, 12))
    assert cases.same_bits(again.forward(Y), transform.forward(Y))


@each_kind
@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy])
def test_copies(make: Callable[[], Any], copier: Callable[[Any], Any]) -> None:
    transform = make()
    again = copier(transform)
    assert type(again) is type(transform)
    assert again == transform
    Y = np.random.default_rng(0).standard_normal((5, 12))
    assert cases.same_bits(again.forward(Y), transform.forward(Y))


@pytest.mark.parametrize(
    ("transform", "text"),
    [
        (
            fost.Householder(np.eye(64)[:12]),
            "Householder(n_features=64, n_reflectors=12, flops=3072)",
        ),
        (fost.Householder(np.zeros((0, 5))), "Householder(n_features=5, n_reflectors=0, flops=0)"),
        (
            fost.Givens([(0, 1)] * 7, [np.eye(2)] * 7, 64),
            "Givens(n_features=64, n_rotations=7, flops=42)",
        ),
        (fost.DCT((8, 8)), "DCT(n_features=64, shape=(8, 8), flops=672)"),
        (fost.DCT(64), "DCT(n_features=64, shape=(64,), flops=774)"),
        (fost.Dense(np.eye(64)), "Dense(n_features=64, flops=8128)"),
        (
            fost.Chain([fost.DCT((8, 8)), fost.Householder(np.eye(64)[:2])]),
            "Chain(n_features=64, stages=[DCT, Householder], flops=1184)",
        ),
    ],
)
def test_repr(transform: fost.Transform, text: str) -> None:
    assert repr(transform) == text


@pytest.mark.parametrize(
    ("transform", "flops", "n_parameters"),
    [
        (fost.Householder(np.eye(64)[:6]), 4 * 64 * 6, 64 * 6),
        (fost.Householder(np.zeros((3, 5))), 60, 15),
        (fost.Givens([(0, 1)] * 9, [np.eye(2)] * 9, 30), 54, 18),
        (fost.DCT((8, 8)), 672, 0),
        (fost.DCT((64,)), 774, 0),
        (fost.DCT((1,)), 0, 0),
        (fost.DCT((1, 1, 1)), 0, 0),
        (fost.DCT((1, 64)), 774, 0),
        (fost.DCT((2,)), 5, 0),
        (fost.DCT((4, 8)), 8 * 14 + 4 * 42, 0),
        (fost.DCT((8, 8, 8)), 3 * 64 * 42, 0),
        (fost.Dense(np.eye(64)), 8128, 4096),
        (fost.Dense([[1.0]]), 1, 1),
        (
            fost.Chain([fost.DCT(6), fost.Dense(np.eye(6)), fost.Householder(np.eye(6))]),
            fost.DCT(6).flops + 66 + 144,
            36 + 36,
        ),
    ],
    ids=repr,
)
def test_counts(transform: fost.Transform, flops: int, n_parameters: int) -> None:
    assert transform.flops == flops
    assert transform.n_parameters == n_parameters
    assert type(transform.flops) is int


@each_kind
def test_arrays_are_read_only(make: Callable[[], Any]) -> None:
    transform = make()
    for name in ("vectors", "pairs", "blocks", "matrix"):
        if hasattr(transform, name):
            with pytest.raises(ValueError, match="read-only"):
                getattr(transform, name)[0] = 0


@each_kind
@pytest.mark.parametrize("name", ["n_features", "flops", "n_parameters", "matrix"])
def test_attributes_cannot_be_replaced(make: Callable[[], Any], name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(make(), name, np.zeros((12, 12)))


def test_later_changes_of_the_callers_arrays_do_not_matter() -> None:
    vectors, pairs, blocks, U = VECTORS.copy(), PAIRS.astype(np.int32), BLOCKS.copy(), MATRIX.copy()
    members = [fost.DCT(12), fost.DCT((3, 4))]
    built = [
        fost.Householder(vectors),
        fost.Givens(pairs, blocks, 12),
        fost.Dense(U),
        fost.Chain(members),
    ]
    for array in (vectors, pairs, blocks, U):
        array[...] = 0
    members.reverse()
    assert built == [
        fost.Householder(VECTORS),
        fost.Givens(PAIRS, BLOCKS, 12),
        fost.Dense(MATRIX),
        fost.Chain([fost.DCT(12), fost.DCT((3, 4))]),
    ]


def test_a_read_only_view_of_a_changing_array_is_copied() -> None:
    writable = VECTORS.copy()
    view = writable[:]
    view.flags.writeable = False
    transform = fost.Householder(view)
    writable[...] = 0
    assert transform == fost.Householder(VECTORS)


@each_kind
def test_result_has_the_documented_type_and_shape(make: Callable[[], Any]) -> None:
    transform = make()
    for dtype, expected in (
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.float16, np.float32),
        (np.longdouble, np.float64),
        (np.int32, np.float64),
        (np.int64, np.float64),
        (np.int16, np.float32),
        (np.uint8, np.float32),
        (np.bool_, np.float32),
    ):
        Y = np.ones((3, 12), dtype)
        for result in (transform.forward(Y), transform.inverse(Y), transform.decode(Y)):
            assert result.dtype == expected, dtype
            assert result.shape == (3, 12)
            assert result.flags.c_contiguous
            assert result.flags.writeable
        assert transform.encode(Y, 2).dtype == expected, dtype


@pytest.mark.parametrize("dtype", cases.DTYPES)
@pytest.mark.parametrize("kind", ["chain", "dense"])
def test_large_inputs_equal_small_inputs(
    isa: str, kind: str, dtype: Any, set_threads: Callable[[int], None]
) -> None:
    """More than 32 MiB at once are written past the caches."""
    n, count = 33, 2**25 // (33 * np.dtype(dtype).itemsize) + 1001
    transform = cases.make_transform(kind, n, np.random.default_rng(0))
    Y = np.random.default_rng(1).standard_normal((count, n), dtype=dtype)
    halves = [transform.forward(half) for half in (Y[: count // 2], Y[count // 2 :])]
    for n_threads in (1, 3):
        set_threads(n_threads)
        whole = transform.forward(Y)
        # Whole products are by BLAS, in tiles that begin elsewhere.
        if kind == "dense":
            assert np.abs(whole - np.concatenate(halves)).max() <= 100 * np.finfo(dtype).eps
        else:
            assert cases.same_bits(whole, np.concatenate(halves))
