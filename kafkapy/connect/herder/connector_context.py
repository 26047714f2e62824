"""The herder's interface for a connector (Kafka's `HerderConnectorContext`)."""

from __future__ import annotations

import logging
from collections.abc import Callable

log = logging.getLogger("kafkapy.connect.herder")


class HerderConnectorContext:
    """Passes requests of a connector to the herder. After `close` they are only logged: the connector was stopped or
    replaced."""

    def __init__(
        self,
        connector: str,
        request_reconfiguration: Callable[[str], None],
        on_failure: Callable[[str, BaseException], None],
    ) -> None:
        self._connector = connector
        self._request_reconfiguration = request_reconfiguration
        self._on_failure = on_failure
        self._closed = False

    def request_task_reconfiguration(self) -> None:
        if self._closed:
            log.warning("The closed connector %s has requested a task reconfiguration", self._connector)
            return
        self._request_reconfiguration(self._connector)

    def raise_error(self, error: BaseException) -> None:
        if self._closed:
            log.warning("The closed connector %s has reported an error: %s", self._connector, error)
            return
        self._on_failure(self._connector, error)

    def close(self) -> None:
        self._closed = True
