"""What is finished is not computed again, and what is not finished is not kept."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fost
from fost import paper
from fost.paper import parts, run
from fost.paper.parts import PARTS, Part
from tests.paper.conftest import TINY


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Table I and the first figure of eigenvalues, which note when they are computed."""
    calls: list[str] = []

    def noting(part: Part) -> Part:
        def rows(pictures: Any, settings: Any) -> list[Any]:
            calls.append(f"{part.name} {' '.join(pictures)}")
            return part.rows(pictures, settings)

        return dataclasses.replace(part, rows=rows)

    made = tuple(noting(PARTS[name]) for name in ("figure-1", "explorer"))
    monkeypatch.setattr(parts, "_PARTS", made)
    monkeypatch.setattr(parts, "PARTS", {part.name: part for part in made})
    return calls


def test_a_run_goes_on_where_it_was_interrupted(
    counted: list[str], pictures: paper.PictureSet, tmp_path: Path
) -> None:
    two = pictures.only(["peppers", "barb"])

    def interrupt(done: int, total: int, step: str) -> None:
        assert total == 3
        if step == "explorer-barb":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        paper.compute(tmp_path, pictures=two, settings=TINY, progress=interrupt)
    assert counted == ["figure-1 peppers barb", "explorer peppers"]
    found = paper.compute(tmp_path, pictures=two, settings=TINY)
    assert counted[2:] == ["explorer barb"]
    assert found.computed == ["explorer-barb"]
    again = paper.compute(tmp_path, pictures=two, settings=TINY)
    assert again.computed == []
    assert len(counted) == 3
    assert again.rows == found.rows
    assert again.seconds == found.seconds
    assert not list(tmp_path.rglob(".fost-*"))


def test_what_rows_depend_on(
    counted: list[str], pictures: paper.PictureSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = pictures.only(["peppers", "barb"])

    def steps(chosen: paper.PictureSet = two, **options: Any) -> list[str]:
        settings = options.pop("settings", TINY)
        return paper.compute(tmp_path, pictures=chosen, settings=settings, **options).computed

    everything = ["figure-1", "explorer-peppers", "explorer-barb"]
    assert steps() == everything
    other = dict(two.pictures)
    other["barb"] = 255 - other["barb"]
    changed = dataclasses.replace(two, pictures=other)
    assert steps(changed) == ["figure-1", "explorer-barb"]
    fewer = dataclasses.replace(TINY, iterations=2)
    assert steps(changed, settings=fewer) == everything
    assert steps(changed, settings=fewer) == []
    assert steps(changed, settings=fewer, fresh=True) == everything
    monkeypatch.setattr(fost, "__version__", "99")
    assert steps(changed, settings=fewer) == everything


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"key": 1}', b"\xff"])
def test_damaged_files_are_computed_again(
    counted: list[str], pictures: paper.PictureSet, tmp_path: Path, content: bytes
) -> None:
    one = pictures.only(["peppers"])
    before = paper.compute(tmp_path, ["figure-1"], pictures=one, settings=TINY)
    file = tmp_path / "parts" / "figure-1.json"
    good = json.loads(file.read_text(encoding="utf-8"))
    file.write_bytes(content)
    after = paper.compute(tmp_path, ["figure-1"], pictures=one, settings=TINY)
    assert after.computed == ["figure-1"]
    assert after.rows == before.rows
    assert json.loads(file.read_text(encoding="utf-8"))["rows"] == good["rows"]


def test_an_interrupt_inside_learning_keeps_nothing(
    pictures: paper.PictureSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`fost.learn` answers Ctrl-C by what it has so far; that must not pass for a result."""
    learn = fost.learn

    def interrupted(*arguments: Any, **options: Any) -> Any:
        def stop(*_: Any) -> None:
            raise KeyboardInterrupt

        return learn(*arguments, **options, callback=stop)

    monkeypatch.setattr(fost, "learn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        paper.compute(tmp_path, ["figure-1"], pictures=pictures, settings=TINY)
    assert not (tmp_path / "parts").exists()


def test_parts_without_their_pictures_are_left_out(
    pictures: paper.PictureSet, tmp_path: Path
) -> None:
    names = ["table-1", "figure-1", "figure-3", "figure-6", "figure-7"]
    found = paper.compute(tmp_path, names, pictures=pictures.only(["man"]), settings=TINY)
    assert found.left_out == ("table-1", "figure-1", "figure-3", "figure-6")
    assert list(found.rows) == ["figure-7"]


def test_names_of_parts(tmp_path: Path, pictures: paper.PictureSet) -> None:
    assert [part.name for part in parts.choose(["FIGURE_2", "table-1"])] == ["table-1", "figure-2"]
    assert len(parts.choose(None)) == len(parts.choose([])) == len(PARTS)
    with pytest.raises(ValueError, match=r"there is no part 'figure-8'; there are table-1"):
        paper.compute(tmp_path, ["figure-8"], pictures=pictures)
    wrong: Any
    for wrong in ("figure-1", 3, 1.5, [3], [None], ["figure-8"]):
        with pytest.raises((TypeError, ValueError), match=r"^names"):
            paper.compute(tmp_path, wrong, pictures=pictures)


def test_settings_and_pictures_are_checked(tmp_path: Path, pictures: paper.PictureSet) -> None:
    wrong: Any
    for wrong in (3, "quick", {}, paper.Settings):
        with pytest.raises(TypeError, match="settings must be Settings or None, got"):
            paper.compute(tmp_path, ["figure-3"], pictures=pictures, settings=wrong)
        with pytest.raises(TypeError, match="pictures must be a PictureSet, got"):
            paper.compute(tmp_path, ["figure-3"], pictures=wrong)


def test_progress_comes_to_its_end(pictures: paper.PictureSet, tmp_path: Path) -> None:
    seen: list[tuple[int, int, str]] = []
    run.compute(
        tmp_path,
        ["table-2"],
        pictures=pictures,
        settings=TINY,
        progress=lambda *step: seen.append(step),
    )
    assert seen == [(0, 1, "table-2"), (1, 1, "")]


def test_stand_ins_take_all_roles() -> None:
    rng = np.random.default_rng(0)
    names = ("camera", "astronaut", "brick", "grass", "gravel")
    bundled = paper.PictureSet({n: 255 * rng.random((16, 16)) for n in names}, bundled=True)
    for part in PARTS.values():
        steps = part.steps(bundled)
        assert steps, part.name
        if part.name in ("table-1", "explorer"):
            assert [name for name, _ in steps] == [f"{part.name}-{name}" for name in names]
    assert [list(chosen) for _, chosen in PARTS["figure-6"].steps(bundled)] == [["brick"]]
