"""TLS for a Kafka channel: the plaintext transport, over a `TlsSession`.

File slices are read and encrypted here, since `sendfile` cannot encrypt without kTLS.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterable
from typing import Any, Final, Protocol

from twisted.internet import main

from kafkapy.network.request import RequestContext
from kafkapy.network.send_queue import READ_CHUNK, Buffer, Part, SendQueue
from kafkapy.network.transport import PlaintextPort, PlaintextTransport
from kafkapy.runtime.completion import spawn
from kafkapy.security.authentication import Authentication, AuthenticationOutcome
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.security.tls.session import TlsSession

log = logging.getLogger("kafkapy.network.SocketServer")

RECEIVED_BYTES: Final = 1 << 16
"""Ciphertext of one read: four TLS records. All connections read into one buffer of this size."""

MAX_UNREAD_BYTES: Final = 1 << 16
"""Limit of unsent ciphertext while more is read.

TLS itself answers (key updates, RFC 8446, 4.6.3): a peer that requests them without reading the answers would fill the
memory.
"""

_received: Final = memoryview(bytearray(RECEIVED_BYTES))


class TlsFactory(Protocol):
    """What the transport needs of its port's factory."""

    def new_session(self) -> TlsSession: ...

    def principal_of(self, session: TlsSession, context: RequestContext) -> KafkaPrincipal:
        """Return the principal of the peer's certificate.

        Raises:
            ValueError: no mapping rule matches the peer. A custom principal builder may raise anything.
        """
        ...


class TlsSocket:
    """The socket interface of `SendQueue`, with encryption.

    Invariant: at most one piece of ciphertext (`READ_CHUNK` plus TLS's overhead) waits for the kernel, in `_unsent`.
    """

    def __init__(self, connection: socket.socket, session: TlsSession) -> None:
        self._socket = connection
        self._session = session
        self._unsent = memoryview(b"")

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, data: Buffer) -> int:
        return self.sendmsg((data,))

    def sendmsg(self, buffers: Iterable[Buffer], ancdata: Any = (), flags: int = 0) -> int:
        """Encrypt and send at most `READ_CHUNK` bytes. Raises `BlockingIOError` while ciphertext waits."""
        if not self.flush():
            raise BlockingIOError
        pieces: list[Buffer] = []
        size = 0
        for buffer in buffers:
            piece = buffer if size + len(buffer) <= READ_CHUNK else memoryview(buffer)[: READ_CHUNK - size]
            pieces.append(piece)
            size += len(piece)
            if size == READ_CHUNK:
                break
        self._session.write(pieces)
        self.flush()
        return size

    @property
    def is_waiting(self) -> bool:
        return bool(self._unsent) or self._session.has_outgoing

    @property
    def waiting_bytes(self) -> int:
        """Ciphertext that the kernel has not taken."""
        return len(self._unsent) + self._session.outgoing_bytes

    def flush(self) -> bool:
        """Send ciphertext. Returns whether all of it was sent."""
        while True:
            if not self._unsent:
                self._unsent = memoryview(self._session.take_outgoing())
                if not self._unsent:
                    return True
            try:
                count = self._socket.send(self._unsent)
            except BlockingIOError:
                return False
            self._unsent = self._unsent[count:]


class TlsTransport(PlaintextTransport):
    """An accepted TLS connection.

    Invariant: while `_is_delivering`, `_deliver` is on the stack and passes on all plaintext that the channel takes.
    Otherwise decrypted bytes wait only while the channel is muted; `resume_reading` delivers them. While `_is_unread`,
    the peer has left `MAX_UNREAD_BYTES` unread, and nothing is read from it.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        port: Any = self.server
        factory: TlsFactory = port.factory
        self.session = factory.new_session()
        self._factory = factory
        self._on_authentication = port.factory.on_authentication
        self._tls = TlsSocket(self.socket, self.session)
        self.outgoing = SendQueue(self._tls, sendfile=False)
        self._is_established = False
        self._is_delivering = False
        self._delivers_later = False
        self._is_unread = False

    # --- reading

    def doRead(self) -> Any:
        if self._is_established and (self.protocol.muted or not self.session.wants_input):
            self.stopReading()
            return None
        if self._tls.waiting_bytes > MAX_UNREAD_BYTES:
            self._is_unread = True
            self.stopReading()
            return None
        try:
            count = self.socket.recv_into(_received)
        except BlockingIOError:
            return None
        except OSError:
            return main.CONNECTION_LOST
        if not count:
            self.session.eof_received()
            self._say_close()
            return main.CONNECTION_DONE
        self.session.received(_received[:count])
        return self._progress()

    def _progress(self) -> Any:
        """Process new ciphertext, and deliver plaintext."""
        session = self.session
        try:
            if session.has_outgoing and not self._tls.flush():
                self.startWriting()
            if session.handshake_complete and not self._is_established:
                self._establish()
            if self._is_established:
                self._deliver()
                if session.has_outgoing and not self._tls.flush():  # an alert, or TLS 1.3's answer to a key update
                    self.startWriting()
        except OSError:
            return main.CONNECTION_LOST
        if session.failure is not None:
            log.info("Closing the connection of %s: %s", self.protocol.context.connection_id, session.failure.sentence)
            if not self._is_established:
                self._on_authentication(self.protocol.context, AuthenticationOutcome(session.failure.sentence))
            return main.CONNECTION_LOST
        if not session.peer_closed:
            return None
        self._say_close()
        return main.CONNECTION_DONE

    def _establish(self) -> None:
        self._is_established = True
        channel, session = self.protocol, self.session
        context = channel.context
        certificate = None if channel.sasl is None else session.peer_certificate()
        context.authentication = Authentication(None, session.version, session.cipher, certificate)
        if channel.sasl is not None:
            return
        try:
            context.principal = self._factory.principal_of(session, context)
        except Exception as problem:
            # The message of an unexpected exception of a custom builder may contain secrets.
            why = problem if isinstance(problem, ValueError) else type(problem).__name__
            reason = f"its certificate names no principal: {why}"
            self._on_authentication(context, AuthenticationOutcome(reason))
            channel.close(reason)
        else:
            self._on_authentication(context, AuthenticationOutcome())

    def _deliver(self) -> None:
        channel, session = self.protocol, self.session
        self._is_delivering = True
        try:
            while session.has_input and not channel.muted:
                count = session.read_into(channel.receive_buffer())
                if not count:
                    break
                channel.bytes_received(count)
        finally:
            self._is_delivering = False

    def resume_reading(self) -> None:
        if not self._is_unread:
            super().resume_reading()
        if self.session.has_input and not (self._is_delivering or self._delivers_later):
            self._delivers_later = True
            self.reactor.callLater(0, self._deliver_later)

    def _deliver_later(self) -> None:
        """Deliver decrypted bytes, which do not make the socket readable."""
        self._delivers_later = False
        if self.connected and not self.disconnecting:
            why = self._progress()
            if why is not None:
                self._close_failed(why)

    # --- writing

    def send(self, data: bytes) -> None:
        super().send(data)
        self._write_on()

    def send_parts(self, parts: Iterable[Part]) -> None:
        super().send_parts(parts)
        self._write_on()

    def _write_on(self) -> None:
        """Keep writing while ciphertext waits, even if the queue is empty."""
        if self.connected and not self.disconnecting and not self.outgoing.waiting and self._tls.is_waiting:
            self.startWriting()

    def doWrite(self) -> Any:
        """Send ciphertext, then the queue.

        `drained` is called, and the connection closed, only after the last ciphertext is sent."""
        try:
            if not self._tls.flush():
                return None
            unready = self.outgoing.flush() if self.outgoing.queued_bytes else None
        except OSError:
            return main.CONNECTION_LOST
        if self._is_unread:
            self._is_unread = False
            self.resume_reading()
        if unready is not None:
            self.stopWriting()
            spawn(self._make_ready(unready))
        elif not (self.outgoing.queued_bytes or self._tls.is_waiting):
            self.stopWriting()
            if self.disconnecting:
                self._say_close()
                return main.CONNECTION_DONE
            self.protocol.drained()
        return None

    # --- closing

    def close(self) -> None:
        """Close after sending what is queued and TLS's close notification."""
        if not self.connected or self.disconnecting:
            return
        if not self.outgoing.queued_bytes:
            self._say_close()
            if self._tls.is_waiting:
                self.disconnecting = True
                self.stopReading()
                self.startWriting()
                return
        super().close()

    def _say_close(self) -> None:
        self.session.close()
        try:
            self._tls.flush()
        except OSError:
            pass


class TlsPort(PlaintextPort):
    """A listening port whose connections are `TlsTransport`s."""

    transport = TlsTransport
