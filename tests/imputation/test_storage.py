"""Files of mixtures, and checkpoints of their fit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fost
from fost.imputation import Gaussian, Mixture, fit, fit_mixture, load_mixture
from fost.learning import CheckpointError
from tests.cases import same_bits
from tests.imputation.test_fit import random_walks, with_missing
from tests.imputation.test_mixture import smooth_and_rough

STEPS = 4


@pytest.mark.parametrize("n_members", [1, 3])
@pytest.mark.parametrize("decomposed", [False, True])
def test_loaded_mixture_fills_bit_identically(
    tmp_path: Path, n_members: int, decomposed: bool
) -> None:
    X = with_missing(random_walks())
    mixture = fit_mixture(X, n_members)
    expected = mixture.fill(X)
    if decomposed:
        assert mixture.transforms[0].n_features == 12  # the decomposition must not change the file
    mixture.save(tmp_path / "mixture.safetensors")
    again = load_mixture(tmp_path / "mixture.safetensors")
    assert np.array_equal(again.weights, mixture.weights)
    assert again.std_scale == mixture.std_scale != 1
    assert np.array_equal(again.fill(X), expected)


def test_loaded_mixture_has_the_same_transforms(tmp_path: Path) -> None:
    rotation = [[[0.6, 0.8], [-0.8, 0.6]]]
    bank = fost.Bank([fost.DCT(12), fost.Givens([[0, 1]], rotation, 12)])
    X = with_missing(random_walks())
    for mixture in (smooth_and_rough(), fit_mixture(X, coder=bank)):
        mixture.save(tmp_path / "mixture.safetensors")
        again = load_mixture(tmp_path / "mixture.safetensors")
        assert again.transforms == mixture.transforms
        for old, new in zip(mixture.members, again.members, strict=True):
            assert np.array_equal(old.variances, new.variances)
            assert np.array_equal(old.mean, new.mean)
        assert np.array_equal(again.fill(X), mixture.fill(X))


def test_load_mixture_rejects_other_and_damaged_files(tmp_path: Path) -> None:
    path = tmp_path / "file.safetensors"
    fost.DCT(4).save(path)
    with pytest.raises(ValueError, match=r"cannot load a mixture from .*: it has none"):
        load_mixture(path)
    smooth_and_rough().save(path)
    with pytest.raises(ValueError, match="cannot load a transform from"):
        fost.load(path)
    damaged = bytearray(path.read_bytes())
    damaged[-3] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match="checksum"):
        load_mixture(path)
    with pytest.raises(FileNotFoundError):
        load_mixture(tmp_path / "nothing")


class Crash(Exception):
    pass


class Blocks:
    """Signals in blocks; after `last` passes, a pass ends in an exception, as in a crash."""

    def __init__(self, Y: np.ndarray, last: int = 10**6) -> None:
        self.Y, self.left = Y, last

    def __iter__(self) -> Iterator[np.ndarray]:
        self.left -= 1
        for block in np.array_split(self.Y, 5):
            yield block
            if self.left < 0:
                raise Crash


def same(a: Mixture, b: Mixture) -> bool:
    pairs = zip(a.members, b.members, strict=True)
    return same_bits(a.weights, b.weights) and all(
        same_bits(x.mean, y.mean) and same_bits(x.covariance, y.covariance) for x, y in pairs
    )


@pytest.fixture(params=["all in memory", "a sample in memory"])
def Y(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    if request.param == "a sample in memory":
        monkeypatch.setattr(fit, "_MAX_SAMPLE", 200)
    return with_missing(random_walks())


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_members": 3},
        {"coder": fost.DCT(12)},
        {"coder": fost.Bank([fost.DCT(12), fost.Dense(np.eye(12))])},
    ],
    ids=["selected", "three members", "DCT", "bank"],
)
def test_resumed_fit_equals_uninterrupted_fit(
    options: dict[str, Any], Y: np.ndarray, tmp_path: Path
) -> None:
    whole = fit_mixture(Blocks(Y), max_iter=STEPS, **options)
    path, crashes = tmp_path / "state", 0
    for last in range(2, 30):
        try:
            again = fit_mixture(Blocks(Y, last), max_iter=STEPS, checkpoint=path, **options)
            break
        except Crash:
            crashes += 1
    assert crashes > 0
    assert same(again, whole)
    # The checkpoint has as many steps as asked for, or more.
    for steps in (STEPS, STEPS - 2):
        assert same(fit_mixture(Blocks(Y), max_iter=steps, checkpoint=path, **options), whole)
    assert [file.name for file in tmp_path.iterdir()] == ["state"]


def test_finished_fit_continues_with_more_steps(Y: np.ndarray, tmp_path: Path) -> None:
    path = tmp_path / "state"
    first = fit_mixture(Y, max_iter=1, checkpoint=path)
    more = fit_mixture(Y, max_iter=3, checkpoint=path)
    assert not same(first, more)
    assert same(more, fit_mixture(Y, max_iter=3))


@pytest.mark.parametrize("kind", ["PCG64", "MT19937"])
def test_random_state_is_restored(kind: str, tmp_path: Path) -> None:
    Y, path = with_missing(random_walks()), tmp_path / "state"

    def generator() -> np.random.Generator:
        return np.random.Generator(getattr(np.random, kind)(5))

    before, after = generator(), generator()
    fit_mixture(Y, random_state=before, checkpoint=path)
    fit_mixture(Y, random_state=after, checkpoint=path)
    assert before.integers(2**60) == after.integers(2**60)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"Y": with_missing(random_walks(seed=1))}, "other signals: their sums"),
        ({"Y": with_missing(random_walks(), seed=2)}, "other signals: their sums"),
        ({"Y": with_missing(random_walks(401))}, "n_signals was 400 and is now 401"),
        ({"n_members": 2}, "n_members was None and is now 2"),
        ({"coder": fost.DCT(12)}, "n_members was None and is now 1"),
        ({"random_state": 1}, "random_state was"),
    ],
)
def test_checkpoints_of_other_signals_or_settings_are_rejected(
    change: dict[str, Any], match: str, tmp_path: Path
) -> None:
    path = tmp_path / "state"
    fit_mixture(with_missing(random_walks()), checkpoint=path)
    before = path.read_bytes()
    settings = {"Y": with_missing(random_walks()), **change}
    with pytest.raises(CheckpointError, match=f"cannot resume from.*{match}"):
        fit_mixture(settings.pop("Y"), checkpoint=path, **settings)
    assert path.read_bytes() == before


def test_damaged_and_other_checkpoints_are_rejected(tmp_path: Path) -> None:
    path, Y = tmp_path / "state", with_missing(random_walks(100))
    fit_mixture(Y, 2, checkpoint=path)
    whole, random = path.read_bytes(), np.random.default_rng(0)
    wholes = [whole[:-1], b"", b"nonsense" * 100]
    for place in random.integers(0, len(whole), 30):
        changed = bytearray(whole)
        changed[place] ^= 1 << random.integers(8)
        wholes.append(bytes(changed))
    for damaged in wholes:
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError, match="cannot resume from"):
            fit_mixture(Y, 2, checkpoint=path)
    Mixture([Gaussian([0, 0], fost.DCT(2), [2, 1])]).save(path)
    with pytest.raises(CheckpointError, match="it is not a mixture checkpoint of fost"):
        fit_mixture(Y, 2, checkpoint=path)
    with pytest.raises(TypeError, match="checkpoint must be"):
        fit_mixture(Y, 2, checkpoint=3)  # type: ignore[arg-type]
    with pytest.raises(OSError, match=r"directory|Permission"):
        fit_mixture(Y, 2, checkpoint=tmp_path)
