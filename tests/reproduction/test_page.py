"""The page and the files beside it."""

from __future__ import annotations

import csv
import dataclasses
import json
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from fost import paper
from fost.paper.claims.claim import Rows, signed
from fost.paper.drawing import to_svg
from fost.paper.parts import PARTS
from tests.paper.conftest import TINY

VOID = {"meta", "link", "img", "br", "input"}


class Checker(HTMLParser):
    """Elements must be closed in order, names be unique, and links lead somewhere."""

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


def test_the_page_is_well_formed_and_alone(page: str) -> None:
    found = Checker(page)
    assert not found.open
    assert len(found.names) == len(set(found.names))
    for link in found.links:
        assert link == "data:," or link[1:] in found.names, link
    assert all(source.startswith("data:image/jpeg;base64,") for source in found.sources)
    assert "{{" not in page
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", page)
    assert not re.search(r"@import|url\((?!#)", page)
    assert "nan" not in re.sub(r"data:[^\"]*", "", page).lower().split()


def test_every_part_is_on_the_page(page: str) -> None:
    names = Checker(page).names
    for name in PARTS:
        assert name in names, name
    assert {"claims", "truth", "about"} <= set(names)
    assert page.count("<svg") == 8


def test_claims_are_judged(done: Any, page: str) -> None:
    judged = done[2]
    assert len(judged) > 30
    assert {claim.verdict for claim in judged} <= {"holds", "partly", "misses"}
    assert {claim.part for claim in judged} == set(PARTS) - {"explorer"}
    for claim in judged:
        assert claim.statement
        assert claim.ours
        assert "None" not in claim.ours + claim.note


def scaled(found: paper.Reproduction, factor: float) -> list[paper.Claim]:
    """Claims about a Table I whose errors are the printed ones, times a factor."""
    cells: Rows = {
        "table-1": [
            dataclasses.replace(row, rmse=factor * row.paper, difference=factor - 1)
            if row.paper
            else row
            for row in found.rows["table-1"]
        ]
    }
    return paper.claims(dataclasses.replace(found, rows=cells))


def test_a_table_that_meets_the_paper_holds(done: Any) -> None:
    def verdicts(factor: float, start: str) -> set[str]:
        judged = scaled(done[1], factor)
        return {c.verdict for c in judged if c.statement.startswith(start)}

    assert verdicts(1.0, "The printed errors of") == {"holds"}
    assert verdicts(1.009, "The printed errors of") == {"misses"}
    assert verdicts(1.0, "The errors of") == verdicts(1.009, "The errors of") == {"holds"}
    assert verdicts(1.015, "The errors of") == {"misses", "holds"}  # SK-SVD has two per cent
    assert verdicts(1.03, "The errors of") == {"misses"}
    assert verdicts(1.0, "H32 is generally") == {"holds"}
    assert verdicts(1.0, "H12 is the best") == {"holds"}


def test_a_single_digit_counts(done: Any) -> None:
    found: paper.Reproduction = done[1]
    cells = [
        dataclasses.replace(row, rmse=row.paper + (1e-4 if row.picture == "barb" else 0))
        if row.paper
        else row
        for row in found.rows["table-1"]
    ]
    judged = paper.claims(dataclasses.replace(found, rows={"table-1": cells}))
    digits = [c for c in judged if c.statement.startswith("The printed errors of")]
    assert len(digits) == 8
    for claim in digits:
        assert claim.verdict == "partly"
        assert claim.ours == "3 of 4 have the same four digits"
        assert "Not the same: barb" in claim.note


def test_every_claim_has_a_limit_and_says_where_it_is_from(done: Any, page: str) -> None:
    for claim in done[2]:
        assert claim.limit, claim.statement
        assert claim.limit_from in ("the paper", "after looking")
    after = sum(claim.limit_from == "after looking" for claim in done[2])
    assert page.count("(set after looking):") == after
    assert page.count("(by the paper):") == len(done[2]) - after


def test_claims_can_fail_and_can_hold(done: Any) -> None:
    """Each claim about figures has rows for which its verdict is another."""
    found: paper.Reproduction = done[1]

    def verdicts(part: str, change: Any) -> list[str]:
        rows = {part: [change(row) for row in found.rows[part]]}
        return [c.verdict for c in paper.claims(dataclasses.replace(found, rows=rows))]

    def of(method: str, factor: float, least: int = 0) -> Any:
        """Relative errors of a method times a factor, from some m on."""

        def change(row: Any) -> Any:
            if row.method != method or (row.n_reflectors or 99) < least:
                return row
            return dataclasses.replace(row, relative_error=factor * row.relative_error)

        return change

    def slightly(change: Any) -> list[str]:
        rows = {"figure-3": [change(row) for row in found.rows["figure-3"]]}
        judged = paper.claims(dataclasses.replace(found, rows=rows))
        return [c.verdict for c in judged if "slightly above" in c.statement]

    assert slightly(of("QH", 100.0)) == ["misses", "misses"]  # far above is not slightly
    assert slightly(of("QH", 0.01)) == ["misses", "misses"]  # nor is below
    qh, dense = (
        min(r.relative_error for r in found.rows["figure-3"] if r.method == name)
        for name in ("QH", "Q-DLA")
    )
    assert "holds" in slightly(of("QH", 1.1 * dense / qh))
    close = next(c for c in done[2] if "very close" in c.statement)
    assert all(f"m = {m}:" in close.ours for m in (1, 2, 3, 6))
    worse = of("QH", 2.0)
    rows = {"figure-3": [worse(row) for row in found.rows["figure-3"]]}
    judged = paper.claims(dataclasses.replace(found, rows=rows))
    assert next(c.verdict for c in judged if "very close" in c.statement) == "misses"
    rising = verdicts(
        "figure-2",
        lambda row: dataclasses.replace(row, relative_error=row.relative_error + row.iteration),
    )
    assert rising[0] == "misses"


def test_what_is_said_follows_from_the_run(done: Any, page: str, tmp_path: Path) -> None:
    assert "K = 100 for both" not in page
    assert f"K = {TINY.iterations} for both" in page
    assert "K = 1 for Q-DLA" in page
    assert "These are not the iterations that make the printed digits come out." in page
    assert "on barb there are more after" in page
    assert "cameraman" not in page.split('id="truth"')[1].split("</section>")[0]
    found: paper.Reproduction = done[1]
    small = dict(found.pictures.pictures, house=found.pictures["boat"])
    pictures = dataclasses.replace(found.pictures, pictures=small)
    cells = [dataclasses.replace(r, picture="house") for r in found.rows["table-1"][:30]]
    paper.write_report(
        dataclasses.replace(found, pictures=pictures, rows={"table-1": cells}), tmp_path
    )
    other = (tmp_path / "index.html").read_text("utf-8")
    assert "house here has 256" in other


def test_rows_are_files_too(done: Any) -> None:
    out, found, judged = done
    for name, rows in [*found.rows.items(), ("claims", judged)]:
        plain = json.loads((out / "rows" / f"{name}.json").read_text(encoding="utf-8"))
        with open(out / "rows" / f"{name}.csv", newline="", encoding="utf-8") as file:
            table = list(csv.DictReader(file))
        assert len(plain) == len(table) == len(rows)
        names = [f.name for f in dataclasses.fields(rows[0]) if f.name != "image"]
        assert list(plain[0]) == list(table[0]) == names
        assert plain[-1] == {key: getattr(rows[-1], key) for key in names}
        assert table[0][names[0]] == str(getattr(rows[0], names[0]))


def test_figures_are_files_too(done: Any) -> None:
    figures = sorted(path.stem for path in (done[0] / "figures").iterdir())
    assert figures == ["example", *(f"figure-{k}" for k in range(1, 6)), "section-5", "table-1"]
    for name in figures:
        text = (done[0] / "figures" / f"{name}.svg").read_text(encoding="utf-8")
        ElementTree.fromstring(text)
        assert "<text" in text  # letters, not outlines
        assert "var(--ink, #1b1f24)" in text
        assert "#000000" not in text  # black on a dark page
        assert 'width="' not in text.split(">")[0]


def test_missing_pictures_are_listed(page: str, tmp_path: Path, done: Any) -> None:
    assert "Pictures that were not there: pollen, mri, cameraman" in page
    only = done[1].pictures.only(["man"])
    paper.reproduce(tmp_path, ["table-1", "figure-7"], pictures=only, settings=TINY)
    other = (tmp_path / "index.html").read_text("utf-8")
    assert "Left out for want of pictures: Table I: errors." in other
    assert 'id="figure-7"' in other
    assert 'id="table-1"' not in other


def test_stand_ins_are_called_so(tmp_path: Path, done: Any) -> None:
    chosen = {name: done[1].pictures[name] for name in ("boat", "man")}
    bundled = paper.PictureSet(
        {"camera": chosen["boat"], "brick": chosen["man"]}, missing=("boat",), bundled=True
    )
    found, judged = paper.reproduce(
        tmp_path, ["table-1", "figure-1", "figure-6"], pictures=bundled, settings=TINY
    )
    text = (tmp_path / "index.html").read_text("utf-8")
    assert "These are not the pictures of the paper." in text
    assert all(row.paper is None for row in found.rows["table-1"])
    assert not [claim for claim in judged if claim.statement.startswith("The printed")]
    assert all(row.paper_rmse is None for row in found.rows["figure-6"])


def test_names_of_pictures_are_only_names(tmp_path: Path, done: Any) -> None:
    """Neither markup nor a place of the template, wherever they stand."""
    wild = ('<img src=x onerror="alert(1)">&amp;', "{{script}}</script><!--<script>$x$'")
    chosen = dict(zip(wild, done[1].pictures.pictures.values(), strict=False))
    bundled = paper.PictureSet(chosen, missing=(), bundled=True)
    found, _ = paper.reproduce(tmp_path, ["table-1", "explorer"], pictures=bundled, settings=TINY)
    panels = [
        dataclasses.replace(row, picture=name) for name in wild for row in done[1].rows["figure-6"]
    ]
    curves = [
        dataclasses.replace(row, curve=name) for name in wild for row in done[1].rows["figure-1"]
    ]
    rows = found.rows | {"figure-6": panels, "figure-1": curves, "figure-7": panels[::-1]}
    missing = dataclasses.replace(bundled, missing=wild, bundled=False)
    paper.write_report(dataclasses.replace(found, rows=rows, pictures=missing), tmp_path)
    text = (tmp_path / "index.html").read_text("utf-8")
    checked = Checker(text)
    assert not checked.open
    assert all(source.startswith("data:image/jpeg;base64,") for source in checked.sources)
    assert "<img src=x" not in text
    assert text.count("<script") == 2
    assert text.count("</script>") == 2
    assert "<!--" not in text
    assert text.count('"use strict"') == 1
    places = ["<th", "<h3", "alt=", "<li>", "Pictures: ", "Pictures that were not there: "]
    for place in places:  # the name is there, as a name
        assert re.search(place + "[^<]*&lt;img src=x onerror=&quot;alert", text), place
        assert re.search(place + "[^<]*{{script}}&lt;/script&gt;", text), place
    data = re.search(r'id="explorer-data">(.*?)</script>', text)
    assert data
    assert list(json.loads(data[1])["pictures"]) == list(wild)


def test_nothing_to_draw(done: Any) -> None:
    rows = [row for row in done[1].rows["section-5"] if row.check != "barb"]
    assert paper.draw_barb(rows) is None
    assert to_svg(paper.draw_barb, rows, "name") == ""


def test_a_quick_look_says_so(page: str) -> None:
    assert "Not the default settings:" in page
    assert f"{TINY.iterations} iterations" in page


def test_nothing_of_the_pictures_is_in_the_package() -> None:
    folder = Path(paper.__file__).parent
    assert {path.suffix for path in folder.rglob("*") if path.is_file()} <= {
        ".py", ".pyc", ".html", ".css", ".js"
    }  # fmt: skip


def test_zero_has_no_sign() -> None:
    assert [signed(share) for share in (-0.0004, 0.0004)] == ["0.0%", "0.0%"]
    assert [signed(share) for share in (-0.0006, 0.012)] == ["-0.1%", "+1.2%"]
