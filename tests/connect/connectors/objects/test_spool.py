"""Local files before their upload, and their folders."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafkapy.connect.connectors.objects.spool import Spool
from kafkapy.connect.connectors.objects.spool_folder import SpoolFolder
from kafkapy.connect.errors import ConnectException


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Files of this process have so many bytes at most, as if the disk was full then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_bytes_that_only_fit_in_part_are_an_error(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path))
    with room_for(100_000), pytest.raises(ConnectException, match="A temporary file cannot be written"):
        spool.write(b"a" * 150_000)
    spool.discard()
    assert not list(tmp_path.iterdir())


def test_a_folder_is_removed_after_its_process_was_killed_and_not_before(tmp_path: Path) -> None:
    program = (
        "from kafkapy.connect.connectors.objects.spool_folder import SpoolFolder\n"
        f"folder = SpoolFolder({str(tmp_path)!r})\nprint(folder.path, flush=True)\ninput()"
    )
    other = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout is not None
        left = Path(other.stdout.readline().strip())
        (left / "file").write_bytes(b"a")
        mine = SpoolFolder(str(tmp_path))
        assert (left / "file").exists()
    finally:
        other.send_signal(signal.SIGKILL)
        other.communicate()
    another = SpoolFolder(str(tmp_path))
    assert {str(path) for path in tmp_path.iterdir()} == {mine.path, another.path}
    for folder in (mine, another):
        folder.close()
    assert not list(tmp_path.iterdir())


def test_what_is_no_folder_of_a_sink_remains(tmp_path: Path) -> None:
    (tmp_path / "kafkapy-sink-file").write_bytes(b"a")
    (tmp_path / "others").mkdir()
    SpoolFolder(str(tmp_path)).close()
    assert {path.name for path in tmp_path.iterdir()} == {"kafkapy-sink-file", "others"}


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConnectException, match=r"spool\.dir"):
        SpoolFolder(str(tmp_path / "missing"))
