"""Signs of damage in streams of signals."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import fost
from fost.streams import as_stream
from fost.streams.inspection import first_not_finite, inspect


def parts() -> list[np.ndarray]:
    return list(np.random.default_rng(0).standard_normal((4, 50, 8)))


def test_clean_signals() -> None:
    found = inspect(as_stream(parts()))
    assert (found.n_entries, found.n_nan) == (1600, 0)
    assert found.nan is found.infinite is found.extreme is None
    assert first_not_finite(as_stream(parts())) is None


def test_each_kind_of_damage_is_located() -> None:
    blocks = parts()
    blocks[1][7, 3] = blocks[1][9] = np.nan
    blocks[2][4, 0] = -1e12
    found = inspect(as_stream(blocks))
    assert (found.n_nan, found.nan, found.infinite) == (9, (57, 1), None)
    assert found.extreme == (104, 2)
    assert 1e11 < found.ratio < 1e13
    assert str(found.extreme) == "row 104 (block 2)"
    blocks[3][0, 1] = -np.inf
    assert inspect(as_stream(blocks)).infinite == (150, 3)
    assert first_not_finite(as_stream(blocks)) == (57, 1)


def test_a_block_of_random_bytes_among_others() -> None:
    blocks = parts()
    blocks[1] = np.random.default_rng(1).integers(2**63 - 2**53, size=(50, 8)).view(float)
    found = inspect(as_stream(blocks))
    assert found.extreme is not None
    assert found.extreme.block == 1


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.bool_, np.float16])
def test_types(dtype: type) -> None:
    Y = np.eye(8).astype(dtype)
    if dtype == np.int8:
        Y[0] = -128  # has no positive counterpart
    found = inspect(as_stream([Y, Y]))
    assert (found.n_entries, found.n_nan, found.extreme) == (128, 0, None)


def test_zeros() -> None:
    assert inspect(as_stream(np.zeros((3, 4)))).extreme is None


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_learning_names_the_row(value: float, tmp_path: Path) -> None:
    blocks = parts()
    blocks[2][4, 0] = value
    Y = np.concatenate(blocks)
    np.save(tmp_path / "rows.npy", Y)
    for signals, place in ((Y, "104 (block 0)"), (blocks, "104 (block 2)")):
        with pytest.raises(ValueError, match="Y contains NaN or infinity in row") as caught:
            fost.learn(signals, fost.Orthonormal(), 2)
        assert place in str(caught.value)
    with pytest.raises(ValueError, match=r"row 104 \(block 0\)"):
        fost.learn(tmp_path / "rows.npy", fost.Orthonormal(), 2)


def test_rows_of_memory_maps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are taken in blocks; the numbers of the first and the last row are the hardest."""
    monkeypatch.setattr("fost.streams.arrays._BLOCK_BYTES", 2**9)
    np.save(tmp_path / "rows.npy", np.concatenate(parts()))
    Y = np.load(tmp_path / "rows.npy", mmap_mode="r")
    for rows in ([], [0], [199], [0, 0, 7, 8, 15, 16, 198, 199], range(200)):
        numbers = np.array(rows, dtype=np.int64)
        found = as_stream(Y).take(numbers)
        assert np.array_equal(found, np.concatenate(parts())[numbers])
        assert found.shape == (len(numbers), 8)


def test_a_checkpoint_that_cannot_be_written_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Y, path = np.concatenate(parts()), tmp_path / "run.state"
    expected = fost.learn(Y, fost.Orthonormal(), 2, max_iter=25, tol=0)

    def fill_disk(iteration: int, error: float, transform: fost.Transform) -> None:
        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("fost._checkpoints.write_atomically", full)

    options = {"max_iter": 25, "tol": 0, "checkpoint": path, "callback": fill_disk}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = fost.learn(Y, fost.Orthonormal(), 2, **options)
    (warning,) = caught  # one, although three files could not be written
    assert "cannot write the checkpoint" in str(warning.message)
    assert "No space left on device" in str(warning.message)
    assert result.transform == expected.transform
    # The first file of a run must be written: the path may be wrong.
    with pytest.raises(OSError, match="No space left"):
        fost.learn(Y, fost.Orthonormal(), 2, checkpoint=tmp_path / "other.state")
    # The state before the disk was full is still there.
    monkeypatch.undo()
    resumed = fost.learn(Y, fost.Orthonormal(), 2, max_iter=25, tol=0, checkpoint=path)
    assert resumed.transform == expected.transform


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("random_state", 8, "random_state was 7 and is now 8"),
        (
            "base",
            fost.DCT((2, 4)),
            r"base was 'DCT\(n_features=8, shape=\(8,\).* is now 'DCT\(.*shape=\(2, 4\)",
        ),
        ("n_nonzero_coefs", 3, "n_nonzero_coefs was 2 and is now 3"),
    ],
)
def test_a_changed_option_is_reported_with_its_values(
    name: str, value: object, message: str, tmp_path: Path
) -> None:
    options = {"n_nonzero_coefs": 2, "random_state": 7, "base": fost.DCT(8), "max_iter": 2}
    options |= {"checkpoint": tmp_path / "run.state"}
    fost.learn(parts()[0], fost.Rotations(4), **options)
    with pytest.raises(fost.learning.CheckpointError, match=message):
        fost.learn(parts()[0], fost.Rotations(4), **(options | {name: value}))
