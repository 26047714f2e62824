"""Plaintext TCP under a Kafka channel: reads without copies, file slices by `sendfile`.

Twisted's own `tcp.Server` copies what it reads into a new `bytes` and what it writes into one buffer. A broker moves megabytes,
so both halves are replaced: `doRead` receives into memory that the channel offers, `doWrite` sends a queue of buffers and
`FileRecords` slices, the latter by `os.sendfile`.
"""

from __future__ import annotations

import os
import socket
from collections import deque
from collections.abc import Iterable
from typing import Any, Protocol

from twisted.internet import main, tcp
from twisted.python.failure import Failure

from kafkapy.record.file_records import FileRecords

SENDFILE_CHUNK = 1 << 20
"""Bytes handed to one `sendfile` call: large enough to be cheap, small enough that other connections get their turn."""

SENDS_PER_TURN = 4
"""System calls of one `doWrite` before the reactor looks at other connections."""

_COALESCE = 1 << 16
_SMALL_FILES = 1 << 15
"""Slices of so few bytes together are read and sent with what is around them: one packet, where `sendfile` makes the peer
wake for each piece."""

_MSG_MORE: int = getattr(socket, "MSG_MORE", 0)

Part = bytes | bytearray | memoryview | FileRecords


class BufferedReceiver(Protocol):
    """What the transport needs of the protocol above it."""

    def receive_buffer(self) -> memoryview:
        """Writable memory for the next bytes (not empty)."""
        ...

    def bytes_received(self, count: int) -> None:
        """`count` bytes were put into the memory given last."""
        ...

    @property
    def muted(self) -> bool:
        """True while nothing may be read."""
        ...

    def drained(self) -> None:
        """All that had to wait in the transport's queue was sent."""
        ...


class PlaintextTransport(tcp.Server):
    """One accepted connection.

    Invariant: `_queue` holds what was accepted by `send_parts` and is not yet in the kernel, in order; the transport is
    registered for writing exactly when `_queue` is not empty.
    """

    protocol: Any

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._queue: deque[memoryview | FileRecords] = deque()
        self.queued_bytes = 0

    # ------------------------------------------------------------------------------------------------ reading

    def doRead(self) -> Any:
        channel: BufferedReceiver = self.protocol
        if channel.muted:
            # Lazy mute: most requests are answered before more bytes arrive, so the reactor is only told now.
            self.stopReading()
            return None
        try:
            count = self.socket.recv_into(channel.receive_buffer())
        except BlockingIOError:
            return None
        except OSError:
            return main.CONNECTION_LOST
        if not count:
            return main.CONNECTION_DONE
        channel.bytes_received(count)
        return None

    def resume_reading(self) -> None:
        if self.connected and not self.disconnecting:
            self.startReading()

    # ------------------------------------------------------------------------------------------------ writing

    def send(self, data: bytes) -> None:
        """Send one buffer: the usual answer, which is small and which the kernel takes whole."""
        if self._queue or not self.connected or self.disconnecting:
            return self.send_parts((data,))
        try:
            count = self.socket.send(data)
        except BlockingIOError:
            count = 0
        except OSError:
            return self._fail(main.CONNECTION_LOST)
        if count < len(data):
            self._queue.append(memoryview(data)[count:])
            self.queued_bytes += len(data) - count
            self.startWriting()
        return None

    def send_parts(self, parts: Iterable[Part]) -> None:
        """Send buffers and file slices in order; what the kernel does not take now waits in the queue."""
        if not self.connected or self.disconnecting:
            return
        idle = not self._queue
        small = _SMALL_FILES
        for part in parts:
            size = len(part)
            if isinstance(part, FileRecords) and size <= small:
                small -= size
                part = part.read()
                if len(part) < size:
                    self._fail(main.CONNECTION_LOST)  # truncated meanwhile, as in `_send_file`
                    return
            if size:
                self._queue.append(part if isinstance(part, FileRecords) else memoryview(part))
                self.queued_bytes += size
        if idle and self._queue:
            result = self._flush()
            if result is not None:
                self._fail(result)
            elif self._queue:
                self.startWriting()

    def doWrite(self) -> Any:
        result = self._flush()
        if result is not None:
            return result
        if not self._queue:
            self.stopWriting()
            if self.disconnecting:
                return main.CONNECTION_DONE
            self.protocol.drained()
        return None

    def _flush(self) -> Exception | None:
        try:
            for _ in range(SENDS_PER_TURN):
                if not self._queue or not self._send_some():
                    return None
        except BlockingIOError:
            return None
        except OSError:
            return main.CONNECTION_LOST
        return None

    def _send_some(self) -> bool:
        """One system call; False when the kernel took less than it was offered (its buffer is full)."""
        head = self._queue[0]
        if isinstance(head, FileRecords):
            return self._send_file(head)
        if len(self._queue) == 1:
            return self._sent(self.socket.send(head), len(head))
        buffers: list[memoryview] = []
        offered = 0
        more = 0
        for part in self._queue:
            if isinstance(part, FileRecords):
                more = _MSG_MORE
                break
            buffers.append(part)
            offered += len(part)
            if offered >= _COALESCE or len(buffers) >= 64:
                break
        return self._sent(self.socket.sendmsg(buffers, (), more), offered)

    def _sent(self, count: int, offered: int) -> bool:
        self.queued_bytes -= count
        complete = count == offered
        while count:
            head = self._queue[0]
            assert isinstance(head, memoryview)
            if count < len(head):
                self._queue[0] = head[count:]
                break
            count -= len(head)
            self._queue.popleft()
        return complete

    def _send_file(self, records: FileRecords) -> bool:
        offered = min(records.size, SENDFILE_CHUNK)
        count = os.sendfile(self.socket.fileno(), records.fileno(), records.position, offered)
        if count == 0:
            raise OSError("the log was truncated below a response that was being sent")
        self.queued_bytes -= count
        if count == records.size:
            self._queue.popleft()
        else:
            self._queue[0] = FileRecords(records.file, records.position + count, records.size - count)
        return count == offered

    def _fail(self, error: Exception) -> None:
        """The connection broke while it was written outside of `doWrite`: close it on the reactor's next turn."""
        self._queue.clear()
        self.queued_bytes = 0
        self.reactor.callLater(0, self._close_failed, error)

    def _close_failed(self, error: Exception) -> None:
        if self.connected and not self.disconnected:
            self.connectionLost(Failure(error))

    # ------------------------------------------------------------------------------------------------ closing

    def close(self) -> None:
        """Close after what is queued was sent."""
        if not self.connected or self.disconnecting:
            return
        if self._queue:
            self.disconnecting = True
            self.stopReading()
        else:
            self.close_now()

    def close_now(self) -> None:
        """Close without sending what is queued."""
        if self.connected:
            self._queue.clear()
            self.queued_bytes = 0
            self.disconnecting = True
            self.stopReading()
            self.stopWriting()
            self.reactor.callLater(0, self._close_failed, main.CONNECTION_DONE)

    def connectionLost(self, reason: Failure) -> None:
        self._queue.clear()
        self.queued_bytes = 0
        super().connectionLost(reason)


class PlaintextPort(tcp.Port):
    """A listening port whose connections are `PlaintextTransport`s."""

    transport = PlaintextTransport  # type: ignore[assignment]

    def createInternetSocket(self) -> socket.socket:
        """A socket bound to `::` serves IPv4 too, whatever the system's default is."""
        made: socket.socket = super().createInternetSocket()
        if self.addressFamily == socket.AF_INET6 and self.interface == "::":
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        return made

    def doRead(self) -> None:
        """Take one connection, where Twisted takes as many as there are: the next one may be too many."""
        self.numberAccepts = 1
        super().doRead()
