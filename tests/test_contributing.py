"""The worked examples of docs/development/extending.md run, and CONTRIBUTING.md stays short."""

from __future__ import annotations

import json
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import fost
from fost.streams import as_stream

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "development" / "extending.md"


def blocks(heading: str) -> list[str]:
    """The Python code of a section."""
    section = PAGE.read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], cwd=folder, capture_output=True, text=True, timeout=300
    )


def test_add_a_base(tmp_path: Path) -> None:
    """A base in one file outside of fost learns, saves, loads and encodes, also by commands."""
    module, script, _ = blocks("Add a base")
    (tmp_path / "hartley.py").write_text(module, "utf-8")
    check = (
        "\nkept = [np.sum(U.encode(Y, 4).data**2) for U in (Hartley(64), result.transform)]\n"
        "assert codes.nnz == 4 * 2000 and kept[0] < kept[1]\n"
        "assert fost.load('model.safetensors') == result.transform\n"
        "Z = Y.astype(np.float32)\n"
        "assert np.allclose(Z @ result.transform.stages[0], Hartley(64).forward(Y), atol=1e-3)\n"
        "np.save('signals.npy', Z)\n"
    )
    (tmp_path / "learn.py").write_text(script + check, "utf-8")
    done = run(tmp_path, "learn.py")
    assert done.returncode == 0, done.stderr
    # Without the class its file cannot be loaded, and the error says how to import it.
    with pytest.raises(ValueError, match=r"no kind of transform called 'example\.hartley'"):
        fost.load(tmp_path / "model.safetensors")
    refused = run(tmp_path, "-m", "fost", "info", "model.safetensors")
    assert refused.returncode == 2
    assert "fost --import MODULE" in refused.stderr
    commands = {
        ("info", "model.safetensors"): "Hartley",
        ("encode", "model.safetensors", "signals.npy", "-o", "codes.npz"): "",
        ("decode", "model.safetensors", "codes.npz", "-o", "back.npy"): "",
    }
    for command, said in commands.items():
        done = run(tmp_path, "-m", "fost", "--import", "hartley", *command)
        assert done.returncode == 0, done.stderr
        assert said in done.stdout
    missing = run(tmp_path, "-m", "fost", "--import", "nowhere", "info", "model.safetensors")
    assert missing.returncode == 2
    assert missing.stderr.startswith("fost: cannot import 'nowhere'")


def test_add_a_pass_over_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = blocks("Add a pass over the data")
    module = ModuleType("uses")
    monkeypatch.setitem(sys.modules, "uses", module)
    exec(block, module.__dict__)
    codes = fost.DCT(16).encode(module.Y, 4)
    np.testing.assert_array_equal(module.uses, np.count_nonzero(codes.toarray(), axis=0))
    use = pickle.loads(pickle.dumps(module.AtomUsePass(fost.DCT(16), 4)))

    class Blocks:
        def __iter__(self):
            yield from np.array_split(module.Y, 7)

    np.testing.assert_array_equal(as_stream(Blocks()).total(use)[0], module.uses)


def test_files_that_the_pages_name_exist() -> None:
    pages = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs" / "development").glob("*.md"))]
    assert len(pages) >= 7
    missing = []
    for page in pages:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        named = re.findall(r"`((?:src|tests|tools|examples|benchmarks)/[\w./-]*)`", text)
        core = re.findall(r"`((?:plans|runtime|types|drivers|kernels)/[\w./-]*)`", text)
        named += [f"src/core/{name}" for name in core]
        missing += [f"{page.name}: {name}" for name in named if not (ROOT / name).exists()]
    assert not missing


def test_add_a_fast_base() -> None:
    names: dict[str, type[fost.Transform]] = {}
    exec(blocks("Add a base")[-1], names)
    haar = names["Haar"](8)  # type: ignore[call-arg]
    # The coarsest coefficient is the sum; the finest are differences of neighbours.
    expected = np.zeros((8, 8))
    for size in (2, 4, 8):
        for start in range(0, 8, size):
            expected[start : start + size // 2, start + size // 2] = 1 / np.sqrt(size)
            expected[start + size // 2 : start + size, start + size // 2] = -1 / np.sqrt(size)
    expected[:, 0] = 1 / np.sqrt(8)
    np.testing.assert_allclose(haar.matrix, expected, atol=1e-15)
    assert not haar._plan.uses_blas
    Y = np.random.default_rng(0).standard_normal((50, 8))
    np.testing.assert_allclose(haar.forward(Y), Y @ expected, atol=1e-14)
    np.testing.assert_allclose(haar.inverse(haar.forward(Y)), Y, atol=1e-14)
    assert fost.learn(Y, fost.Rotations(4), 2, base=haar).error < 1


def make(*arguments: str) -> str:
    program = shutil.which("make")
    if program is None or not (ROOT / "Makefile").exists():
        pytest.skip("make or the Makefile is missing")
    done = subprocess.run(
        [program, "--no-print-directory", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_make_prints_all_targets() -> None:
    printed = make()
    targets = re.findall(r"^\.PHONY: (.*)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    listed = [name for line in printed.splitlines() for name in line[:25].split()]
    assert sorted(listed) == sorted(targets[0].split())


def test_make_runs_some_tests() -> None:
    assert "-m pytest tests/test_cache.py\n" in make(
        "--dry-run", "test", "TESTS=tests/test_cache.py"
    )
    assert "pytest" not in make("--dry-run", "build")


@pytest.mark.parametrize("call", ["encode", "learn"])
def test_walks_name_files_that_the_call_visits(call: str) -> None:
    """The walks of architecture.md, in a process of their own that profiles the calls."""
    if not Path(fost.__file__).is_relative_to(ROOT / "src"):
        pytest.skip("walks are those of a checkout, and fost is installed elsewhere")
    text = (ROOT / "docs" / "development" / "architecture.md").read_text(encoding="utf-8")
    section = text.split(f"## A walk through `{call}`\n")[1].split("\n## ")[0]
    named = set(re.findall(r"`src/fost/([\w/]+\.py)`", section))
    assert len(named) >= 4
    script = (
        "import json, sys; sys.path.insert(0, 'tools'); import house; from pathlib import Path\n"
        f"print(json.dumps(sorted(house.walks(Path.cwd())[{call!r}].files)))"
    )
    done = run(ROOT, "-c", script)
    assert done.returncode == 0, done.stderr
    assert not named - set(json.loads(done.stdout))


def test_members_that_extending_names_exist() -> None:
    section = PAGE.read_text(encoding="utf-8").split("## Add a structure\n")[1].split("\n## ")[0]
    table = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    members = {name for row in table for name in re.findall(r"`(\w+)`", row)}
    assert members >= {"starts", "initialise", "update", "flops", "wants_base"}
    assert not {name for name in members if not hasattr(fost.Structure, name)}
    assert hasattr(fost.learning, "register")


def test_contributing_is_short() -> None:
    """At most 700 words; everything else is under docs/development."""
    assert len((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split()) <= 700
