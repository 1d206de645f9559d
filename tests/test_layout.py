"""The layout of the C++ core: folders, include rules, header comments and line lengths."""

from __future__ import annotations

import ast
import importlib.util
import itertools
import re
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
CORE = ROOT / "src" / "core"
FILES = sorted(path for path in CORE.rglob("*") if path.suffix in {".cpp", ".hpp", ".inl"})
KNOWN = frozenset(
    {"types/coding.hpp", "kernels/simd/vector.hpp", "drivers/omp.hpp", "bindings/arrays.hpp"}
)


@pytest.fixture(scope="module")
def rules() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "include_rules", ROOT / "tools" / "include_rules.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_core_keeps_the_include_rules(rules: ModuleType) -> None:
    assert len(FILES) > 50
    assert list(rules.violations(ROOT)) == []


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("kernels/simd/bad.hpp", "#include <algorithm>\n", "must not include <algorithm>"),
        ("kernels/bad.cpp", '  #  include "drivers/omp.hpp"\n', 'must not include "drivers/omp.h'),
        ("types/bad.hpp", "#include <vector>\n", "must not include <vector>"),
        ("types/bad.hpp", "#include <immintrin.h>\n", "must not include <immintrin.h>"),
        ("types/bad.hpp", '#include "kernels/simd/vector.hpp"\n', "must not include"),
        ("runtime/bad.hpp", '#include "drivers/omp.hpp"\n', "must not include"),
        ("plans/bad.cpp", '#include "drivers/omp.hpp"\n', "must not include"),
        ("drivers/bad.cpp", '#include "bindings/arrays.hpp"\n', "must not include"),
        ("drivers/bad.cpp", '#include "kernels/simd/vector.hpp"\n', "must not include"),
        ("bindings/bad.cpp", '#include "kernels/simd/vector.hpp"\n', "must not include"),
        ("drivers/bad.cpp", '#include "omp.hpp"\n', "not a path relative to src/core"),
        ("bad.cpp", "", "must be in one of the folders"),
        ("other/bad.cpp", "", "must be in one of the folders"),
    ],
)
def test_a_forbidden_include_is_found(
    rules: ModuleType, path: str, text: str, message: str
) -> None:
    found = list(rules.check_file(path, text, KNOWN))
    assert len(found) == 1
    assert message in found[0]


def test_permitted_includes_are_accepted(rules: ModuleType) -> None:
    kernel = '#include <cstdint>\n#include <immintrin.h>\n#include "types/coding.hpp"\n'
    assert list(rules.check_file("kernels/simd/good.hpp", kernel, KNOWN)) == []
    driver = '#include <vector>\n#include "types/coding.hpp"\n'
    assert list(rules.check_file("drivers/good.cpp", driver, KNOWN)) == []


def test_folders_of_the_core_have_at_most_18_files() -> None:
    folder, count = Counter(path.parent for path in FILES).most_common(1)[0]
    assert count <= 18, folder


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(CORE).as_posix())
def test_a_file_of_the_core_begins_with_a_comment_and_fits_100_columns(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("// ")
    assert [number for number, line in enumerate(lines, 1) if len(line) > 100] == []


def test_every_source_file_is_built() -> None:
    """CMakeLists.txt lists all .cpp files; those of instruction sets are named by a variable."""
    build = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    listed = {
        path.relative_to(CORE).as_posix()
        for path in FILES
        if path.suffix == ".cpp" and f"${{core}}/{path.relative_to(CORE).as_posix()}" in build
    }
    kernels = {"kernels/avx2.cpp", "kernels/avx512.cpp"}
    assert listed | kernels == {
        path.relative_to(CORE).as_posix() for path in FILES if path.suffix == ".cpp"
    }


def test_numpy_twins_that_the_core_names_exist() -> None:
    """Header comments name the function of tests/ that computes the same in NumPy."""
    named: set[tuple[str, str]] = set()
    for path in FILES:
        lines = path.read_text(encoding="utf-8").splitlines()
        header = itertools.takewhile(lambda line: line.startswith("//"), lines)
        text = " ".join(line[2:].strip() for line in header)
        for module, names in re.findall(r"NumPy twins?: tests/(\w+)\.py, ([\w, ]+)\.", text):
            named |= {(module, name) for name in re.split(r", | and ", names)}
    assert len(named) > 20
    modules = {
        module: ast.parse((ROOT / "tests" / f"{module}.py").read_text(encoding="utf-8"))
        for module, _ in named
    }
    defined = {
        (module, node.name)
        for module, tree in modules.items()
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }
    assert named <= defined
