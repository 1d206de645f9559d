"""Fits of mixtures to signals with missing values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import fost
from fost.imputation import Gaussian, Mixture, fit_mixture
from fost.imputation.em import Shrinkage, e_step, m_step, pairwise_gaussians
from fost.imputation.fit import HeldOutEntries
from tests.imputation.test_mixture import sample, smooth_and_rough


def random_walks(count: int = 400, n: int = 12, seed: int = 0) -> np.ndarray:
    return np.cumsum(np.random.default_rng(seed).standard_normal((count, n)), axis=1)


def with_missing(Y: np.ndarray, share: float = 0.3, seed: int = 1) -> np.ndarray:
    return np.where(np.random.default_rng(seed).random(Y.shape) < share, np.nan, Y)


def rms(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(errors**2)))


@pytest.mark.parametrize("count", [1, 3])
def test_em_does_not_lower_the_likelihood(count: int) -> None:
    Y = with_missing(sample(smooth_and_rough(), 300))
    missing = np.isnan(Y)
    start = pairwise_gaussians(Y, missing)[0].members * count
    shifted = [Gaussian._from_covariance(g.mean + k / 3, g.covariance) for k, g in enumerate(start)]
    mixture, before = Mixture(shifted), -np.inf
    for _ in range(8):
        sums = e_step(mixture, Y, missing)
        # The floor of variances and pseudo-signals may lower the likelihood slightly.
        assert sums.log_likelihood > before - 1e-4 * abs(sums.log_likelihood)
        before = sums.log_likelihood
        mixture = m_step(mixture, sums, Shrinkage(0.0, 0.0))
    assert sums.n_observed == (~missing).sum()


def test_one_step_on_complete_signals_gives_their_covariance() -> None:
    Y = random_walks()
    start = pairwise_gaussians(Y, np.zeros(Y.shape, bool))[0]
    learned = m_step(start, e_step(start, Y, np.isnan(Y)), Shrinkage(0.0))
    expected = np.cov(Y.T, bias=True)
    difference = learned.members[0].covariance - expected
    # The floor adds a millionth to the variances.
    assert np.abs(difference).max() <= 1.1e-6 * expected.max()
    np.testing.assert_allclose(learned.mean, Y.mean(axis=0), atol=1e-12)


def test_random_walks_are_filled_nearly_optimally() -> None:
    Y = random_walks(2000)
    X = with_missing(Y)
    n = Y.shape[1]
    truth = Mixture(
        [Gaussian._from_covariance(np.zeros(n), np.minimum.outer(*[np.arange(1.0, n + 1)] * 2))]
    )
    missing = np.isnan(X)
    best = rms((truth.fill(X) - Y)[missing])
    assert rms((fit_mixture(X).fill(X) - Y)[missing]) < 1.03 * best


def test_number_of_members_is_selected() -> None:
    mixture = smooth_and_rough()
    Y = sample(mixture, 1500)
    X = with_missing(Y, 0.4)
    missing = np.isnan(X)
    learned = fit_mixture(X)
    assert len(learned.members) > 1
    one = fit_mixture(X, 1)
    assert len(one.members) == 1
    assert rms((learned.fill(X) - Y)[missing]) < rms((one.fill(X) - Y)[missing])
    noise = np.random.default_rng(0).standard_normal((400, 10))
    assert len(fit_mixture(with_missing(noise)).members) == 1


def test_covariances_are_diagonal_in_the_domain_of_a_coder() -> None:
    Y = random_walks(800, 16)
    X = with_missing(Y)
    learned = fit_mixture(X, coder=fost.DCT(16))
    (member,) = learned.members
    assert isinstance(member.transform, fost.DCT)
    inside = member.transform.matrix.T @ member.covariance @ member.transform.matrix
    assert np.abs(inside - np.diag(np.diag(inside))).max() < 1e-10 * inside.max()
    missing = np.isnan(X)
    assert rms((learned.fill(X) - Y)[missing]) < 0.5 * rms((Y - np.nanmean(X, axis=0))[missing])
    bank = fost.Bank([fost.DCT(16), fost.Hadamard(16)])
    two = fit_mixture(X, coder=bank)
    assert two.transforms == bank.members
    assert np.isfinite(two.fill(X)).all()


def test_streams_agree_with_arrays(tmp_path: Path) -> None:
    X = with_missing(random_walks(600))

    class Blocks:
        def __iter__(self) -> Iterator[np.ndarray]:
            return iter(np.array_split(X, 5))

    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    expected = fit_mixture(X).fill(X)
    for signals in (Blocks(), mapped):
        learned = fit_mixture(signals)
        np.testing.assert_allclose(learned.fill(X), expected, atol=1e-8)
        np.testing.assert_allclose(learned.fill(signals), expected, atol=1e-8)


def test_mask_may_be_a_stream() -> None:
    Y = random_walks(600)
    X = with_missing(Y)
    mask = np.isnan(X)

    class Blocks:
        def __init__(self, rows: np.ndarray, count: int) -> None:
            self.rows, self.count = rows, count

        def __iter__(self) -> Iterator[np.ndarray]:
            return iter(np.array_split(self.rows, self.count))

    expected = fit_mixture(X).fill(X)
    assert np.array_equal(fit_mixture(Y, missing=mask).fill(X), expected)
    learned = fit_mixture(Blocks(Y, 5), missing=Blocks(mask, 3))
    np.testing.assert_allclose(learned.fill(X), expected, atol=1e-8)
    with pytest.raises(ValueError, match="missing must have the shape of Y"):
        fit_mixture(Y, missing=mask[:, 1:])
    with pytest.raises(ValueError, match="Y contains NaN where missing is false"):
        fit_mixture(X, missing=np.zeros_like(mask))


def test_dask_arrays_agree_with_arrays() -> None:
    da = pytest.importorskip("dask.array")
    X = with_missing(random_walks(600))
    lazy = da.from_array(X, chunks=(150, 12))
    learned = fit_mixture(lazy)
    expected = fit_mixture(X).fill(X)
    np.testing.assert_allclose(learned.fill(X), expected, atol=1e-8)
    np.testing.assert_allclose(learned.fill(lazy).compute(), expected, atol=1e-8)
    masked = fit_mixture(
        da.from_array(np.nan_to_num(X), chunks=(150, 12)),
        missing=da.from_array(np.isnan(X), chunks=(200, 12)),
    )
    np.testing.assert_allclose(masked.fill(X), expected, atol=1e-8)


def test_held_out_entries_resemble_missing_ones() -> None:
    Y = random_walks(400, 32)
    missing = np.zeros(Y.shape, bool)
    for k, start in enumerate(np.random.default_rng(0).integers(0, 25, len(Y))):
        missing[k, start : start + 8] = True
    held_out = HeldOutEntries.draw(Y, missing, np.random.default_rng(0))
    rows = held_out.order[: len(held_out.hidden)]
    runs = held_out.hidden & ~missing[rows]
    assert (runs == held_out.hidden).all()
    lengths = (np.diff(np.pad(held_out.hidden, [(0, 0), (1, 1)]).astype(int), axis=1) == 1).sum(
        axis=1
    )
    assert lengths.max() <= 2  # a run, or the rest of one that overlaps with a missing run
    assert (held_out.missing[: len(rows)] == (missing[rows] | held_out.hidden)).all()
    assert (held_out.signals == Y[held_out.order]).all()
    assert (np.sort(held_out.order) == np.arange(len(Y))).all()
    assert (~held_out.missing).any(axis=0).all()


def test_fit_is_equivariant_to_units_of_features() -> None:
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((500, 3)) @ rng.standard_normal((3, 8))
    Y += 0.1 * rng.standard_normal(Y.shape)
    X = with_missing(Y)
    units = 10.0 ** np.array([-9, 6, 0, 3, -3, 9, 1, -6])
    expected = fit_mixture(X).fill(X)
    found = fit_mixture(X * units + 5 * units).fill(X * units + 5 * units) / units - 5
    missing = np.isnan(X)
    assert rms((found - Y)[missing]) < 1.1 * rms((expected - Y)[missing])


def test_same_seed_gives_same_mixture() -> None:
    X = with_missing(sample(smooth_and_rough(), 500))
    first, second = (fit_mixture(X, 3, random_state=7).fill(X) for _ in range(2))
    assert np.array_equal(first, second)


def test_errors_name_the_argument() -> None:
    X = with_missing(random_walks(50))
    with pytest.raises(ValueError, match="feature 3 is not"):
        fit_mixture(np.where(np.arange(12) == 3, np.nan, X))
    with pytest.raises(ValueError, match="n_members must be between 1 and n_signals=50"):
        fit_mixture(X, 51)
    with pytest.raises(TypeError, match="coder must be a transform or a bank"):
        fit_mixture(X, coder=np.eye(12))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="coder must be for the 12 features of Y"):
        fit_mixture(X, coder=fost.DCT(8))
    with pytest.raises(ValueError, match="n_members must be that of coder, 1, got 2"):
        fit_mixture(X, 2, coder=fost.DCT(12))
    with pytest.raises(ValueError, match="Y contains infinity"):
        fit_mixture(np.where(np.isnan(X), np.inf, X))


@pytest.mark.parametrize("value", [0.0, 5.0, 1e-300])
def test_constant_signals_with_missing_entries(value: float) -> None:
    """Held-out entries are imputed without an error, which nothing is divided by."""
    X = np.full((300, 6), value)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    np.testing.assert_allclose(fit_mixture(X).fill(X), value, rtol=1e-6)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_few_or_constant_signals(count: int) -> None:
    Y = random_walks(count, 6)
    X = Y.copy()
    X[-1, 2] = np.nan if count > 1 else X[-1, 2]
    filled = fit_mixture(X).fill(X)
    assert np.isfinite(filled).all()
    constant = np.ones((count, 4))
    np.testing.assert_allclose(fit_mixture(constant).fill(np.full((1, 4), np.nan)), 1, atol=1e-6)
