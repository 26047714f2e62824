"""SASL mechanisms without I/O: what a client says, given what the broker said.

PLAIN (RFC 4616), SCRAM-SHA-256 and -512 (RFC 5802, 7677), OAUTHBEARER (RFC 7628; KIP-255).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from typing import Any, Protocol

from kafkapy.errors import KafkaConfigurationError, SaslAuthenticationFailedError


class Credentials(Protocol):
    """The options that mechanisms take theirs from."""

    sasl_plain_username: str | None
    sasl_plain_password: str | None
    sasl_oauth_token_provider: Any


class Mechanism(Protocol):
    """One authentication. Both methods raise SaslAuthenticationFailedError."""

    def first(self) -> bytes:
        """What the client says first. May block (a token provider asks somebody)."""
        ...

    def next(self, challenge: bytes) -> bytes | None:
        """What it says to the broker's last word; None when it is content."""
        ...


def make_mechanism(name: str, config: Credentials) -> Mechanism:
    """Raises KafkaConfigurationError if an option that the mechanism needs is missing."""
    if name == "OAUTHBEARER":
        if not callable(getattr(config.sasl_oauth_token_provider, "token", None)):
            raise KafkaConfigurationError(
                "sasl_mechanism OAUTHBEARER needs sasl_oauth_token_provider: an object with a method token()"
            )
        return OAuthBearer(config)
    user, password = config.sasl_plain_username, config.sasl_plain_password
    if user is None or password is None:
        raise KafkaConfigurationError(f"sasl_mechanism {name} needs sasl_plain_username and sasl_plain_password")
    return Plain(user, password) if name == "PLAIN" else Scram(name, user, password)


class Plain:
    def __init__(self, user: str, password: str) -> None:
        self._message = f"\0{user}\0{password}".encode()

    def first(self) -> bytes:
        return self._message

    def next(self, challenge: bytes) -> bytes | None:
        return None


class OAuthBearer:
    """The token comes from `sasl_oauth_token_provider`: `token()` and, if it has it, `extensions()` (a dict)."""

    def __init__(self, config: Credentials) -> None:
        self._provider = config.sasl_oauth_token_provider
        self._told = False

    def first(self) -> bytes:
        token = self._provider.token()
        extensions = self._provider.extensions() if hasattr(self._provider, "extensions") else {}
        pairs = "".join(f"\x01{key}={value}" for key, value in (extensions or {}).items())
        return f"n,,\x01auth=Bearer {token}{pairs}\x01\x01".encode()

    def next(self, challenge: bytes) -> bytes | None:
        if challenge and not self._told:
            self._told = True
            return b"\x01"  # the broker's complaint is acknowledged; its error follows
        return None


class Scram:
    """A salted challenge and response; the broker proves that it knows the password, too."""

    def __init__(self, name: str, user: str, password: str, nonce: str | None = None) -> None:
        self._hash = "sha256" if name.endswith("256") else "sha512"
        self._password = password.encode()
        self._nonce = nonce or secrets.token_urlsafe(24)
        escaped = user.replace("=", "=3D").replace(",", "=2C")
        self._bare = f"n={escaped},r={self._nonce}"
        self._server_signature: bytes | None = None
        self._proven = False

    def first(self) -> bytes:
        return f"n,,{self._bare}".encode()

    def next(self, challenge: bytes) -> bytes | None:
        if self._server_signature is None:
            return self._prove(challenge.decode())
        if not self._proven:
            self._verify(challenge.decode())
        return None

    def _prove(self, challenge: str) -> bytes:
        fields = _fields(challenge)
        try:
            nonce, salt, iterations = fields["r"], base64.b64decode(fields["s"]), int(fields["i"])
        except (KeyError, ValueError) as error:
            raise SaslAuthenticationFailedError("The broker's SCRAM challenge makes no sense") from error
        if not nonce.startswith(self._nonce):
            raise SaslAuthenticationFailedError("The broker's SCRAM nonce does not continue the client's")
        salted = hashlib.pbkdf2_hmac(self._hash, self._password, salt, iterations)
        client_key = self._hmac(salted, b"Client Key")
        stored_key = hashlib.new(self._hash, client_key).digest()
        final = f"c=biws,r={nonce}"
        said = f"{self._bare},{challenge},{final}".encode()
        proof = bytes(a ^ b for a, b in zip(client_key, self._hmac(stored_key, said), strict=True))
        self._server_signature = self._hmac(self._hmac(salted, b"Server Key"), said)
        return f"{final},p={base64.b64encode(proof).decode()}".encode()

    def _verify(self, challenge: str) -> None:
        fields = _fields(challenge)
        if "e" in fields:
            raise SaslAuthenticationFailedError(f"The broker refused: {fields['e']}")
        assert self._server_signature is not None
        if not hmac.compare_digest(base64.b64decode(fields.get("v", "")), self._server_signature):
            raise SaslAuthenticationFailedError("The broker could not prove that it knows the password")
        self._proven = True

    def _hmac(self, key: bytes, message: bytes) -> bytes:
        return hmac.new(key, message, self._hash).digest()


def _fields(message: str) -> dict[str, str]:
    return dict(part.split("=", 1) for part in message.split(",") if "=" in part)
