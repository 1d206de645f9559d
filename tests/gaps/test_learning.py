"""What is learned from gaps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import fost
from fost import gaps
from fost.gaps import Mixture
from fost.gaps.hidden import Trial
from fost.gaps.moments import Shrinkage, maximised, moments
from fost.gaps.start import pairwise
from tests.gaps.test_mixture import drawn, two_kinds


def walks(count: int = 400, n: int = 12, seed: int = 0) -> np.ndarray:
    return np.cumsum(np.random.default_rng(seed).standard_normal((count, n)), axis=1)


def holed(Y: np.ndarray, share: float = 0.3, seed: int = 1) -> np.ndarray:
    return np.where(np.random.default_rng(seed).random(Y.shape) < share, np.nan, Y)


def rms(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(errors**2)))


@pytest.mark.parametrize("count", [1, 3])
def test_what_is_observed_becomes_no_less_likely(count: int) -> None:
    Y = holed(drawn(two_kinds(), 300))
    holes = np.isnan(Y)
    start = pairwise(Y, holes)[0].members * count
    shifted = [
        fost.gaps.Gaussian.of_covariance(g.mean + k / 3, g.covariance) for k, g in enumerate(start)
    ]
    mixture, before = Mixture(shifted), -np.inf
    for _ in range(8):
        sums = moments(mixture, Y, holes)
        # The floor of variances, the least member and its share are not the most likely ones.
        assert sums[3] > before - 1e-4 * abs(sums[3])
        before = sums[3]
        mixture = maximised(mixture, sums, Shrinkage(0.0, 0.0))
    assert sums[4] == (~holes).sum()


def test_without_gaps_one_step_gives_the_covariance() -> None:
    Y = walks()
    start = pairwise(Y, np.zeros(Y.shape, bool))[0]
    learned = maximised(start, moments(start, Y, np.isnan(Y)), Shrinkage(0.0))
    expected = np.cov(Y.T, bias=True)
    difference = learned.members[0].covariance - expected
    # A millionth of the variances is added to them.
    assert np.abs(difference).max() <= 1.1e-6 * expected.max()
    np.testing.assert_allclose(learned.mean, Y.mean(axis=0), atol=1e-12)


def test_walks_are_filled_nearly_as_well_as_can_be() -> None:
    Y = walks(2000)
    X = holed(Y)
    n = Y.shape[1]
    truth = Mixture(
        [gaps.Gaussian.of_covariance(np.zeros(n), np.minimum.outer(*[np.arange(1.0, n + 1)] * 2))]
    )
    missing = np.isnan(X)
    best = rms((truth.fill(X) - Y)[missing])
    assert rms((gaps.learn(X).fill(X) - Y)[missing]) < 1.03 * best


def test_several_kinds_of_signals_are_noticed() -> None:
    mixture = two_kinds()
    Y = drawn(mixture, 1500)
    X = holed(Y, 0.4)
    missing = np.isnan(X)
    learned = gaps.learn(X)
    assert len(learned.members) > 1
    one = gaps.learn(X, 1)
    assert len(one.members) == 1
    assert rms((learned.fill(X) - Y)[missing]) < rms((one.fill(X) - Y)[missing])
    noise = np.random.default_rng(0).standard_normal((400, 10))
    assert len(gaps.learn(holed(noise)).members) == 1


def test_covariances_that_are_diagonal_in_a_domain() -> None:
    Y = walks(800, 16)
    X = holed(Y)
    learned = gaps.learn(X, coder=fost.DCT(16))
    (member,) = learned.members
    assert isinstance(member.transform, fost.DCT)
    inside = member.transform.matrix.T @ member.covariance @ member.transform.matrix
    assert np.abs(inside - np.diag(np.diag(inside))).max() < 1e-10 * inside.max()
    missing = np.isnan(X)
    assert rms((learned.fill(X) - Y)[missing]) < 0.5 * rms((Y - np.nanmean(X, axis=0))[missing])
    bank = fost.Bank([fost.DCT(16), fost.Hadamard(16)])
    two = gaps.learn(X, coder=bank)
    assert two.transforms == bank.members
    assert np.isfinite(two.fill(X)).all()


def test_streams_give_the_sums_of_arrays(tmp_path: Path) -> None:
    X = holed(walks(600))

    class Blocks:
        def __iter__(self) -> Iterator[np.ndarray]:
            return iter(np.array_split(X, 5))

    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    expected = gaps.learn(X).fill(X)
    for signals in (Blocks(), mapped):
        learned = gaps.learn(signals)
        np.testing.assert_allclose(learned.fill(X), expected, atol=1e-8)
        np.testing.assert_allclose(learned.fill(signals), expected, atol=1e-8)


def test_masks_may_be_a_stream_of_their_own() -> None:
    Y = walks(600)
    X = holed(Y)
    mask = np.isnan(X)

    class Blocks:
        def __init__(self, rows: np.ndarray, count: int) -> None:
            self.rows, self.count = rows, count

        def __iter__(self) -> Iterator[np.ndarray]:
            return iter(np.array_split(self.rows, self.count))

    expected = gaps.learn(X).fill(X)
    assert np.array_equal(gaps.learn(Y, missing=mask).fill(X), expected)
    learned = gaps.learn(Blocks(Y, 5), missing=Blocks(mask, 3))
    np.testing.assert_allclose(learned.fill(X), expected, atol=1e-8)
    with pytest.raises(ValueError, match="missing must have the shape of Y"):
        gaps.learn(Y, missing=mask[:, 1:])
    with pytest.raises(ValueError, match="Y contains NaN where missing is false"):
        gaps.learn(X, missing=np.zeros_like(mask))


def test_a_cluster_gives_the_sums_of_arrays() -> None:
    da = pytest.importorskip("dask.array")
    X = holed(walks(600))
    lazy = da.from_array(X, chunks=(150, 12))
    learned = gaps.learn(lazy)
    expected = gaps.learn(X).fill(X)
    np.testing.assert_allclose(learned.fill(X), expected, atol=1e-8)
    np.testing.assert_allclose(learned.fill(lazy).compute(), expected, atol=1e-8)
    masked = gaps.learn(
        da.from_array(np.nan_to_num(X), chunks=(150, 12)),
        missing=da.from_array(np.isnan(X), chunks=(200, 12)),
    )
    np.testing.assert_allclose(masked.fill(X), expected, atol=1e-8)


def test_hidden_entries_are_like_missing_ones() -> None:
    Y = walks(400, 32)
    missing = np.zeros(Y.shape, bool)
    for k, start in enumerate(np.random.default_rng(0).integers(0, 25, len(Y))):
        missing[k, start : start + 8] = True
    trial = Trial.of(Y, missing, np.random.default_rng(0))
    judged = trial.order[: len(trial.hidden)]
    runs = trial.hidden & ~missing[judged]
    assert (runs == trial.hidden).all()
    lengths = (np.diff(np.pad(trial.hidden, [(0, 0), (1, 1)]).astype(int), axis=1) == 1).sum(axis=1)
    assert lengths.max() <= 2  # a run, or what another one leaves of it
    assert (trial.gaps[: len(judged)] == (missing[judged] | trial.hidden)).all()
    assert (trial.signals == Y[trial.order]).all()
    assert (np.sort(trial.order) == np.arange(len(Y))).all()
    assert (~trial.gaps).any(axis=0).all()


def test_units_of_a_table_do_not_matter() -> None:
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((500, 3)) @ rng.standard_normal((3, 8))
    Y += 0.1 * rng.standard_normal(Y.shape)
    X = holed(Y)
    units = 10.0 ** np.array([-9, 6, 0, 3, -3, 9, 1, -6])
    expected = gaps.learn(X).fill(X)
    found = gaps.learn(X * units + 5 * units).fill(X * units + 5 * units) / units - 5
    missing = np.isnan(X)
    assert rms((found - Y)[missing]) < 1.1 * rms((expected - Y)[missing])


def test_the_same_seed_gives_the_same_mixture() -> None:
    X = holed(drawn(two_kinds(), 500))
    first, second = (gaps.learn(X, 3, random_state=7).fill(X) for _ in range(2))
    assert np.array_equal(first, second)


def test_wrong_arguments_are_named() -> None:
    X = holed(walks(50))
    with pytest.raises(ValueError, match="feature 3 is not"):
        gaps.learn(np.where(np.arange(12) == 3, np.nan, X))
    with pytest.raises(ValueError, match="n_members must be between 1 and n_signals=50"):
        gaps.learn(X, 51)
    with pytest.raises(TypeError, match="coder must be a transform or a bank"):
        gaps.learn(X, coder=np.eye(12))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="coder must be for the 12 features of Y"):
        gaps.learn(X, coder=fost.DCT(8))
    with pytest.raises(ValueError, match="n_members must be that of coder, 1, got 2"):
        gaps.learn(X, 2, coder=fost.DCT(12))
    with pytest.raises(ValueError, match="Y contains infinity"):
        gaps.learn(np.where(np.isnan(X), np.inf, X))


@pytest.mark.parametrize("count", [1, 2, 5])
def test_few_signals_are_enough_to_go_on(count: int) -> None:
    Y = walks(count, 6)
    X = Y.copy()
    X[-1, 2] = np.nan if count > 1 else X[-1, 2]
    filled = gaps.learn(X).fill(X)
    assert np.isfinite(filled).all()
    constant = np.ones((count, 4))
    np.testing.assert_allclose(gaps.learn(constant).fill(np.full((1, 4), np.nan)), 1, atol=1e-6)
