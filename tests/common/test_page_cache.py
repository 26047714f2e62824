"""What is known of the page cache, and that nothing else is read by one who may not wait."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkapy.common import page_cache

CONTENT = bytes(range(256)) * 8192
MB = 1 << 20

Preadv = Callable[..., int]


class Disk:
    """Which bytes of a file are in memory, as `preadv2(RWF_NOWAIT)` sees it."""

    def __init__(self, cached: list[tuple[int, int]], preadv: Preadv) -> None:
        self.cached, self.preadv = cached, preadv
        self.waited = 0

    def read(self, fd: int, buffers: list[bytearray], position: int, flags: int = 0) -> int:
        if not flags:
            self.waited += 1
            return self.preadv(fd, buffers, position)
        for begin, end in self.cached:
            if begin <= position < end:
                return self.preadv(fd, [memoryview(buffers[0])[: end - position]], position)
        if position >= len(CONTENT):
            return 0
        raise BlockingIOError


@pytest.fixture(autouse=True)
def no_full_scans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cache, "_full_scans", page_cache._FullScanWindow())


@pytest.fixture
def fd(tmp_path: Path) -> int:
    (tmp_path / "file").write_bytes(CONTENT)
    return os.open(tmp_path / "file", os.O_RDONLY)


def disk(monkeypatch: pytest.MonkeyPatch, *cached: tuple[int, int]) -> Disk:
    made = Disk(list(cached), os.preadv)
    monkeypatch.setattr(os, "preadv", made.read)
    return made


@pytest.mark.parametrize(
    ("cached", "position", "size", "expected"),
    [
        ([(0, 2 * MB)], 0, 2 * MB, True),
        ([(0, MB)], MB - 10, 10, True),
        ([(0, MB)], MB - 10, 11, False),
        ([(MB, 2 * MB)], MB - 1, 100, False),
        ([(MB, MB + 1), (MB + 99, 2 * MB)], MB, 100, True),  # a hole that is waited for
        ([(MB // 2, 2 * MB)], 0, 2 * MB, False),
        ([(MB, 2 * MB)], 0, 2 * MB, False),
        ([(0, MB), (3 * MB // 2 + 1, 2 * MB)], 0, 2 * MB, False),
        ([(0, 2 * MB)], 2 * MB - 1, 50, True),  # behind the end of the file there is nothing to wait for
        ([], 5, 1, False),
    ],
)
def test_is_cached(
    fd: int, monkeypatch: pytest.MonkeyPatch, cached: list[tuple[int, int]], position: int, size: int, expected: bool
) -> None:
    disk(monkeypatch, *cached)
    assert page_cache.is_cached(fd, position, size) is expected


class Kernel:
    """What it says of the blocks that a thread has read from disks."""

    ru_inblock = 7


def test_where_samples_were_wrong_all_is_looked_at_for_a_while(fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    now, kernel = 100.0, Kernel()
    monkeypatch.setattr(page_cache, "monotonic", lambda: now)
    monkeypatch.setattr(page_cache, "getrusage", lambda _: kernel)
    hole = (MB // 4, MB // 4 + 4096)
    disk(monkeypatch, (0, hole[0]), (hole[1], 2 * MB))

    def is_cached() -> tuple[bool, bool]:
        return page_cache.is_cached(fd, 0, MB // 2), page_cache.is_cached(fd, MB // 2, 2 * MB)

    page_cache.report_slow_send(blocks_read_before=0)
    assert is_cached() == (False, True)
    now += 0.9
    assert is_cached() == (False, True)
    now += 0.9
    assert is_cached() == (False, True), "holes are still met"
    now += 1.1
    assert is_cached() == (True, True)
    page_cache.report_slow_send(page_cache.blocks_read())
    assert is_cached() == (True, True), "it waited for a core, whatever the thread has read before"
    assert not page_cache.is_cached(fd, hole[0], 10)
    assert is_cached() == (False, True), "where something is missing, more is"
    now += 1.1
    assert is_cached() == (True, True)
    with pytest.raises(BlockingIOError):
        page_cache.read_cached(fd, 10, hole[0])
    assert is_cached() == (False, True)
    now += 1.1
    before = page_cache.blocks_read()
    kernel.ru_inblock += 8
    page_cache.report_slow_send(before)
    assert is_cached() == (False, True)


def test_reading_without_waiting(fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    disk(monkeypatch, (0, 4096), (4096, 8192), (2 * MB - 10, 2 * MB))
    assert page_cache.read_cached(fd, 5000, 0) == CONTENT[:5000]  # the kernel may give a part only
    assert page_cache.read_cached(fd, 100, 2 * MB - 5) == CONTENT[-5:]
    with pytest.raises(BlockingIOError):
        page_cache.read_cached(fd, 5000, 4000)


def test_a_thread_that_may_not_wait(fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    disk(monkeypatch)
    assert page_cache.read(fd, 10, 20) == CONTENT[20:30]
    monkeypatch.setattr(page_cache.blocking_reads, "allowed", False)
    with pytest.raises(BlockingIOError):
        page_cache.read(fd, 10, 20)


def test_loading_reads_all_of_it(fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made = disk(monkeypatch)
    page_cache.load(fd, 100, MB)
    assert made.waited == 4
    page_cache.load(fd, 2 * MB - 1, MB)  # the file was cut meanwhile


def test_a_file_system_that_does_not_tell(fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "preadv", refuse)
    monkeypatch.setattr(page_cache, "_END", MB)
    assert page_cache.is_cached(fd, MB, 100)
    assert not page_cache.is_cached(fd, MB - 1, 100)
    assert page_cache.read_cached(fd, 10, MB) == CONTENT[:10]
    with pytest.raises(BlockingIOError):
        page_cache.read_cached(fd, 10, MB - 1)


def test_a_disk_that_fails(fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "preadv", fail)
    with pytest.raises(OSError, match="Input/output"):
        page_cache.is_cached(fd, 0, 10)
    with pytest.raises(OSError, match="Input/output"):
        page_cache.read_cached(fd, 10, 0)
