"""What tests our clients of ZooKeeper does so with the real one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.zookeeper_server import ZooKeeperServer


@pytest.fixture(scope="package")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = ZooKeeperServer(tmp_path_factory.mktemp("real-zookeeper"))
    server.start()
    yield server.address
    server.stop()
