"""Mixtures in files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fost
from fost import gaps
from tests.gaps.test_learning import holed, walks
from tests.gaps.test_mixture import two_kinds


@pytest.mark.parametrize("n_members", [1, 3])
@pytest.mark.parametrize("asked", [False, True])
def test_what_is_loaded_fills_the_same_to_the_last_bit(
    tmp_path: Path, n_members: int, asked: bool
) -> None:
    X = holed(walks())
    mixture = gaps.learn(X, n_members)
    expected = mixture.fill(X)
    if asked:
        assert mixture.transforms[0].n_features == 12  # which must not change what is written
    mixture.save(tmp_path / "mixture.safetensors")
    again = gaps.load(tmp_path / "mixture.safetensors")
    assert np.array_equal(again.shares, mixture.shares)
    assert np.array_equal(again.fill(X), expected)


def test_transforms_stay_what_they_are(tmp_path: Path) -> None:
    rotation = [[[0.6, 0.8], [-0.8, 0.6]]]
    bank = fost.Bank([fost.DCT(12), fost.Givens([[0, 1]], rotation, 12)])
    X = holed(walks())
    for mixture in (two_kinds(), gaps.learn(X, coder=bank)):
        mixture.save(tmp_path / "mixture.safetensors")
        again = gaps.load(tmp_path / "mixture.safetensors")
        assert again.transforms == mixture.transforms
        for old, new in zip(mixture.members, again.members, strict=True):
            assert np.array_equal(old.variances, new.variances)
            assert np.array_equal(old.mean, new.mean)
        assert np.array_equal(again.fill(X), mixture.fill(X))


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "file.safetensors"
    fost.DCT(4).save(path)
    with pytest.raises(ValueError, match=r"cannot load a mixture from .*: it has none"):
        gaps.load(path)
    two_kinds().save(path)
    with pytest.raises(ValueError, match="cannot load a transform from"):
        fost.load(path)
    damaged = bytearray(path.read_bytes())
    damaged[-3] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match="checksum"):
        gaps.load(path)
    with pytest.raises(FileNotFoundError):
        gaps.load(tmp_path / "nothing")
