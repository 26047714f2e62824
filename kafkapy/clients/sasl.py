"""The client's side of SASL mechanisms, without I/O.

PLAIN (RFC 4616), SCRAM-SHA-256 and -512 (RFC 5802, 7677), OAUTHBEARER (RFC 7628; KIP-255); GSSAPI is in `kerberos.py`.
"""

from __future__ import annotations

import base64
import hmac
import secrets
from typing import Any, Protocol

from kafkapy.errors import KafkaConfigurationError, SaslAuthenticationFailedError
from kafkapy.security import scram
from kafkapy.security.sasl.oauth_messages import OAuthMessageError, client_initial_response


class Credentials(Protocol):
    """The client options that mechanisms need."""

    sasl_plain_username: str | None
    sasl_plain_password: str | None
    sasl_token_auth: bool
    sasl_oauth_token_provider: Any
    sasl_kerberos_service_name: str
    sasl_kerberos_keytab: str | None
    sasl_kerberos_principal: str | None


class Mechanism(Protocol):
    """One authentication. Both methods raise SaslAuthenticationFailedError."""

    def first(self) -> bytes:
        """Return the client's first message. May block (a token provider sends a request)."""
        ...

    def next(self, challenge: bytes) -> bytes | None:
        """Return the response to the broker's challenge; None when the exchange is complete."""
        ...


def make_mechanism(name: str, config: Credentials, host: str = "") -> Mechanism:
    """Create a mechanism. `host`: the broker's. Raises KafkaConfigurationError if an option of the mechanism is
    missing."""
    if name == "GSSAPI":
        from kafkapy.clients.kerberos import Gssapi, KerberosLogin

        return Gssapi(
            KerberosLogin(
                config.sasl_kerberos_service_name, config.sasl_kerberos_keytab, config.sasl_kerberos_principal
            ),
            host,
        )
    if name == "OAUTHBEARER":
        if not callable(getattr(config.sasl_oauth_token_provider, "token", None)):
            raise KafkaConfigurationError(
                "sasl_mechanism OAUTHBEARER needs sasl_oauth_token_provider: an object with a method token()"
            )
        return OAuthBearer(config)
    user, password = config.sasl_plain_username, config.sasl_plain_password
    if user is None or password is None:
        raise KafkaConfigurationError(f"sasl_mechanism {name} needs sasl_plain_username and sasl_plain_password")
    if name == "PLAIN":
        return Plain(user, password)
    return Scram(name, user, password, token_auth=config.sasl_token_auth)


class Plain:
    def __init__(self, user: str, password: str) -> None:
        self._message = f"\0{user}\0{password}".encode()

    def first(self) -> bytes:
        return self._message

    def next(self, challenge: bytes) -> bytes | None:
        return None


class OAuthBearer:
    """Sends the token of `sasl_oauth_token_provider`: `token()` and, if the provider has it, `extensions()` (a
    dict)."""

    def __init__(self, config: Credentials) -> None:
        self._provider = config.sasl_oauth_token_provider
        self._refused = False

    def first(self) -> bytes:
        token = self._provider.token()
        extensions = self._provider.extensions() if hasattr(self._provider, "extensions") else {}
        try:
            return client_initial_response(token, extensions or {})
        except OAuthMessageError as error:
            raise SaslAuthenticationFailedError(f"sasl_oauth_token_provider: {error}") from None

    def next(self, challenge: bytes) -> bytes | None:
        if self._refused:
            raise SaslAuthenticationFailedError("The broker has refused the token, and does not say so with an error")
        if challenge:
            self._refused = True
            return b"\x01"  # acknowledges the broker's failure message; its error follows
        return None


class Scram:
    """Salted challenge-response; the broker proves that it knows the password, too.

    `token_auth`: the user name is a delegation token's id, and the password its HMAC in Base64 (KIP-48).
    """

    def __init__(
        self, name: str, user: str, password: str, nonce: str | None = None, *, token_auth: bool = False
    ) -> None:
        self._hash = scram.SCRAM_HASHES[name]
        self._password = password
        self._nonce = nonce or secrets.token_urlsafe(24)
        extension = f",{scram.TOKEN_AUTH}=true" if token_auth else ""
        self._bare = f"n={scram.sasl_name(user)},r={self._nonce}{extension}"
        self._server_signature: bytes | None = None
        self._proven = False

    def first(self) -> bytes:
        return f"n,,{self._bare}".encode()

    def next(self, challenge: bytes) -> bytes | None:
        try:
            if self._server_signature is None:
                return self._prove(challenge)
            if not self._proven:
                self._verify(challenge)
        except scram.ScramFormatError as error:
            raise SaslAuthenticationFailedError(f"The broker's SCRAM challenge makes no sense: {error}") from None
        return None

    def _prove(self, challenge: bytes) -> bytes:
        server_first = scram.parse_server_first(challenge)
        nonce = server_first.nonce
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise SaslAuthenticationFailedError("The broker's SCRAM nonce does not continue the client's")
        salted = scram.salted_password(self._hash, self._password, server_first.salt, server_first.iterations)
        client_key = scram.client_key(self._hash, salted)
        final = f"c=biws,r={nonce}"
        said = f"{self._bare},{challenge.decode()},{final}"
        signature = scram.signature(self._hash, scram.stored_key(self._hash, client_key), said)
        self._server_signature = scram.signature(self._hash, scram.server_key(self._hash, salted), said)
        return f"{final},p={base64.b64encode(scram.xor(client_key, signature)).decode()}".encode()

    def _verify(self, challenge: bytes) -> None:
        server_final = scram.parse_server_final(challenge)
        if server_final.error is not None:
            raise SaslAuthenticationFailedError(f"The broker refused: {server_final.error}")
        assert self._server_signature is not None
        if not hmac.compare_digest(server_final.signature, self._server_signature):
            raise SaslAuthenticationFailedError("The broker could not prove that it knows the password")
        self._proven = True
