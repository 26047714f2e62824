"""Limits the connection rate per address (KIP-612; the part of Kafka's `ConnectionQuotas` that ZooKeeper configures)."""

from __future__ import annotations

import ipaddress
from typing import Final

from kafkapy.common.limits import MAX_INT
from kafkapy.common.rate import Rate
from kafkapy.common.sampled_stat import SampledStat
from kafkapy.common.time import Time
from kafkapy.server.quotas.client_quota_manager import INACTIVE_MS

UNLIMITED_RATE: Final = MAX_INT

MAX_ADDRESSES: Final = 10_000
"""Above this number, addresses without connections in all windows are removed; then the older half."""


class IpConnectionRates:
    """Counts the connections of each address with a quota. On the reactor thread.

    Invariant: `enabled` is false exactly if no address can have a quota. `_rates` has the addresses of the last hour.

    Example:
        >>> from kafkapy.common.time import MockTime
        >>> rates = IpConnectionRates(MockTime())
        >>> rates.update_quota("127.0.0.3", 1)
        >>> [rates.throttle_ms("127.0.0.3") for _ in range(11)][-1]
        1000
    """

    def __init__(self, time: Time, num_samples: int = 11, window_seconds: int = 1) -> None:
        """`quota.window.num`, `quota.window.size.seconds`."""
        self.enabled = False
        self.throttle_times = SampledStat()
        """How long refused connections were held before they were closed, ms."""
        self._time = time
        self._num_samples = num_samples
        self._window_ms = window_seconds * 1000
        self._default = UNLIMITED_RATE
        self._quotas: dict[str, int] = {}
        self._rates: dict[str, tuple[Rate, list[int]]] = {}

    def update_quota(self, ip: str | None, connections: int | None) -> None:
        """Set the limit of connections per second from `ip` (None: from each address without its own quota).

        `connections` None removes the quota.

        Raises:
            ValueError: `ip` is not an address. Names are resolved earlier.
        """
        if ip is None:
            self._default = UNLIMITED_RATE if connections is None else connections
        elif connections is None:
            self._quotas.pop(canonical(ip), None)
        else:
            self._quotas[canonical(ip)] = connections
        self.enabled = bool(self._quotas) or self._default != UNLIMITED_RATE

    def quota(self, ip: str) -> int:
        """Return the allowed connections per second from `ip`."""
        return self._quotas.get(canonical(ip), self._default)

    def throttle_ms(self, ip: str) -> int:
        """Record a new connection; return 0 if it is accepted.

        Otherwise it does not count, neither here nor for the limits of listener and broker, and must be closed, unread,
        after the returned time in ms: at most one window.
        """
        if not self.enabled:
            return 0
        address = canonical(ip)
        limit = self._quotas.get(address, self._default)
        if limit == UNLIMITED_RATE:
            return 0
        now = self._time.monotonic_ms()
        rate = self._rate_of(address, now)
        rate.record(1, now)
        wait = rate.throttle_ms(limit, now, self._window_ms)
        if wait > 0:
            rate.record(-1, now)
            self.throttle_times.record(wait, now)
        return max(wait, 0)

    def per_second(self) -> list[tuple[str, float]]:
        """Return address and rate of the current addresses, for metrics."""
        now = self._time.monotonic_ms()
        return [(address, rate.per_second(now)) for address, (rate, _) in list(self._rates.items())]

    def expire(self, now: int) -> None:
        """Remove addresses that have been inactive for an hour. To be called about once in 30 s."""
        self._forget(now - INACTIVE_MS)

    def _rate_of(self, address: str, now: int) -> Rate:
        found = self._rates.get(address)
        if found is None:
            if len(self._rates) >= MAX_ADDRESSES:
                self._forget(now - (self._num_samples + 1) * self._window_ms)
                if len(self._rates) >= MAX_ADDRESSES:
                    self._rates = dict(list(self._rates.items())[len(self._rates) // 2 :])
            found = self._rates[address] = Rate(self._num_samples, self._window_ms), [now]
        rate, used = found
        used[0] = now
        return rate

    def _forget(self, unused_since: int) -> None:
        self._rates = {address: each for address, each in self._rates.items() if each[1][0] > unused_since}


def canonical(ip: str) -> str:
    """Return an address in canonical spelling: IPv4 within IPv6 is IPv4, as in Java.

    Raises:
        ValueError: It is not an address.

    Example:
        >>> canonical("::ffff:127.0.0.1"), canonical("/0:0::1")
        ('127.0.0.1', '::1')
    """
    address = ipaddress.ip_address(ip.removeprefix("/"))
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)
