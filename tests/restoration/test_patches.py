"""Extraction of patches from arrays, and assembly of arrays from patches."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

import fost
from fost.restoration import assemble, patches
from fost.restoration.arrays import join_channels, split_channels
from fost.restoration.patch_grid import PatchGrid
from fost.restoration.patches import PatchAssembler, patch_blocks
from tests import cases
from tests.cases import seeds

DTYPES = (np.bool_, np.uint8, np.int16, np.uint16, np.int32, np.float16, np.float32, np.float64)
FLOATS = (np.float32, np.float64)


def axis_of(shape: tuple[int, ...]) -> int | None:
    """The channel axis of an image of this shape."""
    return None if len(shape) == 2 else -1


@st.composite
def grids(draw: Any) -> tuple[tuple[int, ...], tuple[int, int], tuple[int, int]]:
    """The shape of an image, of a patch, and a stride of at most the patch."""
    patch = (draw(st.integers(1, 9)), draw(st.integers(1, 9)))
    image = tuple(side + draw(st.integers(0, 20)) for side in patch)
    stride = tuple(draw(st.integers(1, side)) for side in patch)
    channels = draw(st.sampled_from([(), (1,), (2,), (3,)]))
    return (*image, *channels), patch, stride  # type: ignore[return-value]


def make_image(shape: tuple[int, ...], dtype: Any, seed: int) -> NDArray[Any]:
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(0, 2 if dtype == np.bool_ else 100, shape).astype(dtype)


def reference_patches(
    image: NDArray[Any], shape: tuple[int, int], stride: tuple[int, int]
) -> NDArray[Any]:
    """Patches one by one, in plain loops."""

    def starts(length: int, size: int, step: int) -> list[int]:
        places = list(range(0, length - size + 1, step))
        return places if places[-1] == length - size else [*places, length - size]

    planes = image[..., None] if image.ndim == 2 else image
    rows = []
    for channel in range(planes.shape[2]):
        for top in starts(planes.shape[0], shape[0], stride[0]):
            for left in starts(planes.shape[1], shape[1], stride[1]):
                cut = planes[top : top + shape[0], left : left + shape[1], channel]
                rows.append(cut.ravel())
    return np.array(rows)


@given(grid=grids(), dtype=st.sampled_from(DTYPES), seed=cases.seeds)
def test_patches_equal_plain_loops(grid: Any, dtype: Any, seed: int) -> None:
    shape, patch, stride = grid
    image = make_image(shape, dtype, seed)
    rows = patches(image, patch, stride, channel_axis=axis_of(shape))
    expected = reference_patches(image, patch, stride)
    narrow = np.dtype(dtype).itemsize <= 2 or dtype == np.float32
    assert rows.dtype == (np.float32 if narrow else np.float64)
    assert np.array_equal(rows, expected)


@given(grid=grids(), dtype=st.sampled_from(DTYPES), seed=cases.seeds)
def test_round_trip(grid: Any, dtype: Any, seed: int) -> None:
    shape, patch, stride = grid
    image = make_image(shape, dtype, seed)
    rows = patches(image, patch, stride, channel_axis=axis_of(shape))
    back = assemble(rows, shape, patch, stride, channel_axis=axis_of(shape))
    assert back.shape == image.shape
    assert back.dtype == rows.dtype
    # Rounding errors of the mean of up to 81 equal numbers.
    np.testing.assert_allclose(back, image, rtol=1e-13, atol=0)
    assert dtype == np.float64 or np.array_equal(back, image)


@given(grid=grids(), dtype=st.sampled_from(FLOATS), seed=cases.seeds)
def test_round_trip_without_overlap_is_exact(grid: Any, dtype: Any, seed: int) -> None:
    shape, patch, _ = grid
    shape = (*(side // k * k for side, k in zip(shape, patch, strict=False)), *shape[2:])
    image = make_image(shape, dtype, seed)
    back = assemble(
        patches(image, patch, channel_axis=axis_of(shape)),
        shape,
        patch,
        channel_axis=axis_of(shape),
    )
    assert cases.same_bits(back, image)


@given(
    grid=grids(),
    per_entry=st.booleans(),
    dtype=st.sampled_from(FLOATS),
    seed=cases.seeds,
)
def test_weighted_mean(grid: Any, per_entry: bool, dtype: Any, seed: int) -> None:
    shape, patch, stride = grid
    rng = np.random.default_rng(seed)
    numbers = np.arange(np.prod(shape)).reshape(shape)
    places = patches(numbers, patch, stride, channel_axis=axis_of(shape)).astype(int)
    rows = rng.standard_normal(places.shape).astype(dtype)
    weights = rng.random(places.shape if per_entry else len(places)) + 0.1
    full = weights if per_entry else np.broadcast_to(weights[:, None], rows.shape)
    sums, total = np.zeros(np.prod(shape)), np.zeros(np.prod(shape))
    np.add.at(sums, places, rows * full)
    np.add.at(total, places, full)
    result = assemble(rows, shape, patch, stride, weights=weights, channel_axis=axis_of(shape))
    assert result.dtype == dtype
    expected = (sums / total).reshape(shape)
    np.testing.assert_allclose(result, expected, atol=1e-6 if dtype == np.float32 else 1e-12)


@given(seeds, st.integers(1, 3), st.sampled_from([None, 0, -1]), st.booleans(), st.integers(1, 5))
def test_blocks_of_any_size_are_bit_identical(seed, ndim, channel_axis, weighted, step):
    rng = np.random.default_rng(seed)
    size = [int(k) for k in rng.integers(1, 12, ndim)]
    shape = tuple(int(rng.integers(1, k + 1)) for k in size)
    stride = tuple(int(rng.integers(1, k + 1)) for k in shape)
    if channel_axis is not None:
        size.insert(channel_axis % (ndim + 1), 2)
    array = rng.standard_normal(size)
    rows = patches(array, shape, stride, channel_axis=channel_axis)
    weights = rng.random(rows.shape) + 0.1 if weighted else None
    again = assemble(rows, array.shape, shape, stride, weights=weights, channel_axis=channel_axis)
    np.testing.assert_allclose(again, array, rtol=1e-12)
    channels = split_channels(array, channel_axis)
    grid = PatchGrid.over(channels.shape[1:], shape, stride, n_channels=len(channels))
    assembler, end = PatchAssembler(grid), 0
    for where, block in patch_blocks(channels, grid, step):
        assert where.start == end
        np.testing.assert_array_equal(block, rows[where])
        assembler.add(where, block, None if weights is None else weights[where])
        end = where.stop
    assert end == len(rows) == grid.n_patches
    assert cases.same_bits(join_channels(assembler.result(), channel_axis), again)


@given(grid=grids(), data=st.data(), seed=seeds)
def test_an_assembler_accepts_any_slices_in_any_order(grid: Any, data: Any, seed: int) -> None:
    shape, patch, stride = grid
    axis = axis_of(shape)
    rows = patches(make_image(shape, np.float64, seed), patch, stride, channel_axis=axis)
    cuts = data.draw(st.lists(st.integers(0, len(rows)), max_size=5).map(sorted))
    slices = [slice(a, b) for a, b in pairwise([0, *cuts, len(rows)])]
    assembler = PatchAssembler(PatchGrid(shape[:2], patch, stride, (*shape, 1)[2]))
    for where in data.draw(st.permutations(slices)):
        assembler.add(where, rows[where])
    expected = assemble(rows, shape, patch, stride, channel_axis=axis)
    found = join_channels(assembler.result(), axis)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("layout", cases.LAYOUTS)
def test_images_of_any_memory_layout(layout: str) -> None:
    image = make_image((13, 17), np.float32, 0)
    rows = patches(cases.LAYOUTS[layout](image), 4, 3)
    assert cases.same_bits(rows, patches(image, 4, 3))
    back = assemble(cases.LAYOUTS[layout](rows), image.shape, 4, 3)
    assert cases.same_bits(back, image)


def test_patches_are_in_row_major_order():
    volume = np.arange(4 * 5 * 6.0).reshape(4, 5, 6)
    rows = patches(volume, (2, 3, 2), (2, 1, 3))
    places = [(z, y, x) for z in (0, 2) for y in (0, 1, 2) for x in (0, 3, 4)]
    assert len(rows) == len(places)
    for row, (z, y, x) in zip(rows, places, strict=True):
        np.testing.assert_array_equal(row, volume[z : z + 2, y : y + 3, x : x + 2].ravel())


def test_the_last_patches_are_shifted_inwards() -> None:
    image = np.arange(9 * 7).reshape(9, 7)
    rows = patches(image, (4, 3))
    assert rows[:, 0].tolist() == [7 * top + left for top in (0, 4, 5) for left in (0, 3, 4)]


def test_strides_beyond_the_patch_skip_samples() -> None:
    image = np.arange(100.0).reshape(10, 10)
    assert patches(image, 2, 4)[:, 0].tolist() == [
        10.0 * top + left for top in (0, 4, 8) for left in (0, 4, 8)
    ]
    with pytest.raises(ValueError, match=r"stride must be at most patch_shape=\(2, 2\) to cover"):
        assemble(np.zeros((9, 4)), (10, 10), 2, 4)


def test_nan_and_infinity_are_kept() -> None:
    image = np.array([[np.nan, 1.0], [np.inf, 2.0]])
    rows = patches(image, 2)
    assert np.array_equal(rows, image.reshape(1, 4), equal_nan=True)
    assert np.array_equal(assemble(rows, (2, 2), 2), image, equal_nan=True)


def test_blocks_need_bounded_memory() -> None:
    side, patch = 400, 8
    image = np.random.default_rng(0).random((side, side), dtype=np.float32)
    everything = (side - patch + 1) ** 2 * patch**2 * 4
    tracemalloc.start()
    try:
        grid = PatchGrid(image.shape, (patch, patch), (1, 1))
        assembler = PatchAssembler(grid)
        for where, block in patch_blocks(image[None], grid, 4):
            assembler.add(where, block)
        assembler.result()
        _, peak = tracemalloc.get_traced_memory()
        # Two blocks of patches, a block in float64, and three images in float64.
        block_bytes = 4 * side * patch**2 * 4
        assert peak < 4 * block_bytes + 4 * 8 * side**2 < everything / 4
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("weighted", [False, True])
def test_assemble_needs_no_second_copy_of_the_patches(weighted: bool) -> None:
    image = np.random.default_rng(0).random((300, 300), dtype=np.float32)
    rows = patches(image, 8, 1)
    weights = np.ones_like(rows) if weighted else None
    tracemalloc.start()
    try:
        assemble(rows, image.shape, 8, 1, weights=weights)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < rows.nbytes / 4


def test_blocks_read_a_memory_map_piece_by_piece(tmp_path: Any) -> None:
    image = np.random.default_rng(0).integers(0, 255, (512, 512)).astype(np.uint8)
    np.save(tmp_path / "image.npy", image)
    mapped = np.load(tmp_path / "image.npy", mmap_mode="r")
    tracemalloc.start()
    try:
        grid = PatchGrid(mapped.shape, (8, 8), (8, 8))
        total = sum(float(block.sum()) for _, block in patch_blocks(mapped[None], grid, 2))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert total == image.sum()
    assert peak < image.nbytes


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: patches(np.ones(5), 6), ValueError, "x must be at least as large as a patch, 6"),
        (lambda: patches(np.ones((7, 9)), 8), ValueError, "as a patch, 8 x 8, got 7 x 9"),
        (lambda: patches(np.ones(5), (2, 2)), ValueError, "patch_shape must be an integer"),
        (lambda: patches(np.ones(5), 0), ValueError, "patch_shape must be between 1 and"),
        (lambda: patches(np.ones(5), 2.5), TypeError, "patch_shape must be an integer, got 2.5"),
        (lambda: patches(np.ones(5), 2, 0), ValueError, "stride must be between 1 and"),
        (lambda: patches(np.ones(5), 2, (1, 2)), ValueError, "stride must be an integer or one"),
        (lambda: patches(np.ones((2,) * 4), 1), ValueError, "x must have one to three axes"),
        (lambda: patches(np.float64(3), 1), ValueError, "x must have one to three axes"),
        (lambda: patches(np.ones(0), 1), ValueError, "x must have at least one sample"),
        (lambda: patches(np.ones(4) * 1j, 1), TypeError, "x must be real numbers, got dtype compl"),
        (lambda: patches(csr_array(np.eye(4)), 1), TypeError, "x must be a dense array, got a sp"),
        (lambda: patches(MASKED, 2), ValueError, "x has masked entries"),
        (
            lambda: patches(np.ones((4, 4)), 1, channel_axis=2),
            ValueError,
            "channel_axis must be between -2 and 1, got 2",
        ),
        (
            lambda: assemble(np.ones((8, 2)), (4, 4), 2, channel_axis=1.0),
            TypeError,
            "channel_axis must be an integer",
        ),
        (lambda: assemble(np.ones((3, 2)), (9,), 2, 3), ValueError, "to cover every sample"),
        (lambda: assemble(np.ones((3, 2)), (2,) * 4, 2), ValueError, "shape must have 1 or 2 or"),
        (lambda: assemble(np.ones((1, 9)), (2, 2), 3), ValueError, "shape must be at least as"),
        (lambda: assemble(ROWS[:3], (16, 16), 8), ValueError, r"patches must have shape \(4, 64\)"),
        (lambda: assemble(ROWS[0], (8, 8), 8), ValueError, r"must have shape \(1, 64\) .* \(64,\)"),
        (lambda: assemble(MASKED, (8, 8), (2, 4)), ValueError, "patches has masked entries"),
        (lambda: weighted(MASKED), ValueError, "weights has masked entries"),
        (lambda: weighted(-np.ones(4)), ValueError, "weights must be nonnegative and finite"),
        (
            lambda: weighted(np.full(4, np.nan)),
            ValueError,
            "weights must be nonnegative and finite",
        ),
        (lambda: weighted(np.full((4, 64), np.inf)), ValueError, "weights must be nonnegative"),
        (
            lambda: weighted(np.ones(3)),
            ValueError,
            r"weights must have shape \(4,\) or \(4, 64\), got \(3,",
        ),
        (lambda: weighted([1, 0, 1, 1]), ValueError, "64 samples were covered by no patch"),
    ],
)
def test_invalid_arguments_are_rejected(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


ROWS = np.zeros((4, 64))
MASKED = np.ma.masked_greater(np.arange(64.0).reshape(8, 8), 60)


def weighted(weights: Any) -> NDArray[Any]:
    return assemble(ROWS, (16, 16), 8, weights=weights)


def test_overflowing_sums_are_rejected() -> None:
    rows = np.full((9, 16), 1e308)
    with pytest.raises(ValueError, match="patches are too large: their sums overflow float64"):
        assemble(rows, (8, 8), 4, stride=2)
    rows[0, 0] = np.inf  # infinite samples are kept
    assert np.isinf(assemble(rows / 1e10, (8, 8), 4, stride=2)[0, 0])


def test_coded_patches_are_assembled() -> None:
    image = make_image((40, 50), np.uint8, 0)
    rows = patches(image, 8)
    transform = fost.DCT((8, 8))
    back = assemble(transform.decode(transform.encode(rows, 64)), image.shape, 8)
    np.testing.assert_allclose(back, image, atol=1e-3)
