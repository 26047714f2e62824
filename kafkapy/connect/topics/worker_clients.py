"""Creates the clients of an internal topic from the worker's configs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkapy.connect.clients import make_admin, make_consumer, make_producer


class WorkerLogClients:
    """Creates clients with the configs of Kafka's `KafkaBasedLog` and its stores.

    Writes wait for all replicas, with one request in flight; the consumer has no group.
    """

    def __init__(
        self,
        configs: Mapping[str, object],
        client_id: str,
        producer: Mapping[str, object] | None = None,
        consumer: Mapping[str, object] | None = None,
        read_only: bool = False,
    ) -> None:
        """
        Args:
            configs: All configs of the worker, by Java's names.
            client_id: The clients' `client.id`.
            producer: Further configs of the producer. consumer: Further configs of the consumer.
            read_only: True: there is no producer.
        """
        self._configs = {**configs, "client.id": client_id}
        self._producer = {"acks": "all", "max.in.flight.requests.per.connection": 1, **(producer or {})}
        self._consumer = {"auto.offset.reset": "earliest", "enable.auto.commit": False, **(consumer or {})}
        self._read_only = read_only

    def admin(self) -> Any:
        return make_admin(self._configs)

    def consumer(self) -> Any:
        configs = {
            name: value for name, value in self._configs.items() if name not in ("group.id", "group.instance.id")
        }
        return make_consumer({**configs, **self._consumer}, group_id=None)

    def producer(self) -> Any:
        return None if self._read_only else make_producer({**self._configs, **self._producer}, linger_ms=0)
