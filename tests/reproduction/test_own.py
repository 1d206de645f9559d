"""Own images and own structures in Table I and the curves, and runs without verdicts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fost
from fost import images as image_files
from reproduction.__main__ import PARTS, main, reproduce
from reproduction.algorithms import QUICK, learn
from reproduction.data import ImageSet, find_images, signals
from reproduction.page import Found
from tests.reproduction.conftest import TINY, make_image

MINE = (("mine", fost.Rotations(16)), ("mine + DCT", (fost.Rotations(16), fost.DCT((8, 8)))))


@pytest.fixture
def own_file(tmp_path: Path) -> Path:
    image_files.write(tmp_path / "leaf.png", make_image(7, 64))
    return tmp_path / "leaf.png"


def test_learn_takes_a_structure() -> None:
    Y = signals(make_image(1, 64).astype(np.float64))
    found = learn(fost.Reflectors(6), Y, K=3)
    assert np.array_equal(found.errors, learn("H6", Y, K=3).errors)
    on_top = learn(fost.Rotations(16), Y, K=3, base=fost.DCT((8, 8)))
    assert on_top.error < learn("2-D DCT", Y).error
    with pytest.raises(ValueError, match="base is for structures, not for 'H6'"):
        learn("H6", Y, base=fost.DCT(64))


def test_own_images_and_structures_are_rows(own_file: Path, tmp_path: Path) -> None:
    images = find_images(own=[own_file])
    assert images.own == images.of_figures == ("leaf",)
    settings = replace(TINY, structures=MINE)
    out = tmp_path / "out"
    found = reproduce(out, images, settings, ["table-1", "figure-2", "figure-3"])
    table = {(r["image"], r["method"]): r for r in found.rows["table-1"]}
    assert table["leaf", "mine"]["paper"] is None
    assert 0 < table["leaf", "mine + DCT"]["rmse"] < table["leaf", "2-D DCT"]["rmse"]
    for part in ("figure-2", "figure-3"):
        errors = [r["relative_error"] for r in found.rows[part] if r["method"] == "mine + DCT"]
        assert errors[-1] == pytest.approx(found.rows["figure-2"][-1]["relative_error"])
    assert not found.claims
    page = (out / "index.html").read_text("utf-8")
    assert "mine + DCT" in page
    assert "Missing images" not in page
    # Stored rows belong to the structures.
    other = replace(TINY, structures=MINE[:1])
    assert not reproduce(out, images, other, ["example"]).rows.keys() & {"table-1", "figure-2"}


def test_own_images_beside_those_of_the_paper(
    own_file: Path, folder: Path, images: ImageSet, done: tuple[Path, Found], tmp_path: Path
) -> None:
    both = find_images(folder, [own_file])
    assert list(both) == [*images, "leaf"]
    assert both.of_figures == images.of_figures
    with_own, without = reproduce(tmp_path / "out", both, TINY, ["table-1"]), done[1]
    assert with_own.claims == [claim for claim in without.claims if claim.part == "table-1"]
    assert {r["image"] for r in with_own.rows["table-1"]} == {
        "leaf", *(r["image"] for r in without.rows["table-1"])
    }  # fmt: skip


def test_names_must_be_new(own_file: Path) -> None:
    with pytest.raises(ValueError, match="own images must have names of their own, got 'leaf'"):
        find_images(own=[own_file, own_file])
    with pytest.raises(ValueError, match="structures must have names of their own, got 'H6'"):
        replace(TINY, structures=(("H6", fost.Rotations(3)),))


def test_quick_runs_give_no_verdicts_and_no_speed_factors(
    images: ImageSet, done: tuple[Path, Found], tmp_path: Path
) -> None:
    assert not QUICK.judged
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "claims.csv").write_text("of a full run")
    names = ["table-1", "table-2", "figure-6", "times", "remarks"]
    found = reproduce(tmp_path, images, replace(TINY, judged=False), names)
    assert set(found.rows) == set(names)
    assert not found.claims
    assert not (tmp_path / "rows" / "claims.csv").exists()
    quick, full = (
        (out / "index.html").read_text("utf-8").partition("</style>")[2]
        for out in (tmp_path, done[0])
    )
    for word in ('class="badge', 'class="good"', "faster by", "measured</th>", "same digits"):
        assert word not in quick, word
        assert word in full, word
    assert "Claims are not judged." in quick


def test_a_named_part_is_merged_into_the_page(images: ImageSet, tmp_path: Path) -> None:
    reproduce(tmp_path, images, TINY, ["example", "figure-1"])
    again = reproduce(tmp_path, images, TINY, ["figure-1"], fresh=True)
    assert set(again.rows) == {"example", "figure-1"}
    assert PARTS["example"][0] in again.seconds


def test_own_images_on_the_command_line(
    own_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    main(["example", "--own", str(own_file), "-o", str(out), "--quick"])
    assert "leaf (64 &times; 64)" in (out / "index.html").read_text("utf-8")
    with pytest.raises(SystemExit):
        main(["example", "--own", str(tmp_path / "nothing.png"), "-o", str(out)])
    assert "nothing.png" in capsys.readouterr().err
