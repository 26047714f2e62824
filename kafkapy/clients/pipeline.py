"""Requests and responses of one connection as frames: messages in, bytes out; frames in, messages out."""

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
    """A request whose answer has not come yet. Times in ms of the monotonic clock."""

    correlation_id: int
    api_key: Api
    version: int
    sent_ms: int
    deadline_ms: float
    context: Any = None
    """Whatever the sender wants to have back with the answer."""


class Pipeline:
    """Invariant: `in_flight` holds, oldest first, exactly the requests that were sent and will be answered; a broker
    answers them in that order, so the next frame belongs to the first of them, and a frame with another correlation
    id means that the stream cannot be trusted any more. A Produce with acks=0 gets no answer and is never in there.
    """

    def __init__(self, client_id: str, time: Time, first_correlation_id: int = 0) -> None:
        self.in_flight: deque[InFlightRequest] = deque()
        self._client_id = client_id
        self._time = time
        self._next_correlation_id = first_correlation_id
        self._headers: dict[tuple[Api, int], bytes] = {}

    def send(self, message: Any, api_key: Api, version: int, timeout_ms: float, context: Any = None) -> list[Any]:
        """Frame a request in pieces, records uncopied. `in_flight` keeps it with `context` unless it gets no answer."""
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
        """The request header without its correlation id: the same for all requests of this API and version."""
        whole = RequestHeader(api_key, version, 0, self._client_id).encode()  # type: ignore[arg-type]
        header = self._headers[api_key, version] = whole[:4] + whole[8:]
        return header

    def receive(self, frame: memoryview, owned: bool) -> tuple[InFlightRequest, Any]:
        """The request that a frame answers, and the response.

        `owned` False: the frame's memory will be used again. Only records are views into it (what is of type bytes is
        copied when decoded), so a Fetch response is moved out of there first. Raises `KafkaError(UNKNOWN_SERVER_ERROR)`
        when the bytes make no sense; the connection is then of no use.
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
            version = 0  # a version that the broker does not know is answered in version 0 (KIP-511)
        response = api_key.response.decode(frame, version, position)
        self.in_flight.popleft()  # not before: a request whose answer cannot be read must still be failed
        return request, response
