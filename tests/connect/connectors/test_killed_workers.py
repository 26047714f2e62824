"""Workers that are killed: what Redis and a folder have is what the topic has, and files come into a topic."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkapy.connect.testing import ConnectorTest, Kill
from kafkapy.testing import KafkaCluster
from tests.connect.connectors.redis.redis_server import RedisServer
from tests.waiting import HANG_SECONDS

pytestmark = pytest.mark.integration

VALUES = [b"%d" % i for i in range(100)]
SLOW = {"consumer.override.max.poll.records": "20"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    with KafkaCluster(topics=["numbers", "lines"]) as running:
        running.produce_many("numbers", [(value, value) for value in VALUES])
        yield running


@pytest.fixture
def test_bed(cluster: KafkaCluster) -> ConnectorTest:
    return ConnectorTest(cluster.bootstrap_servers, timeout_s=HANG_SECONDS)


def test_redis_has_each_record_once(test_bed: ConnectorTest) -> None:
    with RedisServer() as server:
        config = {
            "connector.class": "com.redis.kafka.connect.RedisSinkConnector",
            "topics": "numbers",
            "redis.uri": f"redis://127.0.0.1:{server.port}",
            "redis.command": "RPUSH",
            "redis.key": "list",
            "redis.multiexec": "true",
            **SLOW,
        }
        kills = [Kill("put", 2)]
        test_bed.sink(config, VALUES, lambda: server.client.lrange("list", 0, -1), kills).check(exactly_once=True)


def test_a_folder_has_each_record_once(test_bed: ConnectorTest, tmp_path: Path) -> None:
    config = {
        "connector.class": "kafkapy.connect.FileRotatingSinkConnector",
        "topics": "numbers",
        "directory": str(tmp_path),
        "rotate.size.bytes": "50",
        "rotate.interval.ms": "500",
        **SLOW,
    }

    def written() -> list[bytes]:
        return [line for path in sorted(tmp_path.glob("numbers*")) for line in path.read_bytes().splitlines()]

    test_bed.sink(config, VALUES, written, [Kill("put", 3)]).check(exactly_once=True)


def test_files_come_into_a_topic_without_a_loss(test_bed: ConnectorTest, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"".join(b"%s\n" % value for value in VALUES))
    config = {
        "connector.class": "kafkapy.connect.FileGlobSourceConnector",
        "files": f"{tmp_path}/*.log",
        "topic": "lines",
        "batch.size": "30",
    }
    test_bed.source(config, "lines", VALUES, [Kill("commit")]).check()
