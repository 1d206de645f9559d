"""Error messages of the commands, and the files after an error."""

from __future__ import annotations

import errno
import json
import os
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import fost
from fost import images, restoration
from fost.cli.app import app
from fost.restoration import inpaint
from tests import cases
from tests.cli.conftest import Run, contents, process
from tests.cli.test_missing import save_missing

Fail = Callable[..., str]

# One valid call of each command; the last word is the output.
COMMANDS: dict[str, list[str]] = {
    "learn": ["learn", "image.png", "-o", "new.safetensors"],
    "encode": ["encode", "model.safetensors", "image.png", "-o", "codes.npz"],
    "decode": ["decode", "model.safetensors", "made.npz", "-o", "out.png"],
    "inpaint": ["inpaint", "image.png", "--missing-value", "0", "-o", "out.png"],
    "denoise": ["denoise", "image.png", "-o", "out.png"],
    "info": ["info", "model.safetensors", "--atoms", "atoms.png"],
}
each_command = pytest.mark.parametrize("name", COMMANDS)


@pytest.fixture(autouse=True)
def stand_ins(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write codes to decode, and replace restoration by functions that copy."""
    image = images.read("image.png")
    image[3, 4] = 0
    images.write("image.png", image)
    run("encode", "model.safetensors", "image.png", "-o", "made.npz")
    monkeypatch.setattr(restoration, "inpaint", restore_nothing)
    monkeypatch.setattr(restoration, "denoise", restore_nothing)


def restore_nothing(image: np.ndarray, *_: Any, out: np.ndarray, **__: Any) -> None:
    out[:] = image


def with_input(name: str, path: str) -> list[str]:
    """A command with another input."""
    words = {"image.png", "made.npz"} if name != "info" else {"model.safetensors"}
    return [path if word in words else word for word in COMMANDS[name]]


@each_command
def test_the_unchanged_commands_succeed(run: Run, name: str) -> None:
    run(*COMMANDS[name])


@each_command
def test_missing_files(fail: Fail, name: str) -> None:
    line = fail(*with_input(name, "nowhere.png"))
    assert line == "fost: cannot read 'nowhere.png': No such file or directory"


@each_command
def test_files_in_another_format(fail: Fail, folder: Path, name: str) -> None:
    (folder / "text.png").write_text("I am not an image.\n", encoding="utf-8")
    line = fail(*with_input(name, "text.png"))
    assert "'text.png'" in line
    if name in ("learn", "encode", "inpaint", "denoise"):
        assert "not an image that Pillow or tifffile can open" in line


@each_command
def test_folders_as_input(fail: Fail, folder: Path, name: str) -> None:
    (folder / "sub").mkdir()
    assert fail(*with_input(name, "sub")) == "fost: cannot read 'sub': Is a directory"


@each_command
def test_existing_outputs_need_force(fail: Fail, run: Run, folder: Path, name: str) -> None:
    output = COMMANDS[name][-1]
    (folder / output).write_text("precious", encoding="utf-8")
    assert fail(*COMMANDS[name]) == f"fost: '{output}' exists already; --force replaces it"
    run(*COMMANDS[name], "--force")
    assert (folder / output).read_bytes() != b"precious"


@each_command
def test_missing_output_folders(fail: Fail, name: str) -> None:
    *words, output = COMMANDS[name]
    line = fail(*words, f"nowhere/{output}")
    assert line == f"fost: cannot write 'nowhere/{output}': there is no folder 'nowhere'"


@each_command
def test_folders_as_output(fail: Fail, folder: Path, name: str) -> None:
    output = COMMANDS[name][-1]
    (folder / output).mkdir()
    assert fail(*COMMANDS[name]) == f"fost: cannot write '{output}': it is a folder"


@each_command
def test_read_only_output_folders(
    fail: Fail, folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    *words, output = COMMANDS[name]
    closed = folder / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    if os.access(closed, os.W_OK):  # root may write anywhere
        beside = "fost.cli.console.temporary_beside"
        monkeypatch.setattr(beside, lambda target: _Forbidden(target.name))
    try:
        line = fail(*words, f"closed/{output}")
    finally:
        closed.chmod(0o755)
    assert line == f"fost: cannot write 'closed/{output}': Permission denied"


class _Forbidden(os.PathLike):  # type: ignore[type-arg]
    """A path that cannot be opened."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __fspath__(self) -> str:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), self._name)


@each_command
def test_a_full_disk(fail: Fail, folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    output = COMMANDS[name][-1]
    (folder / output).write_text("old", encoding="utf-8")
    monkeypatch.setattr(os, "fsync", full)
    line = fail(*COMMANDS[name], "--force")
    assert line == f"fost: cannot write '{output}': No space left on device"
    assert (folder / output).read_text(encoding="utf-8") == "old"


def test_a_full_disk_while_an_array_is_decoded(
    fail: Fail, run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("learn", "signals.npy", "-o", "own.safetensors", "--max-iter", "1")
    run("encode", "own.safetensors", "signals.npy", "-o", "codes.npz")

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(fost.Transform, "decode", full)
    line = fail("decode", "own.safetensors", "codes.npz", "-o", "out.npy")
    assert line == "fost: cannot write 'out.npy': No space left on device"


@pytest.mark.parametrize("name", ["learn", "encode"])
def test_images_of_one_pixel(fail: Fail, name: str) -> None:
    images.write("pixel.png", np.array([[7]], np.uint8))
    line = fail(*with_input(name, "pixel.png"))
    assert "cannot use 'pixel.png': image must be at least as large as a patch, 8 x 8" in line


@pytest.mark.parametrize("name", ["learn", "encode"])
def test_alpha_is_a_warning(folder: Path, name: str) -> None:
    array = np.random.default_rng(0).integers(1, 255, (16, 16, 4)).astype(np.uint8)
    Image.fromarray(array).save("clear.png")
    result = CliRunner().invoke(app, with_input(name, "clear.png"))
    assert result.exit_code == 0, result.output
    lines = result.stderr.splitlines()
    assert lines == ["fost: warning: 'clear.png' has an alpha channel, which is ignored"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "learn image.png -o new --n-nonzero-coefs 65",
            "--n-nonzero-coefs must be at most the 64 entries",
        ),
        (
            "learn image.png -o new --n-nonzero-coefs 0",
            "Invalid value for '--n-nonzero-coefs' / '-s'",
        ),
        (
            "learn image.png -o new --n-nonzero-coefs many",
            "Invalid value for '--n-nonzero-coefs' / '-s'",
        ),
        ("learn image.png -o new --structure odd", "--structure must be one of "),
        ("learn image.png -o new --base fft", "--base must be auto, none, dct, hadamard, wavelet,"),
        (
            "learn image.png -o new --base dct:8",
            "--base must be auto, none, dct, hadamard, wavelet,",
        ),
        ("learn image.png -o new --base wavelet:odd", "cannot learn from 'image.png'"),
        ("learn image.png -o new --base image.png", "cannot load a transform from"),
        (
            "learn image.png -o new --structure auto --base hadamard",
            "dct or none for the structure auto",
        ),
        (
            "learn image.png -o new --size 3 --n-rotations 3",
            "give only one of --size and --n-rotations",
        ),
        ("learn image.png -o new --structure orthonormal --size 3", "--size is for the structures"),
        ("learn image.png -o new --structure union --threshold 1", "not for the structure union"),
        ("learn image.png -o new --patch-shape 8by8", "--patch-shape must be like 8x8, got '8by8'"),
        ("learn image.png -o new --patch-shape 0x8", "--patch-shape must be like 8x8, got '0x8'"),
        ("learn image.png -o new --stride 0", "--stride must be like 8x8, got '0'"),
        ("learn image.png -o new --patch-shape 64x64", "cannot use 'image.png': image must be at"),
        ("learn image.png -o new --n-reflectors 3", "not for givens"),
        ("learn image.png -o new --structure orthonormal --n-rotations 3", "not for orthonormal"),
        ("learn image.png -o new --n-members 3", "circulants and auto, not for givens"),
        (
            "learn image.png -o new --structure auto --n-members 0",
            "Invalid value for '--n-members'",
        ),
        ("learn image.png -o new --max-flops 3", "not for givens"),
        ("learn image.png -o new --structure auto --max-flops 3", "max_flops=3 is below the"),
        ("learn image.png -o new --budget 3", "--budget are for the structure auto"),
        (
            "learn image.png -o new --structure auto --criterion bits",
            "budget or max_relative_error",
        ),
        (
            "learn image.png -o new --structure auto --criterion size --budget 3",
            "criterion must be",
        ),
        ("learn image.png -o new --structure circulants --threshold 1", "uses pursuit"),
        ("learn image.png -o new --structure circulants --size 3", "--size is for the structures"),
        (
            "learn image.png -o new --structure householder --n-reflectors 65",
            "--n-reflectors must be at most 64 for signals of 64 entries, got 65",
        ),
        ("learn image.png signals.npy -o new", "all images or all arrays, not both"),
        ("learn signals.npy -o new --stride 2", "--stride is for images"),
        (
            "learn signals.npy -o new --patch-shape 8x8",
            "--patch-shape 8x8 does not fit signals of 16 entries",
        ),
        ("learn -o new", "Missing argument"),
        ("learn image.png", "Missing option"),
        ("learn image.png -o new --threads 0", "Invalid value for '--threads'"),
        ("encode model.safetensors image.png -o codes.txt", "the extension of code files is .npz"),
        ("encode model.safetensors image.png -o c.npz -s 65", "at most the 64 features"),
        ("encode model.safetensors signals.npy -o c.npz", "its signals have 16 entries, the model"),
        ("decode model.safetensors made.npz -o out.xyz", ".xyz is not an image format"),
        ("inpaint image.png -o out.png", "give either --mask or --missing-value"),
        (
            "inpaint image.png -o out.png --mask image.png --missing-value 0",
            "give either --mask or --missing-value",
        ),
        ("denoise image.png -o out.png --sigma -1", "--sigma must be a nonnegative number"),
        ("denoise image.png -o out.png --sigma nan", "--sigma must be a nonnegative number"),
        ("denoise image.png -o out.xyz", ".xyz is not an image format"),
        ("info image.png", "cannot load a transform from 'image.png'"),
        ("info model.safetensors --atoms atoms.xyz", ".xyz is not an image format"),
        ("paint", "No such command 'paint'"),
        ("--paint", "No such option"),
        ("info model.safetensors --paint", "No such option"),
    ],
)
def test_bad_arguments(fail: Fail, words: str, message: str) -> None:
    assert message in fail(*words.split())


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([["a", "b"]]), "not real numbers"),
        (np.zeros((3, 4), complex), "its entries are complex128, not real numbers"),
        (np.zeros(()), "signals must be the rows of a two-dimensional array, its shape is ()"),
        (np.zeros((2, 8, 8)), "signals must be the rows of a two-dimensional array"),
        (np.zeros((0, 64)), "signals must be the rows of a two-dimensional array"),
        (np.full((20, 64), np.inf), "contains NaN or infinity"),
    ],
)
def test_arrays_that_are_not_signals(fail: Fail, array: Any, message: str) -> None:
    np.save("bad.npy", array)
    assert message in fail("learn", "bad.npy", "-o", "new")
    assert message in fail("encode", "model.safetensors", "bad.npy", "-o", "c.npz")


def test_masks_that_do_not_fit(fail: Fail) -> None:
    save_missing()
    np.save("floats.npy", np.zeros((500, 16)))
    np.save("short.npy", np.zeros((499, 16), bool))
    learn = ("learn", "signals.npy", "-o", "new", "--missing")
    assert "its entries are float64, not bool" in fail(*learn, "floats.npy")
    assert "its shape is (499, 16), that of the signals is (500, 16)" in fail(*learn, "short.npy")
    assert "--missing must be an .npy or .zarr array" in fail(*learn, "image.png")
    assert "once for each array, got 2 for 1" in fail(*learn, "mask.npy", "--missing", "mask.npy")
    np.save("none.npy", np.zeros((500, 16), bool))
    observed = fail("learn", "missing.npy", "-o", "new", "--missing", "none.npy")
    assert "contains NaN where missing is false" in observed
    image = ("image.png", "--missing", "mask.npy", "-o")
    assert "--missing is for arrays, not for images" in fail("learn", *image, "new")
    encode = fail("encode", "model.safetensors", *image, "c.npz")
    assert "--missing is for arrays, not for images" in encode


def test_learning_needs_observed_entries(fail: Fail) -> None:
    np.save("bad.npy", np.full((20, 64), np.nan))
    assert "has no observed entries, all are missing" in fail("learn", "bad.npy", "-o", "new")


def test_files_that_are_not_arrays(fail: Fail, folder: Path) -> None:
    (folder / "text.npy").write_text("no array", encoding="utf-8")
    assert fail("learn", "text.npy", "-o", "new").endswith("'text.npy': not an array of numbers")
    np.save("pickle.npy", np.array([{}]), allow_pickle=True)
    assert "'pickle.npy': not an array of numbers" in fail("learn", "pickle.npy", "-o", "new")
    np.save("other.npy", np.zeros((3, 5)))
    assert "equally many columns, got [5, 16]" in fail(
        "learn", "signals.npy", "other.npy", "-o", "new"
    )


def test_libraries_that_log_damage_are_kept_quiet(folder: Path) -> None:
    """Pillow logs this error besides raising it."""
    images.write("odd.tiff", np.zeros((9, 9, 3), np.uint8))
    content = bytearray((folder / "odd.tiff").read_bytes())
    start = int.from_bytes(content[4:8], "little")
    tags = range(
        start + 2, start + 2 + 12 * int.from_bytes(content[start : start + 2], "little"), 12
    )
    samples = next(tag for tag in tags if content[tag : tag + 2] == (277).to_bytes(2, "little"))
    content[samples + 8 : samples + 12] = (50_000).to_bytes(4, "little")
    (folder / "odd.tiff").write_bytes(content)
    lines = process("denoise", "odd.tiff", "-o", "out.png").stderr.splitlines()
    assert len(lines) == 1, lines
    assert "cannot read 'odd.tiff'" in lines[0]


def test_masks_of_another_size(fail: Fail) -> None:
    images.write("mask.png", np.zeros((52, 40), np.uint8))
    line = fail("inpaint", "image.png", "--mask", "mask.png", "-o", "out.png")
    assert line == "fost: the mask 'mask.png' has 40 x 52 pixels, the image has 52 x 40"


def test_all_pixels_missing(fail: Fail, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restoration, "inpaint", inpaint)
    images.write("mask.png", np.full((40, 52), 255, np.uint8))
    line = fail("inpaint", "image.png", "--mask", "mask.png", "-o", "out.png")
    assert "cannot inpaint 'image.png': " in line
    assert "mask is True for all" in line


def test_types_that_the_output_cannot_hold(
    fail: Fail, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error comes before the work starts."""
    images.write("float.tiff", images.read("image.png") / np.float32(255))
    run("encode", "model.safetensors", "float.tiff", "-o", "float.npz")

    def work(*_: Any, **__: Any) -> None:
        raise AssertionError("the work was begun")

    monkeypatch.setattr(restoration, "denoise", work)
    monkeypatch.setattr(restoration, "inpaint", work)
    monkeypatch.setattr("fost.cli.decode.decode_image", work)
    for words in (
        ["denoise", "float.tiff"],
        ["inpaint", "float.tiff", "--missing-value", "0"],
        ["decode", "model.safetensors", "float.npz"],
    ):
        line = fail(*words, "-o", "out.png")
        assert line.endswith(".png files do not hold grey images of float32, .tiff files do")


def test_a_model_without_a_shape(fail: Fail) -> None:
    fost.DCT(10).save("line.safetensors")
    message = "'line.safetensors' does not say what shape its 10 features have, which"
    assert message in fail("encode", "line.safetensors", "image.png", "-o", "c.npz")
    assert message in fail("info", "line.safetensors", "--atoms", "atoms.png")


def test_a_model_whose_patch_does_not_fit(fail: Fail) -> None:
    fost.DCT(10).save("odd.safetensors", {"patch_shape": "3x3"})
    assert "is damaged: its patch_shape does not fit" in fail("info", "odd.safetensors")


def test_codes_of_another_model(fail: Fail) -> None:
    fost.DCT(64).save("other.safetensors")
    line = fail("decode", "other.safetensors", "made.npz", "-o", "out.png")
    assert line == "fost: 'made.npz' was encoded with another model than 'other.safetensors'"


def changed(**changes: Any) -> None:
    """Write changed.npz: made.npz with changed arrays or metadata."""
    with np.load("made.npz") as file:
        arrays = dict(file)
    metadata = json.loads(str(arrays["metadata"]))
    for key, value in changes.items():
        if key in arrays:
            arrays[key] = value
        else:
            metadata[key] = value
    if "metadata" not in changes:
        arrays["metadata"] = np.array(json.dumps(metadata))
    np.savez("changed.npz", **arrays)


@pytest.mark.parametrize(
    "changes",
    [
        {"format": np.array(b"csc"), "version": 2},
        {"indices": np.full(140, 99)},
        {"indices": np.full(140, -1)},
        {"indptr": np.arange(36)[::-1]},
        {"data": np.full(140, np.nan)},
        {"means": np.zeros(3)},
        {"means": np.full(35, np.inf)},
        {"image_shape": [400, 520]},
        {"image_shape": [4]},
        {"image_shape": "large"},
        {"patch_shape": [4, 4]},
        {"dtype": "nothing"},
        {"shape": np.array([35])},
        {"low": None},
    ],
    ids=str,
)
def test_damaged_codes(fail: Fail, changes: dict[str, Any]) -> None:
    changed(**changes)
    line = fail("decode", "model.safetensors", "changed.npz", "-o", "out.png")
    assert "'changed.npz'" in line


def test_files_that_are_not_codes(fail: Fail, folder: Path) -> None:
    np.savez("other.npz", a=np.zeros(3))
    assert "it was not written by fost encode" in fail(
        "decode", "model.safetensors", "other.npz", "-o", "out.png"
    )
    content = (folder / "made.npz").read_bytes()
    for length in (0, 10, len(content) // 2, len(content) - 5):
        (folder / "part.npz").write_bytes(content[:length])
        assert "cannot read codes from 'part.npz'" in fail(
            "decode", "model.safetensors", "part.npz", "-o", "out.png"
        )
    (folder / "flipped.npz").write_bytes(
        content[:200] + bytes([content[200] ^ 255]) + content[201:]
    )
    assert "'flipped.npz'" in fail("decode", "model.safetensors", "flipped.npz", "-o", "out.png")


def repacked(change: Any) -> None:
    """Write changed.npz: made.npz with changed members of the archive."""
    with zipfile.ZipFile("made.npz") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile("changed.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        change(archive, members)


def with_npy_header(header: str, body: bytes) -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body


def npy_headers() -> dict[str, str]:
    """Headers that NumPy never writes."""
    start, end = "{'descr': ", ", 'fortran_order': False, 'shape': (140,)}"
    return {
        "pickles": start + "'|O'" + end,
        "records": start + "[('a', '<f4'), ('b', '|O')]" + end,
        "brackets": start + "[" * 3000 + end,
        "signs": start + "-" * 5000 + "1" + end,
        "an open string": start + "'''" + end,
        "an escape": start + "'\\d'" + end,
        "long": start + "'<f4'" + end + " " * 20000,
        "huge": start + "'<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}",
        "negative": start + "'<f4', 'fortran_order': False, 'shape': (-140,)}",
        "more": start + "'<f4', 'fortran_order': False, 'shape': (141,)}",
        "text": start + "'<U1'" + end,
    }


@pytest.mark.parametrize("case", npy_headers())
def test_codes_with_forged_headers(fail: Fail, case: str) -> None:
    def change(archive: zipfile.ZipFile, members: dict[str, bytes]) -> None:
        archive.writestr("data.npy", with_npy_header(npy_headers()[case], bytes(4 * 140)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile warns of the duplicate name
        repacked(change)
    line = fail("decode", "model.safetensors", "changed.npz", "-o", "out.png")
    assert "cannot read codes from 'changed.npz': " in line


@pytest.mark.parametrize("case", npy_headers())
def test_arrays_with_forged_headers(fail: Fail, folder: Path, case: str) -> None:
    header = npy_headers()[case].replace("140,", "20, 16").replace("141,", "21, 16")
    content = with_npy_header(header, bytes(4 * 300))
    (folder / "odd.npy").write_bytes(content)
    for words in (["learn", "odd.npy", "-o", "new"], ["encode", "own", "odd.npy", "-o", "c.npz"]):
        fost.DCT(16).save("own")
        line = fail(*words)
        assert "'odd.npy'" in line


@pytest.mark.parametrize(
    "changes",
    [
        {"dtype": "O"},
        {"dtype": "object"},
        {"dtype": "f4,f4"},
        {"dtype": "3f4"},
        {"dtype": "U5"},
        {"dtype": "complex64"},
        {"dtype": ["f4"]},
        {"dtype": None},
        {"signals": "array", "dtype": "uint8"},
        {"signals": "sound"},
        {"image_shape": [40.5, 52]},
        {"image_shape": [-40, -52]},
        {"image_shape": [2**40, 2**40]},
        {"image_shape": [float("inf"), 52]},
        {"image_shape": [40, 52, 1, 1]},
        {"image_shape": {}},
        {"patch_shape": [8, 8, 1]},
        {"patch_shape": [True, 64]},
        {"low": 255.0},
        {"low": float("nan")},
        {"low": 10**400},
        {"high": "255"},
        {"psnr": {}},
        {"psnr": "high"},
        {"n_nonzero_coefs": 0},
        {"n_nonzero_coefs": 2.5},
        {"relative_error": None},
        {"relative_error": float("inf")},
        {"version": [1]},
        {"shape": np.array([35.0, 64.0])},
        {"shape": np.array([35, 64, 1])},
        {"shape": np.array([2**62, 64])},
        {"shape": np.array([35, 2**62])},
        {"indptr": np.array([0, 2**30, *[0] * 34])},
        {"indptr": np.zeros(0, np.int32)},
        {"indices": np.arange(140).astype(float)},
        {"data": np.arange(140)},
        {"data": np.zeros((140, 1))},
        {"data": np.zeros(140, complex)},
        {"means": np.zeros((35, 1))},
        {"means": np.array("text")},
        {"metadata": np.array("[" * 100_000 + "]" * 100_000)},
        {"metadata": np.array("null")},
        {"metadata": np.array(7)},
    ],
    ids=lambda changes: str(changes)[:60],
)
def test_forged_codes(fail: Fail, changes: dict[str, Any]) -> None:
    changed(**changes)
    for output in ("out.tiff", "out.npy"):
        line = fail("decode", "model.safetensors", "changed.npz", "-o", output)
        assert "'changed.npz'" in line


@pytest.mark.parametrize("name", ["metadata", "data", "indices", "indptr", "shape", "means"])
def test_codes_without_a_part(fail: Fail, name: str) -> None:
    with np.load("made.npz") as file:
        np.savez("changed.npz", **{key: file[key] for key in file if key != name})
    line = fail("decode", "model.safetensors", "changed.npz", "-o", "out.png")
    missing = "it was not written by fost encode" if name == "metadata" else f"it has no {name}"
    assert line == f"fost: cannot read codes from 'changed.npz': {missing}"


def test_codes_in_archives_of_other_kinds(fail: Fail, folder: Path) -> None:
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with zipfile.ZipFile("made.npz") as archive, zipfile.ZipFile("odd.npz", "w", method) as odd:
            for name in archive.namelist():
                odd.writestr(name, archive.read(name))
        line = fail("decode", "model.safetensors", "odd.npz", "-o", "out.png")
        assert "compressed in a way that fost does not use" in line
    content = (folder / "made.npz").read_bytes()
    for flag in (0x01, 0x40):  # encrypted, in two ways
        odd = bytearray(content)
        place = content.index(b"PK\x01\x02")
        while place >= 0:
            odd[place + 8] |= flag
            place = content.find(b"PK\x01\x02", place + 1)
        (folder / "odd.npz").write_bytes(odd)
        line = fail("decode", "model.safetensors", "odd.npz", "-o", "out.png")
        assert line == "fost: cannot read codes from 'odd.npz': it is damaged"


def test_codes_that_would_fill_the_memory(fail: Fail) -> None:
    """The sizes in the archive are checked before anything is read."""
    changed(indptr=np.zeros(2**23, np.int32))
    os.rename("changed.npz", "large.npz")  # not compressed
    with np.load("large.npz") as file:
        np.savez_compressed("bomb.npz", **file)
    assert os.path.getsize("bomb.npz") < 2**18
    line = fail("decode", "model.safetensors", "bomb.npz", "-o", "out.png")
    assert "bytes are too long for" in line
    assert "pointer size" in fail("decode", "model.safetensors", "large.npz", "-o", "out.png")


def test_images_that_would_fill_the_memory(fail: Fail) -> None:
    changed(image_shape=[2**20, 2**20], patch=[2**20, 2**20])
    line = fail("decode", "model.safetensors", "changed.npz", "-o", "out.png")
    assert "is too large for so small a file" in line


def test_what_encode_writes_decode_reads(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Codes that compress extremely well are stored uncompressed."""
    monkeypatch.setattr("fost.io.codes._FREE", 1000)
    images.write("flat.png", np.full((400, 1600), 7, np.uint8))
    run("encode", "model.safetensors", "flat.png", "-o", "flat.npz")
    with zipfile.ZipFile("flat.npz") as archive:
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
    run("decode", "model.safetensors", "flat.npz", "-o", "back.png")
    assert np.array_equal(images.read("back.png"), images.read("flat.png"))
    run("encode", "model.safetensors", "image.png", "-o", "usual.npz")
    with zipfile.ZipFile("usual.npz") as archive:
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_DEFLATED}


def test_large_transforms_in_small_files(fail: Fail, run: Run) -> None:
    """The memory of a model is bounded by the size of its file."""
    large = [fost.DCT(2**30), fost.Givens([(0, 1)], np.eye(2)[None], 2**31 - 1)]
    large += [fost.Chain([fost.DCT(2**22)] * 5), fost.Bank([fost.DCT(2**22)] * 5)]
    for model in large:
        model.save("large")
        assert "is too small for transforms of" in fail("info", "large")
        assert "is too small for transforms of" in fail(
            "encode", "large", "image.png", "-o", "c.npz"
        )
    for model in (fost.DCT(2**20), fost.Bank([fost.DCT((64, 64))] * 3)):
        model.save("large")
        assert "not computed: too large" in run("info", "large").stdout
        assert "are too many" in fail("info", "large", "--atoms", "atoms.png")


def test_untrusted_metadata(fail: Fail, run: Run) -> None:
    fost.DCT(16).save("odd", {"usage": "much"})
    assert fail("info", "odd") == "fost: 'odd' is damaged: its usage is no numbers"
    fost.DCT(16).save("odd", {"n_nonzero_coefs": "9" * 5000, "signals": "\x1b[2Jimage\ud800"})
    assert "\\x1b[2Jimage\\ud800s" in run("info", "odd").stdout
    run("encode", "odd", "signals.npy", "-o", "c.npz")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize(
    "words",
    [
        "info pipe",
        "decode pipe made.npz -o out.png",
        "decode model.safetensors pipe -o out.png",
        "encode model.safetensors pipe -o c.npz",
        "encode model.safetensors pipe.npy -o c.npz",
        "learn pipe.npy -o new",
        "learn pipe -o new",
        "denoise pipe -o out.png",
        "inpaint image.png --mask pipe -o out.png",
        "learn signals.npy -o new --checkpoint pipe",
    ],
)
def test_pipes_are_not_read(fail: Fail, words: str) -> None:
    for name in ("pipe", "pipe.npy"):
        os.mkfifo(name)
    if "checkpoint" in words:  # a pipe can be written to, but learning cannot resume from it
        words += " --structure orthonormal --max-iter 2"
    line = fail(*words.split())
    assert "not a file but a device or a pipe" in line
    assert "'pipe" in line


@pytest.mark.skipif(os.name != "posix", reason="devices of POSIX")
def test_outputs_that_are_devices(run: Run, fail: Fail, folder: Path) -> None:
    null, full = (cases.device(name, folder) for name in ("null", "full"))
    (folder / "null.npz").symlink_to(null)
    (folder / "full.npz").symlink_to(full)
    run("learn", "signals.npy", "-o", str(null), "--max-iter", "1")
    run("encode", "model.safetensors", "image.png", "-o", "null.npz")
    assert null.is_char_device()
    assert (folder / "null.npz").is_symlink()
    line = fail("encode", "model.safetensors", "image.png", "-o", "full.npz")
    assert line == "fost: cannot write 'full.npz': No space left on device"


def test_outputs_that_are_links(run: Run, fail: Fail, folder: Path) -> None:
    (folder / "there").mkdir()
    (folder / "link.npz").symlink_to(folder / "there" / "codes.npz")
    (folder / "lost.npz").symlink_to(folder / "nowhere" / "codes.npz")
    words = ("encode", "model.safetensors", "image.png", "-o")
    assert "exists already" in fail(*words, "link.npz")
    run(*words, "link.npz", "--force")
    assert (folder / "link.npz").is_symlink()
    run("decode", "model.safetensors", "there/codes.npz", "-o", "back.png")
    line = fail(*words, "lost.npz", "--force")
    assert line == "fost: cannot write 'lost.npz': No such file or directory"


def test_decoded_signals_need_npy(fail: Fail, run: Run) -> None:
    run("learn", "signals.npy", "-o", "own.safetensors", "--max-iter", "1")
    run("encode", "own.safetensors", "signals.npy", "-o", "codes.npz")
    line = fail("decode", "own.safetensors", "codes.npz", "-o", "out.png")
    assert line == "fost: cannot write 'out.png': signals are written to .npy files"


@pytest.mark.parametrize("error", [RuntimeError, AssertionError, KeyError])
def test_bugs_are_not_hidden(
    folder: Path, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise error("a bug")

    monkeypatch.setattr(restoration, "denoise", broken)
    result = CliRunner().invoke(app, COMMANDS["denoise"])
    assert result.exit_code == 1
    assert isinstance(result.exception, error)
    assert "out.png" not in contents(folder)


def test_a_traceback_on_request(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOST_TRACEBACK", "1")
    result = CliRunner().invoke(app, ["info", "nowhere"])
    assert isinstance(result.exception, FileNotFoundError)
