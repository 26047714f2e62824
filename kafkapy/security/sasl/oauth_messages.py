"""The first message of an OAUTHBEARER client (RFC 7628; Kafka's `OAuthBearerClientInitialResponse`), for both sides."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_INVALID = "Invalid OAUTHBEARER client first message"
_HEADER = re.compile(r"n,(?:a=((?:[^=,\x00\x80-\U0010ffff]++|=2C|=3D){1,8192}+))?,")
_KEY = re.compile(r"[A-Za-z]+")
_VALUE = re.compile(r"[\x21-\x7e \t\r\n]+")
_AUTH = re.compile(r"(\w+) +([-_~+/.a-zA-Z0-9]+=*)", re.ASCII)
_SEPARATOR = "\x01"
_MAX_BYTES = 160 * 1024
_MAX_EXTENSIONS = 1000


class OAuthMessageError(ValueError):
    """A malformed message. The text quotes no token."""


class ClientInitialResponse(NamedTuple):
    """A client's first message (Kafka's `OAuthBearerClientInitialResponse`)."""

    token: str
    authorization_id: str
    """Empty: none was sent."""
    extensions: dict[str, str]

    def __repr__(self) -> str:
        return f"ClientInitialResponse({self.authorization_id!r}, extensions: {sorted(self.extensions)})"


def parse_client_initial_response(response: bytes) -> ClientInitialResponse:
    """Parse `n,[a=authzid],^Aauth=Bearer token^A[key=value^A...]^A`.

    Raises:
        OAuthMessageError: It is malformed. The error quotes nothing of it.

    Example:
        >>> parse_client_initial_response(b"n,,\\x01auth=Bearer x.y.z\\x01traceId=123\\x01\\x01").extensions
        {'traceId': '123'}
    """
    if len(response) > _MAX_BYTES:
        raise OAuthMessageError(_INVALID)
    try:
        text = bytes(response).decode("ascii")
    except UnicodeDecodeError:
        raise OAuthMessageError(_INVALID) from None
    header = _HEADER.match(text)
    if header is None or text[header.end() : header.end() + 1] != _SEPARATOR or not text.endswith(_SEPARATOR * 2):
        raise OAuthMessageError(_INVALID)
    values: dict[str, str] = {}
    # After the maximum number of splits, the remainder is not a valid value.
    for pair in text[header.end() + 1 : -2].split(_SEPARATOR, _MAX_EXTENSIONS):
        key, _, value = pair.partition("=")
        if not _KEY.fullmatch(key) or not _VALUE.fullmatch(value):
            raise OAuthMessageError(_INVALID)
        values[key] = value
    auth = values.pop("auth", None)
    if auth is None:
        raise OAuthMessageError(f"{_INVALID}: 'auth' not specified")
    match = _AUTH.fullmatch(auth)
    if match is None:
        raise OAuthMessageError(f"{_INVALID}: invalid 'auth' format")
    if match[1].lower() != "bearer":
        raise OAuthMessageError("Invalid scheme in OAUTHBEARER client first message")
    authorization_id = (header[1] or "").replace("=2C", ",").replace("=3D", "=")
    return ClientInitialResponse(match[2], authorization_id, values)


def client_initial_response(token: str, extensions: Mapping[str, str], authorization_id: str = "") -> bytes:
    """Return a client's first message.

    Args:
        token: The bearer token.
        extensions: Additional values: names of letters, values of printable ASCII.
        authorization_id: Must be the token's principal, if it is given.

    Raises:
        OAuthMessageError: A token or an extension is invalid.

    Example:
        >>> client_initial_response("x.y.z", {"traceId": "123"})
        b'n,,\\x01auth=Bearer x.y.z\\x01traceId=123\\x01\\x01'
    """
    auth = f"Bearer {token}"
    if not _AUTH.fullmatch(auth):
        raise OAuthMessageError("The token has characters that no bearer token may have")
    for name, value in extensions.items():
        if name == "auth" or not _KEY.fullmatch(name):
            raise OAuthMessageError(f"Extension name {name} is invalid")
        if not _VALUE.fullmatch(value):
            raise OAuthMessageError(f"The value of extension {name} is invalid")
    header = f"n,a={authorization_id.replace('=', '=3D').replace(',', '=2C')}," if authorization_id else "n,,"
    pairs = "".join(f"{name}={value}{_SEPARATOR}" for name, value in {"auth": auth, **extensions}.items())
    return f"{header}{_SEPARATOR}{pairs}{_SEPARATOR}".encode()
