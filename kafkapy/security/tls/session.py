"""One TLS connection without a socket: bytes come in, bytes go out."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kafkapy.security.principal import ANONYMOUS, USER_TYPE, KafkaPrincipal
from kafkapy.security.tls.certificate_fields import subject_of
from kafkapy.security.tls.principal_mapper import SslPrincipalMapper
from kafkapy.security.tls.tls_failure import HANDSHAKE_TOO_LONG, TlsFailure, failure_of

Buffer = bytes | bytearray | memoryview

WRITE_BYTES: Final = 64 * 1024
"""Plaintext for one call of OpenSSL: four records. Fewer cost more calls; more gain nothing, and fill the cache."""
MAX_HANDSHAKE_BYTES: Final = 256 * 1024
"""Of the peer, before the handshake is complete: chains of certificates have some KB, and OpenSSL takes 100 KB at most."""
MAX_BUFFERED_BYTES: Final = 4 * 1024 * 1024
"""Ciphertext that is kept when plaintext is not read. A channel stops reading from its socket long before: see `wants_input`."""
_PAUSE_BYTES = 256 * 1024
_FIRST_BYTES = 8
_INTERNAL_ERROR = b"\x15\x03\x03\x00\x02\x02\x50"
"""A fatal alert in the clear."""


class TlsSession:
    """The state of one connection.

    Invariant: exactly one of these holds: the handshake goes on; it is complete and the session is open; `failure` is set; the
    session is closed (`closed` by this side, `peer_closed` by the other). A failure stays, and nothing is decrypted after it.
    Memory is bounded: what comes before the end of the handshake by `MAX_HANDSHAKE_BYTES`, ciphertext that waits by
    `MAX_BUFFERED_BYTES`; ciphertext to be sent is what the caller has written and not taken.

    Example:
        >>> import ssl
        >>> session = TlsSession(ssl.create_default_context(), server_hostname="localhost")
        >>> session.start()
        >>> session.take_outgoing()[:3]
        b'\\x16\\x03\\x01'
    """

    __slots__ = (
        "_first_bytes",
        "_handshake_bytes",
        "_has_spoken",
        "_incoming",
        "_outgoing",
        "_server_side",
        "_tls",
        "closed",
        "failure",
        "handshake_complete",
        "peer_closed",
    )

    def __init__(
        self, context: ssl.SSLContext, *, server_side: bool = False, server_hostname: str | None = None
    ) -> None:
        """
        Parameters:
            context: Of `server_context` or `client_context`. It may be replaced there later; this session keeps it.
            server_side: Is this the server?
            server_hostname: Of a client: the name or IP address that it connects to, and that the certificate must have.

        Raises:
            ValueError: The context checks names, and there is none.
        """
        self.handshake_complete = False
        self.failure: TlsFailure | None = None
        self.peer_closed = False
        self.closed = False
        self._server_side = server_side
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._first_bytes = b""
        self._handshake_bytes = 0
        self._has_spoken = False
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side, server_hostname or None)

    # --- from the network

    def start(self) -> None:
        """Begin the handshake: a client speaks first. A server has nothing to say yet."""
        self._handshake()

    def received(self, data: Buffer) -> None:
        """Take ciphertext; goes on with the handshake. Look at `failure`, `has_outgoing`, then call `read_into`."""
        if self.failure is not None or self.peer_closed or not len(data):
            return
        if len(self._first_bytes) < _FIRST_BYTES:
            self._first_bytes += bytes(memoryview(data)[: _FIRST_BYTES - len(self._first_bytes)])
        if self._incoming.pending + len(data) > MAX_BUFFERED_BYTES:
            self._fail(TlsFailure("more ciphertext comes than is read"))
            return
        self._incoming.write(data)
        if not self.handshake_complete:
            self._handshake_bytes += len(data)
            self._handshake()
            if not self.handshake_complete and self._handshake_bytes > MAX_HANDSHAKE_BYTES:
                self._fail(TlsFailure(HANDSHAKE_TOO_LONG))

    def eof_received(self) -> None:
        """The connection has ended. Without the peer's close_notify before, that may be an attack that cuts a stream."""
        if self.failure is None and not self.peer_closed:
            if not self.handshake_complete:
                self._fail(TlsFailure("the peer has closed the connection during the handshake"))
            self.peer_closed = True

    @property
    def wants_input(self) -> bool:
        """Should more be read from the socket? False while much ciphertext waits for `read_into`."""
        return self.failure is None and not self.peer_closed and self._incoming.pending < _PAUSE_BYTES

    @property
    def has_input(self) -> bool:
        """May `read_into` give something, without more from the network? Bytes inside OpenSSL don't make a socket readable."""
        return self.handshake_complete and (self._incoming.pending > 0 or self._tls.pending() > 0)

    def read_into(self, buffer: bytearray | memoryview) -> int:
        """Decrypt into a buffer.

        Returns:
            How many bytes; 0 if there is nothing at present, or nothing any more (`failure`, `peer_closed`). What came before
            the end of the connection can be read after it.
        """
        if not self.handshake_complete or self.failure is not None:
            return 0
        view = memoryview(buffer)
        size, count = len(view), 0
        read: Any = self._tls.read  # typeshed knows neither the memoryview nor the number that it returns
        try:
            while count < size:
                # The look at what is pending saves an exception for each call.
                if not (self._incoming.pending or self._tls.pending()):
                    break
                got: int = read(size - count, view[count:] if count else view)
                if not got:
                    self._peer_has_closed()
                    break
                count += got
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self._peer_has_closed()
        except ssl.SSLError as error:
            self._fail(failure_of(error, self._first_bytes, self._server_side))
        return count

    # --- to the network

    def write(self, pieces: Sequence[Buffer]) -> None:
        """Encrypt; `take_outgoing` gives the ciphertext. Small pieces share a record.

        Raises:
            ValueError: The handshake is not complete. After a failure or `close` nothing happens.
        """
        if self.failure is not None or self.closed:
            return
        if not self.handshake_complete:
            raise ValueError("nothing is written before the handshake is complete")
        try:
            for piece in _in_chunks(pieces):
                self._tls.write(piece)
        except ssl.SSLError as error:
            self._fail(failure_of(error, self._first_bytes, self._server_side))

    @property
    def has_outgoing(self) -> bool:
        """Is there ciphertext to be sent?"""
        return self._outgoing.pending > 0

    @property
    def outgoing_bytes(self) -> int:
        """How much ciphertext is to be sent: for back-pressure."""
        return self._outgoing.pending

    def take_outgoing(self) -> bytes:
        """All ciphertext that is to be sent, alerts after a failure included."""
        if not self._outgoing.pending:
            return b""
        self._has_spoken = True
        return self._outgoing.read()

    def close(self) -> None:
        """Say close_notify, if the session is open; `take_outgoing` gives it."""
        if self.closed:
            return
        self.closed = True
        if self.handshake_complete and self.failure is None:
            try:
                self._tls.unwrap()
            except (ssl.SSLError, ValueError):
                pass  # it waits for the peer's, which is not needed

    # --- the peer

    @property
    def version(self) -> str | None:
        """`TLSv1.3` or `TLSv1.2`; None before it is agreed upon."""
        return self._tls.version()

    @property
    def cipher(self) -> str | None:
        """OpenSSL's name of the cipher suite; None before it is agreed upon."""
        cipher = self._tls.cipher()
        return None if cipher is None else cipher[0]

    def peer_certificate(self) -> bytes | None:
        """The peer's certificate (DER), which was verified; None if it has sent none."""
        return self._tls.getpeercert(True) if self.handshake_complete else None

    def peer_name(self) -> str | None:
        """The distinguished name of the peer's certificate as Java prints it; None without one. Raises DerError."""
        certificate = self.peer_certificate()
        return None if certificate is None else subject_of(certificate).java_name

    def peer_principal(self, mapper: SslPrincipalMapper) -> KafkaPrincipal:
        """The principal of a listener of type SSL (`DefaultKafkaPrincipalBuilder`): ANONYMOUS without a certificate.

        Raises:
            NoMatchingRuleError: No rule of `ssl.principal.mapping.rules` applies: the connection is to be closed.
            DerError: The certificate's name cannot be read.
        """
        name = self.peer_name()
        return ANONYMOUS if name is None else KafkaPrincipal(USER_TYPE, mapper.name_of(name))

    # ---

    def _handshake(self) -> None:
        if self.failure is not None or self.handshake_complete:
            return
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self._fail(
                TlsFailure("the peer has closed the session during the handshake", "close_notify", received=True)
            )
        except ssl.SSLError as error:
            self._fail(failure_of(error, self._first_bytes, self._server_side))
        else:
            self.handshake_complete = True

    def _peer_has_closed(self) -> None:
        """What follows a close_notify is dropped."""
        self.peer_closed = True
        if self._incoming.pending:
            self._incoming.read()

    def _fail(self, failure: TlsFailure) -> None:
        self.failure = failure
        if self._incoming.pending:
            self._incoming.read()
        if self._server_side and not (failure.received or self._has_spoken or self._outgoing.pending):
            # OpenSSL says nothing to what is no TLS; Java's server does, by which clients know what is there.
            self._outgoing.write(_INTERNAL_ERROR)


def _in_chunks(pieces: Sequence[Buffer]) -> Iterator[Buffer]:
    """The pieces as they go to OpenSSL: small ones together, large ones in parts, nothing large copied."""
    small: list[Buffer] = []
    size = 0
    for piece in pieces:
        length = len(piece)
        if size + length <= WRITE_BYTES:
            if length:
                small.append(piece)
                size += length
            continue
        view = memoryview(piece)
        start = 0
        if small:
            # Fill up what is begun: records of 16 KB are the cheapest.
            start = WRITE_BYTES - size
            yield b"".join((*small, view[:start]))
            small, size = [], 0
        while length - start >= WRITE_BYTES:
            yield view[start : start + WRITE_BYTES]
            start += WRITE_BYTES
        if start < length:
            small, size = [view[start:]], length - start
    if small:
        yield small[0] if len(small) == 1 else b"".join(small)
