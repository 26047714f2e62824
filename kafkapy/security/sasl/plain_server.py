"""The server side of PLAIN (RFC 4616; Kafka's `PlainSaslServer` and `PlainServerCallbackHandler`)."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from typing import Final, Protocol

from kafkapy.security.jaas import LoginModule, user_passwords
from kafkapy.security.sasl.mechanism import SaslAuthenticationError, SaslExchangeError

PLAIN: Final = "PLAIN"
PLAIN_LOGIN_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"


class PlainAuthenticator(Protocol):
    """Checks passwords. `sasl.server.callback.handler.class` may name a user's own class."""

    def authenticate(self, username: str, password: str) -> bool:
        """Return whether this user has this password; neither is empty.

        Called on the reactor thread; must not block. An exception refuses the user.
        """
        ...


class PlainUsers:
    """The users of a JAAS configuration: `user_alice="secret"`. Stores hashes; `repr` shows no passwords.

    Args:
        passwords: User -> password.

    Example:
        >>> users = PlainUsers({"alice": "secret"})
        >>> users.authenticate("alice", "secret"), users.authenticate("bob", "secret")
        (True, False)
    """

    __slots__ = ("_hashes",)

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._hashes = {user: _hash(password) for user, password in passwords.items()}

    @classmethod
    def of(cls, modules: Iterable[LoginModule]) -> PlainUsers:
        """Return the users of the modules for PLAIN; other modules are ignored."""
        return cls(dict(user_passwords(modules, PLAIN_LOGIN_MODULE)))

    def __repr__(self) -> str:
        return f"PlainUsers({len(self._hashes)})"

    def authenticate(self, username: str, password: str) -> bool:
        """Return whether the password is right. Takes the same time for all users, existing or not, and all passwords."""
        expected = self._hashes.get(username)
        fits = hmac.compare_digest(_hash(password), _NONE if expected is None else expected)
        return fits and expected is not None


class PlainServer:
    """One authentication by PLAIN.

    Args:
        authenticator: Checks the password.
    """

    __slots__ = ("_authenticator", "_user", "claimed_name")

    name = PLAIN
    session_lifetime_ms: int | None = None
    is_delegation_token = False

    def __init__(self, authenticator: PlainAuthenticator) -> None:
        self._authenticator = authenticator
        self._user: str | None = None
        self.claimed_name: str | None = None
        """The user that the client claims to be."""

    @property
    def complete(self) -> bool:
        return self._user is not None

    @property
    def authorization_id(self) -> str:
        assert self._user is not None
        return self._user

    def evaluate(self, response: bytes) -> bytes:
        """See `SaslMechanism.evaluate`."""
        if self.complete:
            raise SaslExchangeError("Authentication exchange has completed")
        authorization_id, user, password = _split(response)
        if not user:
            raise SaslAuthenticationError("Authentication failed: username not specified")
        self.claimed_name = user
        if not password:
            raise SaslAuthenticationError("Authentication failed: password not specified")
        try:
            authenticated = self._authenticator.authenticate(user, password)
        except Exception as error:
            # Its message may contain the password.
            raise SaslAuthenticationError(
                "Authentication failed: credentials for user could not be verified"
            ) from _without_message(error)
        if authenticated is not True:
            raise SaslAuthenticationError("Authentication failed: Invalid username or password")
        if authorization_id not in ("", user):
            raise SaslAuthenticationError(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        self._user = user
        return b""


def _split(response: bytes) -> list[str]:
    """Return authorization id, user and password. Bytes that are not UTF-8 become U+FFFD, as in Java."""
    tokens = bytes(response).decode(errors="replace").split("\0", 3)
    if len(tokens) != 3:
        raise SaslAuthenticationError(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(tokens)}")
    return tokens


def _without_message(error: Exception) -> Exception:
    return RuntimeError(f"the callback handler raised {type(error).__name__}")


def _hash(password: str) -> bytes:
    return hashlib.sha256(password.encode(errors="surrogatepass")).digest()


_NONE: Final = bytes(32)
