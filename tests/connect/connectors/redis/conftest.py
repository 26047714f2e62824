"""One server of Redis for the module; each test begins with an empty one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.connect.connectors.redis.redis_server import RedisServer


@pytest.fixture(scope="session")
def redis_process() -> Iterator[RedisServer]:
    with RedisServer() as running:
        yield running


@pytest.fixture
def redis_server(redis_process: RedisServer) -> RedisServer:
    redis_process.client.flushall()
    return redis_process
