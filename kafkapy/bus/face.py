"""Base of the buses for threads, asyncio and Twisted: outbox and audit."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from kafkapy.bus.audit_counters import AUDIT_TOPIC, AuditRecord
from kafkapy.bus.client_options import AUDIT_INTERVAL_S, Registry, producer_options, registry_client
from kafkapy.bus.outbox import Outbox

_log = logging.getLogger("kafkapy.bus")


class BusFace:
    """Subclasses make their producer of `_options` in `_open`. `_waits`: may `send` wait for the registry?"""

    _waits = False

    def __init__(
        self,
        bootstrap_servers: str | Sequence[str],
        registry: Registry,
        *,
        application: str,
        auto_register: bool = False,
        audit: bool = True,
        audit_interval_s: float = AUDIT_INTERVAL_S,
        **client_options: Any,
    ) -> None:
        self._options = producer_options(bootstrap_servers, client_options)
        self._outbox = Outbox(registry_client(registry), application, waits=self._waits, auto_register=auto_register)
        self._audit = audit
        self._audit_interval_s = audit_interval_s
        self._open()

    def _open(self) -> None:
        raise NotImplementedError

    @property
    def producer_id(self) -> str:
        """The name of this run in its events and in the audit."""
        return self._outbox.producer_id

    def _audit_failed(self, records: Iterable[AuditRecord], error: Exception) -> None:
        """Counters could not be written: log the error, and write them the next time. Events do not wait for that."""
        _log.warning("The counters of %s cannot be written to %s now: %s", self.producer_id, AUDIT_TOPIC, error)
        for record in records:
            self._outbox.audit_failed(record)
