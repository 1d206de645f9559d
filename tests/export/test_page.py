"""The pages on model files, ONNX and PyTorch: their programs give what fost gives."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open

import fost
from tests import cases

HOWTO = Path(__file__).parents[2] / "docs" / "howto"


def transforms() -> list[fost.Transform]:
    rng = np.random.default_rng(0)
    vectors = cases.random_vectors(rng, 3, 16)
    rotations = fost.Givens(cases.random_pairs(rng, 30, 16), cases.random_blocks(rng, 30), 16)
    dense = fost.Dense(np.linalg.qr(rng.standard_normal((16, 16)))[0])
    found = [fost.Householder(vectors), rotations, dense, fost.DCT((2, 8)), fost.Hadamard((4, 4))]
    if find_spec("pywt"):
        found.append(fost.Wavelet((4, 4), "haar", 2))
    return [
        *found,
        rotations.T,
        fost.Chain(found),
        fost.Chain([dense.T, rotations, vectors_of(rng)]),
    ]


def vectors_of(rng: np.random.Generator) -> fost.Householder:
    return fost.Householder(cases.random_vectors(rng, 2, 16))


@pytest.mark.parametrize("transform", transforms(), ids=lambda t: t.kind)
def test_numpy_function_equals_forward(
    transform: fost.Transform, tmp_path: Path, rng: np.random.Generator
) -> None:
    page = (HOWTO / "model_files.md").read_text("utf-8")
    (block,) = (
        b for b in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "def forward" in b
    )
    names: dict[str, Any] = {"np": np}
    exec(block.partition("\nwith safe_open")[0], names)
    path = tmp_path / "model.safetensors"
    transform.save(path)
    with safe_open(path, framework="numpy") as file:
        structure = json.loads(file.metadata()["structure"])
        arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    Y = rng.standard_normal((5, 16))
    found = names["forward"](Y.copy(), structure, arrays)
    assert np.allclose(found, transform.forward(Y), atol=1e-12)


def test_onnx_recipe_gives_the_same_codes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    monkeypatch.chdir(tmp_path)
    U = fost.DCT((8, 8))
    U.save("model.safetensors")
    names: dict[str, Any] = {}
    exec(program("onnx.md"), names)
    assert np.allclose(names["restored"], U.inverse(names["codes"]), atol=1e-5)
    evaluator = import_module("onnx.reference").ReferenceEvaluator("encode.onnx")
    Y = rng.standard_normal((50, 64)).astype(np.float32)
    Y[0] = 0
    expected = U.encode(Y, 4).toarray()
    for run in (names["session"].run, evaluator.run):
        (codes,) = run(None, {"y": Y})
        assert np.array_equal(codes != 0, expected != 0)
        assert np.allclose(codes, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("page", "options"),
    [
        ("export_c.md", {"name": "transform"}),
        ("integers.md", {"name": "integers", "integers": True}),
    ],
    ids=["floating point", "integers"],
)
def test_c_of_pages_compiles(page: str, options: dict[str, Any], tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    (block,) = re.findall(r"```c\n(.*?)```", (HOWTO / page).read_text("utf-8"), re.DOTALL)
    fost.export.to_c(fost.DCT(64), tmp_path / f"{options['name']}.h", **options)
    (tmp_path / "mean.h").write_text("static const int32_t mean[64] = {0};\n")
    includes = re.findall(r"^#include .*\n", block, re.MULTILINE)
    body = re.sub(r"^#include .*\n", "", block, flags=re.MULTILINE)
    source = f"{''.join(includes)}\nint main(void)\n{{\n{body}\nreturn 0;\n}}\n"
    (tmp_path / "page.c").write_text(source)
    flags = ("-std=c99", "-Wall", "-Werror", "-Wno-maybe-uninitialized", "-c", "page.c")
    subprocess.run(["gcc", *flags], cwd=tmp_path, check=True)


def test_torch_program_runs() -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed", exc_type=ImportError)
    names: dict[str, Any] = {}
    exec(program("pytorch.md"), names)
    assert np.allclose(names["learned"].matrix, names["U"].matrix, atol=1e-5)
    assert all(part.grad is not None for part in names["layer"].parameters())
    assert np.allclose(names["tensor"].grad.norm(dim=1), 8, atol=1e-4)  # of signs, transformed


def program(page: str) -> str:
    """The program of a page that needs a package which is not always installed."""
    text = (HOWTO / page).read_text("utf-8")
    return "\n".join(re.findall(r"```\{code-block\} python\n(.*?)```", text, re.DOTALL))


def test_import_of_fost_does_not_import_torch() -> None:
    code = "import sys, fost.export; fost.export.Quantised; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
