"""The command ``python -m reproduction``: parts, stored rows and errors."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import fost
import reproduction.__main__ as command
from reproduction.__main__ import PARTS, main, reproduce
from reproduction.data import ImageSet
from tests.reproduction.conftest import TINY


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "QUICK", TINY)


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two parts that record when they are computed."""
    calls: list[str] = []

    def recording(name: str) -> Any:
        title, rows = PARTS[name]

        def compute(images: Any, settings: Any) -> Any:
            calls.append(name)
            return rows(images, settings)

        return title, compute

    names = ("figure-1", "example")
    monkeypatch.setattr(command, "PARTS", {name: recording(name) for name in names})
    return calls


def test_a_run_computes_only_missing_parts(
    computed: list[str], images: ImageSet, tmp_path: Path
) -> None:
    reproduce(tmp_path, images, TINY, ["example"])
    assert computed == ["example"]
    first = reproduce(tmp_path, images, TINY, [])
    assert computed == ["example", "figure-1"]
    again = reproduce(tmp_path, images, TINY, [])
    assert computed == ["example", "figure-1"]
    assert again.rows == first.rows
    # Named parts are computed again, and the page keeps the others.
    assert set(reproduce(tmp_path, images, TINY, ["example"]).rows) == {"figure-1", "example"}
    assert computed[2:] == ["example"]
    reproduce(tmp_path, images, TINY, [], fresh=True)
    assert computed[3:] == ["figure-1", "example"]


def test_stored_rows_belong_to_images_settings_and_version(
    computed: list[str], images: ImageSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def count(chosen: ImageSet, settings: Any = TINY) -> int:
        computed.clear()
        reproduce(tmp_path, chosen, settings, [])
        return len(computed)

    assert count(images) == 2
    other = ImageSet({**images.pixels, "barb": 255 - images["barb"]})
    assert count(other) == 2
    assert count(other, command.Settings(iterations=2)) == 2
    assert count(other, command.Settings(iterations=2)) == 0
    monkeypatch.setattr(fost, "__version__", "99")
    assert count(other, command.Settings(iterations=2)) == 2


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"key": 1}', b"\xff"])
def test_damaged_files_are_computed_again(
    computed: list[str], images: ImageSet, tmp_path: Path, content: bytes
) -> None:
    before = reproduce(tmp_path, images, TINY, ["example"])
    (tmp_path / "rows" / "example.json").write_bytes(content)
    assert reproduce(tmp_path, images, TINY, []).rows["example"] == before.rows["example"]
    assert computed.count("example") == 2


def test_every_part_is_written_as_csv_and_json(done: Any) -> None:
    out, found = done
    assert set(found.rows) == set(PARTS)
    for name, rows in found.rows.items():
        stored = json.loads((out / "rows" / f"{name}.json").read_text("utf-8"))
        assert stored["rows"] == json.loads(json.dumps(rows))
        with (out / "rows" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            table = list(csv.DictReader(file))
        assert len(table) == len(rows)
        names = [key for key in rows[0] if key != "shown"]
        assert list(table[0]) == names
        assert table[0][names[0]] == str(rows[0][names[0]])
    assert (out / "rows" / "claims.csv").is_file()


def test_parts_without_their_images_are_left_out(images: ImageSet, tmp_path: Path) -> None:
    only = ImageSet({"man": images["man"]})
    names = ["table-1", "figure-1", "figure-3", "figure-6", "figure-7", "times", "remarks"]
    found = reproduce(tmp_path, only, TINY, names)
    assert list(found.rows) == ["figure-7"]
    assert len(found.left_out) == 6


def test_the_command(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["figure-1", "--images", str(folder), "-o", str(tmp_path), "--quick"])
    captured = capsys.readouterr()
    assert f"page: {tmp_path / 'index.html'}" in captured.out
    assert "figure-1" in captured.err
    assert (tmp_path / "index.html").is_file()


def test_interrupted_learning_is_not_stored(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`fost.learn` answers Ctrl-C with the result so far, which is not a finished result."""
    learn = fost.learn

    def interrupted(*arguments: Any, **options: Any) -> Any:
        def stop(*_: Any) -> None:
            raise KeyboardInterrupt

        return learn(*arguments, **options, callback=stop)

    monkeypatch.setattr(fost, "learn", interrupted)
    with pytest.raises(SystemExit, match="run again to continue"):
        main(["figure-1", "--images", str(folder), "-o", str(tmp_path), "--quick"])
    assert not list((tmp_path / "rows").iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["figure-9"], "there is no part 'figure-9'; the parts are table-1"),
        (["--images", "nowhere"], "there is no folder 'nowhere'"),
        (["--images", "."], "no image of the paper in '.'"),
    ],
)
def test_wrong_arguments(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(arguments)
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
