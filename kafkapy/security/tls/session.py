"""The TLS state of one connection without its socket: the caller passes ciphertext in and takes ciphertext out."""

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
"""Plaintext bytes for one call of OpenSSL, four records. Smaller values need more calls; larger ones are not
faster."""
MAX_HANDSHAKE_BYTES: Final = 256 * 1024
"""Maximum bytes from the peer before the handshake is complete. Certificate chains have some KB; OpenSSL accepts up to
100 KB."""
MAX_BUFFERED_BYTES: Final = 4 * 1024 * 1024
"""Maximum ciphertext buffered while the caller does not read. A channel stops reading its socket long before: see
`wants_input`."""
_PAUSE_BYTES = 256 * 1024
_FIRST_BYTES = 8
_INTERNAL_ERROR = b"\x15\x03\x03\x00\x02\x02\x50"
"""A fatal alert `internal_error`, unencrypted."""


class TlsSession:
    """The state of one connection.

    Invariant: exactly one of these holds: the handshake is in progress; it is complete and the session is open;
    `failure` is set; the session is closed (`closed` by this side, `peer_closed` by the other). A failure is final;
    nothing is decrypted after it.

    Memory is bounded: input during the handshake by `MAX_HANDSHAKE_BYTES`, later input by `MAX_BUFFERED_BYTES`; output
    by what the caller has written and not taken.

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
            context: From `server_context` or `client_context`. The session keeps it, also if the listener's is
                replaced.
            server_side: Whether this is the server's side.
            server_hostname: For clients: the name or IP address of the server, which its certificate must contain.

        Raises:
            ValueError: The context checks host names, and none is given.
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
        """Begin the handshake: a client produces its first message; a server waits for it."""
        self._handshake()

    def received(self, data: Buffer) -> None:
        """Pass in received ciphertext and continue the handshake. Check `failure` and `has_outgoing` afterwards, then
        call `read_into`."""
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
        """Report the end of the connection, which is a failure during the handshake and sets `peer_closed`.

        After the handshake, without the peer's close_notify, an attacker may have truncated the stream.
        """
        if self.failure is None and not self.peer_closed:
            if not self.handshake_complete:
                self._fail(TlsFailure("the peer has closed the connection during the handshake"))
            self.peer_closed = True

    @property
    def wants_input(self) -> bool:
        """Whether to read more from the socket: False while much ciphertext waits for `read_into` (back-pressure)."""
        return self.failure is None and not self.peer_closed and self._incoming.pending < _PAUSE_BYTES

    @property
    def has_input(self) -> bool:
        """Whether `read_into` may return bytes without more input. Bytes buffered in OpenSSL don't make the socket
        readable."""
        return self.handshake_complete and (self._incoming.pending > 0 or self._tls.pending() > 0)

    def read_into(self, buffer: bytearray | memoryview) -> int:
        """Decrypt into a buffer.

        Returns:
            The number of bytes; 0 if none are available now, or ever (`failure`, `peer_closed`). Bytes received before
            the end of the connection can be read after it.
        """
        if not self.handshake_complete or self.failure is not None:
            return 0
        view = memoryview(buffer)
        size, count = len(view), 0
        read: Any = self._tls.read  # typeshed declares neither the memoryview parameter nor the int result
        try:
            while count < size:
                # Checking for pending bytes avoids an exception for each call.
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
        """Encrypt the pieces; `take_outgoing` returns the ciphertext. Small pieces share a record. Does nothing after
        a failure or `close`.

        Raises:
            ValueError: The handshake is not complete.
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
        """Whether there is ciphertext to send."""
        return self._outgoing.pending > 0

    @property
    def outgoing_bytes(self) -> int:
        """The bytes of ciphertext to send, for back-pressure."""
        return self._outgoing.pending

    def take_outgoing(self) -> bytes:
        """Return and remove all ciphertext to send, including alerts after a failure."""
        if not self._outgoing.pending:
            return b""
        self._has_spoken = True
        return self._outgoing.read()

    def close(self) -> None:
        """Close the session; if it is open, `take_outgoing` returns a close_notify."""
        if self.closed:
            return
        self.closed = True
        if self.handshake_complete and self.failure is None:
            try:
                self._tls.unwrap()
            except (ssl.SSLError, ValueError):
                pass  # OpenSSL would wait for the peer's close_notify, which is not needed

    # --- the peer

    @property
    def version(self) -> str | None:
        """`TLSv1.3` or `TLSv1.2`; None before it is negotiated."""
        return self._tls.version()

    @property
    def cipher(self) -> str | None:
        """OpenSSL's name of the cipher suite; None before it is negotiated."""
        cipher = self._tls.cipher()
        return None if cipher is None else cipher[0]

    def peer_certificate(self) -> bytes | None:
        """The peer's verified certificate (DER); None if it has sent none."""
        return self._tls.getpeercert(True) if self.handshake_complete else None

    def peer_name(self) -> str | None:
        """The distinguished name of the peer's certificate in Java's form; None without one. Raises DerError."""
        certificate = self.peer_certificate()
        return None if certificate is None else subject_of(certificate).java_name

    def peer_principal(self, mapper: SslPrincipalMapper) -> KafkaPrincipal:
        """The principal of a listener of type SSL (`DefaultKafkaPrincipalBuilder`): ANONYMOUS without a certificate.

        Raises:
            NoMatchingRuleError: No rule of `ssl.principal.mapping.rules` applies: the caller must close the
                connection.
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
        """Mark the session as closed by the peer; drop all input after its close_notify."""
        self.peer_closed = True
        if self._incoming.pending:
            self._incoming.read()

    def _fail(self, failure: TlsFailure) -> None:
        self.failure = failure
        if self._incoming.pending:
            self._incoming.read()
        if self._server_side and not (failure.received or self._has_spoken or self._outgoing.pending):
            # OpenSSL sends no alert to a peer that does not speak TLS. Java's server does, so that clients recognize a
            # TLS listener.
            self._outgoing.write(_INTERNAL_ERROR)


def _in_chunks(pieces: Sequence[Buffer]) -> Iterator[Buffer]:
    """Yield chunks for OpenSSL: small pieces are joined, large ones are split without a copy."""
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
            # Fill the current chunk, so that TLS records have their full 16 KB.
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
