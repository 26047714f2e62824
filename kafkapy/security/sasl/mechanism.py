"""The interface of mechanisms on the server side, and their errors."""

from __future__ import annotations

from typing import Protocol


class SaslAuthenticationError(Exception):
    """The authentication has failed, and the message is for the peer: it reveals nothing confidential."""


class SaslExchangeError(SaslAuthenticationError):
    """The authentication has failed, and the message is only for the broker's log (Java's `SaslException`).

    The peer receives a fixed message, which reveals neither whether the user exists nor what was wrong. Contains no
    secrets either.
    """


class SaslMechanism(Protocol):
    """The server side of one authentication: each uses a new object."""

    @property
    def name(self) -> str:
        """The name, for example `SCRAM-SHA-512`."""
        ...

    def evaluate(self, response: bytes) -> bytes:
        """Process a client's token and return the server's; empty: nothing is sent.

        Args:
            response: The client's token.

        Raises:
            SaslAuthenticationError: The client is refused; the object must not be used any more.
        """
        ...

    @property
    def complete(self) -> bool:
        """Whether the client is authenticated."""
        ...

    @property
    def authorization_id(self) -> str:
        """The client's name, once complete."""
        ...

    @property
    def session_lifetime_ms(self) -> int | None:
        """The remaining validity of the credential when the exchange was completed (0: expired); None: unlimited."""
        ...

    @property
    def is_delegation_token(self) -> bool:
        """Whether the client used a delegation token, so that it may not create further tokens."""
        ...


def remaining_ms(expiry_timestamp_ms: int | None, now_ms: int) -> int | None:
    """Return the session's lifetime for a credential that expires at this time; None: it does not expire."""
    return None if expiry_timestamp_ms is None else max(0, expiry_timestamp_ms - now_ms)
