"""Rows as CSV and JSON files, for programs and spreadsheets."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from fost.io.files import write_atomically

# What stands in the page and not in the files of rows.
_HEAVY = ("image",)


def write_rows(folder: Path, name: str, rows: list[Any]) -> list[Path]:
    """``NAME.csv`` and ``NAME.json`` in a folder, without pictures."""
    names = [field.name for field in fields(rows[0]) if field.name not in _HEAVY]
    plain = [{k: v for k, v in asdict(row).items() if k in names} for row in rows]
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(plain)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.csv", folder / f"{name}.json"]
    write_atomically(paths[0], text.getvalue().encode())
    write_atomically(paths[1], json.dumps(plain, indent=1).encode())
    return paths
