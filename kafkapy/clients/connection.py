"""The client's half of one connection as a machine without I/O: messages in, bytes out; bytes in, messages out.

    send(message)  ->  bytes  ~~ socket ~~>  broker
    receive_data(bytes)  <~~ socket ~~  broker   ->  messages

A driver (blocking socket, Twisted, asyncio) moves the bytes and closes the socket when an exception comes out of here.
"""

from __future__ import annotations

import struct
from collections import deque
from typing import Any, NamedTuple

from kafkapy.clients import software
from kafkapy.clients.api_versions import NodeApiVersions, api_key_of
from kafkapy.clients.client_apis import Api
from kafkapy.clients.frames import DEFAULT_MAX_FRAME_BYTES, FrameReader
from kafkapy.common.time import SystemTime, Time
from kafkapy.protocol import wire
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.headers import RequestHeader
from kafkapy.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkapy.protocol.wire import SchemaError

_UNSUPPORTED_VERSION = Errors.UNSUPPORTED_VERSION.code.to_bytes(2, "big")
_SIZE = struct.Struct(">i")
_LAST_CORRELATION_ID = 0x7FFFFFFF


class InFlightRequest(NamedTuple):
    """A request whose answer has not come yet. Times in ms of the monotonic clock."""

    correlation_id: int
    api_key: Api
    version: int
    sent_ms: int
    deadline_ms: float
    context: Any = None
    """Whatever the sender wants to have back with the answer."""


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
        self._headers: dict[tuple[Api, int], bytes] = {}

    def negotiate(self, answer: ApiVersionsResponse | None = None, context: Any = None) -> tuple[int, bytes] | None:
        """Ask which versions the broker serves; `versions` is set when this returns None.

        Call it first without an answer and send the bytes; give it the response; send what comes back, if anything. A
        broker that does not know our version of ApiVersions answers with version 0 and says which it knows (KIP-511).
        Raises `KafkaError` with the broker's error code if it refuses.
        """
        if answer is None:
            return self._send_api_versions(ApiKey.API_VERSIONS.max_version, context)
        if answer.error_code == Errors.UNSUPPORTED_VERSION.code and self.versions is None:
            served = NodeApiVersions.of(answer)
            self.versions = NodeApiVersions({})  # a second refusal is final
            version = served.latest_usable(ApiKey.API_VERSIONS) if served.ranges else 0
            return self._send_api_versions(version, context)
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
        parts = self.send_parts(
            message, api_key, version, self.request_timeout_ms if timeout_ms is None else timeout_ms
        )
        return correlation_id, b"".join(parts)

    def send_parts(self, message: Any, api_key: Api, version: int, timeout_ms: float, context: Any = None) -> list[Any]:
        """Frame a request in pieces, records uncopied. `in_flight` keeps it with `context` unless it gets no answer."""
        parts: list[Any] = message.encode_parts(version)
        correlation_id = self._next_correlation_id
        self._next_correlation_id = 0 if correlation_id == _LAST_CORRELATION_ID else correlation_id + 1
        start = self._header(api_key, version)
        size = len(start) + 4 + sum(map(len, parts))
        parts[0] = b"".join((_SIZE.pack(size), start[:4], _SIZE.pack(correlation_id), start[4:], parts[0]))
        if api_key is not ApiKey.PRODUCE or message.acks != 0:
            now = self._time.monotonic_ms()
            request = InFlightRequest(correlation_id, api_key, version, now, now + timeout_ms, context)
            self.in_flight.append(request)
        return parts

    def _header(self, api_key: Api, version: int) -> bytes:
        """The request header without its correlation id: the same for all requests of this API and version."""
        header = self._headers.get((api_key, version))
        if header is None:
            whole = RequestHeader(api_key, version, 0, self.client_id).encode()  # type: ignore[arg-type]
            header = self._headers[api_key, version] = whole[:4] + whole[8:]
        return header

    def receive_data(self, data: bytes | bytearray | memoryview) -> list[tuple[int, Any]]:
        """Take bytes from the socket; the responses they complete, each with its request's correlation id.

        Records inside a response are views of the bytes that came. Raises `KafkaError(UNKNOWN_SERVER_ERROR)`
        when the bytes make no sense; the connection is then of no use.
        """
        return [self._decode(frame) for frame in self._frames.feed(data)]

    def receive_frame(self, frame: memoryview, owned: bool) -> tuple[InFlightRequest, Any]:
        """The request that a frame answers, and the response. Raises as `receive_data`.

        `owned` False: the frame's memory will be used again. Only records are views into it (what is of type bytes is
        copied when decoded), so a Fetch response is moved out of there first.
        """
        try:
            if not owned and self.in_flight and self.in_flight[0].api_key is ApiKey.FETCH:
                frame = memoryview(bytes(frame))
            return self._decode_response(frame)
        except SchemaError as error:
            raise KafkaError(Errors.UNKNOWN_SERVER_ERROR, f"A response cannot be read: {error}") from error

    def expired(self) -> list[InFlightRequest]:
        """The requests whose time has run out. Kafka's clients then close the connection."""
        now = self._time.monotonic_ms()
        return [request for request in self.in_flight if request.deadline_ms <= now]

    def _send_api_versions(self, version: int, context: Any) -> tuple[int, bytes]:
        request = ApiVersionsRequest(client_software_name=software.NAME, client_software_version=software.VERSION)
        parts = self.send_parts(request, ApiKey.API_VERSIONS, version, self.request_timeout_ms, context)
        return self.in_flight[-1].correlation_id, b"".join(parts)

    def _decode(self, frame: memoryview) -> tuple[int, Any]:
        request, response = self.receive_frame(frame, True)
        return request.correlation_id, response

    def _decode_response(self, frame: memoryview) -> tuple[InFlightRequest, Any]:
        if not self.in_flight:
            raise SchemaError("it answers no request")
        request = self.in_flight[0]
        api_key, version = request.api_key, request.version
        try:
            correlation_id: int = _SIZE.unpack_from(frame)[0]
            position = 4
            if api_key.response_header_version(version) == 1:
                position = wire.skip_tagged_fields(frame, 5, frame[4])
        except (struct.error, IndexError) as error:
            raise SchemaError("the response header ends too early") from error
        if correlation_id != request.correlation_id:
            expected = request.correlation_id
            raise SchemaError(f"it has correlation id {correlation_id} where {expected} is expected")
        if api_key is ApiKey.API_VERSIONS and frame[position : position + 2] == _UNSUPPORTED_VERSION:
            version = 0  # a version that the broker does not know is answered in version 0 (KIP-511)
        response = api_key.response.decode(frame, version, position)
        self.in_flight.popleft()  # not before: a request whose answer cannot be read must still be failed
        return request, response
