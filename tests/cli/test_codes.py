"""Code files: types of their arrays, float16, and the PSNR that `decode` reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import fost
from fost import images, restoration
from tests.cli.conftest import Run, make_image


def arrays_of(name: str) -> dict[str, np.ndarray]:
    with np.load(name) as file:
        return dict(file)


def encoded(run: Run, *arguments: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(run("encode", *arguments, "--json").stdout)
    return report


@pytest.mark.parametrize(("members", "kind"), [(1, "uint8"), (5, "uint16")])
def test_indices_are_of_the_smallest_type(run: Run, members: int, kind: str) -> None:
    bank = fost.Bank([fost.DCT((8, 8))] * members) if members > 1 else fost.DCT((8, 8))
    bank.save("new.safetensors", {"signals": "image", "patch_shape": "8x8", "n_nonzero_coefs": "4"})
    encoded(run, "new.safetensors", "image.png", "-o", "codes.npz")
    arrays = arrays_of("codes.npz")
    assert arrays["indices"].dtype == kind
    assert arrays["indptr"].dtype == np.uint8  # 35 patches of 4 entries
    codes = scipy.sparse.load_npz("codes.npz")
    assert codes.shape == (35, 64 * members)
    planes = images.read("image.png").astype(np.float32) / np.float32(255)
    rows = restoration.patches(planes, (8, 8))
    expected = bank.encode(rows - rows.mean(axis=1, keepdims=True), 4)
    np.testing.assert_array_equal(codes.indices, expected.indices)


def test_values_in_float16(run: Run) -> None:
    images.write("large.png", make_image((400, 400)))
    reports = {}
    for name, options in (("single", []), ("half", ["--values", "float16"])):
        reports[name] = encoded(
            run, "model.safetensors", "large.png", "-o", f"{name}.npz", "-s", "16", *options
        )
        run("decode", "model.safetensors", f"{name}.npz", "-o", f"{name}.png")
        # The reported PSNR is that of the decoded image.
        back, image = images.read(f"{name}.png"), images.read("large.png")
        assert reports[name]["psnr"] == pytest.approx(images.psnr(image, back), rel=1e-9)
    half, single = reports["half"], reports["single"]
    assert arrays_of("half.npz")["data"].dtype == arrays_of("half.npz")["means"].dtype == np.float16
    assert half["bytes"] < 0.75 * single["bytes"]
    # Rounding to 11 bits loses at most 2**-22 of the energy, much less than the codes do.
    assert 0 <= half["relative_error"] - single["relative_error"] <= 2**-22
    assert half["psnr"] == pytest.approx(single["psnr"], abs=0.1)


def test_arrays_in_float16(run: Run) -> None:
    fost.DCT(16).save("walks.safetensors", {"signals": "array", "n_nonzero_coefs": "4"})
    report = encoded(
        run, "walks.safetensors", "signals.npy", "-o", "codes.npz", "--values", "float16"
    )
    run("decode", "walks.safetensors", "codes.npz", "-o", "back.npy")
    back, Y = np.load("back.npy"), np.load("signals.npy")
    assert back.dtype == np.float32
    lost = np.sum((Y - back) ** 2, dtype=np.float64) / np.sum(Y**2, dtype=np.float64)
    assert report["relative_error"] == pytest.approx(lost, rel=1e-4)


def test_values_too_large_for_float16(run: Run, fail: Any) -> None:
    np.save("huge.npy", np.full((3, 16), 1e6))
    fost.DCT(16).save("walks.safetensors", {"signals": "array", "n_nonzero_coefs": "4"})
    arguments = ("encode", "walks.safetensors", "huge.npy", "-o", "codes.npz", "--values")
    message = fail(*arguments, "float16")
    assert "--values float16: float16 holds numbers up to 65504, the codes have 4e+06" in message
    assert "--values must be float16, got 'float8'" in fail(*arguments, "float8")


def test_decode_reports_the_psnr_of_the_file(run: Run) -> None:
    report = encoded(run, "model.safetensors", "image.png", "-o", "codes.npz")
    command = ("decode", "model.safetensors", "codes.npz", "-o")
    whole = json.loads(run(*command, "back.png", "--json").stdout)
    assert whole["psnr"] == report["psnr"]
    # JPEG is lossy, and the original is not available for a comparison.
    lossy = json.loads(run(*command, "back.jpg", "--json").stdout)
    assert "psnr" not in lossy
    assert "before the loss of the file format" in run(*command, "again.jpg").stdout


def test_saving_can_refuse_to_overwrite_as_commands_do(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    fost.DCT(4).save(path, overwrite=False)
    with pytest.raises(FileExistsError, match=r"model\.safetensors' exists already"):
        fost.DCT(8).save(path, overwrite=False)
    assert fost.load(path) == fost.DCT(4)
    fost.DCT(8).save(path)
    assert fost.load(path) == fost.DCT(8)
    with pytest.raises(TypeError, match="overwrite must be"):
        fost.DCT(8).save(path, overwrite="no")  # type: ignore[arg-type]
