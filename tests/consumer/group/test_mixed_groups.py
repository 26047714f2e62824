"""Groups whose members are Java's consumers and ours, and partitioners that have to agree.

Java's side are the programs of Apache Kafka itself (`VerifiableConsumer`, `VerifiableProducer`), which tell in JSON what
they do. Where its jars are: $KAFKAPY_APACHE_JARS, or what `python -m benchmarks.run` has fetched; else this is skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkapy import KafkaConsumer, KafkaProducer, TopicPartition
from kafkapy.admin import KafkaAdminClient, NewTopic
from kafkapy.consumer.assignors import (
    CooperativeStickyAssignor,
    RangePartitionAssignor,
    RoundRobinPartitionAssignor,
    StickyPartitionAssignor,
)
from kafkapy.tools.zookeeper.java import find_java
from tests.broker_process import BrokerProcess
from tests.waiting import HANG_SECONDS, wait_until

pytestmark = pytest.mark.integration

PARTITIONS = 6
TOOLS = "org.apache.kafka.tools"
CLIENTS = "org.apache.kafka.clients.consumer"
ASSIGNORS = {
    f"{CLIENTS}.RangeAssignor": RangePartitionAssignor,
    f"{CLIENTS}.RoundRobinAssignor": RoundRobinPartitionAssignor,
    f"{CLIENTS}.StickyAssignor": StickyPartitionAssignor,
    f"{CLIENTS}.CooperativeStickyAssignor": CooperativeStickyAssignor,
}


@pytest.fixture(scope="module")
def classpath() -> str:
    cache = os.environ.get("KAFKAPY_BENCH_CACHE", Path.home() / ".cache" / "kafkapy-benchmarks")
    for directory in (os.environ.get("KAFKAPY_APACHE_JARS"), *sorted(Path(cache).glob("kafka-*"))):
        if directory and list(Path(directory).glob("kafka-tools-*.jar")):
            return f"{directory}/*"
    pytest.skip("KAFKAPY_APACHE_JARS names no directory with Apache Kafka's jars")


@pytest.fixture(scope="module")
def broker(zookeeper: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    process = BrokerProcess(tmp_path_factory.mktemp("broker"), f"{zookeeper}/{uuid.uuid4().hex[:12]}")
    process.start()
    yield process
    process.stop()


@pytest.fixture
def topic(broker: BrokerProcess) -> str:
    name = f"mixed-{uuid.uuid4().hex[:8]}"
    with KafkaAdminClient(bootstrap_servers=broker.address) as admin:
        admin.create_topics([NewTopic(name, PARTITIONS, 1)])
    return name


class JavaProgram:
    """A program of Apache Kafka's tools that runs, and the events it has told so far."""

    def __init__(self, classpath: str, log: Path, *command: str) -> None:
        flags = ["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        with open(log, "ab") as errors:
            self.process = subprocess.Popen(
                [find_java(), *flags, "-cp", classpath, *command], stdout=subprocess.PIPE, stderr=errors, text=True
            )
        self.events: list[dict[str, Any]] = []
        self.assigned: set[TopicPartition] = set()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if not line.startswith("{"):
                continue
            event = json.loads(line)
            self.events.append(event)
            partitions = {
                TopicPartition(p["topic"], p["partition"]) for p in event.get("partitions", ()) if "topic" in p
            }
            if event["name"] == "partitions_assigned":
                self.assigned = self.assigned | partitions
            elif event["name"] == "partitions_revoked":
                self.assigned = self.assigned - partitions

    def close(self) -> None:
        """SIGTERM, as Ctrl-C: it leaves its group."""
        self.process.terminate()
        self.process.wait(HANG_SECONDS)
        self._reader.join(HANG_SECONDS)


class Member:
    """A consumer of ours in a thread; what it reads is forgotten, but for the values."""

    def __init__(self, broker: BrokerProcess, topic: str, group: str, assignor: type) -> None:
        self.consumer = KafkaConsumer(
            topic,
            bootstrap_servers=broker.address,
            group_id=group,
            partition_assignment_strategy=[assignor],
            auto_offset_reset="earliest",
            session_timeout_ms=60_000,
            heartbeat_interval_ms=300,
        )
        self.read: list[int] = []
        self.failure: Exception | None = None
        self._stop = False
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._thread.start()

    @property
    def assigned(self) -> set[TopicPartition]:
        return self.consumer.assignment()

    def _poll(self) -> None:
        try:
            while not self._stop:
                for records in self.consumer.poll(100).values():
                    self.read += [int(record.value or b"") for record in records]
            self.consumer.close()
        except Exception as error:
            self.failure = error

    def close(self) -> None:
        self._stop = True
        self._thread.join(HANG_SECONDS)
        assert self.failure is None


@pytest.fixture
def members() -> Iterator[list[Any]]:
    """Those that are to be closed in the end."""
    members: list[Any] = []
    yield members
    for member in members:
        member.close()


def shared_by(topic: str, *members: Any) -> None:
    """Wait until these members have all partitions between them, each as many as the others."""
    everything = {TopicPartition(topic, number) for number in range(PARTITIONS)}

    def reached() -> bool:
        shares = [set(member.assigned) for member in members]
        return (
            set().union(*shares) == everything
            and sum(map(len, shares)) == PARTITIONS
            and max(map(len, shares)) - min(map(len, shares)) <= 1
        )

    wait_until(reached, lambda: [member.assigned for member in members])


@pytest.mark.parametrize("strategy", ASSIGNORS, ids=lambda name: name.rpartition(".")[2])
def test_java_and_we_share_a_group(
    broker: BrokerProcess, topic: str, strategy: str, classpath: str, tmp_path: Path, members: list[Any]
) -> None:
    """Java leads first, and deals out to us; when it has left one of ours leads, and deals out to the next Java."""
    group = f"group-{topic}"

    def java() -> JavaProgram:
        program = JavaProgram(
            classpath,
            tmp_path / "java.log",
            f"{TOOLS}.VerifiableConsumer",
            *("--bootstrap-server", broker.address, "--topic", topic, "--group-id", group),
            *("--assignment-strategy", strategy, "--reset-policy", "earliest", "--session-timeout", "10000"),
        )
        members.append(program)
        return program

    def ours() -> Member:
        member = Member(broker, topic, group, ASSIGNORS[strategy])
        members.append(member)
        return member

    first = java()
    shared_by(topic, first)
    one = ours()
    shared_by(topic, first, one)
    two = ours()
    shared_by(topic, first, one, two)
    first.close()
    shared_by(topic, one, two)
    with KafkaProducer(bootstrap_servers=broker.address) as producer:
        for number in range(600):
            producer.send(topic, str(number).encode(), partition=number % PARTITIONS)
    wait_until(lambda: len(one.read) + len(two.read) >= 600, lambda: (len(one.read), len(two.read)))
    assert sorted(one.read + two.read) == list(range(600))
    second = java()
    shared_by(topic, one, two, second)
    two.close()
    shared_by(topic, one, second)


def test_the_same_key_goes_to_the_same_partition(
    broker: BrokerProcess, topic: str, classpath: str, tmp_path: Path
) -> None:
    """murmur2, in Java's producer and in ours."""
    java = JavaProgram(
        classpath,
        tmp_path / "java.log",
        f"{TOOLS}.VerifiableProducer",
        *("--bootstrap-server", broker.address, "--topic", topic, "--max-messages", "100", "--repeating-keys", "50"),
    )
    java.process.wait(HANG_SECONDS)
    java.close()
    chosen = {event["key"]: event["partition"] for event in java.events if event["name"] == "producer_send_success"}
    assert len(chosen) == 50
    with KafkaProducer(bootstrap_servers=broker.address) as producer:
        sent = {key: producer.send(topic, b"", key=key.encode()) for key in chosen}
        assert {key: future.get(HANG_SECONDS).partition for key, future in sent.items()} == chosen
