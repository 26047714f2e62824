"""The figures of a producer and a consumer on a real broker: all names that kafka-python and the Java client have, but for
those that docs/clients.md says are not there."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kafka
import pytest

import kafkapy
from kafkapy import TopicPartition
from kafkapy.admin import KafkaAdminClient, NewTopic
from tests.broker_process import BrokerProcess
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

Metrics = dict[str, dict[str, Any]]
RECORDS = 300

JAVA = {
    "consumer-fetch-manager-metrics": """bytes-consumed-rate bytes-consumed-total fetch-latency-avg fetch-latency-max
        fetch-rate fetch-size-avg fetch-size-max fetch-throttle-time-avg fetch-throttle-time-max fetch-total
        records-consumed-rate records-consumed-total records-lag-max records-lead-min records-per-request-avg""",
    "consumer-coordinator-metrics": """assigned-partitions commit-latency-avg commit-latency-max commit-rate commit-total
        failed-rebalance-rate-per-hour failed-rebalance-total heartbeat-rate heartbeat-response-time-max heartbeat-total
        join-rate join-time-avg join-time-max join-total last-heartbeat-seconds-ago last-rebalance-seconds-ago
        partition-assigned-latency-avg partition-assigned-latency-max partition-lost-latency-avg
        partition-lost-latency-max partition-revoked-latency-avg partition-revoked-latency-max rebalance-latency-avg
        rebalance-latency-max rebalance-latency-total rebalance-rate-per-hour rebalance-total sync-rate sync-time-avg
        sync-time-max sync-total""",
    "consumer-metrics": """commit-sync-time-ns-total committed-time-ns-total last-poll-seconds-ago poll-idle-ratio-avg
        time-between-poll-avg time-between-poll-max""",
    "producer-metrics": """batch-size-avg batch-size-max batch-split-rate batch-split-total buffer-available-bytes
        buffer-exhausted-rate buffer-exhausted-total buffer-total-bytes bufferpool-wait-ratio bufferpool-wait-time-ns-total
        bufferpool-wait-time-total byte-rate byte-total compression-rate-avg flush-time-ns-total metadata-age
        metadata-wait-time-ns-total produce-throttle-time-avg produce-throttle-time-max record-error-rate
        record-error-total record-queue-time-avg record-queue-time-max record-retry-rate record-retry-total
        record-send-rate record-send-total record-size-avg record-size-max records-per-request-avg request-latency-avg
        request-latency-max requests-in-flight txn-abort-time-ns-total txn-begin-time-ns-total txn-commit-time-ns-total
        txn-init-time-ns-total txn-send-offsets-time-ns-total waiting-threads""",
}
OF_ALL_CLIENTS = """connection-close-rate connection-close-total connection-count connection-creation-rate
    connection-creation-total failed-authentication-rate failed-authentication-total failed-reauthentication-rate
    failed-reauthentication-total incoming-byte-rate incoming-byte-total io-ratio io-time-ns-avg io-time-ns-total
    io-wait-ratio io-wait-time-ns-avg io-wait-time-ns-total io-waittime-total iotime-total network-io-rate
    network-io-total outgoing-byte-rate outgoing-byte-total reauthentication-latency-avg reauthentication-latency-max
    request-rate request-size-avg request-size-max request-total response-rate response-total select-rate select-total
    successful-authentication-no-reauth-total successful-authentication-rate successful-authentication-total
    successful-reauthentication-rate successful-reauthentication-total"""


@pytest.fixture(scope="module")
def broker(zookeeper: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    process = BrokerProcess(tmp_path_factory.mktemp("broker"), f"{zookeeper}/{uuid.uuid4().hex[:12]}")
    process.start()
    with KafkaAdminClient(bootstrap_servers=process.address) as admin:
        admin.create_topics([NewTopic("t", 1, 1)])
    yield process
    assert process.stop() == 0


def figures_of(library: Any, broker: BrokerProcess) -> tuple[Metrics, Metrics]:
    """Of a producer that has sent RECORDS, and of a consumer that has read some."""
    producer = library.KafkaProducer(bootstrap_servers=broker.address)
    for index in range(RECORDS):
        producer.send("t", b"%d" % index)
    producer.flush()
    consumer = library.KafkaConsumer(
        "t",
        bootstrap_servers=broker.address,
        group_id=library.__name__,
        auto_offset_reset="earliest",
        heartbeat_interval_ms=50,
    )
    seen = 0
    while seen < RECORDS:
        seen += sum(map(len, consumer.poll(1000).values()))
    consumer.commit()

    def heartbeats() -> float:
        consumer.poll(50)
        return float(consumer.metrics()["consumer-coordinator-metrics"].get("heartbeat-rate", 0))

    wait_until(heartbeats)
    of_consumer = consumer.metrics()
    of_producer = producer.metrics()
    consumer.close()
    producer.close()
    return of_producer, of_consumer


@pytest.fixture(scope="module")
def ours(broker: BrokerProcess) -> tuple[Metrics, Metrics]:
    return figures_of(kafkapy, broker)


def not_there() -> set[str]:
    """Names in the docs' list of what is missing."""
    page = (Path(__file__).parents[2] / "docs" / "clients.md").read_text()
    section = page.partition("Not there:")[2].partition("\n## ")[0]
    lists = re.findall(r"^- (.*?):", section, re.DOTALL | re.MULTILINE)
    return set(re.findall(r"`([a-z-]+)`", " ".join(lists)))


def test_all_names_of_kafka_python(broker: BrokerProcess, ours: tuple[Metrics, Metrics]) -> None:
    missing = not_there()
    for theirs, own in zip(figures_of(kafka, broker), ours, strict=True):
        for group, figures in theirs.items():
            if group == "kafka-metrics-count" or "node--" in group or "node-bootstrap" in group:
                continue
            group = re.sub(r"node-metrics\.node-.*", "node-metrics.node-0", group)
            assert {*figures} - {*own[group]} - missing == set(), group


def test_all_names_of_the_java_client(ours: tuple[Metrics, Metrics]) -> None:
    missing = not_there()
    there = ours[0] | ours[1]
    for group, names in JAVA.items():
        wanted = {
            *names.split(),
            *(OF_ALL_CLIENTS.split() if group in ("consumer-metrics", "producer-metrics") else ()),
        }
        assert wanted - {*there[group]} - missing == set(), group
    assert not missing & set().union(*there.values())  # the page lists nothing that is there


def test_values(ours: tuple[Metrics, Metrics]) -> None:
    producer, consumer = ours
    sent, topic = producer["producer-metrics"], producer["producer-topic-metrics.t"]
    assert sent["record-send-total"] == topic["record-send-total"] == RECORDS
    assert sent["record-send-rate"] == pytest.approx(topic["record-send-rate"], rel=0.2)
    assert 0 < sent["batch-size-avg"] <= sent["batch-size-max"]
    assert sent["requests-in-flight"] == 0
    assert sent["request-latency-max"] >= sent["request-latency-avg"] > 0
    assert producer["producer-node-metrics.node-0"]["request-total"] > 0

    read = consumer["consumer-fetch-manager-metrics"]
    assert read["records-consumed-total"] >= RECORDS
    assert read["records-consumed-rate"] > 0
    assert read["bytes-consumed-rate"] > 0
    assert read["fetch-rate"] > 0
    assert read["records-lag-max"] == 0
    assert consumer["consumer-fetch-manager-metrics.t"]["records-consumed-total"] == read["records-consumed-total"]
    partition = consumer["consumer-fetch-manager-metrics.t-0"]
    assert partition == {"records-lag": 0, "records-lead": read["records-consumed-total"]}
    group = consumer["consumer-coordinator-metrics"]
    assert group["assigned-partitions"] == group["rebalance-total"] == 1
    assert group["join-total"] >= group["sync-total"] >= 1
    assert group["commit-total"] >= 1
    assert group["commit-latency-max"] >= group["commit-latency-avg"]
    assert consumer["consumer-metrics"]["connection-count"] >= 1


def test_records_that_are_read_as_tables_are_counted(broker: BrokerProcess) -> None:
    with kafkapy.KafkaConsumer(bootstrap_servers=broker.address, metric_group_prefix="reader") as consumer:
        consumer.assign([TopicPartition("t", 0)])
        consumer.seek_to_beginning()
        table = None
        while table is None:
            table = consumer.poll_arrow(1000)
        figures = consumer.metrics()
        assert figures is not None
        assert figures["reader-fetch-manager-metrics.t"]["records-consumed-total"] == table.num_rows
