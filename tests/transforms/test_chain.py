from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

import fost
from tests import cases, reference


@given(n=cases.n_features, count=cases.n_signals, dtype=cases.dtypes, seed=cases.seeds)
def test_forward_applies_the_stages_in_order(
    isa: str, n: int, count: int, dtype: Any, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    chain = cases.make_transform("chain", n, rng)
    assert isinstance(chain, fost.Chain)
    Y = cases.make_signals("normal", count, n, dtype, rng)

    one_by_one, back = Y, Y
    for stage in chain.stages:
        one_by_one = stage.forward(one_by_one)
    for stage in reversed(chain.stages):
        back = stage.inverse(back)

    # One pass runs the same kernels on the same values as one pass per stage.
    assert cases.same_bits(chain.forward(Y), one_by_one), "forward"
    assert cases.same_bits(chain.inverse(Y), back), "inverse"


@given(n=cases.n_features, count=cases.n_signals, dtype=cases.dtypes, seed=cases.seeds)
def test_chains_with_dense_stages(isa: str, n: int, count: int, dtype: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    chain = cases.make_transform("dense chain", n, rng)
    Y = cases.make_signals("normal", count, n, dtype, rng)
    # At most 20 reflectors, one product and one DCT on unit signals; see the tests of each.
    limit = 2e-6 if dtype == np.float32 else 1e-14
    error = np.abs(chain.forward(Y) - reference.forward(chain, Y)).max(initial=0)
    assert error <= limit, f"forward: {error:.2g}"
    error = np.abs(chain.inverse(Y) - reference.inverse(chain, Y)).max(initial=0)
    assert error <= limit, f"inverse: {error:.2g}"


def test_matrix_is_the_product_of_the_stage_matrices() -> None:
    rng = np.random.default_rng(0)
    stages = [cases.make_transform(kind, 12, rng) for kind in ("dct", "dense", "householder")]
    product = stages[0].matrix @ stages[1].matrix @ stages[2].matrix
    np.testing.assert_allclose(fost.Chain(stages).matrix, product, rtol=0, atol=1e-14)


def test_two_dense_stages_use_both_buffers() -> None:
    rng = np.random.default_rng(0)
    stages = [fost.Dense(cases.random_orthonormal(rng, 9)) for _ in range(3)]
    Y = rng.standard_normal((20, 9))
    for count in (1, 2, 3):
        chain = fost.Chain(stages[:count])
        np.testing.assert_allclose(chain.forward(Y), reference.forward(chain, Y), atol=1e-13)
        np.testing.assert_allclose(chain.inverse(Y), reference.inverse(chain, Y), atol=1e-13)


def test_chains_of_chains_are_flattened() -> None:
    a, b, c = (fost.DCT(shape) for shape in ((12,), (3, 4), (2, 6)))
    nested = fost.Chain([fost.Chain([a, fost.Chain([b])]), c])
    assert nested.stages == (a, b, c)
    assert nested == fost.Chain([a, b, c])
    assert nested != fost.Chain([a, c, b])


def test_stages_may_be_any_iterable() -> None:
    expected = fost.Chain([fost.DCT(6), fost.DCT((2, 3))])
    assert fost.Chain(fost.DCT(shape) for shape in (6, (2, 3))) == expected
    assert fost.Chain((fost.DCT(6), fost.DCT((2, 3)))) == expected


def test_a_chain_of_one_stage_differs_from_the_stage() -> None:
    assert fost.Chain([fost.DCT(6)]) != fost.DCT(6)
    assert fost.Chain([fost.DCT(6)]).stages == (fost.DCT(6),)


@pytest.mark.parametrize(
    ("stages", "error", "message"),
    [
        ([], ValueError, "stages must be at least one transform, got none"),
        ([fost.DCT(4), fost.DCT(5)], ValueError, r"stages must have the same .* got \[4, 5\]"),
        ([fost.DCT(4), np.eye(4)], TypeError, "stages must be transforms, got ndarray"),
        ([fost.DCT], TypeError, "stages must be transforms, got"),
        ([None], TypeError, "stages must be transforms, got NoneType"),
        ("ab", TypeError, "stages must be transforms, got str"),
    ],
    ids=range(6),
)
def test_bad_stages(stages: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fost.Chain(stages)
