"""Request and response headers, and whole frames.

A frame is an int32 size, a header, a message. Header versions: request 0 (key, version, correlation id; only
ControlledShutdown 0 has it), 1 (with client id), 2 (with tagged fields); response 0 (correlation id), 1 (with tagged
fields). The client id has an int16 length in all versions, even flexible ones.
"""

from __future__ import annotations

import struct

from kafkapy.protocol import wire
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import read_request_header
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, int16, int32, string
from kafkapy.protocol.wire import Buffer, SchemaError


class RequestHeader(Struct):
    """`client_id` is "" if the client sent null, as in Kafka."""

    api_key: ApiKey = int16()
    api_version: int = int16()
    correlation_id: int = int32()
    client_id: str = string("1+")

    @classmethod
    def decode(cls, buffer: Buffer, position: int = 0) -> tuple[RequestHeader, int]:
        """Return the header at `position` (after the frame's size) and the position of the message after it.

        Raises SchemaError if it is incomplete or its API is unknown. The API may lack the version: Kafka answers that
        for ApiVersions, and closes the connection for all others.
        """
        key, version, correlation_id, client_id, position = read_request_header(buffer, position)
        return RequestHeader(ApiKey(key), version, correlation_id, client_id), position

    def encode(self) -> bytes:
        """Encode in the header version of the API's version."""
        header_version = self.api_key.request_header_version(self.api_version)
        start = struct.pack(">hhi", self.api_key, self.api_version, self.correlation_id)
        if header_version == 0:
            return start
        client_id = self.client_id.encode()
        tags = b"\0" if header_version == 2 else b""
        return b"".join((start, struct.pack(">h", len(client_id)), client_id, tags))


class ResponseHeader(Struct):
    correlation_id: int = int32()

    @classmethod
    def decode(cls, buffer: Buffer, api_key: ApiKey, version: int, position: int = 0) -> tuple[ResponseHeader, int]:
        """Return the header of a response of this API and version, and the position after it; SchemaError if
        incomplete.
        """
        try:
            (correlation_id,) = struct.unpack_from(">i", buffer, position)
            position += 4
            if api_key.response_header_version(version) == 1:
                position = wire.skip_tagged_fields(buffer, position + 1, buffer[position])
        except (struct.error, IndexError) as error:
            raise SchemaError("the response header ends too early") from error
        return ResponseHeader(correlation_id), position

    def encode(self, api_key: ApiKey, version: int) -> bytes:
        tags = b"\0" if api_key.response_header_version(version) == 1 else b""
        return struct.pack(">i", self.correlation_id) + tags


def encode_request(api_key: ApiKey, version: int, correlation_id: int, client_id: str, message: Message) -> bytes:
    """Return the whole frame of a request. Errors are those of `Message.encode`."""
    header = RequestHeader(api_key, version, correlation_id, client_id).encode()
    body = message.encode(version)
    return b"".join((struct.pack(">i", len(header) + len(body)), header, body))


def encode_response(api_key: ApiKey, version: int, correlation_id: int, message: Message) -> bytes:
    """Return the whole frame of a response. Errors are those of `Message.encode`."""
    body = message.encode(version)
    if api_key.response_header_version(version) == 0:
        return struct.pack(">ii", len(body) + 4, correlation_id) + body
    return struct.pack(">iix", len(body) + 5, correlation_id) + body
