"""The pages of the site: their programs run, and the reference lists every public name."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

import fost

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("page", ["start", "sensors", "pipelines", "solvers"])
def test_programs_of_pages_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)


def listed() -> dict[str, set[str]]:
    """The names of the reference by their module."""
    found: dict[str, set[str]] = {}
    module = ""
    for line in (DOCS / "api" / "index.rst").read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule::"):
            module = line.split()[-1]
        elif line.startswith("   ") and not line.strip().startswith(":"):
            found.setdefault(module, set()).add(line.strip())
    return found


def test_the_reference_has_every_public_name() -> None:
    pytest.importorskip("matplotlib")
    known = listed()
    modules = {name for name in fost.__all__ if hasattr(getattr(fost, name), "__path__")}
    assert known["fost"] == set(fost.__all__) - modules
    for name in modules | {"learning"}:
        public = set(importlib.import_module(f"fost.{name}").__all__)
        assert known[f"fost.{name}"] | known["fost"] >= public, name
        assert known[f"fost.{name}"] <= public, name


def test_every_example_of_the_gallery_has_a_title_and_draws() -> None:
    scripts = sorted((DOCS / "gallery").glob("*.py"))
    assert len(scripts) >= 10
    for script in scripts:
        text = script.read_text(encoding="utf-8")
        assert re.match(r'"""\n[^\n]+\n=+\n', text), script.name
        assert "plt.subplots" in text, script.name
