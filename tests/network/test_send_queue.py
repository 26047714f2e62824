"""Whatever is put in comes out of the socket, in order, however little the kernel takes at a time."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.network.send_queue import Part, SendQueue
from kafkapy.record.file_records import FileRecords

CONTENT = bytes(range(251)) * 2000


@contextmanager
def queue_and_reader() -> Iterator[tuple[SendQueue, socket.socket]]:
    writer, reader = socket.socketpair()
    with writer, reader:
        for end in (writer, reader):
            end.setblocking(False)
        writer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)  # the least that the kernel allows
        yield SendQueue(writer), reader


def read(reader: socket.socket, size: int) -> bytes:
    try:
        return reader.recv(size)
    except BlockingIOError:
        return b""


buffers = st.binary(max_size=40) | st.integers(0, 9000).map(lambda size: CONTENT[:size])
slices = st.tuples(st.integers(0, 1000), st.sampled_from([0, 1, 3000, 1 << 15, (1 << 15) + 1, 90_000]))


@given(st.lists(buffers | st.lists(buffers | slices, max_size=8), max_size=8), st.data())
@settings(max_examples=100, deadline=None)
def test_everything_arrives_in_order(
    given_parts: list[bytes | list[bytes | tuple[int, int]]], data: st.DataObject
) -> None:
    expected = received = b""
    with TemporaryDirectory() as directory, queue_and_reader() as (queue, reader):
        path = Path(directory, "log")
        path.write_bytes(CONTENT)
        with open(path, "rb") as file:
            for given_part in given_parts:
                if isinstance(given_part, bytes):
                    queue.send(given_part)
                    expected += given_part
                else:
                    parts: list[Part] = [
                        FileRecords(file, *part) if isinstance(part, tuple) else memoryview(part) for part in given_part
                    ]
                    queue.send_parts(parts)
                    expected += b"".join(part.read() if isinstance(part, FileRecords) else part for part in parts)
                received += read(reader, data.draw(st.sampled_from([1, 700, 100_000])))
                queue.flush()
            while True:
                received += (some := read(reader, 100_000))
                if not some and not queue.queued_bytes:
                    break
                queue.flush()
    assert received == expected


@pytest.mark.parametrize("size", [100, 50_000])
def test_a_truncated_file_breaks_the_connection(tmp_path: Path, size: int) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x" * 10)
    with queue_and_reader() as (queue, reader), open(path, "rb") as file, pytest.raises(OSError, match="truncated"):
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
