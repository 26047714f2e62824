"""What serves where the operating system lacks something."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from kafkapy.common import capabilities, page_cache


@pytest.fixture
def fd(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    yield fd
    os.close(fd)


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    calls: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda _: calls.append("fsync"))
    monkeypatch.setattr(os, "fdatasync", lambda _: calls.append("fdatasync"))
    return calls


def test_linux(fd: int, synced: list[str]) -> None:
    capabilities.sync(fd)
    capabilities.sync_data(fd)
    assert synced == ["fsync", "fdatasync"]


@pytest.mark.parametrize(("file_system_has_it", "expected"), [(True, ["full"]), (False, ["full", "fsync"])])
def test_macos_syncs_down_to_the_medium(
    fd: int, synced: list[str], monkeypatch: pytest.MonkeyPatch, file_system_has_it: bool, expected: list[str]
) -> None:
    def fcntl(_: int, call: int) -> None:
        assert call == 51
        synced.append("full")
        if not file_system_has_it:
            raise OSError(errno.ENOTSUP, "")

    monkeypatch.setattr(capabilities, "FULL_SYNC", 51)
    monkeypatch.setattr(capabilities, "FDATASYNC", False)
    monkeypatch.setattr(capabilities, "fcntl", SimpleNamespace(fcntl=fcntl))
    for sync in (capabilities.sync, capabilities.sync_data):
        synced.clear()
        sync(fd)
        assert synced == expected


@pytest.mark.parametrize("fallocate", [True, False])
def test_a_file_is_made_as_large_as_it_will_be(fd: int, monkeypatch: pytest.MonkeyPatch, fallocate: bool) -> None:
    monkeypatch.setattr(capabilities, "FALLOCATE", fallocate)
    capabilities.reserve(fd, 12_345)
    assert os.fstat(fd).st_size == 12_345


def test_without_reads_from_memory_the_end_of_a_file_counts_as_cached(fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    os.ftruncate(fd, page_cache._END + 100)
    monkeypatch.setattr(page_cache, "NOWAIT", 0)
    monkeypatch.setattr(page_cache, "FADVISE", False)
    assert page_cache.is_cached(fd, 100, 50)
    assert page_cache.read_cached(fd, 50, 100) == bytes(50)
    assert not page_cache.is_cached(fd, 0, 50)
    with pytest.raises(BlockingIOError):
        page_cache.read_cached(fd, 50, 0)
    page_cache.load(fd, 0, 50)


def test_the_log_says_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "SENDFILE", True)
    monkeypatch.setattr(capabilities, "PIDFD", False)
    assert capabilities.summary("two epolls").startswith("Of the system it uses two epolls")
    there, _, missing = capabilities.summary("kqueue").partition("; it lacks ")
    assert "sendfile" in there
    assert "pidfd" in missing


def test_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    capabilities.require_server_support("A broker")
    monkeypatch.setattr(capabilities, "SERVERS", False)
    with pytest.raises(capabilities.UnsupportedSystem, match=r"A broker does not run on Windows\. Run it in WSL"):
        capabilities.require_server_support("A broker")
