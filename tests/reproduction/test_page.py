"""The claims, the page and the charts beside it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from reproduction.__main__ import PARTS, reproduce
from reproduction.charts import draw_barb, to_svg
from reproduction.claims import AFTER, Claim, claims, signed
from reproduction.data import ImageSet
from reproduction.page import Found, write_page
from tests.reproduction.conftest import TINY

VOID = {"meta", "link", "img", "br", "input"}


class Checker(HTMLParser):
    """Checks that elements are closed in order; collects identifiers, links and sources."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: list[str] = []
        self.links: list[str] = []
        self.sources: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        values = dict(attrs)
        if values.get("id"):
            self.names.append(values["id"] or "")
        for key in ("href", "xlink:href", "src"):
            if values.get(key):
                (self.sources if key == "src" else self.links).append(values[key] or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def page(done: Any) -> str:
    return str((done[0] / "index.html").read_text("utf-8"))


def test_the_page_is_well_formed_and_self_contained(page: str) -> None:
    found = Checker(page)
    assert not found.open
    assert len(found.names) == len(set(found.names))
    for link in found.links:
        assert link == "data:," or link[1:] in found.names, link
    assert all(source.startswith("data:image/jpeg;base64,") for source in found.sources)
    assert "{{" not in page
    assert "<script" not in page
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", page)
    assert not re.search(r"@import|url\((?!#)", page)
    assert "nan" not in re.sub(r"data:[^\"]*", "", page).lower().split()


def test_every_part_is_on_the_page(page: str) -> None:
    assert {*PARTS, "claims", "errata", "about"} <= set(Checker(page).names)
    assert page.count("<svg") == 8
    assert "Missing images: pollen, mri, cameraman" in page
    assert "Not the default settings:" in page
    assert "These are not the iterations that reproduce the printed digits." in page


def test_claims_have_verdicts_and_limits(done: Any, page: str) -> None:
    judged = done[1].claims
    assert len(judged) > 30
    assert {claim.verdict for claim in judged} <= {"holds", "partly", "misses"}
    assert {claim.part for claim in judged} == set(PARTS)
    for claim in judged:
        assert claim.statement
        assert claim.limit
        assert claim.ours
        assert "None" not in claim.ours + claim.note
    after = sum(claim.limit.endswith(AFTER) for claim in judged)
    assert page.count(f"{AFTER}.") == after > 10


def changed(found: Found, part: str, change: Any) -> list[Claim]:
    """The claims about one part after a change of its rows."""
    return claims({part: [{**row, **change(row)} for row in found.rows[part]]}, compare=True)


def test_claims_about_table_one_follow_its_errors(done: Any) -> None:
    def verdicts(factor: float, start: str) -> set[str]:
        def scaled(row: Any) -> dict[str, float]:
            if not row["paper"]:
                return {}
            return {"rmse": factor * row["paper"], "difference": factor - 1}

        judged = changed(done[1], "table-1", scaled)
        return {c.verdict for c in judged if c.statement.startswith(start)}

    assert verdicts(1.0, "The printed errors of") == {"holds"}
    assert verdicts(1.009, "The printed errors of") == {"misses"}
    assert verdicts(1.0, "The errors of") == verdicts(1.009, "The errors of") == {"holds"}
    assert verdicts(1.015, "The errors of") == {"misses", "holds"}  # SK-SVD may be 2 % above
    assert verdicts(1.03, "The errors of") == {"misses"}
    assert verdicts(1.0, "H32 is generally") == {"holds"}
    assert verdicts(1.0, "H12 is the best") == {"holds"}


def test_one_different_digit_is_reported(done: Any) -> None:
    def off_on_barb(row: Any) -> dict[str, float]:
        return {"rmse": row["paper"] + 1e-4 * (row["image"] == "barb")} if row["paper"] else {}

    judged = changed(done[1], "table-1", off_on_barb)
    digits = [c for c in judged if c.statement.startswith("The printed errors of")]
    assert len(digits) == 8
    for claim in digits:
        assert claim.verdict == "partly"
        assert claim.ours == "3 of 4 have the same four digits"
        assert "Different: barb" in claim.note


def test_claims_about_figures_can_hold_and_miss(done: Any) -> None:
    def scaled_qh(factor: float, words: str) -> list[str]:
        def change(row: Any) -> dict[str, float]:
            share = factor if row["method"] == "QH" else 1
            return {"relative_error": share * row["relative_error"]}

        judged = changed(done[1], "figure-3", change)
        return [c.verdict for c in judged if words in c.statement]

    assert scaled_qh(100.0, "slightly above") == ["misses", "misses"]
    assert scaled_qh(0.01, "slightly above") == ["misses", "misses"]
    rows = done[1].rows["figure-3"]
    qh, dense = (
        min(r["relative_error"] for r in rows if r["method"] == m) for m in ("QH", "Q-DLA")
    )
    assert "holds" in scaled_qh(1.1 * dense / qh, "slightly above")
    assert scaled_qh(2.0, "very close") == ["misses"]
    rising = changed(
        done[1],
        "figure-2",
        lambda row: {"relative_error": row["relative_error"] + row["iteration"]},
    )
    assert rising[0].verdict == "misses"


def test_charts_are_files_too(done: Any) -> None:
    charts = sorted(path.stem for path in (done[0] / "figures").iterdir())
    assert charts == ["example", *(f"figure-{k}" for k in range(1, 6)), "section-5", "table-1"]
    for name in charts:
        text = (done[0] / "figures" / f"{name}.svg").read_text(encoding="utf-8")
        ElementTree.fromstring(text)
        assert "<text" in text  # text, not outlines
        assert "var(--ink, #1b1f24)" in text
        assert "#000000" not in text  # invisible in dark mode
        assert 'width="' not in text.split(">")[0]


def test_a_chart_without_rows_is_empty() -> None:
    assert to_svg(draw_barb, [{"check": "order", "case": "cyclic", "value": 1.0}], "name") == ""


def test_stand_ins_are_marked_and_not_compared(tmp_path: Path, images: ImageSet) -> None:
    pixels = {"camera": images["boat"], "brick": images["man"]}
    bundled = ImageSet(pixels, missing=("boat",), bundled=True)
    found = reproduce(tmp_path, bundled, TINY, ["table-1", "figure-1", "figure-6"])
    text = (tmp_path / "index.html").read_text("utf-8")
    assert "These are not the images of the paper." in text
    assert all(row["paper"] is None for row in found.rows["table-1"])
    assert not [claim for claim in found.claims if claim.statement.startswith("The printed")]
    assert all(row["paper_rmse"] is None for row in found.rows["figure-6"])


def test_names_of_images_are_escaped(tmp_path: Path, done: Any) -> None:
    wild = '<img src=x onerror="alert(1)">{{about}}'
    renamed = {
        part: [
            {key: wild if key in ("image", "curve") else value for key, value in row.items()}
            for row in done[1].rows[part]
        ]
        for part in ("figure-1", "figure-6")
    }
    images = ImageSet({wild: done[1].images["boat"]}, missing=(wild,), notes=(wild,))
    write_page(Found(images, TINY, rows=renamed), tmp_path)
    text = (tmp_path / "index.html").read_text("utf-8")
    checked = Checker(text)
    assert not checked.open
    assert all(source.startswith("data:image/jpeg;base64,") for source in checked.sources)
    for place in ("<h3", "alt=", "<li>", "Images: ", "Missing images: "):
        assert re.search(place + "[^<]*&lt;img src=x onerror=&quot;alert", text), place


def test_zero_has_no_sign() -> None:
    assert [signed(share) for share in (-0.0004, 0.0004)] == ["0.0%", "0.0%"]
    assert [signed(share) for share in (-0.0006, 0.012)] == ["-0.1%", "+1.2%"]
