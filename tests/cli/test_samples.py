"""``fost denoise`` and ``fost inpaint`` of signals and volumes."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.io import wavfile

import fost
from fost.restoration import denoise, inpaint
from fost.restoration.tiling import tile_sides
from tests.cli.conftest import Run


def waves(n: int = 1500) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.sin(np.arange(n) / 9) + 0.2 * rng.standard_normal(n)


def slices() -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.rint(
        100 + 40 * np.sin(np.indices((6, 16, 20)).sum(0) / 4) + 5 * rng.random((6, 16, 20))
    )


def test_arrays(run: Run) -> None:
    np.save("waves.npy", waves())
    report = json.loads(run("denoise", "waves.npy", "-o", "out.npy", "--json").stdout)
    np.testing.assert_array_equal(np.load("out.npy"), denoise(waves()))
    assert report["shape"] == [1500]
    assert report["estimated"]
    run("denoise", "waves.npy", "-o", "out.npy", "-f", "--sigma", "0.2", "--stride", "2")
    np.testing.assert_array_equal(np.load("out.npy"), denoise(waves(), 0.2, stride=2))
    run("denoise", "waves.npy", "-o", "out.npy", "-f", "--sigma", "0.2", "--quality", "fast")
    np.testing.assert_array_equal(np.load("out.npy"), denoise(waves(), 0.2, quality="fast"))
    np.save("two.npy", np.stack([waves(), -waves()]))
    run("denoise", "two.npy", "-o", "out.npy", "-f", "--sigma", "0.2", "--channel-axis", "0")
    np.testing.assert_array_equal(
        np.load("out.npy"), denoise(np.stack([waves(), -waves()]), 0.2, channel_axis=0)
    )
    fost.DCT(32).save("waves.safetensors")
    run("denoise", "waves.npy", "-o", "out.npy", "-f", "--sigma", "0.2", "-t", "waves.safetensors")
    np.testing.assert_array_equal(np.load("out.npy"), denoise(waves(), 0.2, transform=fost.DCT(32)))


def test_zarr(run: Run) -> None:
    zarr = pytest.importorskip("zarr")
    volume = slices().astype(np.float32)
    zarr.create_array("in.zarr", shape=volume.shape, dtype=volume.dtype)[...] = volume
    run("denoise", "in.zarr", "-o", "out.zarr", "--sigma", "3", "--quiet")
    found = zarr.open_array("out.zarr", mode="r")[:]
    np.testing.assert_array_equal(found, denoise(volume, 3))


@pytest.mark.parametrize("channels", [1, 2])
def test_audio(run: Run, channels: int) -> None:
    sound = np.rint(8000 * np.stack([waves()] * channels, axis=-1)).astype(np.int16).squeeze()
    wavfile.write("in.wav", 8000, sound)
    run("denoise", "in.wav", "-o", "out.wav", "--sigma", "1600")
    rate, found = wavfile.read("out.wav")
    assert rate == 8000
    axis = None if channels == 1 else 1
    np.testing.assert_array_equal(found, denoise(sound, 1600, channel_axis=axis))


def test_stacks(run: Run) -> None:
    tifffile = pytest.importorskip("tifffile")
    volume = slices().astype(np.uint8)
    tifffile.imwrite("in.tif", volume, photometric="minisblack")
    run("denoise", "in.tif", "--volume", "-o", "out.tif", "--sigma", "3")
    np.testing.assert_array_equal(tifffile.imread("out.tif"), denoise(volume, 3))


def test_poisson_noise_becomes_floats(run: Run) -> None:
    """A mean of 0.4 would be rounded to zeros."""
    tifffile = pytest.importorskip("tifffile")
    counts = np.random.default_rng(0).poisson(0.4, (6, 24, 24)).astype(np.uint16)
    tifffile.imwrite("in.tif", counts, photometric="minisblack")
    options = ("--noise", "poisson", "--quality", "fast", "-f", "-o")
    run("denoise", "in.tif", "--volume", *options, "out.tif")
    wanted = denoise(counts, noise="poisson", quality="fast")
    np.testing.assert_array_equal(tifffile.imread("out.tif"), wanted)
    tifffile.imwrite("in.tif", counts[0])
    report = json.loads(run("denoise", "in.tif", *options, "out.tif", "--json").stdout)
    assert report["gain"] == 1
    wanted = denoise(counts[0], noise="poisson", quality="fast")
    np.testing.assert_array_equal(tifffile.imread("out.tif"), wanted)
    rounded = run("denoise", "in.tif", *options, "out.png")
    assert "mean counts are rounded to uint16 in 'out.png'" in rounded.stderr


def test_models_that_do_not_fit(fail: Callable[..., str], run: Run) -> None:
    np.save("waves.npy", waves())
    two = fost.Union([fost.DCT(64), fost.Hadamard(64)])
    two.save("union.safetensors")
    line = fail("denoise", "image.png", "-o", "out.png", "-t", "union.safetensors")
    assert "--transform must be the model of a transform or a bank" in line
    assert "got Union in 'union.safetensors'" in line
    hole = ("inpaint", "image.png", "--missing-value", "90", "-t", "union.safetensors", "-o")
    assert "--transform must be" in fail(*hole, "out.png")
    run(*hole, "out.png", "--method", "pursuit")
    line = fail("denoise", "waves.npy", "-o", "out.npy", "-t", "model.safetensors")
    assert "must have patches of 1 axes for these samples, got 8x8" in line


def test_missing_samples(run: Run) -> None:
    signal = np.sin(np.arange(800) / 9)
    missing = np.random.default_rng(0).random(800) < 0.2
    want = inpaint(signal, missing)
    np.save("holes.npy", np.where(missing, np.nan, signal))
    np.save("mask.npy", missing)
    report = json.loads(
        run("inpaint", "holes.npy", "--missing-value", "nan", "-o", "out.npy", "--json").stdout
    )
    assert report["n_missing"] == missing.sum()
    np.testing.assert_array_equal(np.load("out.npy"), want)
    run("inpaint", "holes.npy", "--mask", "mask.npy", "-o", "other.npy")
    np.testing.assert_array_equal(np.load("other.npy"), want)


def test_errors_are_one_line(fail: Callable[..., str]) -> None:
    np.save("waves.npy", waves())
    np.save("holes.npy", np.full(20, np.nan))
    np.save("deep.npy", np.ones((2, 2, 2, 2)))
    wavfile.write("in.wav", 8000, np.zeros(100, np.int16))
    with open("bad.wav", "wb") as file:
        file.write(b"RIFF and nothing else")
    assert "are converted to .npy, .zarr" in fail("denoise", "waves.npy", "-o", "out.png")
    assert "are converted to .npy, .zarr or .wav" in fail("denoise", "in.wav", "-o", "out.tif")
    assert "it is not a TIFF file" in fail("denoise", "waves.npy", "-o", "out.npy", "--volume")
    assert "one to three axes" in fail("denoise", "deep.npy", "-o", "out.npy")
    assert "channel_axis must be" in fail(
        "denoise", "signals.npy", "-o", "out.npy", "--channel-axis", "7"
    )
    assert "cannot read 'bad.wav'" in fail("denoise", "bad.wav", "-o", "out.wav")
    assert "No such file" in fail("denoise", "nowhere.wav", "-o", "out.wav")
    assert "No such file" in fail("denoise", "nowhere.npy", "-o", "out.npy")
    assert "exists already" in fail("denoise", "waves.npy", "-o", "signals.npy")
    assert "mask is True for all samples" in fail(
        "inpaint", "holes.npy", "--missing-value", "nan", "-o", "out.npy"
    )
    assert "--gain is for --noise poisson" in fail(
        "denoise", "waves.npy", "-o", "out.npy", "--gain", "2"
    )
    Path("holes.csv").write_text("1\n\n2\n")
    csv = fail("inpaint", "holes.csv", "--missing-value", "0", "-o", "out.npy")
    assert "cannot use 'holes.csv': signals are .npy, .zarr or .wav files" in csv
    assert "must be an .npy or .zarr file" in fail(
        "inpaint", "waves.npy", "--mask", "image.png", "-o", "out.npy"
    )


def write_wav(path: str, channels: int, rate: int, n_bytes: int, data: bytes) -> None:
    """A file of samples of `n_bytes` bytes, with a valid header."""
    size = n_bytes * channels
    form = struct.pack("<HHIIHH", 1, channels, rate, rate * size, size, 8 * n_bytes)
    chunks = b"WAVEfmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", len(data))
    Path(path).write_bytes(b"RIFF" + struct.pack("<I", len(chunks) + len(data)) + chunks + data)


def test_unusual_audio(fail: Callable[..., str]) -> None:
    write_wav("empty.wav", 1, 8000, 2, b"")
    write_wav("stereo.wav", 2, 8000, 2, b"")
    write_wav("rate.wav", 1, 2**32 // 3, 3, bytes(range(240)))  # 24 bits become 32
    write_wav("many.wav", 65_535, 8000, 1, bytes(4 * 65_535))
    for name in ("empty.wav", "stereo.wav"):
        assert f"cannot use '{name}': it has no samples" in fail("denoise", name, "-o", "out.wav")
        assert "it has no samples" in fail("inpaint", name, "--mask", name, "-o", "out.wav")
    rate = fail("denoise", "rate.wav", "-o", "out.wav")
    assert "less than 4 GiB per second, not 1,431,655,765 frames of 4 bytes" in rate
    for command in (["denoise"], ["inpaint", "--mask", "many.wav"]):
        assert "it has 65,535 channels" in fail(*command, "many.wav", "-o", "out.npy")


def test_audio_as_its_own_mask(run: Run) -> None:
    sound = np.random.default_rng(0).integers(-900, 900, 2000).astype(np.int16)
    sound[::9] = 0
    wavfile.write("in.wav", 8000, sound)
    run("inpaint", "in.wav", "--mask", "in.wav", "-o", "out.wav")
    assert not wavfile.read("out.wav")[1].any()  # zeros are all that was observed


def damage_file(path: Path, start: int) -> None:
    """Overwrite a compressed file from `start` on."""
    data = bytearray(path.read_bytes())
    data[start:] = b"\xa5" * (len(data) - start)
    path.write_bytes(data)


def make_damaged_zarr(path: str, array: np.ndarray, chunks: tuple[int, ...]) -> None:
    """A Zarr array with the default codec whose chunk (1, 0, ...) is damaged."""
    zarr = pytest.importorskip("zarr")
    zarr.create_array(path, data=array, chunks=chunks)
    (chunk,) = Path(path).glob("c/1" + "/0" * (array.ndim - 1))
    damage_file(chunk, 4)


def test_damaged_chunks_of_zarr(fail: Callable[..., str]) -> None:
    rng = np.random.default_rng(0)
    rows, sound = rng.standard_normal((400, 16)), rng.standard_normal(400)
    np.save("rows.npy", rows)
    np.save("sound.npy", sound)
    make_damaged_zarr("rows.zarr", rows, (100, 16))
    make_damaged_zarr("sound.zarr", sound, (100,))
    make_damaged_zarr("mask.zarr", rng.random((400, 16)) < 0.2, (100, 16))
    make_damaged_zarr("silence.zarr", rng.random(400) < 0.2, (100,))
    fost.DCT(16).save("dct.safetensors", {"n_nonzero_coefs": "2"})
    for name, *command in (
        ("rows.zarr", "learn", "rows.zarr", "-s", "2", "-o", "out.safetensors"),
        ("mask.zarr", "learn", "rows.npy", "--missing", "mask.zarr", "-o", "out.safetensors"),
        ("rows.zarr", "encode", "dct.safetensors", "rows.zarr", "-o", "out.npz"),
        ("rows.zarr", "fill", "rows.zarr", "-o", "out.npy"),
        ("mask.zarr", "fill", "rows.npy", "--missing", "mask.zarr", "-o", "out.npy"),
        ("sound.zarr", "denoise", "sound.zarr", "-o", "out.npy"),
        ("sound.zarr", "inpaint", "sound.zarr", "--missing-value", "0", "-o", "out.npy"),
        ("silence.zarr", "inpaint", "sound.npy", "--mask", "silence.zarr", "-o", "out.npy"),
    ):
        line = fail(*command)
        assert f"cannot read '{name}': chunk (1" in line, command
        assert "is damaged" in line


def test_damaged_pages_of_tiff(fail: Callable[..., str]) -> None:
    tifffile = pytest.importorskip("tifffile")
    volume = slices().astype(np.uint8)
    tifffile.imwrite("in.tif", volume, compression="zlib")
    tifffile.imwrite("good.tif", volume)
    with tifffile.TiffFile("in.tif") as file:
        page = file.series[0].pages[2]
        start, count = page.dataoffsets[0], page.databytecounts[0]
    data = bytearray(Path("in.tif").read_bytes())
    data[start : start + count] = b"\x81" * count
    Path("in.tif").write_bytes(data)
    for *command, name in (
        ("denoise", "in.tif"),
        ("inpaint", "--missing-value", "0", "in.tif"),
        ("inpaint", "--mask", "in.tif", "good.tif"),
    ):
        line = fail(*command, name, "--volume", "-o", "out.npy")
        assert "cannot read 'in.tif': page 2 is damaged" in line


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Process arrays of more than a thousand samples in tiles."""
    monkeypatch.setattr("fost.restoration.tiling.tile_sides", _small_sides)
    monkeypatch.setattr("fost.restoration.denoising.tile_sides", _small_sides)
    monkeypatch.setattr("fost.restoration.inpainting.tile_sides", _small_sides)


def _small_sides(shape: tuple[int, ...], channels: int) -> tuple[int, ...]:
    return tile_sides(shape, channels, 1000)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("compression", [None, "zlib"])
def test_stacks_in_tiles(run: Run, compression: str | None) -> None:
    tifffile = pytest.importorskip("tifffile")
    volume = slices().astype(np.uint8)
    tifffile.imwrite("in.tif", volume, photometric="minisblack", compression=compression)
    tile = tile_sides(volume.shape, 1, 1000)
    assert tile != volume.shape
    run("denoise", "in.tif", "--volume", "-o", "out.tif", "--sigma", "3")
    np.testing.assert_array_equal(tifffile.imread("out.tif"), denoise(volume, 3, tile=tile))
    np.save("mask.npy", volume > 140)
    run("inpaint", "in.tif", "--volume", "--mask", "mask.npy", "-o", "out.npy")
    np.testing.assert_array_equal(np.load("out.npy"), inpaint(volume, volume > 140, tile=tile))
    run("inpaint", "in.tif", "--volume", "--missing-value", "100", "-o", "other.npy")
    np.testing.assert_array_equal(np.load("other.npy"), inpaint(volume, volume == 100, tile=tile))


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("dtype", [np.int16, np.float32, np.float64, np.uint8])
def test_audio_in_tiles(run: Run, dtype: type) -> None:
    sound = np.stack([waves(), -waves()], axis=-1)
    sound = sound if np.dtype(dtype).kind == "f" else 100 + 50 * sound
    sound = sound.astype(dtype)
    wavfile.write("in.wav", 8000, sound)
    run("denoise", "in.wav", "-o", "out.wav", "--sigma", "0.3", "--quality", "fast")
    rate, found = wavfile.read("out.wav")
    tile = tile_sides(sound.shape[:1], 2, 1000)
    assert rate == 8000
    assert found.dtype == dtype
    wanted = denoise(sound, 0.3, channel_axis=1, quality="fast", tile=tile)
    np.testing.assert_array_equal(found, wanted)
    wavfile.write("wanted.wav", 8000, wanted)
    assert Path("out.wav").read_bytes() == Path("wanted.wav").read_bytes()


@pytest.mark.usefixtures("small_tiles")
def test_the_output_may_replace_the_input(run: Run) -> None:
    np.save("waves.npy", waves())
    wanted = denoise(waves(), 0.2, quality="fast", tile=tile_sides((1500,), 1, 1000))
    run("denoise", "waves.npy", "-o", "waves.npy", "-f", "--sigma", "0.2", "--quality", "fast")
    np.testing.assert_array_equal(np.load("waves.npy"), wanted)


def test_a_failure_leaves_no_file(fail: Callable[..., str]) -> None:
    pytest.importorskip("zarr")
    np.save("spoilt.npy", np.array([1.0, np.nan, 2.0]))
    for output in ("out.npy", "out.zarr"):
        before = sorted(Path().iterdir())
        assert "contains NaN" in fail("denoise", "spoilt.npy", "-o", output, "--sigma", "1")
        assert sorted(Path().iterdir()) == before
