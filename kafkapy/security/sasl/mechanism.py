"""What each mechanism's server side is, and how it fails."""

from __future__ import annotations

from typing import Protocol


class SaslAuthenticationError(Exception):
    """The authentication has failed, and the message is for the peer: it tells nothing that the peer should not know."""


class SaslExchangeError(SaslAuthenticationError):
    """The authentication has failed, and the message is for the broker's log alone (Java's `SaslException`).

    The peer is told a standard sentence, which says neither whether the user exists nor what was wrong. Holds no secrets either.
    """


class SaslMechanism(Protocol):
    """The server's side of one authentication: one object for each, which is used up when it is complete or has failed."""

    @property
    def name(self) -> str:
        """`SCRAM-SHA-512`, for one."""
        ...

    def evaluate(self, response: bytes) -> bytes:
        """Take what the client says and return what to answer; empty: nothing is left to say.

        Raises:
            SaslAuthenticationError: The client is refused; the object must not be used any more.
        """
        ...

    @property
    def complete(self) -> bool:
        """The client is authenticated."""
        ...

    @property
    def authorization_id(self) -> str:
        """The name of the client, once complete."""
        ...

    @property
    def session_lifetime_ms(self) -> int | None:
        """For how long the credential was still good when the exchange was completed (0: no longer); None: without an end."""
        ...

    @property
    def is_delegation_token(self) -> bool:
        """The client has shown a delegation token, which may not make further tokens."""
        ...


def remaining_ms(expiry_timestamp_ms: int | None, now_ms: int) -> int | None:
    """The session's lifetime for a credential that ends at this time; None: it does not end."""
    return None if expiry_timestamp_ms is None else max(0, expiry_timestamp_ms - now_ms)
