"""Encodes the requests of one connection to frames, and decodes frames to responses."""

from __future__ import annotations

import struct
from collections import deque
from typing import Any, NamedTuple

from kafkapy.clients.client_apis import Api
from kafkapy.common.time import Time
from kafkapy.protocol import wire
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.headers import RequestHeader
from kafkapy.protocol.wire import SchemaError

_UNSUPPORTED_VERSION = Errors.UNSUPPORTED_VERSION.code.to_bytes(2, "big")
_INT32 = struct.Struct(">i")
_LAST_CORRELATION_ID = 0x7FFFFFFF


class InFlightRequest(NamedTuple):
    """A request whose response has not arrived yet. Times in ms of the monotonic clock."""

    correlation_id: int
    api_key: Api
    version: int
    sent_ms: int
    deadline_ms: float
    context: Any = None
    """Any object of the sender, returned with the response."""


class Pipeline:
    """Matches responses to requests.

    Invariant: `in_flight` holds, oldest first, exactly the requests that were sent and will be answered. A broker
    answers in that order, so the next frame belongs to the first of them, and another correlation id means that the
    stream is corrupt. A Produce with acks=0 has no response and is never in there.
    """

    def __init__(self, client_id: str, time: Time, first_correlation_id: int = 0) -> None:
        self.in_flight: deque[InFlightRequest] = deque()
        self._client_id = client_id
        self._time = time
        self._next_correlation_id = first_correlation_id
        self._headers: dict[tuple[Api, int], bytes] = {}

    def send(self, message: Any, api_key: Api, version: int, timeout_ms: float, context: Any = None) -> list[Any]:
        """Encode a request to a list of buffers, without copying records; add it to `in_flight` if it will be
        answered."""
        parts: list[Any] = message.encode_parts(version)
        correlation_id = self._next_correlation_id
        self._next_correlation_id = 0 if correlation_id == _LAST_CORRELATION_ID else correlation_id + 1
        start = self._headers.get((api_key, version)) or self._header(api_key, version)
        size = len(start) + 4 + sum(map(len, parts))
        parts[0] = b"".join((_INT32.pack(size), start[:4], _INT32.pack(correlation_id), start[4:], parts[0]))
        if api_key is not ApiKey.PRODUCE or message.acks != 0:
            now = self._time.monotonic_ms()
            request = InFlightRequest(correlation_id, api_key, version, now, now + timeout_ms, context)
            self.in_flight.append(request)
        return parts

    def _header(self, api_key: Api, version: int) -> bytes:
        """Return the request header without its correlation id: the same for all requests of this API and version."""
        whole = RequestHeader(api_key, version, 0, self._client_id).encode()  # type: ignore[arg-type]
        header = self._headers[api_key, version] = whole[:4] + whole[8:]
        return header

    def receive(self, frame: memoryview, owned: bool) -> tuple[InFlightRequest, Any]:
        """Return the request that a frame answers, and the response.

        `owned` False: the frame's memory will be reused. Only records are views into it (fields of type bytes are
        copied when decoded), so the frame of a Fetch response is copied first. Raises
        `KafkaError(UNKNOWN_SERVER_ERROR)` for invalid bytes; the connection must be closed then.
        """
        try:
            if not owned and self.in_flight and self.in_flight[0].api_key is ApiKey.FETCH:
                frame = memoryview(bytes(frame))
            return self._decode(frame)
        except SchemaError as error:
            raise KafkaError(Errors.UNKNOWN_SERVER_ERROR, f"A response cannot be read: {error}") from error

    def _decode(self, frame: memoryview) -> tuple[InFlightRequest, Any]:
        if not self.in_flight:
            raise SchemaError("it answers no request")
        request = self.in_flight[0]
        api_key, version = request.api_key, request.version
        try:
            correlation_id: int = _INT32.unpack_from(frame)[0]
            position = 4
            if api_key.response_header_version(version) == 1:
                position = wire.skip_tagged_fields(frame, 5, frame[4])
        except (struct.error, IndexError) as error:
            raise SchemaError("the response header ends too early") from error
        if correlation_id != request.correlation_id:
            expected = request.correlation_id
            raise SchemaError(f"it has correlation id {correlation_id} where {expected} is expected")
        if api_key is ApiKey.API_VERSIONS and frame[position : position + 2] == _UNSUPPORTED_VERSION:
            version = 0  # an unsupported version is answered in version 0 (KIP-511)
        response = api_key.response.decode(frame, version, position)
        self.in_flight.popleft()  # only now: a request whose response can't be decoded must still be failed
        return request, response
