"""The rules of ``tools/house.py``: good trees pass, and each kind of bad example fails."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "tools" / "house.py"


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("house", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["house"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


house = load_script()


def write_tree(root: Path, files: dict[str, str]) -> None:
    """A checkout that follows all rules, with more files or other contents."""
    tree = {
        "src/core/kernels/simd/vector.hpp": "",
        "src/fost/__init__.py": "from fost.learning import learn\n",
        "src/fost/__main__.py": "from fost.cli import main\n",
        "src/fost/cli/__init__.py": "from fost.cli.learn import learn\n\n\ndef main(): ...\n",
        "src/fost/cli/learn.py": "import fost.learning\n\n\ndef learn(): ...\n",
        "src/fost/learning/__init__.py": "from fost.learning.loop import learn\n",
        "src/fost/learning/loop.py": (
            "from fost.transforms import DCT\n\n\ndef learn(): ...\n\n\ndef _helper(): ...\n"
        ),
        "src/fost/transforms/__init__.py": "from .dct import DCT\n",
        "src/fost/transforms/dct.py": "class DCT: ...\n\n\ndef _helper(): ...\n",
        **files,
    }
    for name, text in tree.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def test_a_tree_that_follows_the_rules_passes(tmp_path: Path) -> None:
    write_tree(tmp_path, {})
    assert house.violations(tmp_path) == []


BAD_IMPORTS = {
    "absolute": ("transforms/dct.py", "import fost.learning.loop\n", "learning"),
    "from the root": ("transforms/dct.py", "from fost import learning\n", "learning"),
    "relative": ("transforms/dct.py", "from ..learning import learn\n", "learning"),
    "relative, in a package": ("streams/__init__.py", "from .. import learning\n", "learning"),
    "in a function": ("coding/x.py", "def f():\n    from fost.learning import a\n", "learning"),
    "for types": (
        "coding/x.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from fost.learning import a\n",
        "learning",
    ),
    "a single module": ("coding.py", "from fost.learning import learn\n", "learning"),
    "estimators": ("learning/loop.py", "from fost.estimators import a\n", "estimators"),
    "restoration": ("learning/loop.py", "import fost.restoration.patches as p\n", "restoration"),
    "the command line": ("learning/loop.py", "from fost.cli.learn import learn\n", "cli"),
    "reproduction": ("cli/learn.py", "from reproduction.tables import a\n", "reproduction"),
    "reproduction inside": ("cli/learn.py", "import fost.reproduction\n", "reproduction"),
}


@pytest.mark.parametrize("case", BAD_IMPORTS)
def test_a_forbidden_import_is_found(tmp_path: Path, case: str) -> None:
    file, text, package = BAD_IMPORTS[case]
    write_tree(tmp_path, {f"src/fost/{file}": text})
    (line,) = house.violations(tmp_path)
    assert line.startswith(f"src/fost/{file}:")
    assert line.endswith(f"must not import {package}")


def test_packages_whose_names_only_begin_alike_are_different(tmp_path: Path) -> None:
    write_tree(tmp_path, {"src/fost/transforms/x.py": "import fost.learning_rates\n"})
    assert house.violations(tmp_path) == []


def test_a_name_defined_twice_is_found(tmp_path: Path) -> None:
    files = {
        "src/fost/coding.py": "class DCT: ...\n",
        "src/fost/streams.py": "def learn(): ...\n",
        "src/fost/cli/a.py": "def report(): ...\n",
        "src/fost/cli/b.py": "def report(): ...\n",
    }
    write_tree(tmp_path, files)
    assert house.violations(tmp_path) == [
        "class DCT is defined in fost.coding, fost.transforms.dct",
        "function learn is defined in fost.learning.loop, fost.streams",
        "function report is defined in fost.cli.a, fost.cli.b",
    ]


def test_overloads_in_one_module_are_one_definition(tmp_path: Path) -> None:
    text = "from typing import overload\n@overload\ndef f(): ...\n@overload\ndef f(): ...\n"
    write_tree(tmp_path, {"src/fost/coding.py": text})
    assert house.violations(tmp_path) == []


@pytest.mark.parametrize(("count", "found"), [(20, 0), (21, 1)])
def test_a_folder_of_the_core_with_too_many_files_is_found(
    tmp_path: Path, count: int, found: int
) -> None:
    files = {f"src/core/drivers/file{k}.hpp": "" for k in range(count)}
    write_tree(tmp_path, {**files, "src/core/drivers/README.md": ""})
    lines = house.violations(tmp_path)
    assert len(lines) == found
    assert all(line.startswith("src/core/drivers: 21 files") for line in lines)


def test_include_rules_are_checked_where_a_checker_exists(tmp_path: Path) -> None:
    checker = "def violations(root):\n    yield f'{root.name}: a bad include'\n"
    write_tree(tmp_path, {f"tools/{house.INCLUDE_RULES}": checker})
    assert house.violations(tmp_path) == [f"{tmp_path.name}: a bad include"]


def test_the_exit_code_says_whether_rules_hold(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), "--check", "--root", str(tmp_path)]
    write_tree(tmp_path, {})
    assert subprocess.run(command, capture_output=True).returncode == 0
    write_tree(tmp_path, {"src/fost/coding.py": "class DCT: ...\n"})
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout == "class DCT is defined in fost.coding, fost.transforms.dct\n"


def test_importers_count_imports_that_run(tmp_path: Path) -> None:
    types_only = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import fost.learning\n"
    write_tree(tmp_path, {"src/fost/coding.py": types_only})
    importers = house.importers(house.read_modules(tmp_path))
    assert importers["fost.learning"] == {"fost", "fost.cli.learn"}
    assert importers["fost.transforms"] == {"fost.learning.loop"}
    assert importers["fost.transforms.dct"] == {"fost.transforms"}
    assert importers["fost.coding"] == set()


def test_documented_names_are_the_entries_of_autosummary_lists(tmp_path: Path) -> None:
    text = (
        "Title\n=====\n\n.. currentmodule:: fost\n\n.. autosummary::\n   :toctree: generated\n\n"
        "   learn\n   DCT\n\nText.\n\n.. code-block:: python\n\n   learn()\n"
    )
    write_tree(tmp_path, {"docs/api/index.rst": text})
    assert house.documented_names(tmp_path) == ["learn", "DCT"]


def test_a_walk_counts_functions_files_depth_and_checks(tmp_path: Path) -> None:
    sources = {
        "_validation.py": "def check_real(x):\n    return x\n",
        "walk.py": "def outer():\n    inner()\n    inner()\n\n\ndef inner():\n    check_real(1)\n",
    }
    names: dict[str, object] = {}
    for file, source in sources.items():
        exec(compile(source, str(tmp_path / file), "exec"), names)
    walk = house.observe(names["outer"], tmp_path)
    functions = {("walk.py", "outer"), ("walk.py", "inner"), ("_validation.py", "check_real")}
    assert walk == house.Walk(frozenset(functions), depth=3, array_checks=2)
    assert walk.files == {"walk.py", "_validation.py"}
