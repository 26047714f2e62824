"""Request and response headers, and whole messages as they go over the wire.

A frame is an int32 size, a header, a message. Header versions: request 0 (key, version, correlation id; only
ControlledShutdown 0 has it), 1 (with client id), 2 (with tagged fields); response 0 (correlation id), 1 (with tagged
fields). The client id has an int16 length in all versions, flexible ones too.
"""

from __future__ import annotations

import struct
from typing import Any

from kafkapy.protocol import wire
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, int16, int32, string
from kafkapy.protocol.wire import Buffer, SchemaError

_read_start = struct.Struct(">hhih").unpack_from
_read_start_version_0 = struct.Struct(">hhi").unpack_from
_new = object.__new__
_CONTROLLED_SHUTDOWN = 7
_NEVER = 0x8000
_APIS = {int(api): (api, _NEVER if api.first_flexible is None else api.first_flexible) for api in ApiKey}


class RequestHeader(Struct):
    """`client_id` is "" where the client sent null, as in Kafka."""

    api_key: ApiKey = int16()
    api_version: int = int16()
    correlation_id: int = int32()
    client_id: str = string("1+")

    @classmethod
    def decode(cls, buffer: Buffer, position: int = 0) -> tuple[RequestHeader, int]:
        """The header at `position` (behind the frame's size) and the position of the message behind it.

        Raises SchemaError if it is cut off or its API is none that is served. The version may be one that the API does
        not have: Kafka answers that for ApiVersions, and closes the connection for all others.
        """
        header = _new(RequestHeader)
        try:
            key, version, header.correlation_id, length = _read_start(buffer, position)
            header.api_key, first_flexible = _APIS[key]
        except (struct.error, KeyError):
            return cls._decode_rare(buffer, position)
        if key == _CONTROLLED_SHUTDOWN and version == 0:
            return cls._decode_rare(buffer, position)
        header.api_version = version
        position += 10
        if length > 0:
            end = position + length
            if end > len(buffer):
                wire.bad_length("RequestHeader.client_id", length, len(buffer) - position)
            header.client_id = str(buffer[position:end], "utf-8", wire.JAVA_UTF8)
            position = end
        else:
            header.client_id = ""
        if version >= first_flexible:
            try:
                position = wire.skip_tagged_fields(buffer, position + 1, buffer[position])
            except IndexError as error:
                raise SchemaError("the request header ends too early") from error
        return header, position

    @classmethod
    def _decode_rare(cls, buffer: Buffer, position: int) -> tuple[RequestHeader, int]:
        """A header without a client id, or none."""
        try:
            key, version, correlation_id = _read_start_version_0(buffer, position)
        except struct.error as error:
            raise SchemaError("the request header ends too early") from error
        if key not in _APIS:
            raise SchemaError(f"unknown API key {key}")
        api = _APIS[key][0]
        if api.request_header_version(version) != 0:
            raise SchemaError("the request header ends too early")
        return RequestHeader(api, version, correlation_id), position + 8

    def encode(self) -> bytes:
        """In the header version that the API's version asks for."""
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
        """The header of a response to this API and version, and the position behind it; SchemaError if cut off."""
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
    """The whole frame of a request. Raises as `Message.encode`."""
    header = RequestHeader(api_key, version, correlation_id, client_id).encode()
    body = message.encode(version)
    return b"".join((struct.pack(">i", len(header) + len(body)), header, body))


def encode_response(api_key: ApiKey, version: int, correlation_id: int, message: Message) -> bytes:
    """The whole frame of a response. Raises as `Message.encode`."""
    body = message.encode(version)
    if api_key.response_header_version(version) == 0:
        return struct.pack(">ii", len(body) + 4, correlation_id) + body
    return struct.pack(">iix", len(body) + 5, correlation_id) + body


def encode_response_parts(api_key: ApiKey, version: int, correlation_id: int, message: Message) -> list[Any]:
    """The frame of a response in pieces, to be sent one after the other; the first begins with the frame's size.

    Large records, and those that are no bytes but have `len()`, are pieces of their own (see `Message.encode_parts`).
    """
    parts = message.encode_parts(version)
    size = sum(map(len, parts))
    if api_key.response_header_version(version) == 0:
        parts[0] = struct.pack(">ii", size + 4, correlation_id) + parts[0]
    else:
        parts[0] = struct.pack(">iix", size + 5, correlation_id) + parts[0]
    return parts
