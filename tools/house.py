"""Measures of how legible the code base is, and the rules that keep it so.

``python tools/house.py`` prints a table of all measures beside their limits. With ``--check`` it
runs the fast rules only, prints every violation, and exits with code 1 if there is one; ``make
lint`` does that. ``--root DIR`` looks at another checkout, whose environment must run this script
for the measures that call fost.

Definitions
-----------
Files in one folder of the core
    C++ files that lie directly in one folder of ``src/core``; the largest of all folders counts.
Modules with a single importer
    Modules and packages of ``src/fost`` that exactly one other module of ``src/fost`` imports. An
    import statement counts wherever it runs: at the top of a module, inside a function, or in the
    ``__init__`` of a package that re-exports the name. Imports under ``TYPE_CHECKING`` never run
    and do not count.
Functions, files and depth of a call
    `sys.setprofile` observes the second of two equal calls, so that imports and caches do not
    count. Functions are distinct pairs of a file of ``src/fost`` and a name; lambdas,
    comprehensions and generator expressions have one name of each kind per file. Depth is the
    largest number of functions of ``src/fost`` on the stack at once. Python 3.11 is the reference:
    newer versions inline comprehensions.
Validation calls on arrays
    Calls of `check_real` and `check_stored_real` of ``fost._validation`` during such a call. Every
    check of an array of numbers ends in one of these two functions, so each check counts once.
Names defined twice
    Public classes or functions (no leading underscore, at the top level of a module) with the same
    name in more than one module of ``src/fost``. Functions of ``fost.cli`` are compared with each
    other only, because a command has the name of the function that it runs.
Documented public names
    Entries of the ``autosummary`` lists of ``docs/api/index.rst``.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import re
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

# Import rules: no module of the packages on the left imports a package on the right.
# Paths are relative to fost; "" is all of it. Imports inside functions and for type checkers count.
IMPORT_RULES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("transforms", "coding", "streams"), ("learning", "estimators", "restoration", "imputation")),
    (
        ("learning",),
        ("estimators", "restoration", "imputation", "diagnostics", "model_selection", "baselines"),
    ),
    (("io",), ("learning", "estimators", "restoration", "imputation", "images", "streams")),
    (("",), ("cli",)),
    (("",), ("reproduction",)),
)
# The command line itself, and `python -m fost`, which starts it.
MAY_IMPORT_CLI = ("fost.cli", "fost.__main__")

MOST_CORE_FILES = 20  # in one folder; the table's limit is lower, to leave room
CORE_SUFFIXES = {".cpp", ".hpp", ".h", ".inl"}
# Names that have the same meaning in every module that defines them.
SAME_MEANING = {"main"}  # the entry point of a program
ARRAY_CHECKS = {"check_real", "check_stored_real"}
# A module beside this one that checks the include rules of the core: `violations(root)` yields
# one line of text for each.
INCLUDE_RULES = "include_rules.py"


@dataclass(frozen=True)
class Module:
    """One Python file of the package."""

    name: str
    path: Path
    tree: ast.Module

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"


@dataclass(frozen=True)
class Walk:
    """The functions of fost that one call runs."""

    functions: frozenset[tuple[str, str]]  # files relative to the package, and names
    depth: int
    array_checks: int

    @property
    def files(self) -> set[str]:
        return {file for file, _ in self.functions}


# Reading the source


def read_modules(root: Path) -> list[Module]:
    """All modules of ``src/fost``, in the order of their names."""
    source = root / "src"
    modules = []
    for path in sorted((source / "fost").rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        modules.append(Module(name, path, ast.parse(path.read_text("utf-8"), str(path))))
    return modules


def imported_names(module: Module, *, type_checking: bool) -> Iterator[tuple[str, int]]:
    """Absolute dotted names that a module imports, with line numbers.

    ``from a import b`` gives ``a.b``, which is a module or a name in the module ``a``.
    """

    def visit(node: ast.AST) -> Iterator[tuple[str, int]]:
        for child in ast.iter_child_nodes(node):
            if not type_checking and _is_type_checking(child):
                continue
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield alias.name, child.lineno
            elif isinstance(child, ast.ImportFrom):
                origin = child.module or ""
                if child.level:
                    package = module.name.split(".")
                    package = package[: len(package) + module.is_package - child.level]
                    origin = ".".join([*package, *filter(None, [child.module])])
                for alias in child.names:
                    yield f"{origin}.{alias.name}", child.lineno
            else:
                yield from visit(child)

    return visit(module.tree)


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def importers(modules: list[Module]) -> dict[str, set[str]]:
    """For each module, the other modules of the package that import it."""
    known = {module.name for module in modules}
    found: dict[str, set[str]] = {name: set() for name in known}
    for module in modules:
        for name, _ in imported_names(module, type_checking=False):
            target = name if name in known else name.rpartition(".")[0]
            if target in known and target != module.name:
                found[target].add(module.name)
    return found


def defined_twice(
    modules: list[Module], kind: type[ast.ClassDef] | type[ast.FunctionDef]
) -> dict[str, list[str]]:
    """Public names of a kind of definition that several modules define, with these modules."""
    places: dict[tuple[str, bool], set[str]] = defaultdict(set)
    for module in modules:
        in_cli = module.name.startswith("fost.cli") and kind is ast.FunctionDef
        names = {node.name for node in module.tree.body if isinstance(node, kind)}
        for name in names - SAME_MEANING:
            if not name.startswith("_"):
                places[name, in_cli].add(module.name)
    twice = {name: sorted(where) for (name, _), where in places.items() if len(where) > 1}
    return dict(sorted(twice.items()))


def core_folders(root: Path) -> dict[Path, int]:
    """The number of C++ files directly in each folder of the core."""
    counts: dict[Path, int] = defaultdict(int)
    for path in (root / "src" / "core").rglob("*"):
        if path.suffix in CORE_SUFFIXES:
            counts[path.parent.relative_to(root)] += 1
    return dict(counts)


def documented_names(root: Path) -> list[str]:
    """Entries of the autosummary lists of the reference."""
    names: list[str] = []
    listed = False
    for line in (root / "docs" / "api" / "index.rst").read_text("utf-8").splitlines():
        if line.startswith(".. "):
            listed = line.startswith(".. autosummary::")
        elif line.strip() and not line.startswith(" "):
            listed = False
        elif listed and line.strip() and not line.strip().startswith(":"):
            names.append(line.strip())
    return names


# Rules


def violations(root: Path) -> list[str]:
    """One line for each violation of a rule that ``make lint`` enforces."""
    modules = read_modules(root)
    found = [
        f"{folder}: {count} files in one folder, at most {MOST_CORE_FILES}"
        for folder, count in sorted(core_folders(root).items())
        if count > MOST_CORE_FILES
    ]
    for kind, word in ((ast.ClassDef, "class"), (ast.FunctionDef, "function")):
        for name, where in defined_twice(modules, kind).items():
            found.append(f"{word} {name} is defined in {', '.join(where)}")
    for module in modules:
        found += import_violations(module, root)
    return found + include_violations(root)


def import_violations(module: Module, root: Path) -> list[str]:
    """Imports of one module that the import rules forbid."""
    found = {}
    for importing, forbidden in IMPORT_RULES:
        if not any(_inside(module.name, f"fost.{package}") for package in importing):
            continue
        for name, line in imported_names(module, type_checking=True):
            for package in forbidden:
                if package == "cli" and any(_inside(module.name, p) for p in MAY_IMPORT_CLI):
                    continue
                if _inside(name, f"fost.{package}") or (
                    package == "reproduction" and _inside(name, package)
                ):
                    place = f"{module.path.relative_to(root)}:{line}"
                    found[place, package] = f"{place}: {module.name} must not import {package}"
    return list(found.values())


def _inside(name: str, package: str) -> bool:
    """Whether a dotted name is a package or lies in it."""
    package = package.rstrip(".")
    return name == package or name.startswith(package + ".")


def include_violations(root: Path) -> list[str]:
    """Violations of the include rules of the core, where the checkout has a checker for them."""
    checker = root / "tools" / INCLUDE_RULES
    spec = importlib.util.spec_from_file_location("include_rules", checker)
    if not checker.exists() or spec is None or spec.loader is None:
        return []
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [str(line) for line in module.violations(root)]


# Walks


def observe(call: Callable[[], object], package: Path) -> Walk:
    """Runs `call` twice and describes the functions of `package` that the second call runs."""
    call()
    prefix = f"{package}/"
    functions: set[tuple[str, str]] = set()
    depth = deepest = checks = 0

    def profile(frame: FrameType, event: str, _: object) -> None:
        nonlocal depth, deepest, checks
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(prefix):
            return
        if event == "return":
            depth -= 1
            return
        depth += 1
        deepest = max(deepest, depth)
        functions.add((code.co_filename.removeprefix(prefix), code.co_name))
        checks += code.co_name in ARRAY_CHECKS and code.co_filename.endswith("_validation.py")

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return Walk(frozenset(functions), deepest, checks)


def walks(root: Path) -> dict[str, Walk]:
    """The observed calls: `learn`, `encode`, 1-D `denoise` and `UnionDictionary.fit`."""
    package = root / "src" / "fost"
    if not any(name in (package / "_validation.py").read_text("utf-8") for name in ARRAY_CHECKS):
        raise SystemExit(f"house: _validation.py defines none of {sorted(ARRAY_CHECKS)}")
    sys.path.insert(0, str(root / "src"))
    import numpy as np

    import fost
    from fost import restoration

    if Path(fost.__file__ or "").parent != package:
        raise SystemExit(f"house: fost is imported from {fost.__file__}, not from {package}")
    rng = np.random.default_rng(0)
    Y = np.cumsum(rng.standard_normal((2000, 64)), axis=1)
    signal = np.sin(np.arange(1000) / 20) + 0.1 * rng.standard_normal(1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two iterations do not converge
        return {
            "learn": observe(lambda: fost.learn(Y, fost.Reflectors(8), 4, max_iter=2), package),
            "encode": observe(lambda: fost.DCT(64).encode(Y, 4), package),
            "denoise": observe(lambda: restoration.denoise(signal, 0.1), package),
            "union": observe(
                lambda: fost.UnionDictionary(2, 4, max_iter=2, random_state=0).fit(Y), package
            ),
        }


# The table


def measures(root: Path) -> list[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    """Each measure with its values and their limits."""
    modules = read_modules(root)
    lines = [line for module in modules for line in module.path.read_text("utf-8").splitlines()]
    walk = walks(root)
    learn, denoise, union = walk["learn"], walk["denoise"], walk["union"]
    single = sum(len(where) == 1 for where in importers(modules).values())
    words = len((root / "CONTRIBUTING.md").read_text("utf-8").split())
    return [
        ("files in one folder of src/core", (max(core_folders(root).values()),), (18,)),
        ("Python files installed", (len(modules),), (130,)),
        ("lines of Python installed", (len(lines),), (23_000,)),
        ("modules with a single importer", (single,), (30,)),
        ("functions / files of learn", (len(learn.functions), len(learn.files)), (95, 16)),
        ("depth of 1-D denoise / UnionDictionary.fit", (denoise.depth, union.depth), (16, 24)),
        (
            "validation calls on arrays, learn / UnionDictionary.fit",
            (learn.array_checks, union.array_checks),
            (2, 10),
        ),
        (
            "classes / functions defined twice",
            (
                len(defined_twice(modules, ast.ClassDef)),
                len(defined_twice(modules, ast.FunctionDef)),
            ),
            (0, 0),
        ),
        ("lines with Any", (sum(bool(re.search(r"\bAny\b", line)) for line in lines),), (150,)),
        ("words of CONTRIBUTING.md", (words,), (700,)),
        ("documented public names", (len(documented_names(root)),), (85,)),
    ]


def print_table(rows: list[tuple[str, tuple[int, ...], tuple[int, ...]]]) -> None:
    texts = [("measure", "value", "limit", "")]
    for name, values, limits in rows:
        over = any(value > limit for value, limit in zip(values, limits, strict=True))
        value, limit = (" / ".join(f"{k:,}" for k in group) for group in (values, limits))
        texts.append((name, value, limit, "over" if over else ""))
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for name, value, limit, verdict in texts:
        line = f"{name:<{widths[0]}}  {value:>{widths[1]}}  {limit:>{widths[2]}}  {verdict}"
        print(line.rstrip())


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="run the rules of make lint only")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="a checkout")
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    if not arguments.check:
        print_table(measures(root))
        return 0
    found = violations(root)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
