"""Prints the lower bounds of pyproject.toml as pip's constraints: the oldest that is promised."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text("utf-8"))
project = project["project"]
extras = project["optional-dependencies"]
bounds = [project["dependencies"], *(extras[e] for e in ("images", "wavelets", "dask", "test"))]
for requirement in dict.fromkeys(entry for group in bounds for entry in group):
    if found := re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?>=([\d.]+)", requirement):
        print(f"{found[1]}=={found[2]}")
    elif not requirement.startswith("fost["):
        raise SystemExit(f"not a lower bound: {requirement}")
