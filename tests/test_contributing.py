"""The worked examples of CONTRIBUTING.md run."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import fost
from fost.streams import as_stream

PAGE = Path(__file__).parents[1] / "CONTRIBUTING.md"


def blocks(heading: str) -> list[str]:
    """The Python of a section."""
    section = PAGE.read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], cwd=folder, capture_output=True, text=True, timeout=300
    )


def test_how_to_add_a_base(tmp_path: Path) -> None:
    """In one file outside of fost: it learns, saves, loads, encodes, and commands take it."""
    module, script = blocks("How to add a base")
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
    # Without the class a file of it is not loaded, and the error says what to do.
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


def test_a_pass_over_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = blocks("How to add a pass over signals")
    module = ModuleType("uses")
    monkeypatch.setitem(sys.modules, "uses", module)
    exec(block, module.__dict__)
    codes = fost.DCT(16).encode(module.Y, 4)
    np.testing.assert_array_equal(module.uses, np.count_nonzero(codes.toarray(), axis=0))
    measure = pickle.loads(pickle.dumps(module.UsesOf(fost.DCT(16), 4)))

    class Blocks:
        def __iter__(self):
            yield from np.array_split(module.Y, 7)

    np.testing.assert_array_equal(as_stream(Blocks()).total(measure)[0], module.uses)


def test_what_it_names_is_there() -> None:
    root = PAGE.parent
    assert (root / "examples" / "butterfly.py").exists()
    for name in ("register", "CandidateSizes", "Structure"):
        assert hasattr(fost.learning, name)
