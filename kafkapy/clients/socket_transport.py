"""A TCP or TLS connection on any event loop that can watch sockets.

It reads directly into the channel's memory, and writes by `sendmsg` without joining buffers.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from kafkapy.clients.driver import DEFAULT_SOCKET_OPTIONS, Buffer, Channel, Driver, SocketOptions, TimerHandle
from kafkapy.runtime.completion import Completion

if TYPE_CHECKING:
    import ssl

T = TypeVar("T")


def _text_of(code: int) -> str:
    """Return the system's message for a socket's error code."""
    if sys.platform == "win32":  # the C library has no messages for socket errors
        import ctypes

        return ctypes.FormatError(code).rstrip(" .\r\n")
    return os.strerror(code)


READS_PER_TURN = 8
"""Consecutive reads of one socket before the loop serves others."""

PEER_CLOSED = "the peer closed it"
NOT_TLS = "the peer does not answer in TLS"
UNTRUSTED = "The TLS handshake failed: the server's certificate is refused"
CLOSED_IN_TLS_HANDSHAKE = "the peer closed it in the TLS handshake"
RESET = _text_of(errno.ECONNRESET)
_IN_PROGRESS = {0, errno.EINPROGRESS, errno.EWOULDBLOCK}
_BUFFERS_PER_CALL = 512
_TLS_CHUNK = 1 << 18
_SCRATCH_BYTES = 1 << 18

_GATHERS = hasattr(socket.socket, "sendmsg")
"""Whether several buffers can be sent in one system call; Python lacks it on Windows."""

SocketAddress = tuple[int, Any]
"""Address family and the argument of `socket.connect`."""


class Loop(Driver, Protocol):
    """A driver that can watch sockets, as transports need it; has the methods that all drivers share."""

    @cached_property
    def scratch(self) -> memoryview:
        return memoryview(bytearray(_SCRATCH_BYTES))

    def connect(
        self, host: str, port: int, channel: Channel, options: SocketOptions = DEFAULT_SOCKET_OPTIONS
    ) -> SocketTransport:
        return SocketTransport(self, host, port, channel, options)

    def sleep(self, ms: float) -> Completion[None]:
        pause: Completion[None] = Completion()
        timer = self.call_later(ms, lambda: pause.set_result(None))
        pause.add_callback(lambda _: timer.cancel())
        return pause

    def run_in_thread(self, f: Callable[[], T]) -> Completion[T]:
        """Run `f`, which may block, in a new thread; return the completion of its result.

        No thread pool is used: the interpreter waits for pools at its exit, and a DNS look-up may take a minute.
        """
        completion: Completion[T] = Completion()

        def run() -> None:
            try:
                value = f()
            except BaseException as error:
                failure = error
                self.call_soon_threadsafe(lambda: completion.set_exception(failure))
            else:
                self.call_soon_threadsafe(lambda: completion.set_result(value))

        threading.Thread(target=run, name="kafkapy-blocking", daemon=True).start()
        return completion

    def add_reader(self, sock: socket.socket, f: Callable[[], None]) -> None: ...

    def remove_reader(self, sock: socket.socket) -> None: ...

    def add_writer(self, sock: socket.socket, f: Callable[[], None]) -> None: ...

    def remove_writer(self, sock: socket.socket) -> None: ...


class SocketTransport:
    """One connection, from the DNS look-up to its end.

    Invariant: `_queue` holds the written bytes that the kernel has not accepted yet, in order; the socket is watched
    for writing exactly when the connection is open and `_queue` is not empty. After `_end` nothing is watched and no
    callback is called.
    """

    def __init__(self, loop: Loop, host: str, port: int, channel: Channel, options: SocketOptions) -> None:
        self.host = host
        self.port = port
        self.queued_bytes = 0
        self._loop = loop
        self._channel = channel
        self._options = options
        self._addresses: deque[SocketAddress] = deque()
        self._socket: socket.socket | None = None
        self._timer: TimerHandle | None = None
        self._queue: deque[memoryview] = deque()
        self._reading = False
        self._open = False
        self._closed = False
        self._look_up: Completion[list[SocketAddress]] | None = None
        literal = _literal_address(host, port)
        if literal is not None:
            self._addresses.append(literal)
            loop.call_soon(lambda: self._try_next("refused"))
        else:
            self._look_up = loop.run_in_thread(lambda: _resolve(host, port))
            self._look_up.add_callback(self._resolved)

    # --- connecting

    def _resolved(self, found: Completion[list[SocketAddress]]) -> None:
        self._look_up = None
        if self._closed:
            return
        try:
            self._addresses.extend(found.result())
        except OSError as error:
            self._fail(f"{self.host} cannot be resolved: {_reason(error)}")
        else:
            self._try_next(f"{self.host} has no address")

    def _try_next(self, reason: str) -> None:
        """Connect to the next of the host's addresses; `reason`: the failure of the previous one."""
        while self._addresses and not self._closed:
            family, address = self._addresses.popleft()
            try:
                sock = self._make_socket(family)
            except OSError as error:
                reason = _reason(error)
                continue
            code = sock.connect_ex(address)
            if code in _IN_PROGRESS:
                self._socket = sock
                self._loop.add_writer(sock, self._connected_or_not)
                self._timer = self._loop.call_later(self._options.connect_timeout_ms, self._took_too_long)
                return
            sock.close()
            reason = _text_of(code)
        if not self._closed:
            self._fail(reason)

    def _make_socket(self, family: int) -> socket.socket:
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            options = self._options
            for option in options.options:
                sock.setsockopt(*option)
            for name, size in (
                (socket.SO_SNDBUF, options.send_buffer_bytes),
                (socket.SO_RCVBUF, options.receive_buffer_bytes),
            ):
                if size is not None and size >= 0:
                    sock.setsockopt(socket.SOL_SOCKET, name, size)
        except OSError:
            sock.close()
            raise
        return sock

    def _connected_or_not(self) -> None:
        sock = self._socket
        assert sock is not None
        self._loop.remove_writer(sock)
        code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            self._drop_attempt()
            self._try_next(_text_of(code))
        elif self._options.tls is not None:
            self._begin_tls(sock, self._options.tls)
        else:
            self._established()

    def _took_too_long(self) -> None:
        if self._open or self._closed:
            return
        self._drop_attempt()
        self._try_next(f"no connection within {self._options.connect_timeout_ms:g} ms")

    def _drop_attempt(self) -> None:
        sock, self._socket = self._socket, None
        if self._timer is not None:
            self._timer.cancel()
        if sock is not None:
            self._loop.remove_reader(sock)
            self._loop.remove_writer(sock)
            sock.close()

    def _begin_tls(self, sock: socket.socket, context: ssl.SSLContext) -> None:
        try:
            self._socket = context.wrap_socket(sock, server_hostname=self.host, do_handshake_on_connect=False)
        except (OSError, ValueError) as error:
            self._fail(f"TLS: {error}")
        else:
            self._handshake()

    def _handshake(self) -> None:
        sock = self._socket
        assert sock is not None
        self._loop.remove_reader(sock)
        self._loop.remove_writer(sock)
        try:
            sock.do_handshake()  # type: ignore[attr-defined]  # of `ssl.SSLSocket`
        except OSError as error:
            wanted = _tls_wants(error)
            if wanted == "read":
                self._loop.add_reader(sock, self._handshake)
            elif wanted == "write":
                self._loop.add_writer(sock, self._handshake)
            else:
                self._fail(_tls_failure(error))
        else:
            self._established()

    def _established(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._open = True
        self.resume_reading()
        self._channel.connected()

    # --- reading

    def pause_reading(self) -> None:
        if self._reading and self._socket is not None:
            self._reading = False
            self._loop.remove_reader(self._socket)

    def resume_reading(self) -> None:
        if not self._reading and self._open and self._socket is not None:
            self._reading = True
            self._loop.add_reader(self._socket, self._on_readable)
            if self._pending():
                self._loop.call_soon(self._on_readable)

    def _on_readable(self) -> None:
        for _ in range(READS_PER_TURN):
            if not self._receive():
                return
        if self._pending():
            self._loop.call_soon(self._on_readable)

    def _pending(self) -> bool:
        """Return whether OpenSSL has buffered bytes, which don't make the socket readable."""
        tls = self._options.tls is not None and self._socket is not None
        return tls and self._socket.pending() > 0  # type: ignore[union-attr]  # of `ssl.SSLSocket`

    def _receive(self) -> bool:
        """Read once; return False if there is nothing more to read at present."""
        sock = self._socket
        if sock is None or not self._reading:
            return False
        buffer = self._channel.receive_buffer()
        try:
            count = sock.recv_into(buffer)
        except BlockingIOError:
            return False
        except OSError as error:
            wanted = _tls_wants(error) if self._options.tls else ""
            if wanted == "write":
                self._loop.add_writer(sock, self._on_writable)
            elif not wanted:
                self._fail(_reason(error))
            return False
        if not count:
            self._fail(PEER_CLOSED)
            return False
        full = count == len(buffer)
        self._channel.bytes_received(count)
        return full or self._options.tls is not None

    # --- writing

    def write(self, parts: Sequence[Buffer]) -> None:
        if self._closed:
            return
        idle = self._open and not self._queue
        if idle and len(parts) == 1 and not self._options.tls:
            # The usual case bypasses the queue.
            part = parts[0]
            try:
                sent = self._socket.send(part)  # type: ignore[union-attr]
            except BlockingIOError:
                sent = 0
            except OSError as error:
                self._fail_soon(_reason(error))
                return
            if sent == len(part):
                return
            parts = (memoryview(part)[sent:],)
        for part in parts:
            if len(part):
                self._queue.append(memoryview(part))
                self.queued_bytes += len(part)
        if idle and self._queue:
            error_text = self._flush()
            if error_text is not None:
                self._fail_soon(error_text)
            elif self._queue and self._socket is not None:
                self._loop.add_writer(self._socket, self._on_writable)

    def _fail_soon(self, reason: str) -> None:
        """Report the failure on the loop's next turn, because the caller may not expect a callback inside its call."""
        self._loop.call_soon(lambda: self._fail(reason))

    def _on_writable(self) -> None:
        error = self._flush()
        if error is not None:
            self._fail(error)
        elif not self._queue and self._socket is not None:
            self._loop.remove_writer(self._socket)

    def _flush(self) -> str | None:
        """Write as much of the queue as the kernel accepts; return the reason if the connection is broken."""
        sock = self._socket
        if sock is None:
            return None
        tls = self._options.tls is not None
        try:
            while self._queue:
                head = self._queue[0]
                if tls:
                    offered = min(len(head), _TLS_CHUNK)
                    count = sock.send(head[:offered])
                elif len(self._queue) == 1 or not _GATHERS:
                    offered = len(head)
                    count = sock.send(head)
                else:
                    buffers = list(self._queue)[:_BUFFERS_PER_CALL]
                    offered = sum(map(len, buffers))
                    count = sock.sendmsg(buffers)
                self._sent(count)
                if count < offered:
                    return None
        except BlockingIOError:
            return None
        except OSError as error:
            return None if tls and _tls_wants(error) else _reason(error)
        return None

    def _sent(self, count: int) -> None:
        self.queued_bytes -= count
        queue = self._queue
        while count:
            head = queue[0]
            if count < len(head):
                queue[0] = head[count:]
                return
            count -= len(head)
            queue.popleft()

    # --- the end

    def close(self) -> None:
        self._end()

    def _fail(self, reason: str) -> None:
        if not self._closed:
            self._end()
            self._channel.disconnected(reason)

    def _end(self) -> None:
        self._closed = True
        self._open = self._reading = False
        self._addresses.clear()
        self._queue.clear()
        self.queued_bytes = 0
        if self._look_up is not None:
            self._look_up.cancel()  # else its thread, which may block for long, would keep the connection in memory
        self._drop_attempt()


def _literal_address(host: str, port: int) -> SocketAddress | None:
    """Return the address if `host` is an IP address; None for a name."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except OSError:
            continue
        return family, (host, port)
    return None


def _resolve(host: str, port: int) -> list[SocketAddress]:
    """Resolve a name to its addresses, without duplicates. May block."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys((family, address) for family, _, _, _, address in found))


def _reason(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__


def _tls_failure(error: OSError) -> str:
    """Describe a failed handshake. A plaintext listener closes the connection or sends other bytes than TLS."""
    import ssl

    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError | ConnectionResetError | BrokenPipeError):
        return CLOSED_IN_TLS_HANDSHAKE
    if isinstance(error, ssl.SSLError) and error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL"):
        return NOT_TLS
    if isinstance(error, ssl.SSLError):
        from kafkapy.security.tls.tls_failure import failure_of

        return f"The TLS handshake failed: {failure_of(error, b'', server_side=False)}"
    return f"The TLS handshake failed: {_reason(error)}"


def _tls_wants(error: OSError) -> str:
    """Return whether TLS waits for "read" or "write"; "" for a real error. (Clients without TLS do not import
    `ssl`.)"""
    import ssl

    if isinstance(error, ssl.SSLWantReadError):
        return "read"
    return "write" if isinstance(error, ssl.SSLWantWriteError) else ""
