"""Importing the file formats is cheap and does not import what is built on them."""

from __future__ import annotations

import subprocess
import sys

import pytest

LIGHT = ["arrays", "codes", "atomic", "audio"]


@pytest.mark.parametrize("names", [LIGHT, [*LIGHT, "images"]], ids=["light", "all"])
def test_imports(names: list[str]) -> None:
    banned = {f"fost.{name}" for name in ("cli", "learning", "estimators", "restoration")}
    if "images" not in names:
        banned |= {"numpy", "scipy", "PIL", "tifffile"}
    modules = ", ".join(f"fost.io.{name}" for name in names)
    code = f"import sys, {modules}; print(sorted({banned!r} & {{*sys.modules}}))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
