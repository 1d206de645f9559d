"""The examples of docs/howto/diagnostics.md run, and its numbers are right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fost
from fost import diagnostics

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "diagnostics.md"


def test_no_reflector_but_a_rotation_helps_random_signals() -> None:
    Y = np.random.default_rng(0).standard_normal((2000, 16))
    result = fost.learn(Y, fost.Reflectors(1), 2, max_iter=300)
    assert not diagnostics.one_more_reflector(result, Y, 2).helps
    assert not diagnostics.procrustes(result, Y, 2).holds


def test_every_public_name_is_documented() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert not [name for name in diagnostics.__all__ if f"`{name}`" not in text]


def test_numbers_of_camera() -> None:
    data = pytest.importorskip("skimage.data")
    Y = fost.restoration.patches(data.camera() / 255, 8)
    Y -= Y.mean(axis=1, keepdims=True)
    done = fost.learn(Y, fost.Reflectors(8), 4, max_iter=300, tol=0).transform
    found = diagnostics.one_more_reflector(done, Y, 4)
    # The tolerance is half a unit of the last printed digit, and a fifth of that for differences
    # between machines after so many iterations (errors agreed in seven digits on those tried).
    assert found.error == pytest.approx(0.2348, abs=6e-5)
    assert found.relative_gain == pytest.approx(0.0003, abs=6e-5)
    better = found.add_to(done)
    coded = diagnostics.one_more_reflector(better, Y, 4).error
    assert found.error - coded == pytest.approx(0.0007, abs=6e-5)
    learned = fost.learn(Y, fost.Reflectors(9), 4, init=better).error
    assert found.error - learned == pytest.approx(0.006, abs=6e-4)
    assert 3 <= diagnostics.gershgorin(done, Y, 4).rows.sum() <= 8
