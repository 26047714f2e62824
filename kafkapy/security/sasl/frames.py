"""The frames of SASL: decodes the input of `SaslServerAuthenticator`, encodes its output."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import ApiCodec, read_request_header
from kafkapy.protocol.wire import SchemaError
from kafkapy.security.sasl.authenticator import SaslFailure, SaslServerAuthenticator, SaslStep


class SaslReply(NamedTuple):
    """The bytes to send, after their size, and whether the connection is closed; see `SaslFailure`."""

    data: bytes
    failure: SaslFailure | None = None


def handle_frame(
    authenticator: SaslServerAuthenticator,
    frame: bytes | memoryview,
    find_codec: Callable[[int, int], ApiCodec],
    on_client_id: Callable[[str], None] = lambda client_id: None,
) -> SaslReply:
    """Process one frame, without its size, of an unauthenticated connection.

    Args:
        authenticator: The connection's; `complete` is false.
        frame: At most `sasl.server.max.receive.size` bytes.
        find_codec: API key and version -> codec, as in the channel.
        on_client_id: Called with the client id of a request.
    """
    if authenticator.expects_token:
        return _token_reply(authenticator.on_token(bytes(frame)))
    try:
        key, version, correlation_id, client_id, position = read_request_header(frame)
    except SchemaError as error:
        return _token_reply(authenticator.on_malformed(bytes(frame), f"malformed request: {error}"))
    api_key = ApiKey(key)
    request: Any = None
    try:
        if authenticator.accepts(api_key, len(frame)):
            request = find_codec(key, version).decode(frame, position)
    except SchemaError as error:
        return SaslReply(b"", authenticator.on_undecodable(f"malformed request: {error}").failure)
    on_client_id(client_id)
    return encode_step(
        authenticator.on_request(api_key, version, request), api_key, version, correlation_id, find_codec
    )


def _token_reply(step: SaslStep) -> SaslReply:
    return SaslReply(b"" if step.token is None else struct.pack(">i", len(step.token)) + step.token, step.failure)


def encode_step(
    step: SaslStep, api_key: ApiKey, version: int, correlation_id: int, find_codec: Callable[[int, int], ApiCodec]
) -> SaslReply:
    """Encode a step that answers a request with this header."""
    if step.response is None:
        return SaslReply(b"", step.failure)
    codec = find_codec(api_key, version if step.response_version is None else step.response_version)
    return SaslReply(b"".join(codec.encode(correlation_id, step.response)), step.failure)
