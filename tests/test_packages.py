"""What describes the packages agrees, and a build without a compiler says what to install."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
VERSION = PROJECT["project"]["version"]
PYTHONS = {"3.11", "3.12", "3.13"}


def recipe() -> Any:
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((ROOT / "packaging" / "conda" / "recipe.yaml").read_text("utf-8"))


def bounds(requirements: list[str]) -> dict[str, str]:
    """The lower bounds of requirements by name; "" for those without."""
    parted = (re.fullmatch(r"([\w.-]+)\s*(?:>=([\w.]+))?", entry) for entry in requirements)
    return {found[1]: found[2] or "" for found in parted if found}


def test_the_version_is_everywhere_the_same() -> None:
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.M)
    assert cited
    assert cited[1] == VERSION
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    released = [heading for heading in headings if heading != "Unreleased"]
    assert re.fullmatch(rf"{re.escape(VERSION)}, \d{{4}}-\d\d-\d\d", released[0])


def test_supported_pythons_agree() -> None:
    project = PROJECT["project"]
    listed = {c.rsplit(" ", 1)[1] for c in project["classifiers"] if ":: 3." in c}
    assert listed == PYTHONS
    oldest = project["requires-python"].removeprefix(">=")
    assert oldest == min(PYTHONS, key=lambda v: int(v.split(".")[1]))
    built = set(PROJECT["tool"]["cibuildwheel"]["build"].split())
    assert built >= {f"cp{v.replace('.', '')}-*" for v in PYTHONS}


def test_the_conda_recipe_asks_for_what_the_project_asks_for() -> None:
    parts = recipe()
    project = PROJECT["project"]
    assert parts["context"]["version"] == VERSION
    assert parts["about"]["license"] == project["license"]
    assert parts["about"]["summary"] == project["description"]
    # A bound of Python would make one package for all versions, which what is compiled is not.
    oldest = project["requires-python"].removeprefix(">=")
    assert parts["build"]["skip"] == f'match(python, "<{oldest}")'
    for place in ("host", "run"):
        assert parts["requirements"][place][0] == "python"
    assert bounds(parts["requirements"]["run"][1:]) == bounds(project["dependencies"])
    host = bounds(parts["requirements"]["host"])
    assert host.items() >= bounds(PROJECT["build-system"]["requires"]).items()
    name, target = parts["build"]["python"]["entry_points"][0].split(" = ")
    assert project["scripts"] == {name: target}


def test_the_files_that_packages_name_are_there() -> None:
    parts = recipe()
    assert (ROOT / parts["about"]["license_file"]).exists()
    for test in parts["tests"]:
        for name in test.get("files", {}).get("source", []):
            assert (ROOT / name).exists()
    command = PROJECT["tool"]["cibuildwheel"]["test-command"]
    assert (ROOT / command.split("{project}/")[1]).exists()


@pytest.mark.skipif(shutil.which("cmake") is None, reason="no CMake")
def test_without_a_compiler_the_build_says_what_to_install(tmp_path: Path) -> None:
    done = subprocess.run(
        [shutil.which("cmake") or "", "-S", str(ROOT), "-B", str(tmp_path / "build")],
        env={**os.environ, "CXX": str(tmp_path / "missing")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode != 0
    said = " ".join(done.stderr.split())
    assert "no working C++ compiler was found" in said
    assert "apt-get install g++" in said
    assert "xcode-select --install" in said
