"""Limits the share of a thread's time for a client's requests (KIP-124; Kafka's `ClientRequestQuotaManager`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kafkapy.common.rate import Rate
from kafkapy.common.time import Time
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.server.quotas.client_quota_callback import ClientQuotaCallback
from kafkapy.server.quotas.client_quota_manager import ClientQuotaManager
from kafkapy.server.quotas.quota_entity import QuotaType

NANOS_TO_PERCENT: Final = 100.0 / 1_000_000_000
"""100 % is one second of a thread per second."""


class ClientRequestQuotaManager(ClientQuotaManager):
    """Percent instead of bytes; no throttle time exceeds one window.

    Example:
        >>> from kafkapy.common.time import MockTime
        >>> from kafkapy.server.quotas.quota_entity import QuotaEntity
        >>> requests = ClientRequestQuotaManager(MockTime())
        >>> requests.update_quota(QuotaEntity("alice", None), 1.0)
        >>> requests.time_and_throttle_ms(KafkaPrincipal("User", "alice"), "app", 110_000_000, now=0)
        1000
    """

    def __init__(
        self,
        time: Time,
        num_samples: int = 11,
        window_seconds: int = 1,
        callback: ClientQuotaCallback | None = None,
        quotas_changed: Callable[[], object] = lambda: None,
    ) -> None:
        super().__init__(QuotaType.REQUEST, time, num_samples, window_seconds, callback, quotas_changed)
        self._longest_throttle_ms = window_seconds * 1000
        self.exempt = Rate(num_samples, window_seconds * 1000)
        """Percent used by requests that are never throttled: those of other brokers, and those without a response."""

    def time_and_throttle_ms(self, principal: KafkaPrincipal, client_id: str, nanos: int, now: int) -> int:
        """Record the time of a request; return the throttle time, ms."""
        return self.record_and_throttle_ms(principal, client_id, nanos * NANOS_TO_PERCENT, now)

    def record_time(self, principal: KafkaPrincipal, client_id: str, nanos: int, now: int) -> None:
        """Record time used after the response was created, which counts for the next one."""
        self.record(principal, client_id, nanos * NANOS_TO_PERCENT, now)

    def record_exempt(self, nanos: int, now: int) -> None:
        """Record the time of a request that is not throttled."""
        self.exempt.record(nanos * NANOS_TO_PERCENT, now)
