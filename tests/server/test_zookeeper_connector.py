"""A broker's first connection to ZooKeeper, without a ZooKeeper."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.zookeeper_connector import ZooKeeperConnector
from kafkapy.zk.errors import ZooKeeperClientTimeoutError
from kafkapy.zk.kafka_zk_client import KafkaZkClient

MAIN = threading.get_ident()


class Connections:
    """In place of `KafkaZkClient.connect`. What it makes stands for a client."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made: list[tuple[str, bool]] = []
        """Where to, and on another thread or on this one."""
        self.are_paths_made = False
        self.error: Exception | None = None
        monkeypatch.setattr(KafkaZkClient, "connect", self._connect)

    def _connect(self, address: str, *_: Any, **__: Any) -> Connections:
        if self.error is not None:
            raise self.error
        self.made.append((address, threading.get_ident() != MAIN))
        return self

    def create_top_level_paths(self) -> None:
        self.are_paths_made = True


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> Connections:
    return Connections(monkeypatch)


@pytest.fixture
def connector() -> ZooKeeperConnector:
    config = KafkaConfig({"zookeeper.connect": "zk1:2181,zk2:2181/kafka"})
    return ZooKeeperConnector(config, lambda _: None)


def test_it_connects_when_it_is_asked_to(connector: ZooKeeperConnector, connections: Connections) -> None:
    client: object = connector.connect("127.0.0.1:40000")
    assert client is connections
    assert connections.made == [("127.0.0.1:40000", False)]
    assert connections.are_paths_made


def test_what_has_begun_is_waited_for(connector: ZooKeeperConnector, connections: Connections) -> None:
    connector.begin()
    client: object = connector.connect("zk1:2181,zk2:2181/kafka")
    assert client is connections
    assert connections.made == [("zk1:2181,zk2:2181/kafka", True)]
    assert connections.are_paths_made


def test_an_error_of_what_has_begun_comes_when_it_is_waited_for(
    connector: ZooKeeperConnector, connections: Connections
) -> None:
    connections.error = ZooKeeperClientTimeoutError("Timed out")
    connector.begin()
    with pytest.raises(ZooKeeperClientTimeoutError, match="Timed out"):
        connector.connect("zk1:2181,zk2:2181/kafka")
