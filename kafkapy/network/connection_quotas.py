"""Limits of the number of connections and of their creation rate (Kafka's `ConnectionQuotas`, KIP-402 and KIP-612)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kafkapy.common.limits import MAX_INT
from kafkapy.common.rate import Rate

UNLIMITED = MAX_INT


class ListenerLimits(NamedTuple):
    """`max.connections` and `max.connection.creation.rate` (per second), of one listener or of the broker."""

    max_connections: int = UNLIMITED
    max_creation_rate: int = UNLIMITED


_NO_LIMITS = ListenerLimits()


@dataclass(frozen=True)
class ConnectionLimits:
    """All limits of connections, from the configs."""

    broker: ListenerLimits = _NO_LIMITS
    listeners: Mapping[str, ListenerLimits] = field(default_factory=dict)
    """by name; a listener that is not here has no limits of its own"""
    max_connections_per_ip: int = UNLIMITED
    max_connections_per_ip_overrides: Mapping[str, int] = field(default_factory=dict)
    """by address"""
    max_idle_ms: int = 600_000
    """`connections.max.idle.ms`; negative: never"""

    def of_listener(self, listener: str) -> ListenerLimits:
        return self.listeners.get(listener, _NO_LIMITS)

    def allowed_from(self, ip: str) -> int:
        return self.max_connections_per_ip_overrides.get(ip, self.max_connections_per_ip)


class ConnectionQuotas:
    """Counts connections and compares them with the limits. The caller closes and delays connections.

    The inter-broker listener, if it is not the only one, is *protected*: the broker's limits do not apply to it, so
    that clients cannot lock out other brokers.

    Invariant: `_rates` has every listener; `_by_listener` and `_by_ip` have the numbers of open connections by listener
    and by client address, the latter without zeros; `total` is the sum of either.
    """

    def __init__(
        self,
        limits: ConnectionLimits,
        inter_broker_listener: str | None,
        now_ms: Callable[[], int],
        make_rate: Callable[[], Rate] = Rate,
    ) -> None:
        """`now_ms`: a monotonic clock, milliseconds."""
        self.limits = limits
        self.total = 0
        self._inter_broker_listener = inter_broker_listener
        self._now_ms = now_ms
        self._make_rate = make_rate
        self._by_listener: Counter[str] = Counter()
        self._by_ip: Counter[str] = Counter()
        self._broker_rate = make_rate()
        self._rates: dict[str, Rate] = {}

    def add_listener(self, listener: str) -> None:
        self._rates[listener] = self._make_rate()

    def remove_listener(self, listener: str) -> None:
        """Remove a listener. Its connections count until they are closed."""
        del self._rates[listener]

    def is_protected(self, listener: str) -> bool:
        return listener == self._inter_broker_listener and len(self._rates) > 1

    # ------------------------------------------------------------------------------------------------ before accepting

    def slots(self, listener: str) -> int:
        """Return how many more connections the listener may have; negative if it has too many."""
        free = self.limits.of_listener(listener).max_connections - self._by_listener[listener]
        return free if self.is_protected(listener) else min(free, self.limits.broker.max_connections - self.total)

    def is_rated(self, listener: str) -> bool:
        """Return whether the rate must be checked after each connection."""
        if self.limits.of_listener(listener).max_creation_rate < UNLIMITED:
            return True
        return self.limits.broker.max_creation_rate < UNLIMITED and not self.is_protected(listener)

    def accepted(self, listener: str) -> None:
        """Count a new connection for the rates, even if it is then refused."""
        now = self._now_ms()
        self._rates[listener].record(1, now)
        if not self.is_protected(listener):
            self._broker_rate.record(1, now)

    def delay_ms(self, listener: str) -> int:
        """Return for how long the rates delay the next connection, in milliseconds."""
        now = self._now_ms()
        limit = self.limits.of_listener(listener).max_creation_rate
        delay = self._rates[listener].throttle_ms(limit, now) if limit < UNLIMITED else 0
        limit = self.limits.broker.max_creation_rate
        if limit < UNLIMITED and not self.is_protected(listener):
            delay = max(delay, self._broker_rate.throttle_ms(limit, now))
        return delay

    def is_full_for(self, ip: str) -> bool:
        return self._by_ip[ip] >= self.limits.allowed_from(ip)

    # ------------------------------------------------------------------------------------------------ open connections

    def opened(self, listener: str, ip: str) -> None:
        self.total += 1
        self._by_listener[listener] += 1
        self._by_ip[ip] += 1

    def closed(self, listener: str, ip: str) -> None:
        self.total -= 1
        self._by_listener[listener] -= 1
        self._by_ip[ip] -= 1
        if not self._by_ip[ip]:
            del self._by_ip[ip]

    @property
    def excess(self) -> int:
        """The number of connections beyond the broker's limit; those of unprotected listeners are to be closed."""
        return max(self.total - self.limits.broker.max_connections, 0)
