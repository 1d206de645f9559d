from __future__ import annotations

import tracemalloc
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import fost
from fost import images
from tests import cases

DTYPES = (np.bool_, np.uint8, np.int16, np.uint16, np.int32, np.float16, np.float32, np.float64)
FLOATS = (np.float32, np.float64)


@st.composite
def grids(draw: Any) -> tuple[tuple[int, ...], tuple[int, int], tuple[int, int]]:
    """Shape of a picture, of a patch, and a stride of at most the patch."""
    patch = (draw(st.integers(1, 9)), draw(st.integers(1, 9)))
    picture = tuple(side + draw(st.integers(0, 20)) for side in patch)
    stride = tuple(draw(st.integers(1, side)) for side in patch)
    channels = draw(st.sampled_from([(), (1,), (2,), (3,)]))
    return (*picture, *channels), patch, stride  # type: ignore[return-value]


def make_picture(shape: tuple[int, ...], dtype: Any, seed: int) -> NDArray[Any]:
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(0, 2 if dtype == np.bool_ else 100, shape).astype(dtype)


def reference_patches(
    picture: NDArray[Any], shape: tuple[int, int], stride: tuple[int, int]
) -> NDArray[Any]:
    """Patches one by one: what the documentation says, in plain loops."""

    def starts(length: int, size: int, step: int) -> list[int]:
        places = list(range(0, length - size + 1, step))
        return places if places[-1] == length - size else [*places, length - size]

    planes = picture[..., None] if picture.ndim == 2 else picture
    rows = []
    for channel in range(planes.shape[2]):
        for top in starts(planes.shape[0], shape[0], stride[0]):
            for left in starts(planes.shape[1], shape[1], stride[1]):
                cut = planes[top : top + shape[0], left : left + shape[1], channel]
                rows.append(cut.ravel())
    return np.array(rows)


@given(grid=grids(), dtype=st.sampled_from(DTYPES), seed=cases.seeds)
def test_patches_are_those_of_plain_loops(grid: Any, dtype: Any, seed: int) -> None:
    shape, patch, stride = grid
    picture = make_picture(shape, dtype, seed)
    rows = images.patches(picture, patch, stride)
    expected = reference_patches(picture, patch, stride)
    narrow = np.dtype(dtype).itemsize <= 2 or dtype == np.float32
    assert rows.dtype == (np.float32 if narrow else np.float64)
    assert np.array_equal(rows, expected)


@given(grid=grids(), dtype=st.sampled_from(DTYPES), seed=cases.seeds)
def test_round_trip(grid: Any, dtype: Any, seed: int) -> None:
    shape, patch, stride = grid
    picture = make_picture(shape, dtype, seed)
    rows = images.patches(picture, patch, stride)
    back = images.assemble(rows, shape, patch, stride)
    assert back.shape == picture.shape
    assert back.dtype == rows.dtype
    # Sums of up to 81 equal float64 numbers, divided by their count.
    np.testing.assert_allclose(back, picture, rtol=1e-13, atol=0)
    assert dtype == np.float64 or np.array_equal(back, picture)


@given(grid=grids(), dtype=st.sampled_from(FLOATS), seed=cases.seeds)
def test_round_trip_without_overlap_is_exact(grid: Any, dtype: Any, seed: int) -> None:
    shape, patch, _ = grid
    shape = (*(side // k * k for side, k in zip(shape, patch, strict=False)), *shape[2:])
    picture = make_picture(shape, dtype, seed)
    back = images.assemble(images.patches(picture, patch), shape, patch)
    assert cases.same_bits(back, picture)


@given(
    grid=grids(),
    per_entry=st.booleans(),
    dtype=st.sampled_from(FLOATS),
    seed=cases.seeds,
)
def test_weighted_mean(grid: Any, per_entry: bool, dtype: Any, seed: int) -> None:
    shape, patch, stride = grid
    rng = np.random.default_rng(seed)
    places = images.patches(np.arange(np.prod(shape)).reshape(shape), patch, stride).astype(int)
    rows = rng.standard_normal(places.shape).astype(dtype)
    weights = rng.random(places.shape if per_entry else len(places)) + 0.1
    full = weights if per_entry else np.broadcast_to(weights[:, None], rows.shape)
    sums, total = np.zeros(np.prod(shape)), np.zeros(np.prod(shape))
    np.add.at(sums, places, rows * full)
    np.add.at(total, places, full)
    result = images.assemble(rows, shape, patch, stride, weights)
    assert result.dtype == dtype
    expected = (sums / total).reshape(shape)
    np.testing.assert_allclose(result, expected, atol=1e-6 if dtype == np.float32 else 1e-12)


@given(grid=grids(), step=st.integers(1, 12), seed=cases.seeds)
def test_blocks_are_the_patches_and_their_size_changes_no_bit(
    grid: Any, step: int, seed: int
) -> None:
    shape, patch, stride = grid
    picture = make_picture(shape, np.float64, seed)
    rows = images.patches(picture, patch, stride)
    weights = np.random.default_rng(seed).random(len(rows)) + 0.1
    assembler = images.Assembler(shape, patch, stride)
    end = 0
    for where, block in images.blocks(picture, patch, stride, rows_per_block=step):
        assert where.start == end
        assert np.array_equal(block, rows[where])
        assembler.add(where, block, weights[where])
        end = where.stop
    assert end == len(rows) == assembler.n_patches
    assert cases.same_bits(assembler.result(), images.assemble(rows, shape, patch, stride, weights))


@given(grid=grids(), data=st.data(), seed=cases.seeds)
def test_an_assembler_takes_any_slices_in_any_order(grid: Any, data: Any, seed: int) -> None:
    shape, patch, stride = grid
    rows = images.patches(make_picture(shape, np.float64, seed), patch, stride)
    cuts = data.draw(st.lists(st.integers(0, len(rows)), max_size=5).map(sorted))
    ends = [0, *cuts, len(rows)]
    slices = [slice(a, b) for a, b in pairwise(ends)]
    assembler = images.Assembler(shape, patch, stride)
    for where in data.draw(st.permutations(slices)):
        assembler.add(where, rows[where])
    np.testing.assert_allclose(
        assembler.result(), images.assemble(rows, shape, patch, stride), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("layout", cases.LAYOUTS)
def test_pictures_of_any_layout(layout: str) -> None:
    picture = make_picture((13, 17), np.float32, 0)
    rows = images.patches(cases.LAYOUTS[layout](picture), 4, 3)
    assert cases.same_bits(rows, images.patches(picture, 4, 3))
    back = images.assemble(cases.LAYOUTS[layout](rows), picture.shape, 4, 3)
    assert cases.same_bits(back, picture)


def test_the_last_patches_are_shifted_inwards() -> None:
    picture = np.arange(9 * 7).reshape(9, 7)
    rows = images.patches(picture, (4, 3))
    assert rows[:, 0].tolist() == [7 * top + left for top in (0, 4, 5) for left in (0, 3, 4)]


def test_strides_beyond_the_patch_leave_pixels_out() -> None:
    picture = np.arange(100.0).reshape(10, 10)
    assert images.patches(picture, 2, 4)[:, 0].tolist() == [
        10.0 * top + left for top in (0, 4, 8) for left in (0, 4, 8)
    ]
    with pytest.raises(ValueError, match=r"stride must be at most shape=\(2, 2\) to cover"):
        images.assemble(np.zeros((9, 4)), (10, 10), 2, 4)


def test_nan_and_infinity_pass() -> None:
    picture = np.array([[np.nan, 1.0], [np.inf, 2.0]])
    rows = images.patches(picture, 2)
    assert np.array_equal(rows, picture.reshape(1, 4), equal_nan=True)
    assert np.array_equal(images.assemble(rows, (2, 2)), picture, equal_nan=True)


def test_square_patches_need_no_shape() -> None:
    picture = make_picture((16, 24), np.float32, 0)
    assert np.array_equal(images.assemble(images.patches(picture), (16, 24)), picture)
    with pytest.raises(ValueError, match="shape must be given where patches are not square, got 6"):
        images.assemble(np.zeros((4, 6)), (4, 6))


def test_memory_is_bounded() -> None:
    """Neither blocks nor their assembly needs what all patches would take."""
    side, patch = 400, 8
    picture = np.random.default_rng(0).random((side, side), dtype=np.float32)
    everything = (side - patch + 1) ** 2 * patch**2 * 4
    tracemalloc.start()
    try:
        assembler = images.Assembler(picture.shape, patch, 1)
        for where, block in images.blocks(picture, patch, 1, rows_per_block=4):
            assembler.add(where, block)
        assembler.result()
        _, peak = tracemalloc.get_traced_memory()
        # Two blocks of patches, a block in float64, and three pictures of float64.
        block_bytes = 4 * side * patch**2 * 4
        assert peak < 4 * block_bytes + 4 * 8 * side**2 < everything / 4
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("weighted", [False, True])
def test_assemble_needs_no_second_copy_of_the_patches(weighted: bool) -> None:
    picture = np.random.default_rng(0).random((300, 300), dtype=np.float32)
    rows = images.patches(picture, 8, 1)
    weights = np.ones_like(rows) if weighted else None
    tracemalloc.start()
    try:
        images.assemble(rows, picture.shape, 8, 1, weights)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < rows.nbytes / 4


def test_blocks_read_a_mapped_picture_piece_by_piece(tmp_path: Any) -> None:
    picture = np.random.default_rng(0).integers(0, 255, (512, 512)).astype(np.uint8)
    np.save(tmp_path / "picture.npy", picture)
    mapped = np.load(tmp_path / "picture.npy", mmap_mode="r")
    tracemalloc.start()
    try:
        total = sum(float(block.sum()) for _, block in images.blocks(mapped, rows_per_block=2))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert total == picture.sum()
    assert peak < picture.nbytes


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((np.zeros((7, 9)), 8), ValueError, "at least as large as a patch, 8 x 8, got 7 x 9"),
        ((np.zeros((9, 7)), 8), ValueError, "at least as large as a patch, 8 x 8, got 9 x 7"),
        ((np.zeros((1, 1)),), ValueError, "at least as large as a patch, 8 x 8, got 1 x 1"),
        ((np.zeros((8, 0)),), ValueError, "image must have at least one pixel"),
        ((np.zeros(8),), ValueError, "image must have shape"),
        ((np.zeros((8, 8, 3, 1)),), ValueError, "image must have shape"),
        ((np.zeros((8, 8), complex),), TypeError, "image must be real numbers, got dtype complex"),
        ((np.zeros((8, 8)), 0), ValueError, "shape must be between 1 and"),
        ((np.zeros((8, 8)), (8,)), ValueError, "shape must be an integer or a pair"),
        ((np.zeros((8, 8)), 2.5), TypeError, "shape must be an integer, got 2.5"),
        ((np.zeros((8, 8)), 8, 0), ValueError, "stride must be between 1 and"),
        ((np.zeros((8, 8)), 8, (1, 2, 3)), ValueError, "stride must be an integer or a pair"),
    ],
)
def test_bad_pictures_and_shapes(arguments: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        images.patches(*arguments)
    with pytest.raises(error, match=message):
        images.blocks(*arguments)


def test_sums_that_overflow_are_an_error() -> None:
    rows = np.full((9, 16), 1e308)
    with pytest.raises(ValueError, match="patches are too large: their sums overflow float64"):
        images.assemble(rows, (8, 8), stride=2)
    rows[0, 0] = np.inf  # what is infinite itself is kept
    assert np.isinf(images.assemble(rows / 1e10, (8, 8), stride=2)[0, 0])


def test_bad_patches() -> None:
    assembler = images.Assembler((16, 16))
    rows = np.zeros((4, 64))
    with pytest.raises(ValueError, match=r"patches must have shape \(4, 64\), got \(3, 64\)"):
        assembler.add(slice(0, 4), rows[:3])
    for where in (slice(2, 6), slice(0, 4, 2)):
        with pytest.raises(ValueError, match="where must be a slice of 0 to 4"):
            assembler.add(where, rows)
    for weights in (-np.ones(4), np.full(4, np.nan), np.full((4, 64), np.inf)):
        with pytest.raises(ValueError, match="weights must be nonnegative and finite"):
            assembler.add(slice(0, 4), rows, weights)
    with pytest.raises(ValueError, match=r"weights must have shape \(4,\) or \(4, 64\), got \(3,"):
        assembler.add(slice(0, 4), rows, np.ones(3))
    with pytest.raises(ValueError, match="256 pixels were covered by no patch"):
        assembler.result()
    assembler.add(slice(1, 4), rows[1:])
    with pytest.raises(ValueError, match="64 pixels were covered by no patch"):
        assembler.result()
    with pytest.raises(ValueError, match=r"patches must be 4 for a picture of shape \(16, 16\)"):
        images.assemble(rows[:3], (16, 16))
    with pytest.raises(ValueError, match="patches must have shape"):
        images.assemble(np.zeros(64), (8, 8))
    with pytest.raises(ValueError, match="image_shape must have 2 or 3 axes"):
        images.assemble(rows, (16,))
    with pytest.raises(ValueError, match="rows_per_block must be between 1"):
        images.blocks(np.zeros((8, 8)), rows_per_block=0)


def test_patches_can_be_coded() -> None:
    picture = make_picture((40, 50), np.uint8, 0)
    rows = images.patches(picture)
    transform = fost.DCT((8, 8))
    back = images.assemble(transform.decode(transform.encode(rows, 64)), picture.shape)
    np.testing.assert_allclose(back, picture, atol=1e-3)
