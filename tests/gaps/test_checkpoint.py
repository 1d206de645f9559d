"""Learning from gaps that was interrupted ends as if it had not been, to the last bit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fost
from fost import gaps
from fost.gaps import Mixture, learning
from fost.learning import CheckpointError
from tests.cases import same_bits
from tests.gaps.test_learning import holed, walks

STEPS = 4


class Stop(Exception):
    pass


class Blocks:
    """Signals in blocks; a pass over them ends in an exception, as in a crash."""

    def __init__(self, Y: np.ndarray, last: int = 10**6) -> None:
        self.Y, self.left = Y, last

    def __iter__(self) -> Iterator[np.ndarray]:
        self.left -= 1
        for block in np.array_split(self.Y, 5):
            yield block
            if self.left < 0:
                raise Stop


def same(a: Mixture, b: Mixture) -> bool:
    pairs = zip(a.members, b.members, strict=True)
    return same_bits(a.shares, b.shares) and all(
        same_bits(x.mean, y.mean) and same_bits(x.covariance, y.covariance) for x, y in pairs
    )


@pytest.fixture(params=["all in memory", "a sample in memory"])
def Y(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    if request.param == "a sample in memory":
        monkeypatch.setattr(learning, "_SAMPLE", 200)
    return holed(walks())


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_members": 3},
        {"coder": fost.DCT(12)},
        {"coder": fost.Bank([fost.DCT(12), fost.Dense(np.eye(12))])},
    ],
    ids=["chosen", "three", "DCT", "bank"],
)
def test_a_resumed_run_is_the_uninterrupted_one(
    options: dict[str, Any], Y: np.ndarray, tmp_path: Path
) -> None:
    whole = gaps.learn(Blocks(Y), max_iter=STEPS, **options)
    path, crashes = tmp_path / "state", 0
    for last in range(2, 30):
        try:
            again = gaps.learn(Blocks(Y, last), max_iter=STEPS, checkpoint=path, **options)
            break
        except Stop:
            crashes += 1
    assert crashes > 0
    assert same(again, whole)
    # Nothing is left to do, and more than was asked for has been done.
    for steps in (STEPS, STEPS - 2):
        assert same(gaps.learn(Blocks(Y), max_iter=steps, checkpoint=path, **options), whole)
    assert [file.name for file in tmp_path.iterdir()] == ["state"]


def test_a_finished_run_goes_on_with_more_steps(Y: np.ndarray, tmp_path: Path) -> None:
    path = tmp_path / "state"
    first = gaps.learn(Y, max_iter=1, checkpoint=path)
    more = gaps.learn(Y, max_iter=3, checkpoint=path)
    assert not same(first, more)
    assert same(more, gaps.learn(Y, max_iter=3))


@pytest.mark.parametrize("kind", ["PCG64", "MT19937"])
def test_random_numbers_go_on_where_they_were(kind: str, tmp_path: Path) -> None:
    Y, path = holed(walks()), tmp_path / "state"

    def numbers() -> np.random.Generator:
        return np.random.Generator(getattr(np.random, kind)(5))

    before, after = numbers(), numbers()
    gaps.learn(Y, random_state=before, checkpoint=path)
    gaps.learn(Y, random_state=after, checkpoint=path)
    assert before.integers(2**60) == after.integers(2**60)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"Y": holed(walks(seed=1))}, "other signals: their sums"),
        ({"Y": holed(walks(), seed=2)}, "other signals: their sums"),
        ({"Y": holed(walks(401))}, "n_signals was 400 and is now 401"),
        ({"n_members": 2}, "n_members was None and is now 2"),
        ({"coder": fost.DCT(12)}, "n_members was None and is now 1"),
        ({"random_state": 1}, "random_state was"),
    ],
)
def test_other_signals_and_settings_are_refused(
    change: dict[str, Any], match: str, tmp_path: Path
) -> None:
    path = tmp_path / "state"
    gaps.learn(holed(walks()), checkpoint=path)
    before = path.read_bytes()
    settings = {"Y": holed(walks()), **change}
    with pytest.raises(CheckpointError, match=f"cannot resume from.*{match}"):
        gaps.learn(settings.pop("Y"), checkpoint=path, **settings)
    assert path.read_bytes() == before


def test_damage_and_other_files_are_noticed(tmp_path: Path) -> None:
    path, Y = tmp_path / "state", holed(walks(100))
    gaps.learn(Y, 2, checkpoint=path)
    whole, random = path.read_bytes(), np.random.default_rng(0)
    wholes = [whole[:-1], b"", b"nonsense" * 100]
    for place in random.integers(0, len(whole), 30):
        changed = bytearray(whole)
        changed[place] ^= 1 << random.integers(8)
        wholes.append(bytes(changed))
    for damaged in wholes:
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError, match="cannot resume from"):
            gaps.learn(Y, 2, checkpoint=path)
    gaps.Mixture([gaps.Gaussian([0, 0], fost.DCT(2), [2, 1])]).save(path)
    with pytest.raises(CheckpointError, match="it is not a gaps checkpoint of fost"):
        gaps.learn(Y, 2, checkpoint=path)
    with pytest.raises(TypeError, match="checkpoint must be"):
        gaps.learn(Y, 2, checkpoint=3)  # type: ignore[arg-type]
    with pytest.raises(OSError, match=r"directory|Permission"):
        gaps.learn(Y, 2, checkpoint=tmp_path)
