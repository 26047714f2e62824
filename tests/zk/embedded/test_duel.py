"""The embedded ZooKeeper answers as the real one does. `system_tests/test_embedded_zookeeper.py` is the long form."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.zk.embedded.duel import fight
from tests.zookeeper_server import EmbeddedZooKeeperServer, ZooKeeperServer

pytestmark = pytest.mark.integration


@pytest.fixture
def two_servers(tmp_path: Path) -> Iterator[tuple[ZooKeeperServer, ZooKeeperServer]]:
    """The embedded one and the real one, both empty, both with TTL nodes."""
    servers = EmbeddedZooKeeperServer(tmp_path / "embedded"), ZooKeeperServer(tmp_path / "real")
    try:
        for server in servers:
            with open(server.directory / "zookeeper.properties", "a") as file:
                file.write("extendedTypesEnabled=true\n")
            server.start()
        yield servers
    finally:
        for server in servers:
            server.stop()


def test_random_requests_are_answered_alike(two_servers: tuple[ZooKeeperServer, ZooKeeperServer]) -> None:
    embedded, real = two_servers
    assert fight(("127.0.0.1", embedded.port), ("127.0.0.1", real.port), seed=0, rounds=1000) > 1000
