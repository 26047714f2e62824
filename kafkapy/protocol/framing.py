"""The server side of the codec: request headers, and each API in each version as a pair of functions.

All requests and responses pass through here, so this module is compiled (`kafkapy.compiled`), and properties of an
API's version are computed once.
"""

from __future__ import annotations

import struct
from typing import Any, Final

from kafkapy.protocol import wire
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.decoder import Decoder
from kafkapy.protocol.encoder import Encoder
from kafkapy.protocol.message import Message
from kafkapy.protocol.wire import Buffer, SchemaError
from kafkapy.runtime.yield_gil import yield_gil

_read_start: Final = struct.Struct(">hhih").unpack_from
_read_start_version_0: Final = struct.Struct(">hhi").unpack_from
_response_header_0: Final = struct.Struct(">ii").pack
_response_header_1: Final = struct.Struct(">iix").pack
_WITHOUT_CLIENT_ID: Final = 7
_NEVER: Final = 0x8000
_MAX_JOINED_PARTS: Final = 50_000
"""Limit of response parts that are joined in one call, which holds the interpreter lock. For more, the lock is yielded
in between (docs/benchmarks.md, loads with responses for 300,000 names).
"""
_PARTS_PER_YIELD: Final = 8192
"""Parts that are joined and freed before another thread runs: freeing 300,000 objects takes 30 ms (`protocol/many.py`),
so these take 0.8 ms.
"""
_MAX_COPIED: Final = 1 << 16
"""Limit of bytes that are copied to follow a header."""
_FIRST_FLEXIBLE: dict[int, int] = {
    int(api): _NEVER if api.first_flexible is None else api.first_flexible for api in ApiKey
}


def read_request_header(buffer: Buffer, position: int = 0) -> tuple[int, int, int, str, int]:
    """Return (API key, version, correlation id, client id, position of the message) of the header at `position`.

    `SchemaError` if it is incomplete or its API is unknown. The API may lack the version.
    """
    try:
        start = _read_start(buffer, position)
        key: int = start[0]
        version: int = start[1]
        first_flexible = _FIRST_FLEXIBLE[key]
    except (struct.error, KeyError):
        return _read_rare_header(buffer, position)
    if key == _WITHOUT_CLIENT_ID and version == 0:
        return _read_rare_header(buffer, position)
    length: int = start[3]
    position += 10
    client_id = ""
    if length > 0:
        end = position + length
        if end > len(buffer):
            wire.bad_length("RequestHeader.client_id", length, len(buffer) - position)
        client_id = str(buffer[position:end], "utf-8", wire.JAVA_UTF8)
        position = end
    if version >= first_flexible:
        try:
            tags: int = buffer[position]
            position += 1
            if tags:
                position = wire.skip_tagged_fields(buffer, position, tags)
        except IndexError as error:
            raise SchemaError("the request header ends too early") from error
    return key, version, start[2], client_id, position


def _read_rare_header(buffer: Buffer, position: int) -> tuple[int, int, int, str, int]:
    """Read a header without a client id, or an invalid one."""
    try:
        key, version, correlation_id = _read_start_version_0(buffer, position)
    except struct.error as error:
        raise SchemaError("the request header ends too early") from error
    if key not in _FIRST_FLEXIBLE:
        raise SchemaError(f"unknown API key {key}")
    if ApiKey(key).request_header_version(version) != 0:
        raise SchemaError("the request header ends too early")
    return key, version, correlation_id, "", position + 8


def _join_and_free(parts: list[Any]) -> list[Any]:
    """Join so many parts that it is done in a thread, and empty `parts`. Other threads run after each piece."""
    pieces: list[Any] = []
    while parts:
        pieces.append(b"".join(parts[-_PARTS_PER_YIELD:]))
        del parts[-_PARTS_PER_YIELD:]
        yield_gil()
    pieces.reverse()
    return pieces


class ApiCodec:
    """One API in one version: decodes its requests, encodes its responses.

    A version that the API lacks cannot be encoded; only the header of such a request is read.

    Messages that are so large that a thread decodes or encodes them use the run-time codecs, which are plain Python.
    Machine code is faster, but other threads would wait for the interpreter lock until it is done with 300,000 structs.
    """

    __slots__ = ("_decoder", "_encoder", "_has_tags", "api_key", "version")

    def __init__(self, api_key: ApiKey, version: int) -> None:
        self.api_key = api_key
        self.version = version
        self._has_tags = api_key.response_header_version(version) == 1
        self._decoder: Decoder | None = None
        self._encoder: Encoder | None = None

    def decode(self, buffer: Buffer, position: int) -> Any:
        """Decode the request at `position`, after its header; None if the API lacks the version.

        Errors are those of `Message.decode`.
        """
        decoder = self._decoder
        if decoder is None:
            if not self.api_key.supports(self.version):
                return None
            decoder = self._decoder = self.api_key.request.decoder(self.version)
        return self._read(decoder, buffer, position)

    def decode_in_thread(self, buffer: Buffer, position: int) -> Any:
        """Decode as `decode`, in a thread: other threads run meanwhile."""
        if not self.api_key.supports(self.version):
            return None
        return self._read(self.api_key.request.plain_decoder(self.version), buffer, position)

    def _read(self, decoder: Decoder, buffer: Buffer, position: int) -> Any:
        try:
            return decoder(buffer, position)[0]
        except wire.DECODE_ERRORS:
            return self.api_key.request.decode(buffer, self.version, position)

    def encode(self, correlation_id: int, response: Message) -> list[Any]:
        """Return the frame of a response in pieces, to be sent one after the other; the first starts with the frame's
        size.

        Large records, and objects in place of bytes that have `len()`, are separate pieces. See `Message.encode_parts`,
        also for errors.
        """
        encoder = self._encoder
        if encoder is None:
            encoder = self._encoder = self.api_key.response.encoder(self.version)
        return self._written(encoder, correlation_id, response)

    def encode_in_thread(self, correlation_id: int, response: Message) -> list[Any]:
        """Encode as `encode`, in a thread: other threads run meanwhile."""
        return self._written(self.api_key.response.plain_encoder(self.version), correlation_id, response)

    def _written(self, encoder: Encoder, correlation_id: int, response: Message) -> list[Any]:
        parts: list[Any] = []
        large: list[int] = []
        try:
            encoder(response, parts, large)
            if large:
                pieces = wire.joined(parts, large)
            elif len(parts) <= _MAX_JOINED_PARTS:
                pieces = [b"".join(parts)]
            else:
                pieces = _join_and_free(parts)
        except wire.ENCODE_ERRORS:
            pieces = response.encode_parts(self.version)  # raises an error that explains the problem
        size = 4
        for piece in pieces:
            size += len(piece)
        header: bytes
        header = (
            _response_header_1(size + 1, correlation_id) if self._has_tags else _response_header_0(size, correlation_id)
        )
        first: bytes = pieces[0]
        if len(first) > _MAX_COPIED:
            pieces.insert(0, header)
        else:
            pieces[0] = header + first
        return pieces
