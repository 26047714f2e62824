"""The helpers, against a real broker."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from kafkapy import KafkaAdminClient, KafkaProducer
from kafkapy.admin import NewTopic
from kafkapy.errors import NoBrokersAvailable, UnknownTopicOrPartitionError
from kafkapy.helpers import copy_topic, read_in_parallel, tail, wait_for_broker
from tests.broker_process import BrokerProcess

pytestmark = [pytest.mark.integration, pytest.mark.timeout(60)]


@pytest.fixture(scope="module")
def servers(zookeeper: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    process = BrokerProcess(tmp_path_factory.mktemp("broker"), f"{zookeeper}/{uuid.uuid4().hex[:12]}")
    process.start()
    wait_for_broker(bootstrap_servers=process.address)
    with KafkaAdminClient(bootstrap_servers=process.address) as admin:
        admin.create_topics([NewTopic(name, 2, 1) for name in ("from", "to")], wait_for_metadata=True)
    with KafkaProducer(bootstrap_servers=process.address) as producer:
        for number in range(20):
            producer.send("from", b"%d" % number, b"k", [("h", b"x")], number % 2, timestamp_ms=1_000 + number)
    yield process.address
    assert process.stop() == 0


def test_no_broker() -> None:
    with pytest.raises(NoBrokersAvailable):
        wait_for_broker(50, bootstrap_servers="127.0.0.1:1")


def test_the_last_records_and_then_those_that_come(servers: str) -> None:
    last = tail("from", 2, follow=False, bootstrap_servers=servers)
    assert sorted(int(record.value) for record in last) == [16, 17, 18, 19]
    following = tail("from", 1, bootstrap_servers=servers)
    assert {next(following).value, next(following).value} == {b"18", b"19"}
    following.close()  # type: ignore[attr-defined]
    with pytest.raises(UnknownTopicOrPartitionError):
        next(tail("nowhere", bootstrap_servers=servers, allow_auto_create_topics=False))


def test_a_range_of_all_partitions(servers: str) -> None:
    pytest.importorskip("pyarrow")
    table = read_in_parallel("from", 2, {0: 4, 1: 5}, bootstrap_servers=servers)
    assert table["value"].to_pylist() == [b"4", b"6", b"5", b"7", b"9"]


def test_a_copy_has_all_of_each_record(servers: str) -> None:
    assert copy_topic("from", "to", bootstrap_servers=servers) == 20
    there = {
        name: sorted(
            (r.partition, r.offset, r.timestamp, r.key, r.value, tuple(r.headers))
            for r in tail(name, 100, follow=False, bootstrap_servers=servers)
        )
        for name in ("from", "to")
    }
    assert len(there["to"]) == 20
    assert there["from"] == there["to"]
