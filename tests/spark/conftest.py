"""One Spark session and one broker for all tests that need them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from kafkapy.admin.client import AdminClient
from kafkapy.admin.results import values_of
from kafkapy.admin.topics import NewTopic
from kafkapy.clients.blocking_client import BlockingClient
from kafkapy.protocol.messages.produce import ProduceRequest
from kafkapy.record.compression import CompressionType
from kafkapy.record.record_batch import Header
from kafkapy.record.records_builder import MemoryRecordsBuilder
from tests.broker_process import BrokerProcess

TRANSACTIONS = {
    "transaction_state_log_replication_factor": "1",
    "transaction_state_log_min_isr": "1",
    "transaction_state_log_num_partitions": "4",
}

Row = tuple[int, bytes | None, bytes | None, Sequence[Header]]
"""Timestamp in ms, key, value, headers."""


class Kafka:
    """The broker, and what tests do to it without the connector."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        host, _, port = bootstrap.partition(":")
        self._client = BlockingClient(host, int(port))
        self._topics = 0

    def admin(self) -> AdminClient:
        return AdminClient(self.bootstrap)

    def topic(self, partitions: int = 1, prefix: str = "topic") -> str:
        """A topic that no other test has."""
        self._topics += 1
        name = f"{prefix}-{self._topics}"
        with self.admin() as admin:
            values_of(admin.create_topics([NewTopic(name, partitions, 1)]))
        return name

    def produce(
        self, topic: str, partition: int, rows: Sequence[Row], codec: CompressionType = CompressionType.NONE
    ) -> None:
        builder = MemoryRecordsBuilder(compression_type=codec)
        for row in rows:
            builder.append(*row)
        data = ProduceRequest.PartitionProduceData(index=partition, records=memoryview(builder.build()))
        request = ProduceRequest(acks=-1, timeout_ms=10_000)
        request.topic_data.append(ProduceRequest.TopicProduceData(name=topic, partition_data=[data]))
        answer = self._client.call(request).responses[0].partition_responses[0]
        assert answer.error_code == 0, answer

    def fill(self, topic: str, partition: int, count: int, first: int = 0) -> None:
        """Record n has the value "n" and the timestamp 1,000 n ms."""
        self.produce(topic, partition, [(1000 * n, None, b"%d" % n, ()) for n in range(first, first + count)])

    def close(self) -> None:
        self._client.close()


@pytest.fixture(scope="session")
def kafka(zookeeper: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    # Records of 1970 are to stay.
    broker = BrokerProcess(
        tmp_path_factory.mktemp("spark-broker"), f"{zookeeper}/spark", log_retention_ms="-1", **TRANSACTIONS
    )
    broker.start()
    kafka = Kafka(broker.address)
    yield kafka
    kafka.close()
    broker.stop()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from kafkapy.spark.java_home import prepare_environment

    directory = tmp_path_factory.mktemp("spark")
    prepare_environment(directory / "java")
    # Workers are processes of their own: they must find this package too.
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    from pyspark.sql import SparkSession

    from kafkapy.spark import KafkaDataSource

    builder = SparkSession.builder.master("local[2]").appName("kafkapy tests")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.memory": "512m",
        "spark.local.dir": str(directory / "local"),
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.log.level": "ERROR",
        **connector_jars(),
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.dataSource.register(KafkaDataSource)
    assert sys.executable == os.environ["PYSPARK_PYTHON"]
    yield session
    session.stop()


def connector_jars() -> dict[str, str]:
    """Spark's own connector, if benchmarks/spark.py has fetched it."""
    jars = sorted((Path.home() / ".cache" / "kafkapy-benchmarks").glob("spark-*/*.jar"))
    return {"spark.jars": ",".join(map(str, jars))} if jars else {}
