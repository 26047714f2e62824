"""Topics come, change and go quickly, while everything that runs in the background of a broker runs often."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
)

from kafkapy.admin.client import AdminClient as KafkapyAdminClient
from kafkapy.structs import TopicPartitionReplica
from system_tests.conftest import NewBroker, Note
from system_tests.load import Load
from system_tests.services import KafkaService, wait_until

PARTITIONS = 8

OFTEN = {
    "log.retention.check.interval.ms": 100,
    "log.initial.task.delay.ms": 100,
    "log.cleaner.backoff.ms": 20,
    "log.cleaner.min.cleanable.ratio": 0,
    "log.flush.scheduler.interval.ms": 50,
    "log.flush.offset.checkpoint.interval.ms": 100,
    "log.flush.start.offset.checkpoint.interval.ms": 100,
    "log.segment.delete.delay.ms": 500,
    "num.recovery.threads.per.data.dir": 4,
}
"""What else happens every few seconds or minutes."""

SMALL = {"segment.bytes": "5000", "retention.bytes": "8000", "flush.ms": "50"}


class Churn:
    """Topics of a random life each: they are written to, changed, and deleted within a second or two."""

    def __init__(self, broker: KafkaService, seed: int) -> None:
        self._random = random.Random(seed)
        self._dirs = str(broker.properties["log.dirs"]).split(",")
        self._admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
        self._replicas = KafkapyAdminClient.from_properties({"bootstrap.servers": broker.bootstrap})
        self._producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0, "linger.ms": 1})
        self._alive: list[tuple[float, str]] = []
        self.made = 0

    def run(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._make([f"churn-{self.made + i}" for i in range(10)])
            for _, name in self._random.sample(self._alive, min(3, len(self._alive))):
                self._random.choice(
                    (self._write, self._write, self._delete_records, self._alter, self._move, self._add)
                )(name)
            now = time.monotonic()
            due = [name for when, name in self._alive if when <= now]
            self._delete(due)
            if self._random.random() < 0.3:
                self._make(due[:2])
        self._delete([name for _, name in self._alive])

    def close(self) -> None:
        self._producer.purge()
        self._replicas.close()

    def _make(self, names: list[str]) -> None:
        wait_until(lambda: not self._left_to_make(names), 30, f"{names} are made")
        self.made += len(names)
        self._alive += [(time.monotonic() + self._random.uniform(0, 1.6), name) for name in names]

    def _left_to_make(self, names: list[str]) -> list[str]:
        """Make what isn't there; those of whose names a topic is being deleted still."""
        there = self._admin.list_topics(timeout=30).topics
        policies = ("delete", "compact", "compact,delete")
        topics = [
            NewTopic(name, PARTITIONS, 1, config={**SMALL, "cleanup.policy": self._random.choice(policies)})
            for name in names
            if name not in there
        ]
        futures = self._admin.create_topics(topics, operation_timeout=30) if topics else {}
        errors = {name: error.args[0].code() for name, f in futures.items() if (error := f.exception()) is not None}
        assert set(errors.values()) <= {KafkaError.TOPIC_ALREADY_EXISTS}, errors
        return list(errors)

    def _delete(self, names: list[str]) -> None:
        if not names:
            return
        for future in self._admin.delete_topics(names, operation_timeout=30).values():
            future.result()
        self._alive = [(due, name) for due, name in self._alive if name not in names]

    def _write(self, name: str) -> None:
        for number in range(50):
            self._producer.produce(name, b"v" * 200, key=b"%d" % (number % 5), partition=number % PARTITIONS)
        self._producer.poll(0)

    def _delete_records(self, name: str) -> None:
        self._producer.flush(1)
        for future in self._admin.delete_records([TopicPartition(name, p, -1) for p in range(PARTITIONS)]).values():
            error = future.exception()
            assert error is None or error.args[0].code() == KafkaError.POLICY_VIOLATION, error  # it is only compacted

    def _alter(self, name: str) -> None:
        policy = self._random.choice(("delete", "compact"))
        entry = ConfigEntry("cleanup.policy", policy, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ConfigResource.Type.TOPIC, name, incremental_configs=[entry])
        self._admin.incremental_alter_configs([resource])[resource].result()

    def _move(self, name: str) -> None:
        """To one of the log dirs, the other one or its own."""
        to = self._random.choice(self._dirs)
        replicas = [TopicPartitionReplica(name, p, 0) for p in range(PARTITIONS)]
        errors = self._replicas.alter_replica_log_dirs(dict.fromkeys(replicas, to))
        assert not any(errors.values()), errors

    def _add(self, name: str) -> None:
        """One more, unless it has that already."""
        error = self._admin.create_partitions([NewPartitions(name, PARTITIONS + 1)])[name].exception()
        assert error is None or error.args[0].code() == KafkaError.INVALID_PARTITIONS, error


def _left(broker: KafkaService) -> list[str]:
    dirs = [Path(path) for path in str(broker.properties["log.dirs"]).split(",")]
    return sorted(path.name for directory in dirs for path in directory.glob("churn-*"))


@pytest.mark.timeout(300)
def test_topics_come_and_go(new_broker: NewBroker, short: bool, note: Note, pytestconfig: Any) -> None:
    broker = new_broker(OFTEN)
    broker.properties["log.dirs"] = f"{broker.data}-1,{broker.data}-2"
    broker.start()
    load = Load(broker.bootstrap, "steady")
    churn = Churn(broker, pytestconfig.getoption("--seed"))
    churn.run(8 if short else 60)
    churn.close()
    note("topics", f"{churn.made:,}")
    note("records beside them", f"{load.check():,}")
    wait_until(lambda: not _left(broker), 30, lambda: f"their directories are removed: {_left(broker)[:5]}")
    complaints = [line for line in broker.text().splitlines() if " ERROR " in line or " FATAL " in line]
    assert not complaints, complaints[:5]
    broker.clean_shutdown()
