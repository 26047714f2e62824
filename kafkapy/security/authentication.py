"""How the client of a connection was authenticated, for those that keep a record of it."""

from __future__ import annotations

from typing import NamedTuple


class Authentication(NamedTuple):
    """What a connection has shown so far; empty for one of a PLAINTEXT listener.

    Example:
        >>> Authentication("PLAIN").tls_version is None
        True
    """

    mechanism: str | None = None
    """Of SASL: `SCRAM-SHA-512`, for one."""
    tls_version: str | None = None
    """`TLSv1.3`, for one; None: the connection is not encrypted."""
    tls_cipher: str | None = None
    """OpenSSL's name of the cipher suite."""
    peer_certificate: bytes | None = None
    """Of a SASL client over TLS, if it has shown one: DER."""


NOT_AUTHENTICATED = Authentication()


class AuthenticationOutcome(NamedTuple):
    """An authentication, or a re-authentication, that has ended."""

    failure: str | None = None
    """Why it has failed, in words that hold no secrets; None: it has not."""
    mechanism: str | None = None
    """Of SASL: the one that was tried."""
    claimed: str | None = None
    """The name that the client gave without proving it, for a failure; None: none, or it is confidential."""
    is_reauthentication: bool = False
    """The connection was authenticated before (KIP-368)."""
    reauthenticates: bool = False
    """The client is one that would authenticate again where sessions end."""
    is_broken: bool = False
    """For a failure: the client did not keep to the protocol, so nothing was refused."""
