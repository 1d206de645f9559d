from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fost
from fost.io import atomic
from fost.io.atomic import atomic_writer, write_atomically
from tests import cases


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


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755, 0o444])
def test_permissions_of_a_replaced_file_are_kept(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(b"old")
    path.chmod(mode)
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_private_file_is_private_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with atomic_writer(path) as file:
        file.write(b"new")
        modes = [stat.S_IMODE(entry.stat().st_mode) for entry in tmp_path.iterdir()]
    assert modes == [0o600, 0o600]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid(), reason="only root gives away files")
def test_the_owner_of_a_replaced_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(b"old")
    try:
        os.chown(path, 1234, 5678)
    except OSError:
        pytest.skip("no such owners here")
    path.chmod(0o4750)
    write_atomically(path, b"new")
    found = path.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (1234, 5678, 0o4750)


def test_another_group_does_not_get_what_the_first_was_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the group cannot be given, its permissions are at most those of everybody."""
    if not hasattr(os, "chown"):
        pytest.skip("no groups")
    path = tmp_path / "file.bin"
    path.write_bytes(b"old")
    path.chmod(0o2664)
    found = os.stat(path)
    old = os.stat_result((*found[:5], found.st_gid + 1, *found[6:]))

    def refuse(*_: Any) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "chown", refuse)
    atomic._copy_permissions(path, old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_links_stay_links(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "target", tmp_path / "link"
    try:
        link.symlink_to(Path("folder") / "target")
    except OSError:
        pytest.skip("no links here")
    for content in (b"first", b"second"):  # the target is made, then replaced
        write_atomically(link, content)
        assert link.is_symlink()
        assert target.read_bytes() == content
    assert os.listdir(tmp_path / "folder") == ["target"]


@pytest.mark.skipif(os.name != "posix", reason="devices of POSIX")
def test_devices_are_written_to(tmp_path: Path) -> None:
    device = cases.device("null", tmp_path)
    link = tmp_path / "link"
    link.symlink_to(device)
    for path in (device, link):
        write_atomically(path, b"content")
    assert device.is_char_device()
    assert link.is_symlink()
    assert not list(tmp_path.glob(".fost-*"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_pipes_are_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomically(pipe, b"content")
        assert os.read(reader, 100) == b"content"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="no names of open files here")
@pytest.mark.parametrize("piped", [True, False])
def test_standard_output_has_a_name(tmp_path: Path, piped: bool) -> None:
    code = "from fost.io.atomic import write_atomically as w; w('/dev/stdout', b'content')"
    if piped:
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
        assert (run.returncode, run.stdout) == (0, b"content"), run.stderr
        return
    path = tmp_path / "file.bin"
    with open(path, "wb") as file:
        subprocess.run([sys.executable, "-c", code], stdout=file, check=True, timeout=60)
        assert os.fstat(file.fileno()).st_size == 7  # the file that was open, not another one
    assert path.read_bytes() == b"content"


@pytest.mark.skipif(os.name != "posix", reason="devices of POSIX")
def test_a_full_disk_is_named(tmp_path: Path) -> None:
    device = cases.device("full", tmp_path)
    with pytest.raises(OSError, match="No space left on device") as caught:
        write_atomically(device, b"content")
    assert caught.value.filename == str(device)


LIMITED = """
import os, resource, signal, sys
from fost.io.atomic import write_atomically
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_atomically(sys.argv[1], bytes(10**6))
except OSError as error:
    print(error.filename == sys.argv[1], error.errno, os.listdir(os.path.dirname(sys.argv[1])))
"""


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_a_file_that_may_not_grow_is_named(tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(b"old")
    command = [sys.executable, "-c", LIMITED, str(path)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.strip() == f"True {errno.EFBIG} ['file.bin']"
    assert path.read_bytes() == b"old"


def test_errors_name_the_file_and_not_a_temporary_one(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "file.bin"
    with pytest.raises(FileNotFoundError) as caught:
        write_atomically(path, b"content")
    assert caught.value.filename == str(path)
    with pytest.raises(FileNotFoundError) as caught, atomic_writer(tmp_path / "file.bin"):
        (tmp_path / "another").read_bytes()
    assert os.fspath(caught.value.filename) == str(tmp_path / "another")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_devices_and_pipes_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        for read in (atomic.open_file, fost.load, fost.transforms.read_metadata):
            with pytest.raises(OSError, match="not a file but a device or a pipe"):
                read(path)
    with pytest.raises(OSError, match="not a file but a device or a pipe"):
        fost.learn(np.eye(4), fost.Orthonormal(), 1, checkpoint=tmp_path / "pipe")
