"""This broker's connections to other brokers, for one purpose."""

from __future__ import annotations

from collections.abc import Callable

from kafkapy.clients.config import ClientConfig
from kafkapy.clients.driver import Driver
from kafkapy.clients.metadata import Address
from kafkapy.clients.node_client import NodeClient


class BrokerClients:
    """Invariant: `_clients` has one client for each broker id looked up so far; it connects at its first request."""

    def __init__(self, driver: Driver, config: ClientConfig, address_of: Callable[[int], Address | None]) -> None:
        self._driver = driver
        self._config = config
        self._address_of = address_of
        self._clients: dict[int, NodeClient] = {}

    def __getitem__(self, broker_id: int) -> NodeClient:
        client = self._clients.get(broker_id)
        if client is None:
            client = self._clients[broker_id] = NodeClient(
                self._driver, self._config, lambda: self._address_of(broker_id)
            )
        return client

    def close(self) -> None:
        """Close all connections; pending requests fail."""
        for client in self._clients.values():
            client.close()
