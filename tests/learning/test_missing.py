"""Learning from signals with missing entries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest

import fost
from fost.coding.selection import SelectionRule
from fost.learning import as_training_data, statistics
from fost.learning.missing import GaussianPrior
from fost.learning.statistics import BlockEncoder
from tests import cases
from tests.learning.test_learn import STRUCTURES, correlated, structures
from tests.learning.test_training_data import PLACES, OddBlocks


def smooth(count: int = 600, n: int = 16, seed: int = 0, dtype: Any = np.float64) -> Any:
    """Centred random walks, and a mask with a third of the entries missing."""
    Y = correlated(count, n, seed)
    Y -= Y.mean(axis=1, keepdims=True)
    return Y.astype(dtype), np.random.default_rng(seed + 1).random(Y.shape) < 0.33


def observed_error(Y: Any, missing: Any, codes: Any, coder: fost.Coder) -> float:
    left = np.where(missing, 0, Y - coder.decode(codes)).astype(np.float64)
    return float(np.sum(left**2) / np.sum(np.where(missing, 0, Y).astype(np.float64) ** 2))


@structures
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rule", [{"n_nonzero_coefs": 3}, {"threshold": 1.5}])
def test_the_error_never_increases(name, dtype, rule):
    Y, missing = smooth(dtype=dtype)
    init = "base" if name == "rotations" else "svd"
    options = {"init": init, "max_iter": 12, "tol": 0, "random_state": 0, **rule}
    result = fost.learn(Y, STRUCTURES[name](16), missing=missing, **options)
    assert np.all(np.diff(result.errors) <= 0)
    assert result.error < result.start_error
    marked = np.where(missing, np.nan, Y).astype(dtype)
    same = fost.learn(marked, STRUCTURES[name](16), missing="nan", **options)
    np.testing.assert_array_equal(same.errors, result.errors)
    assert same.transform == result.transform


@pytest.mark.parametrize("structure", [fost.Orthonormal(), fost.Reflectors(6), fost.Rotations(24)])
def test_missing_entries_beat_zero_filling(structure):
    """On complete held-out signals zero filling costs at least twice as much.

    On average: rotations find minima that differ by as much as missing entries cost.
    """
    errors = []
    for seed in range(6):
        Y, missing = smooth(3000, seed=seed)
        others, _ = smooth(1000, seed=seed + 50)

        def error(Y: Any, others: Any = others, **options: Any) -> float:
            coder = fost.learn(Y, structure, 3, random_state=0, **options).transform
            return fost.learning.as_training_data(others).relative_error(coder, 3)

        errors.append((error(Y), error(np.where(missing, 0, Y)), error(Y, missing=missing)))
    whole, zeros, incomplete = np.mean(errors, axis=0)
    assert incomplete - whole < 0.5 * (zeros - whole)


def test_banks_learn_from_incomplete_signals():
    Y, missing = smooth(900)
    rng = np.random.default_rng(3)
    Y[::2] = 9 * rng.standard_normal((450, 16)) * (rng.random((450, 16)) < 0.15)
    for init in ("splitting", "farthest", "subsets"):
        bank = fost.learn(
            Y, fost.BankOf(fost.Orthonormal(), 2), 3, missing=missing, init=init, random_state=0
        )
        single = fost.learn(Y, fost.Orthonormal(), 3, missing=missing)
        assert np.all(np.diff(bank.errors) <= 0)
        assert bank.error < 0.8 * single.error


@pytest.mark.parametrize("refills", [1, 3])
def test_a_pass_equals_the_reference(isa, refills):
    Y, missing = smooth(200)
    source, coder = as_training_data(Y, missing), fost.DCT(16)
    found = source.statistic(None, coder, 3, with_energy=True, refills=refills)
    filled = source.prior.fill(Y, missing)
    U = coder.matrix
    for _ in range(refills):
        X = fost.select(filled @ U, 3).toarray()
        filled = np.where(missing, X @ U.T, Y)
    np.testing.assert_allclose(found.matrix, X.T @ filled, rtol=1e-9, atol=1e-8)
    known = np.where(missing, 0, Y)
    assert found.signal_energy == pytest.approx(np.sum(known**2), rel=1e-12)
    left = np.sum(np.where(missing, 0, Y - X @ U.T) ** 2)
    assert found.signal_energy - found.energy == pytest.approx(left, rel=1e-9)


def test_refills_never_increase_the_errors():
    Y, missing = smooth(300)
    marked = np.where(missing, np.nan, Y)
    prior = as_training_data(Y, missing).prior
    for rule in (SelectionRule(3), SelectionRule(16, threshold=1.0)):
        lost = [
            BlockEncoder(fost.DCT(16), rule, "Y", prior, refills).encode(marked).errors
            for refills in (1, 2, 3, 6, 12)
        ]
        assert np.diff(lost, axis=0).max() <= 1e-9 * np.max(lost)


def test_first_completions_are_conditional_means(rng):
    n = 12
    A = rng.standard_normal((n, n))
    prior = np.eye(n) + A @ A.T
    Y, missing = smooth(40, n)
    missing[0] = True
    filled = GaussianPrior(prior, np.linalg.inv(prior)).fill(Y, missing)
    for row, mask, found in zip(Y, missing, filled, strict=True):
        seen = ~mask
        want = prior[np.ix_(mask, seen)] @ np.linalg.solve(prior[np.ix_(seen, seen)], row[seen])
        np.testing.assert_allclose(found[mask], want, atol=1e-11 * np.abs(row).max())
        np.testing.assert_array_equal(found[seen], row[seen])


def test_moments_are_means_over_pairs():
    Y, missing = smooth(400, 6)
    sums, counts = statistics.pairwise_moments(np.where(missing, np.nan, Y), None)
    for i, j in ((0, 0), (2, 5)):
        both = ~(missing[:, i] | missing[:, j])
        assert counts[i, j] == both.sum()
        assert sums[i, j] == pytest.approx(np.sum(Y[both, i] * Y[both, j]))


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fost.streams.arrays._BLOCK_BYTES", 3000)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("place", list(PLACES))
@pytest.mark.parametrize("as_mask", [False, True])
def test_sums_do_not_depend_on_the_kind_of_stream(
    place: str, as_mask: bool, tmp_path: Path
) -> None:
    Y, missing = smooth(3001)
    marked = np.where(missing, np.nan, Y)
    want = as_training_data(Y, missing).statistic(None, fost.DCT(16), 3, with_energy=True)
    if as_mask:
        (tmp_path / "mask").mkdir()
        source = as_training_data(
            PLACES[place](Y, tmp_path), PLACES[place](missing, tmp_path / "mask")
        )
    else:
        source = as_training_data(PLACES[place](marked, tmp_path), "nan")
    found = source.statistic(None, fost.DCT(16), 3, with_energy=True)
    largest = np.abs(want.matrix).max()
    assert np.abs(found.matrix - want.matrix).max() <= 1e-10 * largest
    assert found.energy == pytest.approx(want.energy, rel=1e-10)
    assert found.signal_energy == pytest.approx(want.signal_energy, rel=1e-10)


def test_masks_may_come_in_other_blocks() -> None:
    Y, missing = smooth(100)
    want = as_training_data(Y, missing).statistic(None, fost.DCT(16), 3)
    found = as_training_data(OddBlocks(Y), OddBlocks(missing[:, :])).statistic(
        None, fost.DCT(16), 3
    )
    np.testing.assert_allclose(found.matrix, want.matrix, rtol=1e-9, atol=1e-8)
    whole = as_training_data(OddBlocks(Y), missing).statistic(None, fost.DCT(16), 3)
    np.testing.assert_array_equal(whole.matrix, found.matrix)


def test_threads_and_checkpoints_change_nothing(tmp_path: Path) -> None:
    Y, missing = smooth(2500)
    before, results = fost.get_num_threads(), []

    class Stop(Exception):
        pass

    def stop(iteration: int, *_: object) -> None:
        if iteration == 4:
            raise Stop

    options: dict[str, Any] = {"missing": missing, "max_iter": 8, "tol": 0}
    try:
        for count in (1, 3):
            fost.set_num_threads(count)
            results.append(fost.learn(Y, fost.Orthonormal(), 3, **options))
    finally:
        fost.set_num_threads(before)
    path = tmp_path / "run"
    with pytest.raises(Stop):
        fost.learn(Y, fost.Orthonormal(), 3, checkpoint=path, callback=stop, **options)
    results.append(fost.learn(Y, fost.Orthonormal(), 3, checkpoint=path, **options))
    for other in results[1:]:
        np.testing.assert_array_equal(other.errors, results[0].errors)
        assert other.transform == results[0].transform


def test_signals_without_observed_entries_contribute_nothing(rng) -> None:
    Y, missing = smooth(300)
    blank = np.concatenate([missing, np.ones((40, 16), bool)])
    more = np.concatenate([Y, rng.standard_normal((40, 16))])
    a = as_training_data(Y, missing).statistic(None, fost.DCT(16), 3)
    b = as_training_data(more, blank).statistic(None, fost.DCT(16), 3)
    np.testing.assert_allclose(a.matrix, b.matrix, rtol=1e-10, atol=1e-9)
    assert a.energy == pytest.approx(b.energy, rel=1e-12)
    codes = fost.DCT(16).encode(more, 3, missing=blank)
    assert np.diff(codes.indptr)[300:].sum() == 0


def test_an_entry_that_is_never_observed() -> None:
    Y, missing = smooth(300)
    missing[:, 5] = True
    for structure in (fost.Orthonormal(), fost.Reflectors(4), fost.BankOf(fost.Orthonormal(), 2)):
        result = fost.learn(Y, structure, 3, missing=missing, max_iter=5)
        assert np.isfinite(result.errors).all()
        assert result.error <= result.start_error


@pytest.mark.parametrize(
    ("missing", "kind", "message"),
    [
        (np.ones((60, 8), bool), ValueError, "no observed entries, all are missing"),
        (np.zeros((60, 7), bool), ValueError, r"missing must have the shape of Y, \(60, 8\)"),
        (np.zeros(60, bool), ValueError, "missing must have the shape of Y"),
        (np.zeros((60, 8)), TypeError, "missing must be boolean, got dtype float64"),
        ("gaps", ValueError, "missing must be one of 'nan', got 'gaps'"),
        (np.zeros((60, 8), bool), ValueError, "Y contains NaN where missing is false"),
    ],
)
def test_bad_arguments_are_refused(missing: Any, kind: Any, message: str) -> None:
    Y = correlated(60, 8)
    Y[3, 2] = np.nan
    with pytest.raises(kind, match=message):
        fost.learn(Y, fost.Orthonormal(), 2, missing=missing)
    if "no observed" not in message:
        with pytest.raises(kind, match=message):
            fost.DCT(8).encode(Y, 2, missing=missing)


def test_nan_and_infinity_without_missing_are_refused() -> None:
    Y = correlated(60, 8)
    whole = Y.copy()
    Y[3, 2] = np.nan
    place = r"( in row 3 \(block 0\))?"  # learning names it, encoding does not
    hint = f"Y contains NaN or infinity{place}; if NaN means that an entry is missing, pass missing"
    bank = fost.Bank([fost.DCT(8), fost.Hadamard(8)])
    union = fost.Union([fost.DCT(8), fost.Hadamard(8)])
    chunks = da.from_array(Y, chunks=(20, 8))
    calls: list[Callable[[Any], Any]] = [
        lambda Y: fost.learn(Y, fost.Orthonormal(), 2),
        lambda Y: fost.learn(Y, fost.Rotations(4), 2, base=fost.DCT(8)),
        lambda Y: fost.learn(Y, fost.UnionOf(fost.Orthonormal(), 2), 2),
        lambda Y: fost.learn(Y, fost.Orthonormal(), 2, sample_weight=np.arange(60)),
        lambda Y: fost.learn(Y, fost.Orthonormal(), threshold=0.5),
        lambda Y: fost.learn([Y[:30], Y[30:]], fost.Reflectors(2), 2),
        lambda Y: fost.DCT(8).encode(Y, 2),
        lambda Y: fost.DCT(8).encode(Y, max_error=0.1),
        lambda Y: bank.encode(Y, 2),
        lambda Y: union.encode(Y, 2),
        lambda Y: fost.omp(Y, np.eye(8), 2),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=hint):
            call(Y)
        with pytest.raises(ValueError, match=f"^Y contains NaN or infinity{place}$"):
            call(np.where(np.isnan(Y), np.inf, Y))
        call(whole)
    for lazy in (
        lambda: fost.DCT(8).encode(chunks, 2).compute(),
        lambda: fost.learn(chunks, fost.Orthonormal(), 2),
    ):
        with pytest.raises(ValueError, match=hint):
            lazy()
    with pytest.raises(ValueError, match=r"^Y contains NaN or infinity$"):
        fost.DCT(8).forward(Y)  # `forward` does not accept missing entries
    assert cases.same_codes(
        fost.omp(Y, np.eye(8), 2, missing="nan"), fost.omp(Y, np.eye(8), 2, missing=np.isnan(Y))
    )
    with pytest.raises(ValueError, match="missing must be one of 'nan', got 'gaps'"):
        fost.omp(Y, np.eye(8), 2, missing="gaps")  # type: ignore[arg-type]
    Y[4, 1] = np.inf
    with pytest.raises(ValueError, match="Y contains infinity"):
        fost.learn(Y, fost.Orthonormal(), 2, missing="nan")
    with pytest.raises(ValueError, match="Y contains infinity"):
        fost.DCT(8).encode(Y, 2, missing="nan")


def test_codes_of_observed_entries_are_those_of_pursuit() -> None:
    Y, missing = smooth(120)
    coder = fost.DCT(16)
    marked = np.where(missing, np.nan, Y)
    want = fost.omp(Y, coder.matrix.T, 4, missing=missing)
    assert cases.same_codes(coder.encode(Y, 4, missing=missing), want)
    assert cases.same_codes(coder.encode(marked, 4, missing="nan"), want)
    want = fost.omp(Y, coder.matrix.T, max_error=0.5, missing=missing)
    assert cases.same_codes(coder.encode(Y, max_error=0.5, missing=missing), want)
    few = coder.encode(Y, threshold=1.0, missing=missing)
    assert np.abs(few.data).min() > 1
    bank = fost.Bank([coder, fost.Hadamard(16)])
    codes = bank.encode(Y, 4, missing=missing)
    alone = [
        np.where(missing, 0, Y - member.decode(member.encode(Y, 4, missing=missing)))
        for member in bank.members
    ]
    left = np.where(missing, 0, Y - bank.decode(codes))
    best = np.min([np.sum(own**2, axis=1) for own in alone], axis=0)
    np.testing.assert_allclose(np.sum(left**2, axis=1), best, rtol=1e-9, atol=1e-12)
    fewest = bank.encode(Y, max_error=0.5, missing=missing)
    errors = np.where(missing, 0, Y - bank.decode(fewest))
    assert np.sum(errors**2, axis=1).max() <= 0.5 * (1 + 1e-9)


def test_estimators_take_nan() -> None:
    Y, missing = smooth(400)
    marked = np.where(missing, np.nan, Y)
    for estimator in (
        fost.OrthonormalDictionary(3),
        fost.HouseholderDictionary(4, 3),
        fost.GivensDictionary(8, 3, base=fost.DCT(16)),
        fost.BankDictionary(2, 3, fost.Orthonormal(), random_state=0, max_iter=5),
        fost.baselines.KSVD(20, 3, max_iter=5, random_state=0),
        fost.baselines.KSVD(20, 3, approximate=False, max_iter=5, random_state=0),
        fost.baselines.MOD(20, 3, max_iter=5, random_state=0),
        fost.baselines.StagewiseKSVD(20, 3, n_inner=2, n_final=2, random_state=0),
    ):
        codes = estimator.fit_transform(marked)
        assert codes.shape[0] == 400
        left = np.where(missing, 0, Y - estimator.inverse_transform(codes))
        share = np.sum(left**2) / np.sum(np.where(missing, 0, Y) ** 2)
        assert estimator.score(marked) == pytest.approx(-share, rel=1e-6)
        assert share < 0.2
        # The imputed entries are better than zeros.
        assert np.mean((estimator.inverse_transform(codes) - Y)[missing] ** 2) < np.var(Y)
        if hasattr(estimator, "partial_fit"):
            assert np.isfinite(estimator.partial_fit(marked).errors_).all()


def test_dask_carries_masks() -> None:
    da = pytest.importorskip("dask.array")
    Y, missing = smooth(500)
    want = as_training_data(Y, missing).statistic(None, fost.DCT(16), 3)
    lazy, mask = da.from_array(Y, chunks=(130, 16)), da.from_array(missing, chunks=(77, 4))
    marked = da.where(mask, np.nan, lazy)
    for source in (
        as_training_data(lazy, mask),
        as_training_data(lazy, missing),
        as_training_data(marked, "nan"),
    ):
        found = source.statistic(None, fost.DCT(16), 3)
        assert np.abs(found.matrix - want.matrix).max() <= 1e-10 * np.abs(want.matrix).max()
    codes = fost.DCT(16).encode(lazy, 3, missing=mask)
    parts = [part.compute() for part in codes.to_delayed().ravel()]
    whole = fost.DCT(16).encode(Y, 3, missing=missing)
    np.testing.assert_allclose(
        np.concatenate([part.toarray() for part in parts]), whole.toarray(), atol=1e-9
    )
    fitted = fost.OrthonormalDictionary(3, max_iter=3).fit(marked)
    other = fost.OrthonormalDictionary(3, max_iter=3).fit(np.where(missing, np.nan, Y))
    np.testing.assert_allclose(fitted.errors_, other.errors_, rtol=1e-8)
    with pytest.raises(ValueError, match="missing must have shape"):
        as_training_data(lazy, mask[:100])
    with pytest.raises(TypeError, match="missing must be boolean"):
        as_training_data(lazy, lazy)
