"""What one connection has still to send: buffers, slices of files that go to the socket without being read, and bytes that are
made when it is their turn.
"""

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
from kafkapy.record.late_records import LateRecords

SENDFILE_CHUNK: Final = page_cache.PROBE_STRIDE
"""Bytes handed to one `sendfile` call: large enough to be cheap, small enough that others needn't wait long if some of them
have to come from the disk after all."""

READ_CHUNK: Final = 1 << 17
"""Bytes that are read and sent where there is no `sendfile`, or where they are encrypted; what is not taken is read again."""

LOADED_CHUNK: Final = 1 << 20
"""Bytes of a slice that are looked for in memory, or brought there by a thread, in one go."""

SENDS_PER_TURN: Final = 4
"""System calls of one `flush` before the reactor looks at other connections: with `SENDFILE_CHUNK` 2 MB, some 0.6 ms at the
0.29 s/GB of a bare loop of `sendfile` (docs/benchmarks.md)."""

_COALESCE: Final = 1 << 16
"""Bytes after which one `sendmsg` takes no further small part: to copy so many costs more than a system call."""
_MAX_BUFFERS: Final = 64
"""Parts of one `sendmsg`, so that a list of many small ones is not gone through again and again; the kernel takes 1,024
(IOV_MAX)."""
_SMALL_FILES: Final = 1 << 15
"""Slices of so few bytes together are read and sent with what is around them: one packet, where `sendfile` makes the peer
wake for each piece."""

_MSG_MORE: Final[int] = getattr(socket, "MSG_MORE", 0)

Buffer = bytes | bytearray | memoryview
Unready = FileRecords | LateRecords
"""A slice that is not in memory, or bytes that are not made yet."""
Part = Buffer | Unready


class Sends(Protocol):
    """What a queue needs of a socket, or of TLS over one. `BlockingIOError` if nothing can be sent now."""

    def fileno(self) -> int: ...

    def send(self, data: bytes, /) -> int: ...

    def sendmsg(self, buffers: Iterable[Buffer], ancdata: Any = (), flags: int = 0, /) -> int: ...


class SendQueue:
    """Everything raises `OSError` if the connection is broken, or a file was truncated below what was to be sent of it.

    Nothing here waits for a disk: a slice is sent if it is in the page cache. If it is not, or if bytes are late, whoever sends
    gets the part back, has it made ready (`next_slice`, `LateRecords.next_piece`) and says so (`ready`).

    Invariant: `_parts` holds what was given and is not yet in the kernel, in order, without the first `_sent` bytes of the
    first part; `queued_bytes` is its size. No part is empty. While `waiting`, the first part is being made ready, and nothing is
    sent. `_loaded` bytes that come next in the first part, a slice, were found in memory, and count as being there until
    `_loaded_until` of the monotonic clock; this thread had read `_blocks_read` then.
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

    def __init__(self, connection: Sends, sendfile: bool = SENDFILE) -> None:
        """The connection must not block. `sendfile`: may slices go to it without being read?"""
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

    def send_parts(self, parts: Iterable[Part]) -> Unready | None:
        """Add them, and send what the kernel takes now; what it returns, see `flush`."""
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
        """Send as much as the kernel takes, in a few system calls. A part that must be made ready first is returned, once."""
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
            assert isinstance(head, FileRecords | LateRecords)
            return head
        return None

    def _send_some(self) -> bool:
        """One system call; False when the kernel took less than it was offered (its buffer is full), or it is others' turn."""
        head = self._parts[0]
        if isinstance(head, FileRecords):
            return self._send_file(head)
        if isinstance(head, LateRecords):
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
        in_time = monotonic() - began < page_cache.LONG_SECONDS
        if not in_time:
            page_cache.took_long(self._blocks_read)
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
        """Only now is it asked how many blocks the thread has read: it reads few others before all of this is sent."""
        self._loaded = size
        self._loaded_until = now + page_cache.DOUBT_SECONDS
        self._blocks_read = page_cache.blocks_read()

    def next_slice(self, records: FileRecords) -> tuple[int, int]:
        """(position, size) of what has to be in memory before `records`, the first part, is sent on."""
        return records.position + self._sent, min(records.size - self._sent, LOADED_CHUNK)

    def ready(self, part: Unready, piece: bytes) -> None:
        """Of the first part the next slice is in memory, or the next `piece` made. Ignored after `clear`."""
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
        """What lies before the next part of another kind."""
        buffers: list[Buffer] = [memoryview(head)[self._sent :] if self._sent else head]
        offered = len(head) - self._sent
        more = 0
        for index in range(1, min(len(self._parts), _MAX_BUFFERS)):
            part = self._parts[index]
            if isinstance(part, FileRecords | LateRecords):
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
    """Its bytes, or the slice itself if they have to be read from the disk."""
    try:
        data = page_cache.read_cached(records.fileno(), records.size, records.position)
    except BlockingIOError:
        return records
    if len(data) < records.size:
        _truncated()
    return data


def _truncated() -> None:
    raise OSError("the log was truncated below a response that was being sent")
