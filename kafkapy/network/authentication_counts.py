"""How the authentications of each listener ended, counted (Kafka's metrics of `Selector` and `Processor`; KIP-152, KIP-368)."""

from __future__ import annotations

from collections.abc import Callable

from kafkapy.network.request import RequestContext
from kafkapy.security.authentication import AuthenticationOutcome
from kafkapy.security.principal import ANONYMOUS

AuthenticationListener = Callable[[RequestContext, AuthenticationOutcome], object]
"""Hears how each authentication ended; the context has the principal, if it was completed."""


class AuthenticationCounts:
    """Of one listener, since the start of the broker. A TLS handshake is an authentication where no SASL follows."""

    def __init__(self) -> None:
        self.successful = 0
        self.failed = 0
        self.without_reauthentication = 0
        """Of the successful ones: those whose clients would not authenticate again."""
        self.successful_again = 0
        self.failed_again = 0
        self.expired = 0
        """Connections that were closed because they went on after the end of their session."""

    def add(self, outcome: AuthenticationOutcome) -> None:
        if outcome.failure is not None:
            if not outcome.is_broken:
                self.failed += not outcome.is_reauthentication
                self.failed_again += outcome.is_reauthentication
            return
        self.successful += not outcome.is_reauthentication
        self.successful_again += outcome.is_reauthentication
        self.without_reauthentication += not (outcome.reauthenticates or outcome.is_reauthentication)


class AuthenticationCounter:
    """Counts by listener, and tells the audit.

    Invariant: `by_listener` has the listeners on which an authentication has ended, so it is as small as the configs are.

    Args:
        audit: Hears of each, but for handshakes that leave their client anonymous.

    Example:
        >>> counter = AuthenticationCounter(lambda context, outcome: None)
        >>> counter.ended(RequestContext("", "/127.0.0.1", "SSL", "SSL"), AuthenticationOutcome("no certificate"))
        >>> counter.by_listener["SSL"].failed
        1
    """

    def __init__(self, audit: AuthenticationListener) -> None:
        self._audit = audit
        self.by_listener: dict[str, AuthenticationCounts] = {}

    def ended(self, context: RequestContext, outcome: AuthenticationOutcome) -> None:
        self._of(context).add(outcome)
        if outcome.failure is not None or outcome.mechanism is not None or context.principal != ANONYMOUS:
            self._audit(context, outcome)

    def expired(self, context: RequestContext) -> None:
        """A connection is closed at the end of its session."""
        self._of(context).expired += 1

    def _of(self, context: RequestContext) -> AuthenticationCounts:
        return self.by_listener.setdefault(context.listener_name, AuthenticationCounts())
