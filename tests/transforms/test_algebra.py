"""Y @ U, X @ U.T, U @ V, signals of any shape, and operators of other libraries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import fost
from tests import cases
from tests.transforms.test_base import MAKERS, each_kind

Make = Callable[[], Any]


@each_kind
def test_products_are_forward_and_inverse(make: Make) -> None:
    U = make()
    for dtype in cases.DTYPES:
        Y = np.random.default_rng(0).standard_normal((5, 12)).astype(dtype)
        assert cases.same_bits(Y @ U, U.forward(Y))
        assert cases.same_bits(Y @ U.T, U.inverse(Y))
        assert cases.same_bits(Y[0] @ U, U.forward(Y[0]))
    assert cases.same_bits(Y.tolist() @ U, U.forward(Y.tolist()))
    with pytest.raises(TypeError):
        U @ np.ones(12)
    with pytest.raises(ValueError, match="Y has 3 features"):
        np.ones(3) @ U


@each_kind
def test_transposes_do_not_compute_a_matrix(make: Make, tmp_path: Path) -> None:
    U = make()
    before = dict(U.__dict__)
    V = U.T
    assert V.T == U
    assert U.__dict__.keys() <= {*before, "_plan"}
    assert (V.flops, V.n_parameters, V.n_features) == (U.flops, U.n_parameters, 12)
    np.testing.assert_allclose(V.matrix, U.matrix.T, atol=1e-14)
    Y = np.random.default_rng(0).standard_normal((9, 12))
    codes = V.encode(Y, 4)
    np.testing.assert_allclose(
        codes.toarray(), fost.select(Y @ U.matrix.T, 4).toarray(), atol=1e-14
    )
    np.testing.assert_allclose(V.decode(codes), codes.toarray() @ U.matrix, atol=1e-14)
    V.save(tmp_path / "file")
    assert fost.load(tmp_path / "file") == V


def test_the_transpose_of_a_transpose_is_the_transform_itself() -> None:
    U = fost.DCT((3, 4))
    assert U.T.T is U
    assert repr(U.T) == f"Transposed(n_features=12, transform=DCT, flops={U.flops})"
    chain = U @ fost.Householder(np.eye(12)[:1])
    assert isinstance(chain.T, fost.Chain)
    assert chain == chain.T.T


@given(kinds=st.lists(cases.kinds, min_size=2, max_size=3), n=st.integers(1, 90), seed=cases.seeds)
def test_transposes_in_chains_and_banks(isa: str, kinds: list[str], n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    members = [cases.make_transform(kind, n, rng) for kind in kinds]
    U = members[0] @ members[1].T
    Y = cases.make_signals("normal", 20, n, np.float64, rng)
    product = members[0].matrix @ members[1].matrix.T
    np.testing.assert_allclose(Y @ U, Y @ product, atol=1e-13)
    np.testing.assert_allclose(Y @ U.T, Y @ product.T, atol=1e-13)
    # One of them keeps as much as the best; which one, rounding may decide.
    bank = fost.Bank([U.T, *(member.T for member in members)])
    kept = np.linalg.norm(bank.encode(Y, 1).toarray(), axis=1)
    best = max_of([np.abs(Y @ member.matrix).max(axis=1) for member in bank.members])
    np.testing.assert_allclose(kept, best, atol=1e-13)


def max_of(arrays: list[np.ndarray]) -> np.ndarray:
    return np.max(np.stack(arrays), axis=0)


def test_products_of_transforms_are_chains() -> None:
    U, V, W = fost.DCT(12), MAKERS["givens"](), MAKERS["dense"]()
    assert fost.Chain([U, V]) == U @ V
    assert (U @ V) @ W == U @ (V @ W) == fost.Chain([U, V, W])
    assert (U @ V).T == V.T @ U.T
    np.testing.assert_allclose((U @ V).matrix, U.matrix @ V.matrix, atol=1e-14)
    with pytest.raises(TypeError):
        U @ fost.Bank([V])
    with pytest.raises(ValueError, match="stages must have the same n_features"):
        U @ fost.DCT(4)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
@each_kind
def test_sparse_codes_times_a_transform(make: Make, form: str, kind: str) -> None:
    U = make()
    codes = U.encode(np.random.default_rng(0).standard_normal((7, 12)), 3)
    given_codes = getattr(scipy.sparse, f"{form}_{kind}")(codes)
    np.testing.assert_allclose(given_codes @ U.T, U.decode(codes), atol=1e-14)
    np.testing.assert_allclose(given_codes @ U, codes.toarray() @ U.matrix, atol=1e-14)


@each_kind
def test_data_frames_times_a_transform(make: Make) -> None:
    U = make()
    Y = np.random.default_rng(0).standard_normal((3, 12))
    frame = pd.DataFrame(Y, index=["a", "b", "c"])
    np.testing.assert_allclose(frame @ U, Y @ U, atol=1e-14)
    assert list((frame @ U).index) == ["a", "b", "c"]
    np.testing.assert_allclose(U.forward(frame), Y @ U)


@each_kind
def test_as_an_array_it_is_its_matrix(make: Make) -> None:
    U = make()
    assert np.array_equal(np.asarray(U), U.matrix)
    assert np.asarray(U, np.float32).dtype == np.float32
    mine = np.array(U)
    mine[0] = 0
    assert U.matrix.any(axis=1).all()


@each_kind
@pytest.mark.parametrize("shape", [(12,), (2, 12), (2, 3, 12), (2, 0, 12), (0, 12), (1, 1, 1, 12)])
@pytest.mark.parametrize("dtype", cases.DTYPES)
def test_signals_along_the_last_axis(make: Make, shape: tuple[int, ...], dtype: Any) -> None:
    U = make()
    Y = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    rows = Y.reshape(-1, 12)
    for apply in (U.forward, U.inverse, U.T.forward):
        assert cases.same_bits(apply(Y), apply(rows).reshape(shape))
        flipped = np.asfortranarray(Y)[..., ::-1]
        assert cases.same_bits(apply(flipped), apply(flipped.reshape(-1, 12)).reshape(shape))


def test_nonfinite_signals_of_any_shape_are_refused() -> None:
    Y = np.ones((2, 3, 12))
    Y[1, 2, 3] = np.nan
    with pytest.raises(ValueError, match="Y contains NaN or infinity"):
        fost.DCT(12).forward(Y)


@each_kind
@pytest.mark.parametrize("dtype", cases.DTYPES)
@pytest.mark.parametrize("shape", [(12,), (12, 1), (12, 5), (12, 0)])
def test_operators_keep_the_type(make: Make, dtype: Any, shape: tuple[int, ...]) -> None:
    U = make()
    operator = U.as_linear_operator(dtype)
    assert operator.dtype == dtype
    X = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    for result, matrix in (
        (operator @ X, U.matrix),
        (operator.T @ X, U.matrix.T),
        (operator.H @ X, U.matrix.T),
    ):
        assert (result.dtype, result.shape) == (np.dtype(dtype), shape)
        tolerance = 1e-14 if dtype == np.float64 else 1e-5
        np.testing.assert_allclose(result, matrix @ X, rtol=0, atol=tolerance)
    with pytest.raises(ValueError, match="dtype must be float32 or float64, got complex64"):
        U.as_linear_operator(np.complex64)


@each_kind
@pytest.mark.parametrize("dtype", cases.DTYPES)
def test_pylops_accepts_the_operator(make: Make, dtype: Any) -> None:
    pylops = pytest.importorskip("pylops")
    U = make()
    synthesis = pylops.aslinearoperator(U.as_linear_operator(dtype))
    rng = np.random.default_rng(0)
    mask = pylops.Restriction(12, np.array([0, 2, 3, 5, 8, 9, 10]), dtype=dtype)
    sampled = mask @ synthesis
    x = rng.standard_normal(12).astype(dtype)
    y = sampled @ x
    tolerance = 1e-13 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(y, (U.matrix @ x)[mask.iava], atol=tolerance)
    adjoint = np.zeros(12)
    adjoint[mask.iava] = y
    np.testing.assert_allclose(sampled.H @ y, U.matrix.T @ adjoint, atol=tolerance)
    assert pylops.utils.dottest(sampled, 7, 12, rtol=1e-3, atol=1e-5)
    # Also where the operator is given as it is.
    assert np.array_equal((mask @ U.as_linear_operator(dtype)) @ x, y)
    sparse = pylops.optimization.sparsity.fista
    found = sparse(mask, y, niter=3, SOp=U.as_linear_operator(dtype), alpha=1.0, eps=0.1)[0]
    assert found.shape == (12,)
    columns = rng.standard_normal((12, 3)).astype(dtype)
    np.testing.assert_allclose(synthesis @ columns, U.matrix @ columns, atol=tolerance)


@pytest.mark.parametrize("module", ["scipy.sparse", "scipy.sparse.base", "scipy.sparse._base"])
def test_only_scipy_sparse_sees_no_array(module: str) -> None:
    """Modules of the oldest and the newest SciPy find a 0-d object array, all others the matrix."""
    U = fost.DCT(4)
    as_in_scipy = {"__name__": module}
    exec("import numpy as np\ndef convert(other): return np.asanyarray(other)", as_in_scipy)
    found = as_in_scipy["convert"](U)  # type: ignore[operator]
    assert found.ndim == 0
    assert found.dtype == np.object_
    as_in_scipy["__name__"] = "scipy.sparsetools"
    assert np.array_equal(as_in_scipy["convert"](U), U.matrix)  # type: ignore[operator]
