"""Plaintext TCP for a Kafka channel: reads without copies, sends file slices by `sendfile`.

Twisted's `tcp.Server` copies what it reads into a new `bytes`, and what it writes into one buffer. Here `doRead`
receives into the channel's memory, and `doWrite` sends from a `SendQueue`.
"""

from __future__ import annotations

import logging
import socket
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Protocol

from twisted.internet import error, main, tcp
from twisted.python.failure import Failure

from kafkapy.common import page_cache
from kafkapy.network.send_queue import Part, SendQueue, Unready
from kafkapy.record.file_records import FileRecords
from kafkapy.runtime.clock import InThread
from kafkapy.runtime.completion import spawn
from kafkapy.runtime.direct_descriptor import DirectDescriptor

log = logging.getLogger("kafkapy.network.SocketServer")

MAX_ACCEPTED = 1000
"""Sockets that are accepted but not yet connections. Each is a descriptor, like those in the kernel's queue."""


class BufferedReceiver(Protocol):
    """What the transport needs of the protocol above it."""

    def receive_buffer(self) -> memoryview:
        """Return writable memory for the next bytes (not empty)."""
        ...

    def bytes_received(self, count: int) -> None:
        """Handle `count` bytes that were put into the buffer returned last."""
        ...

    @property
    def muted(self) -> bool:
        """True while nothing may be read."""
        ...

    def drained(self) -> None:
        """Called when everything that was queued has been sent."""
        ...


class AcceptPolicy(Protocol):
    """What the port needs of its factory, beside Twisted's own methods."""

    @property
    def cold_reads(self) -> InThread:
        """Threads that load data from the disk into the page cache before it is sent."""
        ...

    def free_slots(self) -> int:
        """Return how many more connections may be accepted; 0 or less only while accepted ones wait to become
        connections."""
        ...

    def should_yield(self) -> bool:
        """Return whether other work should run before more connections are made."""
        ...

    def close_refused(self, connection: socket.socket) -> None:
        """Close the connection that was refused last."""
        ...


class PlaintextTransport(DirectDescriptor, tcp.Server):
    """An accepted connection.

    Invariant: it is registered for writing exactly while `outgoing` is not empty and does not wait.
    """

    protocol: Any

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.outgoing = SendQueue(self.socket)

    # ------------------------------------------------------------------------------------------------ reading

    def doRead(self) -> Any:
        channel: BufferedReceiver = self.protocol
        if channel.muted:
            # Lazy mute: most requests are answered before more bytes arrive, so reading stops only now.
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
        """Send one buffer; queue what the kernel does not take."""
        if not self.connected or self.disconnecting:
            return
        try:
            self.outgoing.send(data)
        except OSError:
            self._fail()
        else:
            if self.outgoing.queued_bytes:
                self.startWriting()

    def send_parts(self, parts: Iterable[Part]) -> None:
        """Send buffers and file slices in order; queue what the kernel does not take."""
        if not self.connected or self.disconnecting:
            return
        outgoing = self.outgoing
        try:
            unready = outgoing.send_parts(parts)
        except OSError:
            self._fail()
            return
        if unready is not None:
            spawn(self._make_ready(unready))
        elif outgoing.queued_bytes and not outgoing.waiting:
            self.startWriting()

    def doWrite(self) -> Any:
        try:
            unready = self.outgoing.flush()
        except OSError:
            return main.CONNECTION_LOST
        if unready is not None:
            self.stopWriting()
            spawn(self._make_ready(unready))
        elif not self.outgoing.queued_bytes:
            self.stopWriting()
            if self.disconnecting:
                return main.CONNECTION_DONE
            self.protocol.drained()
        return None

    async def _make_ready(self, part: Unready) -> None:
        """Prepare the next part in a thread, then continue sending. Other connections are served meanwhile."""
        outgoing, piece = self.outgoing, b""
        try:
            if isinstance(part, FileRecords):
                port: Any = self.server
                accept_policy: AcceptPolicy = port.factory
                await accept_policy.cold_reads(page_cache.load, part.fileno(), *outgoing.next_slice(part))
            else:
                piece = await part.next_piece()
        except Exception as problem:
            log.warning("What was to be sent to %s cannot be read: %s", self.client, problem)
            if self.connected:
                self._fail()
            return
        if self.connected:
            outgoing.ready(part, piece)
            self.startWriting()

    def _fail(self) -> None:
        """Close a connection that broke outside of `doWrite`, in the reactor's next turn."""
        self.outgoing.clear()
        self.reactor.callLater(0, self._close_failed, main.CONNECTION_LOST)

    def _close_failed(self, error: Exception) -> None:
        if self.connected and not self.disconnected:
            self.connectionLost(Failure(error))

    # ------------------------------------------------------------------------------------------------ closing

    def has_peer(self) -> bool:
        """Return whether the peer has not closed the connection, as far as is known. Needed while reading is paused."""
        try:
            return self.socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False

    def close(self) -> None:
        """Close after sending what is queued."""
        if not self.connected or self.disconnecting:
            return
        if self.outgoing.queued_bytes:
            self.disconnecting = True
            self.stopReading()
        else:
            self.close_now()

    def close_now(self) -> None:
        """Close without sending what is queued."""
        if self.connected:
            self.outgoing.clear()
            self.disconnecting = True
            self.stopReading()
            self.stopWriting()
            self.reactor.callLater(0, self._close_failed, main.CONNECTION_DONE)

    def connectionLost(self, reason: Failure) -> None:
        self.outgoing.clear()
        super().connectionLost(reason)


class PlaintextPort(tcp.Port):
    """A listening port whose connections are `PlaintextTransport`s.

    Sockets are accepted at once, but become connections a time slice at a time, which takes ten times as long. The
    kernel's queue is short, and a client that finds it full retries only after a second. Before each connection is made,
    one whose peer has gone is closed: connections may come and go faster than the broker serves them.

    Invariant: `_accepted` are open sockets that are not connections yet; while there are any, a call of
    `_make_connections` is scheduled.
    """

    transport = PlaintextTransport  # type: ignore[assignment]
    factory: AcceptPolicy  # type: ignore[assignment]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._accepted: deque[tuple[socket.socket, Any]] = deque()

    def createInternetSocket(self) -> socket.socket:
        """Make a socket. One bound to `::` accepts IPv4, too, whatever the system's default is."""
        made: socket.socket = super().createInternetSocket()
        if self.addressFamily == socket.AF_INET6 and self.interface == "::":
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        return made

    def startListening(self) -> None:
        """Bind the address without listening: connections are refused until `open`, so that no client takes the broker
        for ready."""
        made = self.createInternetSocket()
        numeric = socket.AI_NUMERICHOST | socket.AI_PASSIVE
        try:
            found = socket.getaddrinfo(
                self.interface or None, self.port, self.addressFamily, socket.SOCK_STREAM, 0, numeric
            )
            made.bind(found[0][4])
        except OSError as problem:
            made.close()
            raise error.CannotListenError(self.interface, self.port, problem) from problem
        self._preexistingSocket = made
        super().startListening()

    def open(self) -> None:
        """Listen. Raises `CannotListenError` if another process does there."""
        try:
            self.socket.listen(self.backlog)
        except OSError as problem:
            raise error.CannotListenError(self.interface, self.socket.getsockname()[1], problem) from problem

    @property
    def accepted_count(self) -> int:
        """Accepted sockets that are not connections yet."""
        return len(self._accepted)

    def doRead(self) -> None:
        """Accept all waiting sockets for which there is room. Twisted would estimate the number from the previous one."""
        accepted = self._accepted
        are_called = bool(accepted)
        free_slots = min(self.factory.free_slots(), MAX_ACCEPTED - len(accepted))
        self._accept(free_slots)
        if not accepted:
            self.numberAccepts = free_slots
            super().doRead()  # it handles errors
        elif not are_called:
            self._make_connections()

    def _accept(self, free_slots: int) -> None:
        with suppress(OSError):
            for _ in range(free_slots):
                self._accepted.append(self.socket.accept())

    def _make_connections(self) -> None:
        """Make connections as Twisted's `doRead` does, until the time slice is used up."""
        while self._accepted and not self.disconnecting:
            accepted, peer = self._accepted.popleft()
            self.reactor.close_one()
            try:
                self._make_connection(accepted, peer)
            except Exception:
                log.exception("A connection from %s could not be made", peer)
                accepted.close()
            if self._accepted and self.factory.should_yield():
                self.reactor.callLater(0, self._make_connections)
                return

    def _make_connection(self, accepted: socket.socket, peer: Any) -> None:
        if len(peer) == 4:  # IPv6, with the scope
            peer = (socket.getnameinfo(peer, socket.NI_NUMERICHOST | socket.NI_NUMERICSERV)[0], *peer[1:])
        factory: Any = self.factory
        protocol = factory.buildProtocol(self._buildAddr(peer))
        if protocol is None:
            self.factory.close_refused(accepted)
            return
        self.sessionno += 1
        protocol.makeConnection(self.transport(accepted, protocol, peer, self, self.sessionno - 1, self.reactor))

    def connectionLost(self, reason: Failure) -> None:
        while self._accepted:
            self._accepted.popleft()[0].close()
        super().connectionLost(reason)
