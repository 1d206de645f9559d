"""Finished steps on the disk, so that a run can go on where another one stopped."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

import fost
from fost.io.files import write_atomically
from fost.paper.pictures import PictureSet
from fost.paper.settings import Settings

FOLDER = "parts"
# Raised when rows change their meaning.
_FORMAT = 2


def key(pictures: PictureSet, settings: Settings) -> dict[str, Any]:
    """What the rows of a step depend on."""
    made: dict[str, Any] = json.loads(
        json.dumps(
            {
                "format": _FORMAT,
                "fost": fost.__version__,
                "settings": asdict(settings),
                "pictures": pictures.checksums,
                "bundled": pictures.bundled,
            }
        )
    )
    return made


class Store:
    """Steps in the folder ``parts`` of an output folder, one JSON file each."""

    def __init__(self, out: Path) -> None:
        self.folder = out / FOLDER

    def load(self, step: str, wanted: dict[str, Any], row: type) -> tuple[list[Any], float] | None:
        """Rows and seconds of a step, if they are there and of the same key."""
        try:
            content = json.loads(self._path(step).read_text("utf-8"))
            if content["key"] != wanted:
                return None
            return [row(**entry) for entry in content["rows"]], float(content["seconds"])
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def save(self, step: str, made: dict[str, Any], rows: list[Any], seconds: float) -> None:
        content = {"key": made, "seconds": seconds, "rows": [asdict(row) for row in rows]}
        self.folder.mkdir(parents=True, exist_ok=True)
        write_atomically(self._path(step), json.dumps(content, indent=1).encode())

    def _path(self, step: str) -> Path:
        # Steps may be named after pictures, and those as people like.
        return self.folder / f"{quote(step, safe='')}.json"
