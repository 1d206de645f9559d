"""The results of each command."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import fost
from fost import images, restoration
from fost.cli.info import atoms_image
from fost.transforms import read_metadata
from tests.cli.conftest import Run, make_image
from tests.cli.test_errors import Fail
from tests.model_selection.test_banks import walks_and_spikes


def test_learn_from_an_image(run: Run) -> None:
    result = run("learn", "image.png", "-o", "new.safetensors", "--n-rotations", "9", "--json")
    report = json.loads(result.stdout)
    transform = fost.load("new.safetensors")
    assert repr(transform) == report["transform"]
    assert [member.kind for member in transform.stages] == ["dct", "givens"]  # type: ignore[attr-defined]
    assert transform.stages[1].n_rotations == 9  # type: ignore[attr-defined]
    assert report["n_signals"] == 5 * 7
    assert report["patch_shape"] == [8, 8]
    assert 0 < report["relative_error"] < report["dct_relative_error"] < 1
    metadata = read_metadata("new.safetensors")
    assert metadata == {
        "signals": "image",
        "patch_shape": "8x8",
        "n_nonzero_coefs": "4",
        "relative_error": f"{report['relative_error']:.6g}",
    }


def test_learn_gives_the_result_of_the_library(run: Run) -> None:
    run("learn", "image.png", "colour.png", "-o", "new.safetensors", "--patch-shape", "4x6",
        "-s", "3", "--structure", "orthonormal", "--stride", "2", "--max-iter", "7")  # fmt: skip
    rows = []
    for name in ("image.png", "colour.png"):
        unit = images.read(name).astype(np.float32) / np.float32(255)
        planes = images.to_luma_chroma(unit) if unit.ndim == 3 else unit
        axis = None if planes.ndim == 2 else -1
        rows.append(restoration.patches(planes, (4, 6), 2, channel_axis=axis))
    Y = np.concatenate(rows)
    Y -= Y.mean(axis=1, keepdims=True)
    expected = fost.learn(Y, fost.Orthonormal(), 3, max_iter=7, random_state=0).transform
    learned = fost.load("new.safetensors")
    np.testing.assert_allclose(learned.matrix, expected.matrix, atol=1e-6)
    assert read_metadata("new.safetensors")["patch_shape"] == "4x6"


def test_a_base_from_a_file(run: Run) -> None:
    base = fost.Givens([[0, 5], [3, 4]], np.tile(np.eye(2)[::-1], (2, 1, 1)), 16)
    base.save("base.safetensors")
    words = ["learn", "signals.npy", "-o", "new.safetensors", "--max-iter", "2"]
    run(*words, "--structure", "householder", "--size", "2", "--base", "base.safetensors")
    learned = fost.load("new.safetensors")
    assert isinstance(learned, fost.Chain)
    assert learned.stages[0] == base
    assert learned.stages[1].kind == "householder"


@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        (["--structure", "givens"], ["dct", "givens"]),
        (["--structure", "givens", "--base", "none", "--n-rotations", "5"], ["givens"]),
        (["--structure", "givens", "--base", "hadamard", "--size", "5"], ["hadamard", "givens"]),
        (["--structure", "householder", "--n-reflectors", "3"], ["householder"]),
        (["--structure", "householder", "--base", "dct"], ["dct", "householder"]),
        (["--structure", "orthogonal-householder", "--n-reflectors", "2"], ["householder"]),
        (["--structure", "orthonormal"], ["dense"]),
    ],
)
def test_structures(run: Run, options: list[str], kinds: list[str]) -> None:
    run(
        "learn",
        "signals.npy",
        "-o",
        "new.safetensors",
        "--max-iter",
        "5",
        "--threads",
        "1",
        *options,
    )
    transform = fost.load("new.safetensors")
    members = fost.Chain([transform]).stages
    assert [member.kind for member in members] == kinds
    assert transform.n_features == 16
    if kinds[0] == "dct":
        assert members[0] == fost.DCT(16)


def test_auto_keeps_to_its_budget(run: Run) -> None:
    auto = ("learn", "signals.npy", "-o", "new.safetensors", "--force", "--structure", "auto")
    run(*auto, "--max-flops", "150", "--max-iter", "5")
    assert fost.load("new.safetensors").flops <= 150
    run(*auto, "--criterion", "bits", "--budget", "600", "--max-iter", "2")
    assert fost.load("new.safetensors").storage_bits() <= 600


def test_circulants_are_learned(run: Run) -> None:
    run("learn", "signals.npy", "-o", "new.safetensors", "--structure", "circulants",
        "--n-members", "2", "--max-iter", "2")  # fmt: skip
    model = fost.load("new.safetensors")
    assert isinstance(model, fost.Circulant)
    assert model.n_members == 2


def test_auto_reports_the_held_out_error(run: Run) -> None:
    words = ["learn", "signals.npy", "-o", "new.safetensors", "--force", "--max-iter", "5",
             "--n-members", "1"]  # fmt: skip
    auto = [*words, "--structure", "auto"]
    told = json.loads(run(*auto, "--json").stdout)
    options = {"max_iter": 5, "max_members": 1, "random_state": 0}
    expected = fost.AutoDictionary(4, 16, **options).fit(np.load("signals.npy", "r"))
    assert told["held_out_relative_error"] == pytest.approx(expected.chosen_.held_out_error)
    text = run(*auto).stdout
    assert f"{told['relative_error']:.4%} of the training signals" in text
    assert re.search(rf"held-out error +{told['held_out_relative_error']:.4%}\n", text)
    assert "held-out" not in run(*words[:-2]).stdout


def test_auto_tries_banks(run: Run) -> None:
    auto = (
        "--structure",
        "auto",
        "--max-flops",
        "400",
        "--max-iter",
        "5",
        "--n-nonzero-coefs",
        "3",
    )
    np.save("mixed.npy", walks_and_spikes())
    errors = {}
    for members in (1, 2, 8):
        name = f"{members}.safetensors"
        run("learn", "mixed.npy", "-o", name, *auto, "--n-members", str(members))
        model = fost.load(name)
        count = model.n_members if isinstance(model, fost.Bank) else 1
        assert model.flops <= 400
        assert (members > 1) == (count > 1)
        assert count <= members
        errors[members] = float(read_metadata(name)["relative_error"])
    assert errors[2] < 0.9 * errors[1]
    run("learn", "mixed.npy", "-o", "default.safetensors", *auto)
    assert fost.load("default.safetensors") == fost.load("8.safetensors")
    told = json.loads(run("info", "8.safetensors", "--json").stdout)
    assert sum(told["usage"]) == pytest.approx(1, abs=0.01)


def test_learn_from_arrays_of_patches(run: Run) -> None:
    run("learn", "signals.npy", "signals.npy", "-o", "new.safetensors", "--patch-shape", "2x8")
    transform = fost.load("new.safetensors")
    assert transform.stages[0] == fost.DCT((2, 8))  # type: ignore[attr-defined]
    assert read_metadata("new.safetensors")["signals"] == "array"
    assert read_metadata("new.safetensors")["patch_shape"] == "2x8"


def test_threads(run: Run, set_threads: Any) -> None:
    set_threads(1)
    run("learn", "signals.npy", "-o", "new.safetensors", "--max-iter", "1", "--threads", "2")
    assert fost.get_num_threads() == 2


def test_the_random_state_determines_the_result(run: Run) -> None:
    for name in ("a.safetensors", "b.safetensors"):
        run("learn", "signals.npy", "-o", name, "--random-state", "7", "--max-iter", "5")
    assert fost.load("a.safetensors") == fost.load("b.safetensors")


IMAGES: dict[str, tuple[tuple[int, ...], Any, str]] = {
    "grey": ((40, 52), np.uint8, ".png"),
    "colours": ((41, 53, 3), np.uint8, ".png"),
    "16 bits": ((33, 40), np.uint16, ".png"),
    "colours of 16 bits": ((33, 40, 3), np.uint16, ".tiff"),
    "floats": ((24, 31), np.float32, ".tiff"),
    "float64 colours": ((24, 31, 3), np.float64, ".tiff"),
}


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.parametrize("n_nonzero_coefs", [2, 64])
def test_encode_and_decode_an_image(run: Run, name: str, n_nonzero_coefs: int) -> None:
    shape, dtype, suffix = IMAGES[name]
    image = make_image(shape, dtype)
    if name == "floats":
        image = 300 * image - 100
    images.write(f"in{suffix}", image)
    encoded = run("encode", "model.safetensors", f"in{suffix}", "-o", "codes.npz",
                  "-s", str(n_nonzero_coefs), "--json")  # fmt: skip
    report = json.loads(encoded.stdout)
    decoded = run("decode", "model.safetensors", "codes.npz", "-o", f"out{suffix}", "--json")
    back = images.read(f"out{suffix}")
    assert back.dtype == image.dtype
    assert back.shape == image.shape
    span = images.ImageFormat.of(image).scale
    psnr = images.psnr(image, back, span)
    assert json.loads(decoded.stdout)["psnr"] == report["psnr"]
    if math.isinf(psnr):
        assert report["psnr"] is None
    else:
        assert report["psnr"] == pytest.approx(psnr, rel=1e-6)
    if n_nonzero_coefs == 64:
        assert psnr > 90
        assert report["relative_error"] < 1e-5
    else:
        assert 20 < psnr < 90
        assert 0 < report["relative_error"] < 1


def test_encode_gives_the_codes_of_the_library(run: Run) -> None:
    run("encode", "model.safetensors", "image.png", "-o", "codes.npz")
    Y = restoration.patches(images.read("image.png").astype(np.float32) / np.float32(255), 8)
    means = Y.mean(axis=1)
    expected = fost.DCT((8, 8)).encode(Y - means[:, None], 4)
    codes = scipy.sparse.load_npz("codes.npz")
    assert (codes != expected).nnz == 0
    with np.load("codes.npz", allow_pickle=False) as file:
        assert np.array_equal(file["means"], means)
        metadata = json.loads(str(file["metadata"]))
    assert metadata["signals"] == "image"
    assert metadata["image_shape"] == [40, 52]
    assert metadata["patch_shape"] == [8, 8]
    assert (metadata["dtype"], metadata["low"], metadata["high"]) == ("uint8", 0, 255)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_encode_and_decode_an_array(run: Run, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fost.streams.arrays._BLOCK_BYTES", 1000)
    monkeypatch.setattr("fost.cli.decode._BLOCK_ENTRIES", 500)
    signals = (100 * np.load("signals.npy")).astype(dtype)
    np.save("in.npy", signals)
    run("learn", "in.npy", "-o", "own.safetensors", "--max-iter", "5", "-s", "5")
    result = run("encode", "own.safetensors", "in.npy", "-o", "codes.npz", "--json")
    report = json.loads(result.stdout)
    assert report["n_nonzero_coefs"] == 5
    run("decode", "own.safetensors", "codes.npz", "-o", "out.npy")
    transform = fost.load("own.safetensors")
    expected = transform.decode(transform.encode(signals, 5))
    decoded = np.load("out.npy")
    assert decoded.dtype == expected.dtype
    np.testing.assert_allclose(decoded, expected, rtol=1e-5, atol=1e-3)
    exact = signals.astype(np.float64)
    error = np.sum((exact - decoded) ** 2) / np.sum(exact**2)
    assert report["relative_error"] == pytest.approx(error, rel=1e-3)


@pytest.mark.parametrize("several", [fost.Bank, fost.Union])
def test_arrays_in_banks_and_unions(run: Run, several: Any) -> None:
    """Codes have more columns than signals have entries."""
    coder = several([fost.DCT(16), fost.Dense(np.eye(16))])
    coder.save("several.safetensors")
    run("encode", "several.safetensors", "signals.npy", "-o", "codes.npz", "--n-nonzero-coefs", "3")
    told = json.loads(
        run("decode", "several.safetensors", "codes.npz", "-o", "again.npy", "--json").stdout
    )
    Y, again = np.load("signals.npy"), np.load("again.npy")
    assert told["shape"] == list(Y.shape) == list(again.shape)
    np.testing.assert_allclose(again, coder.decode(coder.encode(Y, 3)), rtol=1e-6)
    left = np.square(Y.astype(np.float64) - again).sum() / np.square(Y, dtype=np.float64).sum()
    assert told["relative_error"] == pytest.approx(left, rel=1e-4)


def test_sparse_dictionary(run: Run) -> None:
    signals = np.load("signals.npy")
    ksvd = fost.SparseKSVD(24, 3, "dct", 2, max_iter=3, random_state=0).fit(signals)
    dictionary = ksvd.dictionary_
    dictionary.save("sparse.safetensors", {"n_nonzero_coefs": "2"})
    assert repr(dictionary) in run("info", "sparse.safetensors").stdout
    facts = json.loads(run("info", "sparse.safetensors", "--json").stdout)
    assert facts["flops_encode"] == dictionary.encode_flops(2)
    assert facts["n_parameters"] == 72
    words = ("encode", "sparse.safetensors", "signals.npy", "-o", "codes.npz", "--json")
    report = json.loads(run(*words).stdout)
    assert report["relative_error"] == pytest.approx(-ksvd.score(signals), rel=1e-4)
    run("decode", "sparse.safetensors", "codes.npz", "-o", "again.npy")
    again = dictionary.decode(dictionary.encode(signals, 2))
    np.testing.assert_allclose(np.load("again.npy"), again, rtol=1e-5, atol=1e-5)
    fost.SparseDictionary(fost.DCT((8, 8)), [[0, 1], [2, 3]], [[3, 4]] * 2).save("two.safetensors")
    run("info", "two.safetensors", "--atoms", "atoms.png")
    assert images.read("atoms.png").size < 64 * 64 * 8


def test_encode_with_a_limit(run: Run) -> None:
    signals = np.load("signals.npy")
    run("learn", "signals.npy", "-o", "own.safetensors", "--max-iter", "5", "-s", "5")
    transform = fost.load("own.safetensors")
    for option, name, limit in (
        ("--max-error", "max_error", 2.0),
        ("--threshold", "threshold", 0.5),
    ):
        words = ("encode", "own.safetensors", "signals.npy", option, str(limit), "--force")
        report = json.loads(run(*words, "-o", "codes.npz", "--json").stdout)
        codes = transform.encode(signals, **{name: limit})
        assert report["n_entries"] == codes.nnz
        kept, total = (np.sum(np.square(x, dtype=np.float64)) for x in (codes.data, signals))
        left = 1 - kept / total
        assert report["relative_error"] == pytest.approx(left, rel=1e-6)
        run("decode", "own.safetensors", "codes.npz", "-o", "out.npy", "--force")
        np.testing.assert_allclose(np.load("out.npy"), transform.decode(codes), atol=1e-5)
        assert (
            json.loads(run(*words, "-s", "2", "-o", "codes.npz", "--json").stdout)[
                "n_nonzero_coefs"
            ]
            == 2
        )
        assert "on average" in run(*words, "-o", "codes.npz").stdout


def test_learn_with_a_threshold(run: Run) -> None:
    signals = np.load("signals.npy")
    words = ("learn", "signals.npy", "-o", "own.safetensors", "--max-iter", "5", "--force")
    run(*words, "--structure", "orthonormal", "--threshold", "0.8")
    result = fost.learn(signals, fost.Orthonormal(), threshold=0.8, max_iter=5)
    transform = fost.load("own.safetensors")
    assert transform == result.transform
    assert read_metadata("own.safetensors")["threshold"] == "0.8"
    run("encode", "own.safetensors", "signals.npy", "-o", "codes.npz", "--force")
    codes = transform.encode(signals, threshold=0.8)
    told = json.loads(run("encode", "own.safetensors", "signals.npy", "-o", "codes.npz", "--force",
                          "--json").stdout)  # fmt: skip
    assert told["n_entries"] == codes.nnz
    noted = float(read_metadata("own.safetensors")["relative_error"])
    assert noted == pytest.approx(told["relative_error"], rel=1e-4)
    run(*words, "--structure", "bank", "--n-members", "2", "--size", "4", "--threshold", "0.8")
    assert fost.load("own.safetensors").n_members == 2


def test_a_model_without_metadata_is_used_for_square_patches(run: Run) -> None:
    fost.Householder(np.eye(16)[:2]).save("plain.safetensors")
    run("encode", "plain.safetensors", "image.png", "-o", "codes.npz", "-s", "16")
    run("decode", "plain.safetensors", "codes.npz", "-o", "back.png")
    assert np.array_equal(images.read("back.png"), images.read("image.png"))


def test_info(run: Run) -> None:
    report = json.loads(run("info", "model.safetensors", "--json").stdout)
    assert report["n_features"] == 64
    assert report["patch_shape"] == [8, 8]
    assert report["flops"] == report["flops_dct"] == 672
    assert report["flops_dense"] == 8128
    assert report["n_parameters"] == 0
    assert report["orthonormality_gap"] < 1e-12
    assert report["metadata"]["n_nonzero_coefs"] == "4"
    text = run("info", "model.safetensors").stdout
    assert "DCT(n_features=64, shape=(8, 8), flops=672)" in text
    assert "672 per signal (2-D DCT: 672; dense matrix: 8,128)" in text


def test_info_does_not_take_signals_for_patches(run: Run) -> None:
    """64 features may be 8 x 8 pixels, but not with a 1-D DCT."""
    np.save("signals.npy", np.cumsum(np.random.default_rng(0).standard_normal((99, 64)), axis=1))
    run("learn", "signals.npy", "-o", "new.safetensors", "--n-rotations", "9")
    report = json.loads(run("info", "new.safetensors", "--json").stdout)
    assert report["patch_shape"] is None
    assert report["flops_dct"] == fost.DCT(64).flops
    text = run("info", "new.safetensors").stdout
    assert "patches" not in text
    assert f"(DCT: {fost.DCT(64).flops:,};" in text


@pytest.mark.parametrize("options", [[], ["--integers"]], ids=["float", "integers"])
def test_export_estimates_the_flash(run: Run, options: list[str]) -> None:
    words = ["export", "model.safetensors", "-o", "new.h", "--force", *options]
    told = json.loads(run(*words, "--json").stdout)
    assert told["flash"] > told["tables"] > 0
    assert f"about {told['flash']:,} bytes" in run(*words).stdout


def test_unions_cannot_be_exported(fail: Fail) -> None:
    fost.Union([fost.DCT(8), fost.Dense(np.eye(8))]).save("union.safetensors")
    told = fail("export", "union.safetensors", "-o", "new.h")
    assert told == (
        "fost: cannot export 'union.safetensors': coder must be a transform or a Bank, got Union"
    )


def test_atoms(run: Run) -> None:
    run("info", "model.safetensors", "--atoms", "atoms.png")
    sheet = images.read("atoms.png")
    assert sheet.shape == (8 * 34 + 2, 8 * 34 + 2)
    tile = sheet[2 + 34 : 34 + 34, 2:34][::4, ::4].astype(int)  # the first atom of the second row
    expected = fost.DCT((8, 8)).matrix[:, 8].reshape(8, 8)
    np.testing.assert_allclose(tile / 127.5 - 1, expected / np.abs(expected).max(), atol=0.005)


def test_atoms_that_do_not_fill_a_square(run: Run) -> None:
    fost.DCT((2, 5)).save("small.safetensors")
    run("info", "small.safetensors", "--atoms", "atoms.png")
    assert images.read("atoms.png").shape == (3 * 10 + 2, 4 * 22 + 2)


def test_union(run: Run) -> None:
    report = json.loads(
        run("learn", "image.png", "--structure", "union", "--n-members", "3", "--n-rotations", "9",
            "-o", "union.safetensors", "--max-iter", "3", "--json").stdout
    )  # fmt: skip
    union = fost.load("union.safetensors")
    assert isinstance(union, fost.Union)
    assert union.n_members == 3
    assert report["relative_error"] < report["dct_relative_error"]
    text = run("info", "union.safetensors").stdout
    assert "Union(n_features=64, n_members=3" in text
    data = json.loads(run("info", "union.safetensors", "--json").stdout)
    sparsity = int(data["metadata"]["n_nonzero_coefs"])
    assert data["flops"] == union.flops
    assert data["flops_encode"] == union.encode_flops(sparsity) > union.flops
    assert f"{union.flops:,} per signal (2-D DCT: 672; dense matrix: 8,128), for the " in text
    assert f"{data['flops_encode']:,} per signal, for {sparsity} of 64 coefficients" in text
    words = ("encode", "union.safetensors", "image.png", "-o", "codes.npz", "--json")
    told = json.loads(run(*words).stdout)
    assert told["relative_error"] == pytest.approx(report["relative_error"], rel=1e-4)
    run("decode", "union.safetensors", "codes.npz", "-o", "back.png")
    assert images.read("back.png").shape == images.read("image.png").shape


def test_bank(run: Run) -> None:
    report = json.loads(
        run("learn", "image.png", "--structure", "bank", "--n-members", "3", "--n-rotations", "9",
            "-o", "bank.safetensors", "--max-iter", "5", "--json").stdout
    )  # fmt: skip
    bank = fost.load("bank.safetensors")
    assert isinstance(bank, fost.Bank)
    assert bank.n_members == 3
    assert report["relative_error"] <= report["dct_relative_error"]
    told = json.loads(run("info", "bank.safetensors", "--atoms", "atoms.png", "--json").stdout)
    assert len(told["usage"]) == len(told["structure"]) == 3
    assert sum(told["usage"]) == pytest.approx(1, abs=0.01)
    sheet = images.read("atoms.png")
    assert sheet.shape == (2 * 274 + 8, 2 * 274 + 8), "of three members, two in a row"
    np.testing.assert_array_equal(sheet[282:, :274], atoms_image(bank[2].matrix.T, (8, 8)))
    assert "of the signals" in run("info", "bank.safetensors").stdout
    run("encode", "bank.safetensors", "image.png", "-o", "codes.npz")
    run("decode", "bank.safetensors", "codes.npz", "-o", "back.png")
    assert images.psnr(images.read("image.png"), images.read("back.png")) > 25
    clean = images.read("image.png")
    images.write("dark.png", np.where(clean > 200, 0, clean))
    run(
        "inpaint",
        "dark.png",
        "--missing-value",
        "0",
        "--transform",
        "bank.safetensors",
        "-o",
        "in.png",
    )
    assert images.read("in.png")[clean > 200].min() > 0
    run("denoise", "image.png", "--transform", "bank.safetensors", "-o", "de.png")
    assert images.psnr(clean, images.read("de.png")) > 25


@pytest.mark.parametrize("name", ["image.png", "colour.png"])
@pytest.mark.parametrize("model", [[], ["--transform", "model.safetensors"]])
def test_inpaint(run: Run, name: str, model: list[str]) -> None:
    image = images.read(name)
    missing = np.random.default_rng(0).random(image.shape[:2]) < 0.3
    images.write("mask.png", np.uint8(255) * missing.astype(np.uint8))
    holes = image.copy()
    holes[missing] = 0
    images.write("holes.png", holes)
    result = run("inpaint", "holes.png", "--mask", "mask.png", "-o", "out.png", "--json", *model)
    report = json.loads(result.stdout)
    assert report["n_missing"] == missing.sum()
    filled = images.read("out.png")
    assert filled.dtype == image.dtype
    assert np.array_equal(filled[~missing], image[~missing])
    assert images.psnr(image, filled) > images.psnr(image, holes) + 10
    run("inpaint", "holes.png", "--missing-value", "0", "-o", "value.png", *model)
    assert np.array_equal(images.read("value.png"), filled)


@pytest.mark.parametrize("options", [[], ["--sigma", "20"], ["--transform", "model.safetensors"]])
def test_denoise(run: Run, options: list[str]) -> None:
    image = make_image((64, 80))
    noise = 20 * np.random.default_rng(0).standard_normal(image.shape)
    noisy = np.clip(np.rint(image + noise), 0, 255).astype(np.uint8)
    images.write("noisy.png", noisy)
    report = json.loads(run("denoise", "noisy.png", "-o", "out.png", "--json", *options).stdout)
    assert report["sigma"] == pytest.approx(20, rel=0 if "--sigma" in options else 0.2)
    assert report["estimated"] == ("--sigma" not in options)
    clean = images.read("out.png")
    assert clean.dtype == image.dtype
    assert images.psnr(image, clean) > images.psnr(image, noisy) + 3


@pytest.mark.parametrize("name", ["image.png", "colour.png"])
def test_inpaint_passes_its_options_on(
    run: Run, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, Any] = {}

    def stand_in(image: np.ndarray, missing: np.ndarray, out: np.ndarray, **others: Any) -> None:
        seen.update(image=image, missing=missing, **others)
        out[:] = image

    monkeypatch.setattr(restoration, "inpaint", stand_in)
    image = images.read(name)
    mask = np.zeros((*image.shape[:2], 3), np.uint8)
    mask[3:5, 7:9, 1] = 1
    images.write("mask.png", mask)
    run("inpaint", name, "--mask", "mask.png", "-o", "out.png", "-t", "model.safetensors",
        "-s", "5", "--stride", "2")  # fmt: skip
    assert np.array_equal(seen["image"], image)
    assert np.array_equal(seen["missing"], mask[..., 1] == 1)
    assert seen["transform"] == fost.DCT((8, 8))
    assert (seen["n_nonzero_coefs"], seen["stride"], seen["verbose"]) == (5, 2, False)
    assert (seen["method"], seen["patch_shape"]) == (None, (8, 8))
    assert np.array_equal(images.read("out.png"), image)
    value = int(image[0, 0, 0] if image.ndim == 3 else image[0, 0])
    image[:] = 255
    image[1, 2] = value
    images.write("value.png", image)
    run("inpaint", "value.png", "--missing-value", str(value), "-o", "out.png", "-f")
    assert np.argwhere(seen["missing"]).tolist() == [[1, 2]]
    assert seen["transform"] is None


def test_denoise_passes_its_options_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def stand_in(image: np.ndarray, sigma: float, out: np.ndarray, **others: Any) -> None:
        seen.update(image=image, sigma=sigma, **others)
        out[:] = image

    monkeypatch.setattr(restoration, "denoise", stand_in)
    run("denoise", "image.png", "-o", "out.png")
    assert seen["image"].dtype == np.uint8
    assert seen["sigma"] is None  # `denoise` estimates the noise with its spectrum
    assert (seen["transform"], seen["stride"]) == (None, 1)
    assert (seen["noise"], seen["gain"]) == ("gaussian", None)
    run("denoise", "image.png", "-o", "out.png", "-f", "--noise", "poisson", "--gain", "2.5")
    assert (seen["noise"], seen["gain"], seen["sigma"]) == ("poisson", 2.5, None)
    run("denoise", "image.png", "-o", "out.png", "-f", "--sigma", "12.5", "--stride", "3")
    assert (seen["sigma"], seen["stride"]) == (12.5, 3)
