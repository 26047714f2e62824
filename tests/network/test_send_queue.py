"""Whatever is put in comes out of the socket, in order, however little the kernel takes at a time, and whenever it is ready."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.common import page_cache
from kafkapy.common.capabilities import SENDFILE
from kafkapy.network import send_queue
from kafkapy.network.send_queue import LOADED_CHUNK, SENDFILE_CHUNK, Part, SendQueue, Unready
from kafkapy.record.file_records import FileRecords
from kafkapy.record.lazy_records import LazyRecords
from kafkapy.runtime.completion import spawn

CONTENT = bytes(range(251)) * 2000


@contextmanager
def queue_and_reader(sendfile: bool = SENDFILE) -> Iterator[tuple[SendQueue, socket.socket]]:
    writer, reader = socket.socketpair()
    with writer, reader:
        for end in (writer, reader):
            end.setblocking(False)
        writer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)  # the least that the kernel allows
        yield SendQueue(writer, sendfile), reader


def read(reader: socket.socket, size: int) -> bytes:
    try:
        return reader.recv(size)
    except BlockingIOError:
        return b""


class Made(LazyRecords):
    """`size` bytes of CONTENT, `step` at a time."""

    def __init__(self, size: int, step: int) -> None:
        self.size, self.step = size, step
        self.made = 0

    def __len__(self) -> int:
        return self.size - self.made

    async def next_piece(self) -> bytes:
        piece = CONTENT[self.made : self.size][: self.step]
        self.made += len(piece)
        return piece


def make_ready(queue: SendQueue, part: Unready | None) -> None:
    """As a transport does, but at once; a slice is in memory anyway."""
    if part is not None:
        queue.ready(part, spawn(part.next_piece()).result() if isinstance(part, LazyRecords) else b"")


buffers = st.binary(max_size=40) | st.integers(0, 9000).map(lambda size: CONTENT[:size])
slices = st.tuples(st.integers(0, 1000), st.sampled_from([0, 1, 3000, 1 << 15, (1 << 15) + 1, 90_000]))
late = st.builds(Made, st.integers(0, 90_000), st.sampled_from([1000, 100_000]))


def bytes_of(part: Part) -> bytes:
    if isinstance(part, LazyRecords):
        return CONTENT[: len(part)]
    return part.read() if isinstance(part, FileRecords) else bytes(part)


@given(st.lists(buffers | st.lists(buffers | slices | late, max_size=8), max_size=8), st.data())
@settings(max_examples=100, deadline=None)
def test_everything_arrives_in_order(
    given_parts: list[bytes | list[bytes | tuple[int, int] | Made]], data: st.DataObject
) -> None:
    expected = received = b""
    is_cached, read_cached = page_cache.is_cached, page_cache.read_cached

    def sometimes_cached(fd: int, position: int, size: int) -> bool:
        return data.draw(st.booleans()) and is_cached(fd, position, size)

    def sometimes_read(fd: int, size: int, position: int) -> bytes | bytearray:
        if data.draw(st.booleans()):
            raise BlockingIOError
        return read_cached(fd, size, position)

    with (
        TemporaryDirectory() as directory,
        queue_and_reader(data.draw(st.booleans())) as (queue, reader),
        patch.object(page_cache, "is_cached", sometimes_cached),
        patch.object(page_cache, "read_cached", sometimes_read),
        patch.object(page_cache, "SLOW_SEND_SECONDS", float("inf")),  # a busy machine would decide what is drawn next
    ):
        path = Path(directory, "log")
        path.write_bytes(CONTENT)
        with open(path, "rb") as file:
            for given_part in given_parts:
                if isinstance(given_part, bytes):
                    queue.send(given_part)
                    expected += given_part
                else:
                    parts: list[Part] = [
                        FileRecords(file, *part) if isinstance(part, tuple) else part for part in given_part
                    ]
                    expected += b"".join(bytes_of(part) for part in parts)
                    make_ready(queue, queue.send_parts(parts))
                received += read(reader, data.draw(st.sampled_from([1, 700, 100_000])))
                make_ready(queue, queue.flush())
            while True:
                received += (some := read(reader, 100_000))
                if not some and not queue.queued_bytes:
                    break
                make_ready(queue, queue.flush())
    assert received == expected


@pytest.mark.parametrize("size", [100, 50_000])
@pytest.mark.parametrize("sendfile", [True, False])
def test_a_truncated_file_breaks_the_connection(tmp_path: Path, size: int, sendfile: bool) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x" * 10)
    with (
        queue_and_reader(sendfile) as (queue, reader),
        open(path, "rb") as file,
        pytest.raises(OSError, match="truncated"),
    ):
        for _ in range(2):
            queue.send_parts([FileRecords(file, 0, size)])
            read(reader, size)
            queue.flush()


def test_what_is_cleared_is_not_sent() -> None:
    with queue_and_reader() as (queue, reader):
        queue.send_parts([CONTENT, CONTENT])
        assert queue.queued_bytes > len(CONTENT)
        queue.clear()
        assert queue.queued_bytes == 0
        while read(reader, 100_000):
            pass
        queue.send(b"next")
        assert read(reader, 100) == b"next"


def cold(*_: object) -> bool:
    return False


@pytest.mark.parametrize("later", [False, True])
def test_a_slice_on_the_disk_is_given_back_once_and_sent_piece_by_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, later: bool
) -> None:
    now = 0.0
    monkeypatch.setattr(page_cache, "is_cached", cold)
    monkeypatch.setattr(send_queue, "monotonic", lambda: now)
    path = tmp_path / "log"
    path.write_bytes(bytes(3 * LOADED_CHUNK))
    with queue_and_reader() as (queue, reader), open(path, "rb") as file:
        records = FileRecords(file, 10, 2 * LOADED_CHUNK)
        assert queue.send_parts([b"head", records]) is records
        assert queue.next_slice(records) == (10, LOADED_CHUNK)
        assert read(reader, 100) == b"head"
        assert (queue.flush(), queue.send_parts([b"more"])) == (None, None)
        assert read(reader, 100) == b""  # it waits
        queue.ready(records, b"")
        assert (queue.flush(), len(read(reader, 1 << 20)) > 0) == (None, True)
        position, _ = queue.next_slice(records)
        assert position > 10  # the kernel took some
        if later:
            now += 1.1
            assert queue.flush() is records, "who goes on so long after has to look again"
            assert queue.next_slice(records)[0] == position
        else:
            while (part := queue.flush()) is None:
                read(reader, 1 << 20)
            assert part is records
            assert queue.next_slice(records)[0] > 10 + LOADED_CHUNK - SENDFILE_CHUNK


def test_others_get_their_turn_after_a_slice_that_took_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Part of it was on the disk, between the bytes that were looked at."""
    path = tmp_path / "log"
    path.write_bytes(bytes(4 * SENDFILE_CHUNK))
    sizes: list[int] = []
    said: list[int] = []
    now, blocks, asked = 0.0, 7, 0

    def slow(_to: int, _from: int, _position: int, count: int) -> int:
        nonlocal now, blocks
        sizes.append(count)
        now += page_cache.SLOW_SEND_SECONDS
        blocks += 1
        return count

    def count_blocks() -> int:
        nonlocal asked
        asked += 1
        return blocks

    monkeypatch.setattr(os, "sendfile", slow)
    monkeypatch.setattr(send_queue, "monotonic", lambda: now)
    monkeypatch.setattr(page_cache, "blocks_read", count_blocks)
    monkeypatch.setattr(page_cache, "report_slow_send", said.append)
    with queue_and_reader() as (queue, _), open(path, "rb") as file:
        queue.send_parts([FileRecords(file, 0, 4 * SENDFILE_CHUNK)])
        assert (sizes, said) == ([SENDFILE_CHUNK], [7])
        queue.flush()
        assert (sizes, said) == ([SENDFILE_CHUNK] * 2, [7, 8]), "what was read before it is not its own"
        monkeypatch.setattr(os, "sendfile", lambda _to, _from, _position, count: count)
        before = asked
        queue.flush()
        assert asked == before + 1, "for all that is found in memory together, once"


def test_a_small_slice_on_the_disk_is_not_read_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cache, "is_cached", cold)
    path = tmp_path / "log"
    path.write_bytes(CONTENT)

    def nothing(*_: object) -> bytes:
        raise BlockingIOError

    monkeypatch.setattr(page_cache, "read_cached", nothing)
    with queue_and_reader() as (queue, reader), open(path, "rb") as file:
        records = FileRecords(file, 5, 100)
        assert queue.send_parts([b"head", records, b"tail"]) is records
        queue.ready(records, b"")
        queue.flush()
        assert read(reader, 1000) == b"head" + CONTENT[5:105] + b"tail"


def test_what_is_ready_after_the_end_of_a_connection_is_dropped() -> None:
    with queue_and_reader() as (queue, _):
        records = Made(1000, 100)
        assert queue.send_parts([records]) is records
        queue.clear()
        make_ready(queue, records)
        assert (queue.queued_bytes, queue.flush()) == (0, None)
