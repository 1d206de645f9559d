"""The example of the README prints what its table says, and images of pages can be shown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Operations are exact; errors may differ in the last digit between machines."""
    pytest.importorskip("pywt")
    text = README.read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(block, {})
    printed = re.findall(r"^(.+?) +([\d.]+)% +(\d+) operations", capsys.readouterr().out, re.M)
    table = re.findall(r"^\| (.+?) \| ([\d.]+) % \| ([\d,]+) \| [\d.]+ \|$", text, re.M)
    assert len(printed) == 4
    for row, told in zip(printed, table, strict=True):
        assert (row[0], int(row[2])) == (told[0], int(told[2].replace(",", "")))
        # K-SVD and rotations end in other minima where sums are rounded differently.
        margin = 0.3 if "SVD" in row[0] else 0.01
        assert float(row[1]) == pytest.approx(float(told[1]), rel=margin)
    errors = {name: float(error) for name, error, _ in printed}
    assert errors["DCT + 64 rotations"] < 0.6 * min(errors["DCT"], errors["PCA"])


def test_readme_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 120


def test_drawings_are_there() -> None:
    """And follow the colours of the page."""
    pages = [README, *(README.parent / "docs").rglob("*.md")]
    found = [
        page.parent / name
        for page in pages
        for name in re.findall(r"!\[[^\]]*\]\(([^)]+\.svg)\)", page.read_text(encoding="utf-8"))
    ]
    assert len(found) >= 3
    for picture in found:
        assert ElementTree.parse(picture).getroot().tag.endswith("svg")
        assert "prefers-color-scheme: dark" in picture.read_text(encoding="utf-8")
