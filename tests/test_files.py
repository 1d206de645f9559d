from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from fost._files import write_atomically


def test_writes_and_replaces(tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    for content in (b"first", b"", b"x" * 100_000):
        write_atomically(path, content)
        assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["file.bin"]


def test_takes_strings_and_relative_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_atomically("file.bin", b"content")
    assert (tmp_path / "file.bin").read_bytes() == b"content"
    (tmp_path / "folder").mkdir()
    write_atomically(os.path.join("folder", "file.bin"), b"more")
    assert (tmp_path / "folder" / "file.bin").read_bytes() == b"more"


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_permissions_are_those_of_a_new_file(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        write_atomically(tmp_path / "file.bin", b"content")
        assert os.umask(mask) == mask, "the mask of the process was changed"
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file.bin").stat().st_mode) == 0o666 & ~mask


class Interrupted(BaseException):
    """Stands for KeyboardInterrupt, which pytest would take for itself."""


@pytest.mark.parametrize("error", [OSError, Interrupted])
@pytest.mark.parametrize("step", ["replace", "fsync"])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: type[BaseException]
) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(b"old")

    def fail(*arguments: Any, **options: Any) -> None:
        raise error("stopped")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(error, match="stopped"):
        write_atomically(path, b"new")
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["file.bin"]
    assert path.read_bytes() == b"old"


def test_the_file_is_complete_before_it_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file.bin"
    seen = []
    replace = os.replace

    def look(source: str, target: Path) -> None:
        seen.append((Path(source).parent, Path(source).read_bytes(), path.exists()))
        replace(source, target)

    monkeypatch.setattr(os, "replace", look)
    write_atomically(path, b"content")
    assert seen == [(tmp_path, b"content", False)]


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "missing" / "file.bin", b"content")
    assert os.listdir(tmp_path) == []


def test_a_folder_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        write_atomically(tmp_path / "folder", b"content")
    assert os.listdir(tmp_path) == ["folder"]


def test_names_as_long_as_the_system_allows(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 240 + ".safetensors")
    path.write_bytes(b"old")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
