"""The send queue of a connection: buffers, file slices for `sendfile`, and parts that are made just before they are
sent."""

from __future__ import annotations

import os
import socket
from collections import deque
from collections.abc import Iterable
from time import monotonic
from typing import Any, Final, Protocol

from kafkapy.common import page_cache
from kafkapy.common.capabilities import SENDFILE
from kafkapy.record.file_records import FileRecords
from kafkapy.record.lazy_records import LazyRecords

SENDFILE_CHUNK: Final = page_cache.PROBE_STRIDE
"""Bytes of one `sendfile` call.

More would be cheaper per byte, but delay other connections if some of them are not in memory."""

READ_CHUNK: Final = 1 << 17
"""Bytes that are read and sent at once where `sendfile` is not available or TLS encrypts; unsent bytes are read again.
"""

LOADED_CHUNK: Final = 1 << 20
"""Bytes of a slice that are checked for in the page cache, or loaded by a thread, at once."""

SENDS_PER_TURN: Final = 4
"""System calls of one `flush` before the reactor serves other connections: up to 2 MB with `SENDFILE_CHUNK`, about 0.6
ms."""

_COALESCE: Final = 1 << 16
"""Bytes after which one `sendmsg` takes no further small part: copying more costs more than a system call."""
_MAX_BUFFERS: Final = 64
"""Parts of one `sendmsg`, so that a long list of small ones is not walked again and again.

The kernel's limit is 1,024 (IOV_MAX)."""
_SMALL_FILES: Final = 1 << 15
"""File slices of at most this many bytes in total are read and sent with the buffers around them, in one packet;
`sendfile` would wake the peer for each part.
"""

_MSG_MORE: Final[int] = getattr(socket, "MSG_MORE", 0)

Buffer = bytes | bytearray | memoryview
Unready = FileRecords | LazyRecords
"""A slice that is not in the page cache, or a part that is not made yet."""
Part = Buffer | Unready


class SendingSocket(Protocol):
    """What a queue needs of a socket, or of TLS over one. Raises `BlockingIOError` if nothing can be sent now."""

    def fileno(self) -> int: ...

    def send(self, data: bytes, /) -> int: ...

    def sendmsg(self, buffers: Iterable[Buffer], ancdata: Any = (), flags: int = 0, /) -> int: ...


class SendQueue:
    """The unsent parts of a connection's responses.

    All methods raise `OSError` if the connection is broken, or a file was truncated.

    The queue never blocks on a disk: it sends a slice only if that is in the page cache. Otherwise, and for parts that
    are not made yet, the caller gets the part back, prepares it (`next_slice`, `LazyRecords.next_piece`) and calls
    `ready`.

    Invariant: `_parts` holds what is not yet in the kernel, in order, without the first `_sent` bytes of the first
    part; `queued_bytes` is its size. No part is empty. While `waiting`, the first part is being prepared, and nothing
    is sent. The next `_loaded` bytes of the first part, a slice, were found in the page cache, and count as cached
    until `_loaded_until` of the monotonic clock; this thread had read `_blocks_read` blocks then.
    """

    __slots__ = (
        "_blocks_read",
        "_chunk",
        "_loaded",
        "_loaded_until",
        "_parts",
        "_sendfile",
        "_sent",
        "_socket",
        "queued_bytes",
        "waiting",
    )

    def __init__(self, connection: SendingSocket, sendfile: bool = SENDFILE) -> None:
        """`connection`: a non-blocking socket. `sendfile`: whether slices may be sent without being read."""
        self._socket = connection
        self._sendfile = sendfile
        self._chunk = SENDFILE_CHUNK if sendfile else READ_CHUNK
        self._parts: deque[Part] = deque()
        self._sent = 0
        self._loaded = 0
        self._loaded_until = 0.0
        self._blocks_read = 0
        self.queued_bytes = 0
        self.waiting = False

    def clear(self) -> None:
        self._parts.clear()
        self._sent = self._loaded = self.queued_bytes = 0
        self.waiting = False

    def send(self, data: bytes) -> None:
        """Send a small buffer, which the kernel usually takes whole."""
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

    def send_parts(self, parts: Iterable[Part]) -> Unready | None:
        """Append the parts, and send what the kernel takes now. Returns as `flush` does."""
        idle = not self.queued_bytes
        small = _SMALL_FILES
        for part in parts:
            size = len(part)
            if isinstance(part, FileRecords) and size <= small:
                small -= size
                part = _in_memory(part)
            if size:
                self._parts.append(part)
                self.queued_bytes += size
        return self.flush() if idle else None

    def flush(self) -> Unready | None:
        """Send as much as the kernel takes, in a few system calls. Returns a part that must be prepared first, once."""
        if self.waiting:
            return None
        try:
            for _ in range(SENDS_PER_TURN):
                if not self._parts or not self._send_some():
                    break
        except BlockingIOError:
            pass
        if self.waiting:
            head = self._parts[0]
            assert isinstance(head, FileRecords | LazyRecords)
            return head
        return None

    def _send_some(self) -> bool:
        """Make one system call.

        Returns False if the kernel took less than offered (its buffer is full), or it was slow."""
        head = self._parts[0]
        if isinstance(head, FileRecords):
            return self._send_file(head)
        if isinstance(head, LazyRecords):
            self.waiting = True
            return False
        return self._send_buffers(head)

    def _send_file(self, records: FileRecords) -> bool:
        sent = self._sent
        position, offered = records.position + sent, min(records.size - sent, self._chunk)
        began = monotonic()
        if self._loaded < offered or began > self._loaded_until:
            ahead = min(records.size - sent, LOADED_CHUNK)
            if not page_cache.is_cached(records.fileno(), position, ahead):
                self.waiting = True
                return False
            self._is_loaded(ahead, began)
        count = self._send_slice(records.fileno(), position, offered)
        if not count:
            _truncated()
        self._loaded -= count
        in_time = monotonic() - began < page_cache.SLOW_SEND_SECONDS
        if not in_time:
            page_cache.report_slow_send(self._blocks_read)
            self._loaded = 0
        self.queued_bytes -= count
        sent += count
        if sent == records.size:
            self._parts.popleft()
            sent = self._loaded = 0
        self._sent = sent
        return in_time and count == offered

    def _send_slice(self, file: int, position: int, size: int) -> int:
        if self._sendfile:
            return os.sendfile(self._socket.fileno(), file, position, size)
        data = os.pread(file, size, position)
        return self._socket.send(data) if data else 0

    def _is_loaded(self, size: int, now: float) -> None:
        """Note the cached bytes.

        The thread's block count is read only now: it reads few other blocks before all of this is sent."""
        self._loaded = size
        self._loaded_until = now + page_cache.FULL_SCAN_SECONDS
        self._blocks_read = page_cache.blocks_read()

    def next_slice(self, records: FileRecords) -> tuple[int, int]:
        """Return (position, size) of the bytes of `records`, the first part, that must be in memory next."""
        return records.position + self._sent, min(records.size - self._sent, LOADED_CHUNK)

    def ready(self, part: Unready, piece: bytes) -> None:
        """Continue: the next slice of the first part is in memory, or its next `piece` made. Ignored after `clear`."""
        if not self.waiting or self._parts[0] is not part:
            return
        self.waiting = False
        if isinstance(part, FileRecords):
            self._is_loaded(LOADED_CHUNK, monotonic())
            return
        if not len(part):
            self._parts.popleft()
        self._parts.appendleft(piece)

    def _send_buffers(self, head: Buffer) -> bool:
        """Send the buffers up to the next part of another kind."""
        buffers: list[Buffer] = [memoryview(head)[self._sent :] if self._sent else head]
        offered = len(head) - self._sent
        more = 0
        for index in range(1, min(len(self._parts), _MAX_BUFFERS)):
            part = self._parts[index]
            if isinstance(part, FileRecords | LazyRecords):
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


def _in_memory(records: FileRecords) -> Part:
    """Return the bytes of a slice, or the slice itself if they would have to be read from the disk."""
    try:
        data = page_cache.read_cached(records.fileno(), records.size, records.position)
    except BlockingIOError:
        return records
    if len(data) < records.size:
        _truncated()
    return data


def _truncated() -> None:
    raise OSError("the log was truncated below a response that was being sent")
