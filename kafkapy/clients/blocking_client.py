"""A client for threads: one socket, one request at a time."""

from __future__ import annotations

import socket
from typing import Any

from kafkapy.clients.api_versions import NodeApiVersions
from kafkapy.clients.connection import Connection
from kafkapy.clients.frames import DEFAULT_MAX_FRAME_BYTES
from kafkapy.common.time import SystemTime, Time
from kafkapy.protocol.errors import Errors, KafkaError

_CHUNK = 1 << 18


class BlockingClient:
    """Calls one broker and waits for the answer.

    Not thread-safe, but for `close`, which any thread may call to end a wait.
    It connects on the first call and connects again on the first call after a failure. Whatever happens to the
    connection comes out as a `KafkaError` whose sentence names host and port: NETWORK_EXCEPTION (refused, reset,
    closed, unknown host), REQUEST_TIMED_OUT (no answer in time), UNKNOWN_SERVER_ERROR (not Kafka's protocol),
    UNSUPPORTED_VERSION.
    """

    def __init__(
        self,
        host: str,
        port: int,
        client_id: str = "kafkapy",
        *,
        request_timeout_ms: int = 30_000,
        connect_timeout_ms: int = 10_000,
        max_response_bytes: int = DEFAULT_MAX_FRAME_BYTES,
        time: Time | None = None,
    ) -> None:
        self.host = host
        self.port = port
        self.client_id = client_id
        self.request_timeout_ms = request_timeout_ms
        self.connect_timeout_ms = connect_timeout_ms
        self.max_response_bytes = max_response_bytes
        self._time: Time = time or SystemTime()
        self._socket: socket.socket | None = None
        self._connection: Connection | None = None

    def __enter__(self) -> BlockingClient:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<BlockingClient {self.address} {'connected' if self.connected else 'closed'}>"

    @property
    def address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def connected(self) -> bool:
        return self._socket is not None

    def connect(self) -> None:
        """Open the socket if there is none. Raises `KafkaError`."""
        if self._socket is not None:
            return
        try:
            sock = socket.create_connection((self.host, self.port), self.connect_timeout_ms / 1000)
        except OSError as error:
            sentence = f"Connection to {self.address} could not be established: {_reason(error)}"
            raise KafkaError(Errors.NETWORK_EXCEPTION, sentence) from error
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = sock
        self._connection = Connection(
            self.client_id,
            request_timeout_ms=self.request_timeout_ms,
            max_response_bytes=self.max_response_bytes,
            time=self._time,
        )

    def close(self) -> None:
        """Close the socket; a call that waits in another thread ends with NETWORK_EXCEPTION."""
        sock, self._socket, self._connection = self._socket, None, None
        if sock is not None:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # the peer was quicker
            sock.close()

    def versions(self) -> NodeApiVersions:
        """What the broker serves; asked once for each connection."""
        self.connect()
        connection = self._connection
        if connection is None:
            raise self._disconnected()
        if connection.versions is None:
            step = connection.negotiate()
            while step is not None:
                step = connection.negotiate(self._exchange(*step, self.request_timeout_ms))
        assert connection.versions is not None
        return connection.versions

    def call(self, request: Any, version: int | None = None, timeout_ms: int | None = None) -> Any:
        """Send a request message and wait for its response message (None for a Produce with acks=0).

        `version` None: the highest version that both sides know, from ApiVersions. A number: exactly that one, without
        asking (brokers among themselves do that). `timeout_ms` None: `request_timeout_ms`.
        """
        self.connect()
        if version is None:
            self.versions()
        connection = self._connection
        if connection is None:
            raise self._disconnected()
        correlation_id, data = connection.send(request, version, timeout_ms)
        if not connection.in_flight:
            self._transmit(data)
            return None
        return self._exchange(correlation_id, data, self.request_timeout_ms if timeout_ms is None else timeout_ms)

    def _exchange(self, correlation_id: int, data: bytes, timeout_ms: int) -> Any:
        deadline = self._time.monotonic_ms() + timeout_ms
        self._transmit(data)
        try:
            while True:
                for answered, response in self._receive(deadline, timeout_ms):
                    if answered == correlation_id:
                        return response
        except BaseException:
            # Whatever was not read yet would be taken for the answer to the next request.
            self.close()
            raise

    def _transmit(self, data: bytes) -> None:
        sock = self._socket
        if sock is None:
            raise self._disconnected()
        try:
            sock.settimeout(self.request_timeout_ms / 1000)
            sock.sendall(data)
        except OSError as error:
            self.close()
            raise self._disconnected(error) from error

    def _receive(self, deadline: int, timeout_ms: int) -> list[tuple[int, Any]]:
        sock, connection = self._socket, self._connection
        if sock is None or connection is None:
            raise self._disconnected()
        remaining = deadline - self._time.monotonic_ms()
        try:
            if remaining <= 0:
                raise TimeoutError
            sock.settimeout(remaining / 1000)
            data = sock.recv(_CHUNK)
        except TimeoutError as error:
            sentence = f"{self.address} did not answer within {timeout_ms} ms"
            raise KafkaError(Errors.REQUEST_TIMED_OUT, sentence) from error
        except OSError as error:
            raise self._disconnected(error) from error
        if not data:
            raise self._disconnected()
        return connection.receive_data(data)

    def _disconnected(self, error: OSError | None = None) -> KafkaError:
        reason = f": {_reason(error)}" if error is not None else " before the response was received"
        return KafkaError(Errors.NETWORK_EXCEPTION, f"Connection to {self.address} was disconnected{reason}")


def _reason(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "timed out"
    return error.strerror or str(error) or type(error).__name__
