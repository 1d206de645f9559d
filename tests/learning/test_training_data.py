"""All kinds of streams give the same sums."""

from __future__ import annotations

import array
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import zarr

import fost
from fost.learning import as_training_data
from fost.streams import arrays, as_stream, is_lazy
from tests import cases
from tests.learning.test_learn import correlated

N, n, S = 3001, 16, 3


class OddBlocks:
    """Blocks of 1, 2, 3, ... rows, of which one is empty; counts its passes."""

    def __init__(self, Y: np.ndarray) -> None:
        self.Y, self.passes = Y, 0

    def __iter__(self) -> Iterator[np.ndarray]:
        self.passes += 1
        yield self.Y[:0]
        start, size = 0, 1
        while start < len(self.Y):
            yield self.Y[start : start + size]
            start, size = start + size, size + 1


def mapped(Y: np.ndarray, folder: Path) -> np.ndarray:
    np.save(folder / "Y.npy", Y)
    return np.load(folder / "Y.npy", mmap_mode="r")


def in_zarr(Y: np.ndarray, folder: Path) -> Any:
    stored = zarr.create_array(folder / "Y.zarr", shape=Y.shape, chunks=(600, 7), dtype=Y.dtype)
    stored[:] = Y
    return stored


PLACES: dict[str, Callable[[np.ndarray, Path], Any]] = {
    "memmap": mapped,
    "part of a memmap": lambda Y, folder: mapped(np.pad(Y, 1), folder)[1:-1, 1:-1],
    "memmap in Fortran order": lambda Y, folder: mapped(np.asfortranarray(Y), folder),
    "copy-on-write memmap": lambda Y, folder: np.memmap(
        mapped(Y, folder).filename, Y.dtype, "c", 128, Y.shape
    ),
    "Zarr": in_zarr,
    "odd blocks": lambda Y, folder: OddBlocks(Y),
    "blocks of memmaps": lambda Y, folder: OddBlocks(mapped(Y, folder)),
    "Dask": lambda Y, folder: da.from_array(Y, chunks=(700, n)),
    "Dask in uneven chunks": lambda Y, folder: da.from_array(Y, chunks=((1, 2000, 1000), (7, 9))),
    "Dask in one chunk": lambda Y, folder: da.from_array(Y, chunks=-1),
    "Dask in 31 chunks": lambda Y, folder: da.from_array(Y, chunks=(100, n)),
}
places = pytest.mark.parametrize("place", list(PLACES))


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "_BLOCK_BYTES", 10_000)


@places
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, ">f4"])
def test_sums_do_not_depend_on_the_kind_of_stream(place: str, dtype: Any, tmp_path: Path) -> None:
    Y = (10 * correlated(N, n)).astype(dtype)
    here, there = as_training_data(Y), as_training_data(PLACES[place](Y, tmp_path))
    assert (there.n_signals, there.n_features, there.rounding) == (N, n, here.rounding)
    for base in (None, fost.DCT((4, 4))):
        a = here.statistic(base, fost.DCT(n), S)
        b = there.statistic(base, fost.DCT(n), S, with_energy=True)
        # A sum of N products rounds to about sqrt(N) 1e-16 of the largest.
        assert np.abs(a.matrix - b.matrix).max() <= 1e-12 * np.abs(a.matrix).max()
        assert b.energy == pytest.approx(a.energy, rel=1e-12)
        assert b.signal_energy == pytest.approx(np.sum(Y.astype(float) ** 2), rel=1e-12)
        np.testing.assert_allclose(here.gram(base), there.gram(base), rtol=1e-12, atol=1e-6)
    np.testing.assert_array_equal(here.sample(50).rows(), there.sample(50).rows())


@places
@pytest.mark.parametrize(
    ("structure", "base", "dtype"),
    [
        (fost.Reflectors(4), None, np.float32),
        (fost.Rotations(12), fost.DCT(n), np.float64),
        (fost.BankOf(fost.Rotations(12), 3), fost.DCT(n), np.float64),
    ],
    ids=["reflectors", "rotations", "bank"],
)
def test_learning_does_not_depend_on_the_kind_of_stream(
    place: str, structure: fost.Structure, base: Any, dtype: Any, tmp_path: Path
) -> None:
    Y = correlated(N, n).astype(dtype)
    there = PLACES[place](Y, tmp_path)
    options = {"base": base, "max_iter": 5, "tol": 0, "random_state": 0}
    here = fost.learn(Y, structure, S, **options)
    result = fost.learn(there, structure, S, **options)
    np.testing.assert_allclose(result.errors, here.errors, rtol=0, atol=1e-8)
    expected, codes = here.transform.encode(Y, S), result.transform.encode(there, S)
    if place.startswith("Dask"):
        assert isinstance(codes, da.Array)
        assert codes.chunks == (there.chunks[0], (result.transform.n_atoms,))
        codes = codes.compute()
    # Sums in another order round differently, which may change the choice between two equally good
    # entries or members; the represented energy is the same.
    assert codes.shape == expected.shape
    np.testing.assert_array_equal(np.diff(codes.indptr), S)
    ours, theirs = codes.toarray(), expected.toarray()
    kept = [np.square(C, dtype=np.float64).sum(axis=1) for C in (ours, theirs)]
    np.testing.assert_allclose(kept[0], kept[1], rtol=1e-4, atol=1e-4)
    same = ((ours != 0) == (theirs != 0)).all(axis=1)
    assert same.mean() > 0.99, "close calls are rare"
    np.testing.assert_allclose(ours[same], theirs[same], rtol=1e-4, atol=1e-4)


@places
def test_estimators_accept_all_streams(place: str, tmp_path: Path) -> None:
    Y = correlated(N, n)
    there = PLACES[place](Y, tmp_path)
    here = fost.HouseholderDictionary(4, S, max_iter=4).fit(Y)
    other = fost.HouseholderDictionary(4, S, max_iter=4).fit(there)
    np.testing.assert_allclose(other.errors_, here.errors_, rtol=0, atol=1e-8)
    assert other.n_features_in_ == n
    assert other.score(there) == pytest.approx(here.score(Y), rel=1e-8)
    for sparse in (True, False):
        expected = here.set_params(sparse_output=sparse).transform(Y)
        codes = other.set_params(sparse_output=sparse).transform(there)
        codes = codes.compute() if isinstance(codes, da.Array) else codes
        assert type(codes) is type(expected)
        assert np.abs(codes - expected).max() < 1e-8
    with pytest.raises(ValueError, match="X has 8 features, but HouseholderDictionary is exp"):
        other.transform(PLACES["odd blocks"](Y[:, :8], tmp_path))


def test_auto_chooses_on_a_sample_and_learns_on_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Y = correlated(2000, 8)
    monkeypatch.setattr("fost.estimators.auto._MAX_EXPLORED", 500)
    settings = {"signal_shape": 8, "max_flops": 120, "max_iter": 5, "random_state": 0}
    auto = fost.AutoDictionary(2, **settings).fit(mapped(Y, tmp_path))
    assert auto.dictionary_.flops <= 120
    assert -auto.score(Y) == pytest.approx(auto.error_, rel=1e-9)
    random = np.random.default_rng(0)
    sampled = as_training_data(Y).with_random(random).sample(500).rows()
    alone = fost.AutoDictionary(2, **{**settings, "random_state": random}).fit(sampled)
    assert [row.structure for row in auto.frontier_] == [row.structure for row in alone.frontier_]
    assert auto.chosen_.held_out_error == alone.chosen_.held_out_error


def test_each_pass_reads_once() -> None:
    blocks = OddBlocks(correlated(N, n))
    source = as_training_data(blocks)
    assert blocks.passes == 1, "the first block, for its size"
    fost.learn(source, fost.Reflectors(3), S, max_iter=4, tol=0)
    assert blocks.passes == 1 + 1 + 5, "the Gram matrix, the start and four iterations"


def test_the_next_block_is_read_ahead() -> None:
    """The reader may wait for the user of the block before."""
    used = [threading.Event() for _ in range(3)]

    def blocks() -> Iterator[int]:
        for k in range(3):
            assert k < 2 or used[k - 2].wait(60), "block 2 is not read before block 0 is in use"
            yield k

    for k in arrays.read_ahead(blocks()):
        used[k].set()
    assert all(event.is_set() for event in used)


def test_errors_of_the_reader_thread_are_raised() -> None:
    class Broken:
        def __iter__(self) -> Iterator[np.ndarray]:
            yield np.eye(4)
            raise OSError("the tape is torn")

    with pytest.raises(OSError, match="the tape is torn"):
        fost.learn(Broken(), fost.Orthonormal(), 1)


def test_what_is_lazy(tmp_path: Path) -> None:
    Y = correlated(20, 4)
    assert not any(map(is_lazy, [Y, Y.tolist(), Y[::2], tuple(Y), 3.0]))
    assert all(map(is_lazy, ["signals.npy", tmp_path, [Y, Y[:3]], (Y,), lambda: [Y]]))
    assert is_lazy(mapped(Y, tmp_path))
    assert is_lazy(np.asarray(mapped(Y, tmp_path))[3:])
    pandas = pytest.importorskip("pandas")
    assert not is_lazy(pandas.DataFrame(Y))


class Once:
    """Yields its blocks in the first two iterations only."""

    def __init__(self) -> None:
        self.left = 2

    def __iter__(self) -> Iterator[np.ndarray]:
        self.left -= 1
        return iter([np.eye(4)] if self.left >= 0 else [])


class Yielding:
    def __init__(self, *blocks: Any) -> None:
        self.blocks = blocks

    def __iter__(self) -> Iterator[Any]:
        return iter(self.blocks)


@pytest.mark.parametrize(
    ("Y", "error", "match"),
    [
        ((np.eye(4) for _ in range(3)), TypeError, "Y is an iterator, which can be read only on"),
        (Once(), (ValueError, TypeError), "same blocks in every pass|empty"),
        (Yielding(), ValueError, "at least one signal"),
        (Yielding(np.eye(4), np.eye(5)), ValueError, "equally many columns, got 4 and 5"),
        (Yielding(np.ones(4)), ValueError, r"blocks of shape \(any, n_features\), got .*\(4,\)"),
        (Yielding(np.eye(4), np.full((1, 4), np.nan)), ValueError, "Y contains NaN or infinity"),
        (Yielding(np.array([["a"]])), TypeError, "a block of Y must be real numbers"),
        (da.full((4, 4), np.nan), ValueError, "Y contains NaN or infinity"),
        (da.ones(4), ValueError, "must have shape"),
        (da.ones((4, 4), dtype=complex), TypeError, "must be real numbers, got dtype complex"),
        (da.ones((4, 4))[da.ones(4) > 0], ValueError, "unknown shape; call Y.compute_chunk_size"),
    ],
)
def test_bad_signals_are_refused(Y: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        fost.learn(Y, fost.Orthonormal(), 1)


def test_encode_checks_the_size(tmp_path: Path) -> None:
    there = mapped(correlated(20, 4), tmp_path)
    with pytest.raises(ValueError, match="Y has 4 features, but this DCT transform was built for"):
        fost.DCT(8).encode(there, 2)
    with pytest.raises(ValueError, match="n_nonzero_coefs must be between 1 and n_features=4"):
        fost.DCT(4).encode(there, 5)


def test_dask_and_zarr_are_optional() -> None:
    code = """if True:
        import sys
        sys.modules.update(dict.fromkeys(["dask", "distributed", "zarr"]))  # cannot be imported
        import fost, numpy as np
        class Blocks:
            def __iter__(self):
                return iter([np.eye(4), np.ones((2, 4))])
        for Y in (np.eye(4), Blocks()):
            fost.OrthonormalDictionary(1).fit(Y).transform(Y)
    """
    subprocess.run([sys.executable, "-c", code], check=True)


def test_buffers_are_arrays_and_not_blocks() -> None:
    Y = np.random.default_rng(0).standard_normal((20, 4))
    view = memoryview(Y)
    codes = fost.DCT(4).encode(view, 2)
    assert cases.same_codes(codes, fost.DCT(4).encode(Y, 2))
    assert as_training_data(view).n_signals == 20
    assert np.array_equal(
        fost.learn(view, fost.Orthonormal(), 2).errors, fost.learn(Y, fost.Orthonormal(), 2).errors
    )
    with pytest.raises(
        ValueError, match=r"Y must have shape \(n_signals, n_features\), got \(3,\)"
    ):
        as_training_data(array.array("d", [1.0, 2.0, 3.0]))


def test_the_stream_of_training_data_is_accepted_as_signals(tmp_path: Path) -> None:
    Y = correlated(N, n)
    transform = fost.DCT(n)
    expected = transform.encode(Y, S)
    for signals in (Y, PLACES["memmap"](Y, tmp_path)):
        data = as_training_data(signals)
        assert as_training_data(data) is data
        source = data.stream
        assert as_stream(source) is source
        assert is_lazy(source)
        assert (transform.encode(source, S) != expected).nnz == 0
        estimator = fost.OrthonormalDictionary(S, max_iter=2).fit(source)
        again = fost.OrthonormalDictionary(S, max_iter=2).fit(signals)
        # A stream may have missing entries, so its second moments are summed pair by pair.
        found, wanted = (each.dictionary_.matrix for each in (estimator, again))
        np.testing.assert_allclose(found, wanted, atol=1e-8)
        assert estimator.score(source) == pytest.approx(again.score(Y), rel=1e-8)
        assert np.array_equal(estimator.transform(source), estimator.transform(Y))


def test_samples_follow_the_seed_and_not_the_order_of_signals():
    Y = np.random.default_rng(0).standard_normal((300, 4))
    shuffled = Y[np.random.default_rng(1).permutation(300)]

    def sample(rows, seed):
        data = fost.learning.as_training_data(rows).with_random(np.random.default_rng(seed))
        assert np.array_equal(data.sample(50).rows(), data.sample(50).rows())
        return data.sample(50).rows()

    assert np.array_equal(sample(Y, 0), sample(shuffled, 0))
    assert not np.array_equal(sample(Y, 0), sample(Y, 1))
    # A generator goes on: the next data have another sample.
    random = np.random.default_rng(0)
    data = fost.learning.as_training_data(Y)
    assert not np.array_equal(
        data.with_random(random).sample(50).rows(), data.with_random(random).sample(50).rows()
    )
