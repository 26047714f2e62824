"""A cluster of two brokers, of which one dies while a job reads."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from kafkapy import KafkaProducer
from kafkapy.admin.client import AdminClient
from kafkapy.admin.results import values_of
from kafkapy.admin.topics import NewTopic
from tests.broker_process import BrokerProcess
from tests.waiting import HANG_SECONDS, wait_until

pytestmark = pytest.mark.integration

PARTITIONS = 4
RECORDS = 16
SIZE = 900_000
"""Of a value: more in a partition than lies in buffers between the broker and the end of a job."""


@pytest.fixture
def brokers(zk_connect: str, tmp_path: Path) -> Iterator[list[BrokerProcess]]:
    # The one that is left has nobody to hand its partitions to.
    config = {"zookeeper_session_timeout_ms": "2000", "controlled_shutdown_enable": "false"}
    found = [BrokerProcess(tmp_path / str(n), zk_connect, broker_id=str(n), **config) for n in range(2)]
    for broker in found:
        broker.start()
    yield found
    for broker in found:
        if broker.process is not None:
            broker.stop()


def test_a_leader_dies_in_the_middle_of_a_job(spark: Any, brokers: list[BrokerProcess], tmp_path: Path) -> None:
    bootstrap = ",".join(broker.address for broker in brokers)
    with AdminClient(bootstrap) as admin:
        wait_until(lambda: len(admin.describe_cluster().nodes) == 2)
        replicas = {p: [p % 2, 1 - p % 2] for p in range(PARTITIONS)}
        values_of(admin.create_topics([NewTopic("events", replica_assignments=replicas)]))
    with KafkaProducer(bootstrap_servers=bootstrap, acks="all") as producer:
        sent = [
            producer.send("events", bytes([n]) * SIZE, partition=p) for p in range(PARTITIONS) for n in range(RECORDS)
        ]
        for future in sent:
            future.get(HANG_SECONDS)

    begun, killed = tmp_path / "begun", tmp_path / "killed"
    begun.mkdir()

    def hold_up(batches: Iterator[Any]) -> Iterator[Any]:

        for batch in batches:
            (begun / str(batch.column(0)[0])).touch()
            while not killed.exists():
                time.sleep(0.05)
            yield batch.drop_columns("value")

    reader = spark.read.format("kafkapy").option("kafka.bootstrap.servers", bootstrap).option("subscribe", "events")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "1")
    frame = reader.load().select("partition", "offset", "value")
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(frame.mapInArrow(hold_up, "partition int, offset bigint").collect)
        try:
            wait_until(lambda: len(list(begun.iterdir())) == 2)  # a task of each broker
            assert brokers[1].process is not None
            brokers[1].process.kill()
            brokers[1].process.wait()
            brokers[1].process = None
        finally:
            killed.touch()
            spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
        rows = job.result(HANG_SECONDS)
    assert sorted(rows) == [(p, n) for p in range(PARTITIONS) for n in range(RECORDS)]
