"""The client's half of one connection as a machine without I/O: messages in, bytes out; bytes in, messages out.

    send(message)  ->  bytes  ~~ socket ~~>  broker
    receive_data(bytes)  <~~ socket ~~  broker   ->  messages

A driver (blocking socket, Twisted, asyncio) moves the bytes and closes the socket when an exception comes out of here.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from kafkapy.clients import software
from kafkapy.clients.api_versions import NodeApiVersions, api_key_of
from kafkapy.clients.frames import DEFAULT_MAX_FRAME_BYTES, FrameReader
from kafkapy.common.time import SystemTime, Time
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.headers import ResponseHeader, encode_request
from kafkapy.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkapy.protocol.wire import SchemaError

_UNSUPPORTED_VERSION = Errors.UNSUPPORTED_VERSION.code.to_bytes(2, "big")
_LAST_CORRELATION_ID = 0x7FFFFFFF


class InFlightRequest(NamedTuple):
    """A request whose answer has not come yet. Times in ms of the monotonic clock."""

    correlation_id: int
    api_key: ApiKey
    version: int
    sent_ms: int
    deadline_ms: int


class Connection:
    """Requests and responses of one connection.

    Invariant: `in_flight` holds, oldest first, exactly the requests that were sent and will be answered; a broker
    answers them in that order, so the next frame belongs to the first of them, and a frame with another correlation
    id means that the stream cannot be trusted any more. A Produce with acks=0 gets no answer and is never in there.
    """

    def __init__(
        self,
        client_id: str,
        *,
        request_timeout_ms: int = 30_000,
        max_response_bytes: int = DEFAULT_MAX_FRAME_BYTES,
        time: Time | None = None,
    ) -> None:
        self.client_id = client_id
        self.request_timeout_ms = request_timeout_ms
        self.versions: NodeApiVersions | None = None
        self.in_flight: deque[InFlightRequest] = deque()
        self._time: Time = time or SystemTime()
        self._frames = FrameReader(max_response_bytes)
        self._next_correlation_id = 0

    def negotiate(self, answer: ApiVersionsResponse | None = None) -> tuple[int, bytes] | None:
        """Ask which versions the broker serves; `versions` is set when this returns None.

        Call it first without an answer and send the bytes; give it the response; send what comes back, if anything. A
        broker that does not know our version of ApiVersions answers with version 0 and says which it knows (KIP-511).
        Raises `KafkaError` with the broker's error code if it refuses.
        """
        if answer is None:
            return self._send_api_versions(ApiKey.API_VERSIONS.max_version)
        if answer.error_code == Errors.UNSUPPORTED_VERSION.code and self.versions is None:
            served = NodeApiVersions.of(answer)
            self.versions = NodeApiVersions({})  # a second refusal is final
            version = served.latest_usable(ApiKey.API_VERSIONS) if served.ranges else 0
            return self._send_api_versions(version)
        if answer.error_code != Errors.NONE.code:
            error = Errors.for_code(answer.error_code)
            raise KafkaError(error, f"The broker refused to tell its API versions: {error.message}")
        self.versions = NodeApiVersions.of(answer)
        return None

    def send(self, message: Any, version: int | None = None, timeout_ms: int | None = None) -> tuple[int, bytes]:
        """Frame a request: its correlation id and the bytes for the socket.

        `version` None picks the highest that both sides know, which needs a finished negotiation; a number is taken
        as it is. `timeout_ms` None means `request_timeout_ms`. Raises `KafkaError(UNSUPPORTED_VERSION)`.
        """
        api_key = api_key_of(message)
        if version is None:
            if self.versions is None:
                raise KafkaError(Errors.UNSUPPORTED_VERSION, f"No version of {api_key.name} has been negotiated yet")
            version = self.versions.latest_usable(api_key)
        correlation_id = self._next_correlation_id
        self._next_correlation_id = 0 if correlation_id == _LAST_CORRELATION_ID else correlation_id + 1
        frame = encode_request(api_key, version, correlation_id, self.client_id, message)
        if api_key != ApiKey.PRODUCE or message.acks != 0:
            now = self._time.monotonic_ms()
            deadline = now + (self.request_timeout_ms if timeout_ms is None else timeout_ms)
            self.in_flight.append(InFlightRequest(correlation_id, api_key, version, now, deadline))
        return correlation_id, frame

    def receive_data(self, data: bytes | bytearray | memoryview) -> list[tuple[int, Any]]:
        """Take bytes from the socket; the responses they complete, each with its request's correlation id.

        Records inside a response are views of the bytes that came. Raises `KafkaError(UNKNOWN_SERVER_ERROR)`
        when the bytes make no sense; the connection is then of no use.
        """
        return [self._decode(frame) for frame in self._frames.feed(data)]

    def expired(self) -> list[InFlightRequest]:
        """The requests whose time has run out. Kafka's clients then close the connection."""
        now = self._time.monotonic_ms()
        return [request for request in self.in_flight if request.deadline_ms <= now]

    def _send_api_versions(self, version: int) -> tuple[int, bytes]:
        request = ApiVersionsRequest(client_software_name=software.NAME, client_software_version=software.VERSION)
        return self.send(request, version)

    def _decode(self, frame: memoryview) -> tuple[int, Any]:
        try:
            return self._decode_response(frame)
        except SchemaError as error:
            raise KafkaError(Errors.UNKNOWN_SERVER_ERROR, f"A response cannot be read: {error}") from error

    def _decode_response(self, frame: memoryview) -> tuple[int, Any]:
        if not self.in_flight:
            raise SchemaError("it answers no request")
        _, api_key, version, _, _ = request = self.in_flight[0]
        header, position = ResponseHeader.decode(frame, api_key, version)
        if header.correlation_id != request.correlation_id:
            expected = request.correlation_id
            raise SchemaError(f"it has correlation id {header.correlation_id} where {expected} is expected")
        self.in_flight.popleft()
        if api_key is ApiKey.API_VERSIONS and frame[position : position + 2] == _UNSUPPORTED_VERSION:
            version = 0  # a version that the broker does not know is answered in version 0 (KIP-511)
        return header.correlation_id, api_key.response.decode(frame, version, position)
