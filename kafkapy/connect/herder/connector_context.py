"""What a connector can ask of its herder (Kafka's `HerderConnectorContext`)."""

from __future__ import annotations

import logging
from collections.abc import Callable

log = logging.getLogger("kafkapy.connect.herder")


class HerderConnectorContext:
    """After `close`, what a connector asks is only logged: it was stopped, or replaced by another instance."""

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
