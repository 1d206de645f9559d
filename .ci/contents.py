"""Checks that a wheel and a source distribution have what they need and nothing else."""

import sys
import tarfile
import zipfile
from pathlib import Path

# Of the repository; PKG-INFO is what a source distribution adds.
SOURCES = {".ci", "benchmarks", "docs", "examples", "packaging", "reproduction", "src"}
SOURCES |= {"tests", "tools"}
FILES = {"CHANGELOG.md", "CITATION.cff", "CMakeLists.txt", "CONTRIBUTING.md", "LICENSE", "Makefile"}
FILES |= {"PKG-INFO", "README.md", "SECURITY.md", "pyproject.toml"}
LEFTOVERS = {"__pycache__", "_build", "auto_gallery", "generated", "build", ".venv"}


def check_wheel(path: Path) -> list[str]:
    names = [Path(name) for name in zipfile.ZipFile(path).namelist()]
    infos = {name.parts[0] for name in names if name.parts[0].endswith(".dist-info")}
    wrong = [f"{n}" for n in names if n.parts[0] not in {"fost", *infos}]
    wrong += [f"{n}" for n in names if n.suffix in {".cpp", ".hpp", ".inl", ".pyc"}]
    compiled = [n for n in names if n.suffix in {".so", ".pyd", ".dylib", ".dll"}]
    if len(infos) != 1 or len(compiled) != 1:
        wrong.append(f"{len(infos)} descriptions, compiled: {[str(n) for n in compiled]}")
    for needed in ("fost/py.typed", "fost/_core.pyi"):
        if Path(needed) not in names:
            wrong.append(f"{needed} is missing")
    return wrong


def check_sources(path: Path) -> list[str]:
    with tarfile.open(path) as archive:
        names = [Path(*Path(m.name).parts[1:]) for m in archive.getmembers() if m.isfile()]
    wrong = [f"{n}" for n in names if n.parts[0] not in SOURCES | FILES]
    wrong += [f"{n}" for n in names if LEFTOVERS & set(n.parts) or n.suffix in {".so", ".pyc"}]
    found = {n.parts[0] for n in names}
    return wrong + [f"{needed} is missing" for needed in sorted((SOURCES | FILES) - found)]


for path in map(Path, sys.argv[1:]):
    wrong = (check_wheel if path.suffix == ".whl" else check_sources)(path)
    if wrong:
        sys.exit(f"{path.name}: {', '.join(wrong)}")
    print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, what it needs and nothing else")
