"""Signals, images and volumes in files."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import wavfile

from fost.io import images
from fost.io.arrays import (
    Samples,
    check_conversion,
    create_samples,
    file_format,
    open_array,
    open_samples,
)

VOLUME = np.arange(4 * 5 * 6, dtype=np.uint8).reshape(4, 5, 6)


def written(path: Path, samples: Samples) -> Samples:
    """The samples after a round trip through a file."""
    with create_samples(path, samples) as out:
        out[...] = samples.array[...]
    return open_samples(path, samples.format == "stack", samples.channel_axis)


@pytest.mark.parametrize("suffix", [".npy", ".zarr"])
@pytest.mark.parametrize("dtype", [">f8", "<f4", "u1", "?"])
def test_arrays_round_trip(tmp_path: Path, suffix: str, dtype: str) -> None:
    pytest.importorskip("zarr")
    array = VOLUME.astype(dtype)
    found = written(tmp_path / f"array{suffix}", Samples(array, 0, "array"))
    np.testing.assert_array_equal(found.array[:], array)
    assert found.dtype == array.dtype.newbyteorder("=")
    assert (found.shape, found.channel_axis, found.n_axes) == ((4, 5, 6), 0, 2)


@pytest.mark.parametrize("dtype", ["i2", "u1", "f4", "f8"])
@pytest.mark.parametrize("channels", [1, 2])
def test_audio_is_written_as_scipy_writes_it(tmp_path: Path, dtype: str, channels: int) -> None:
    sound = np.arange(40, dtype=dtype).reshape(-1, channels).squeeze()
    wavfile.write(tmp_path / "in.wav", 8000, sound)
    samples = open_samples(tmp_path / "in.wav")
    assert (samples.rate, samples.channel_axis) == (8000, None if channels == 1 else 1)
    found = written(tmp_path / "out.wav", samples)
    np.testing.assert_array_equal(found.array, sound)
    assert (tmp_path / "out.wav").read_bytes() == (tmp_path / "in.wav").read_bytes()


@pytest.mark.parametrize("compression", [None, "zlib"])
@pytest.mark.parametrize("colours", [False, True])
def test_stacks_round_trip(tmp_path: Path, compression: str | None, colours: bool) -> None:
    tifffile = pytest.importorskip("tifffile")
    volume = np.stack([VOLUME] * 3, axis=-1) if colours else VOLUME
    kind = "rgb" if colours else "minisblack"
    tifffile.imwrite(tmp_path / "in.tif", volume, photometric=kind, compression=compression)
    samples = open_samples(tmp_path / "in.tif", volume=True)
    np.testing.assert_array_equal(samples.array[1:3, :, 2:4], volume[1:3, :, 2:4])
    assert samples.channel_axis == (-1 if colours else None)
    assert samples.n_axes == 3
    assert tifffile.imread(tmp_path / "in.tif").shape == volume.shape
    written(tmp_path / "out.tif", samples if compression is None else whole(samples))
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "out.tif"), volume)


@pytest.mark.parametrize("kind", ["ome", "imagej"])
def test_axes_and_voxel_sizes_of_stacks_are_kept(tmp_path: Path, kind: str) -> None:
    tifffile = pytest.importorskip("tifffile")
    volume = np.stack([VOLUME, VOLUME], axis=1).astype(np.uint8)
    sizes = {"spacing": 0.5, "unit": "um"} if kind == "imagej" else {"PhysicalSizeZ": 0.5}
    options = {kind: True, "metadata": {"axes": "ZCYX", **sizes}, "resolution": (4, 2)}
    tifffile.imwrite(tmp_path / "in.tif", volume, **options)
    samples = open_samples(tmp_path / "in.tif", volume=True, channel_axis=1)
    assert samples.n_axes == 3
    written(tmp_path / "out.tif", samples)
    with tifffile.TiffFile(tmp_path / "out.tif") as found:
        np.testing.assert_array_equal(found.asarray(), volume)
        assert found.series[0].axes == "ZCYX"
        if kind == "ome":
            assert 'PhysicalSizeZ="0.5"' in found.ome_metadata
        else:
            assert {**found.imagej_metadata, **sizes} == found.imagej_metadata
            assert found.pages.first.resolution == (4, 2)
    if kind == "imagej":
        wide = replace(samples, array=volume.astype(np.int32))
        with pytest.warns(UserWarning, match="ImageJ files have no int32"):
            written(tmp_path / "wide.tif", wide)
        np.testing.assert_array_equal(tifffile.imread(tmp_path / "wide.tif"), volume)


def whole(samples: Samples) -> Samples:
    """The same samples in memory."""
    parts = (slice(None),) * len(samples.shape)
    return Samples(samples.array[parts], samples.channel_axis, samples.format)


@pytest.mark.parametrize("shape", [(7, 9), (7, 9, 3)])
def test_images_round_trip(tmp_path: Path, shape: tuple[int, ...]) -> None:
    image = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    images.write(tmp_path / "in.png", image)
    samples = open_samples(tmp_path / "in.png")
    assert samples.channel_axis == (-1 if len(shape) == 3 else None)
    np.testing.assert_array_equal(written(tmp_path / "out.tiff", samples).array, image)
    np.testing.assert_array_equal(written(tmp_path / "out.npy", samples).array, image)


@pytest.mark.parametrize("name", ["out.npy", "out.zarr", "out.png", "out.wav"])
def test_a_failure_leaves_no_file(tmp_path: Path, name: str) -> None:
    form = file_format(tmp_path / name)
    with (
        pytest.raises(RuntimeError, match="stopped"),
        create_samples(tmp_path / name, Samples(VOLUME[0], None, form)),
    ):
        raise RuntimeError("stopped")
    assert os.listdir(tmp_path) == []


def test_images_that_the_format_cannot_hold_are_refused_at_once(tmp_path: Path) -> None:
    samples = Samples(VOLUME[0].astype(np.float32), None, "image")
    with (
        pytest.raises(ValueError, match=r"\.png files do not hold grey images of float32"),
        create_samples(tmp_path / "out.png", samples),
    ):
        pytest.fail("the work has started")


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="no names of open files here")
def test_samples_are_written_to_a_pipe(tmp_path: Path) -> None:
    code = (
        "import numpy as np; from pathlib import Path\n"
        "from fost.io.arrays import Samples, create_samples\n"
        "with create_samples(Path('link.npy'), Samples(np.arange(5), None, 'array')) as out:\n"
        "    out[:] = 7\n"
    )
    (tmp_path / "link.npy").symlink_to("/dev/stdout")
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, cwd=tmp_path, timeout=60)
    (tmp_path / "copy.npy").write_bytes(run.stdout)
    assert np.load(tmp_path / "copy.npy").tolist() == [7] * 5, run.stderr


@pytest.mark.parametrize(
    ("path", "output", "volume", "message"),
    [
        ("a.npy", "b.zarr", False, ""),
        ("a.wav", "b.wav", False, ""),
        ("a.png", "b.jpg", False, ""),
        ("a.png", "b.npy", False, ""),
        ("a.tif", "b.tiff", True, ""),
        ("a.npy", "b.png", False, r"\.npy files are converted to \.npy, \.zarr$"),
        ("a.wav", "b.tif", False, r"\.wav files are converted to \.npy, \.zarr or \.wav$"),
        ("a.tif", "b.png", True, r"\.tif files are converted to \.npy, \.zarr or \.tiff$"),
        ("a.png", "b.tif", True, "cannot read 'a.png' as a volume: it is not a TIFF file"),
    ],
)
def test_conversions(path: str, output: str, volume: bool, message: str) -> None:
    if not message:
        check_conversion(Path(path), Path(output), volume)
        return
    with pytest.raises(ValueError, match=message):
        check_conversion(Path(path), Path(output), volume)


@pytest.mark.parametrize("name", ["none.npy", "none.zarr", "none.wav", "none.tif", "none.png"])
def test_missing_files_are_errors_of_the_system(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        open_samples(tmp_path / name, volume=name.endswith("tif"))
    assert os.fspath(caught.value.filename) == str(tmp_path / name)


@pytest.mark.parametrize("name", ["bad.npy", "bad.zarr", "bad.wav", "bad.tif", "bad.png"])
def test_damaged_files_are_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"neither numbers nor pixels")
    with pytest.raises(ValueError, match=f"cannot read '.*{name}'"):
        open_samples(tmp_path / name, volume=name.endswith("tif"))


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(3, complex), "its entries are complex128, not real numbers"),
        (np.array(["a"]), "not real numbers"),
        (np.array([{}]), "not an array of numbers"),
    ],
)
def test_arrays_without_real_numbers(tmp_path: Path, array: Any, message: str) -> None:
    np.save(tmp_path / "bad.npy", array, allow_pickle=True)
    with pytest.raises(ValueError, match=message):
        open_array(tmp_path / "bad.npy")


def test_truncated_arrays(tmp_path: Path) -> None:
    np.save(tmp_path / "short.npy", VOLUME)
    content = (tmp_path / "short.npy").read_bytes()
    (tmp_path / "short.npy").write_bytes(content[:-20])
    with pytest.raises(ValueError, match="it ends after 100 of 120 bytes"):
        open_array(tmp_path / "short.npy")


@pytest.mark.parametrize("array", [np.asfortranarray(VOLUME), VOLUME[:0], VOLUME.astype(">i4")])
def test_arrays_in_any_order(tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "array.npy", array)
    found = open_array(tmp_path / "array.npy")
    np.testing.assert_array_equal(found, array)
    assert found.dtype == array.dtype
