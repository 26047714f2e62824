"""A blocking connection for bulk reads: one request under way, and one buffer that every response is received into."""

from __future__ import annotations

import socket
from typing import Any

from kafkapy.clients.config import ClientConfig
from kafkapy.clients.connection import Connection
from kafkapy.clients.frames import frame_length
from kafkapy.clients.metadata import Address
from kafkapy.errors import KafkaConnectionError, KafkaTimeoutError, error_for
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkapy.protocol.messages.sasl_handshake import SaslHandshakeRequest

_FIRST_BUFFER_BYTES = 1 << 20
_API_KEYS = {int(api_key): api_key for api_key in ApiKey}


class RangeConnection:
    """Not thread-safe. Failures are KafkaConnectionError, KafkaTimeoutError (a `KafkaError` each) or what the broker
    refused; after one, the connection is of no use.

    Invariant: at most one request is unanswered, so the bytes that come belong to one frame. A response's records are
    views into `_buffer`: they are good until the next `receive`.
    """

    def __init__(self, address: Address, config: ClientConfig) -> None:
        """Connects, and authenticates if the config says so."""
        self.address = address
        self._config = config
        self._buffer = bytearray(_FIRST_BUFFER_BYTES)
        self._connection = Connection(config.client_id, request_timeout_ms=config.request_timeout_ms)
        self._socket = self._connect()
        try:
            self._negotiate()
            if config.security.sasl_mechanism is not None:
                self._authenticate(config.security.sasl_mechanism)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._socket.close()

    def call(self, request: Any, max_version: int = 32767) -> Any:
        """Send a request and wait for its response."""
        self.send(request, max_version)
        return self.receive()

    def send(self, request: Any, max_version: int = 32767) -> int:
        """Send a request (or what builds one, see `NetworkClient.send`); the version it is in."""
        api_key = _API_KEYS[request.API_KEY]
        assert self._connection.versions is not None
        version = self._connection.versions.latest_usable(api_key, 0, max_version)
        if hasattr(request, "build"):
            request = request.build(version)
        self._transmit(self._connection.send_parts(request, api_key, version, self._config.request_timeout_ms))
        return version

    def receive(self) -> Any:
        """The response to what was sent."""
        try:
            frame = self._receive_frame()
        except TimeoutError:
            raise KafkaTimeoutError(
                f"{self.address} did not answer within {self._config.request_timeout_ms} ms"
            ) from None
        except OSError as error:
            raise KafkaConnectionError(f"The connection to {self.address} ended: {_reason(error)}") from None
        return self._connection.receive_frame(frame, True)[1]

    def _connect(self) -> socket.socket:
        options = self._config.socket
        try:
            connected = socket.create_connection(self.address, options.connect_timeout_ms / 1000)
            for option in options.options:
                connected.setsockopt(*option)
            connected.settimeout(self._config.request_timeout_ms / 1000)
            if options.tls is not None:
                return options.tls.wrap_socket(connected, server_hostname=self.address.host)
        except OSError as error:
            sentence = f"The connection to {self.address} could not be established: {_reason(error)}"
            raise KafkaConnectionError(sentence) from None
        return connected

    def _negotiate(self) -> None:
        connection = self._connection
        connection.versions = self._config.pinned_versions
        step = connection.negotiate() if connection.versions is None else None
        while step is not None:
            self._transmit([step[1]])
            step = connection.negotiate(self.receive())

    def _authenticate(self, name: str) -> None:
        answer = self.call(SaslHandshakeRequest(mechanism=name))
        if answer.error_code == Errors.UNSUPPORTED_SASL_MECHANISM.code:
            offered = ", ".join(answer.mechanisms)
            raise error_for(answer.error_code, f"The broker offers {offered or 'no mechanism'}, not {name}")
        if answer.error_code:
            raise error_for(answer.error_code)
        mechanism = self._config.security.mechanism()
        said: bytes | None = mechanism.first()
        while said is not None:
            answer = self.call(SaslAuthenticateRequest(auth_bytes=said))
            if answer.error_code:
                raise error_for(answer.error_code, answer.error_message)
            said = mechanism.next(answer.auth_bytes)

    def _transmit(self, parts: list[Any]) -> None:
        try:
            self._socket.sendall(b"".join(parts))
        except OSError as error:
            raise KafkaConnectionError(f"The connection to {self.address} ended: {_reason(error)}") from None

    def _receive_frame(self) -> memoryview:
        filled, end = 0, 4
        while filled < end:
            if filled == len(self._buffer):
                self._grow(end)
            with memoryview(self._buffer) as view:
                count = self._socket.recv_into(view[filled:], len(self._buffer) - filled)
            if count == 0:
                raise ConnectionResetError("the broker hung up")
            if filled < 4 <= filled + count:
                end += frame_length(self._buffer, self._config.receive_message_max_bytes)
            filled += count
        if filled > end:
            raise KafkaError(Errors.UNKNOWN_SERVER_ERROR, f"{self.address} sent more than was asked for")
        return memoryview(self._buffer)[4:end]

    def _grow(self, end: int) -> None:
        """To no more than twice what has come, whatever the frame's length says. Views of the old buffer stay good."""
        bigger = bytearray(min(end, 2 * len(self._buffer)))
        bigger[: len(self._buffer)] = self._buffer
        self._buffer = bigger


def _reason(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "timed out"
    return error.strerror or str(error) or type(error).__name__
