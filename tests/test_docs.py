"""The pages of the site: their programs run, and the reference lists every public name."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from sklearn.exceptions import ConvergenceWarning

import fost

DOCS = Path(__file__).parents[1] / "docs"


ROOT = DOCS.parent
PAGES = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
PAGES = [page for page in PAGES if page.relative_to(ROOT).parts[1:2] != ("_build",)]
# Blocks of code with their language; blocks of optional packages are `{code-block} python`.
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)
# Packages without which a page cannot run.
REQUIRES = re.compile(r"<!-- requires: (.*?) -->")
# Pages whose programs other tests run, in a shorter form or in files of their own.
ELSEWHERE = {"docs/development/extending.md", "docs/paper/reproduction.md"}


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks_of(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if blocks_of(page) and name_of(page) not in ELSEWHERE],
    ids=name_of,
)
def test_programs_of_pages_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks share names and a folder. Lines of consoles that begin with ``$`` are commands."""
    pytest.importorskip("matplotlib").use("Agg")
    for package in ",".join(REQUIRES.findall(page.read_text(encoding="utf-8"))).split(","):
        if package.strip():
            pytest.importorskip(package.strip(), exc_type=ImportError)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    names: dict[str, Any] = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        for language, block in blocks_of(page):
            if language == "python":
                exec(compile(block, name_of(page), "exec"), names)
                continue
            for command in re.findall(r"^\$ (.*)$", block, re.MULTILINE):
                subprocess.run(command, shell=True, check=True)


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
    modules = {name for name in fost.__all__ if isinstance(getattr(fost, name), ModuleType)}
    assert known["fost"] == set(fost.__all__) - modules
    for name in modules | {"learning"}:
        public = set(importlib.import_module(f"fost.{name}").__all__)
        assert known[f"fost.{name}"] | known["fost"] >= public, name
        assert known[f"fost.{name}"] <= public, name


def test_every_public_name_has_an_example() -> None:
    pytest.importorskip("matplotlib")
    modules = [name for name in fost.__all__ if isinstance(getattr(fost, name), ModuleType)]
    places = ["fost", *(f"fost.{name}" for name in [*modules, "learning"])]
    named = [
        (f"{place}.{name}", getattr(importlib.import_module(place), name))
        for place in places
        for name in importlib.import_module(place).__all__
    ]
    without = [name for name, thing in named if callable(thing) and ">>>" not in thing.__doc__]
    assert not without


def test_every_example_of_the_gallery_has_a_title_and_draws() -> None:
    scripts = sorted((DOCS / "gallery").glob("*.py"))
    assert len(scripts) >= 14
    for script in scripts:
        text = script.read_text(encoding="utf-8")
        assert re.match(r'"""\n[^\n]+\n=+\n', text), script.name
        assert "plt.subplots" in text, script.name


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub and the site make it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue  # of the web: `make docs-links`
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        assert path.exists(), target
        if anchor:
            assert path.suffix == ".md", target
            headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {slug(heading) for heading in headings}, target
