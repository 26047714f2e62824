"""What one connection has still to send: buffers, and slices of files that go to the socket without being read."""

from __future__ import annotations

import os
import socket
from collections import deque
from collections.abc import Iterable
from typing import Final

from kafkapy.record.file_records import FileRecords

SENDFILE_CHUNK: Final = 1 << 20
"""Bytes handed to one `sendfile` call: large enough to be cheap, small enough that other connections get their turn."""

SENDS_PER_TURN: Final = 4
"""System calls of one `flush` before the reactor looks at other connections."""

_COALESCE: Final = 1 << 16
_MAX_BUFFERS: Final = 64
_SMALL_FILES: Final = 1 << 15
"""Slices of so few bytes together are read and sent with what is around them: one packet, where `sendfile` makes the peer
wake for each piece."""

_MSG_MORE: Final[int] = getattr(socket, "MSG_MORE", 0)

Part = bytes | bytearray | memoryview | FileRecords


class SendQueue:
    """Everything raises `OSError` if the connection is broken, or a file was truncated below what was to be sent of it.

    Invariant: `_parts` holds what was given and is not yet in the kernel, in order, without the first `_sent` bytes of the
    first part; `queued_bytes` is its size. No part is empty.
    """

    __slots__ = ("_parts", "_sent", "_socket", "queued_bytes")

    def __init__(self, connection: socket.socket) -> None:
        """The socket must not block."""
        self._socket = connection
        self._parts: deque[Part] = deque()
        self._sent = 0
        self.queued_bytes = 0

    def clear(self) -> None:
        self._parts.clear()
        self._sent = self.queued_bytes = 0

    def send(self, data: bytes) -> None:
        """The usual answer, which is small and which the kernel takes whole."""
        if self.queued_bytes:
            self.send_parts((data,))
            return
        try:
            count = self._socket.send(data)
        except BlockingIOError:
            count = 0
        size = len(data)
        if count < size:
            self._parts.append(data)
            self._sent = count
            self.queued_bytes = size - count

    def send_parts(self, parts: Iterable[Part]) -> None:
        """Add them, and send what the kernel takes now."""
        idle = not self.queued_bytes
        small = _SMALL_FILES
        for part in parts:
            size = len(part)
            if isinstance(part, FileRecords) and size <= small:
                small -= size
                part = part.read()
                if len(part) < size:
                    _truncated()
            if size:
                self._parts.append(part)
                self.queued_bytes += size
        if idle:
            self.flush()

    def flush(self) -> None:
        """Send as much as the kernel takes, in a few system calls."""
        try:
            for _ in range(SENDS_PER_TURN):
                if not self._parts or not self._send_some():
                    return
        except BlockingIOError:
            pass

    def _send_some(self) -> bool:
        """One system call; False when the kernel took less than it was offered (its buffer is full)."""
        head = self._parts[0]
        if isinstance(head, FileRecords):
            return self._send_file(head)
        return self._send_buffers(head)

    def _send_file(self, records: FileRecords) -> bool:
        sent = self._sent
        offered = min(records.size - sent, SENDFILE_CHUNK)
        count = os.sendfile(self._socket.fileno(), records.fileno(), records.position + sent, offered)
        if not count:
            _truncated()
        self.queued_bytes -= count
        sent += count
        if sent == records.size:
            self._parts.popleft()
            sent = 0
        self._sent = sent
        return count == offered

    def _send_buffers(self, head: bytes | bytearray | memoryview) -> bool:
        """What lies before the next file."""
        buffers: list[bytes | bytearray | memoryview] = [memoryview(head)[self._sent :] if self._sent else head]
        offered = len(head) - self._sent
        more = 0
        for index in range(1, min(len(self._parts), _MAX_BUFFERS)):
            part = self._parts[index]
            if isinstance(part, FileRecords):
                more = _MSG_MORE
                break
            if offered >= _COALESCE:
                break
            buffers.append(part)
            offered += len(part)
        count = self._socket.sendmsg(buffers, (), more)
        self.queued_bytes -= count
        complete = count == offered
        count += self._sent
        while count:
            size = len(self._parts[0])
            if count < size:
                break
            count -= size
            self._parts.popleft()
        self._sent = count
        return complete


def _truncated() -> None:
    raise OSError("the log was truncated below a response that was being sent")
