"""A task that copies partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from kafkapy.connect.data.schema import BYTES_SCHEMA, OPTIONAL_BYTES_SCHEMA
from kafkapy.mirror.config.source_config import MirrorSourceTaskConfig
from kafkapy.mirror.offset_sync_writer import OffsetSyncWriter
from kafkapy.mirror.source_task import MirrorSourceTask
from kafkapy.producer.future import BatchMetadata, RecordMetadata
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.structs import TopicPartition
from tests.mirror.fake_consumer import FakeConsumer, record
from tests.mirror.mirror_configs import BASE
from tests.mirror.test_offset_sync_writer import SyncsProducer

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class TaskContext:
    """Offsets that an earlier run has stored."""

    def __init__(self, offsets: Mapping[int, int]) -> None:
        self._offsets = offsets

    def configs(self) -> dict[str, str | None]:
        return {}

    def transaction_context(self) -> None:
        return None

    def offset_storage_reader(self) -> TaskContext:
        return self

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        assert (partition["cluster"], partition["topic"]) == ("A", "t")
        offset = self._offsets.get(partition["partition"])
        return None if offset is None else {"offset": offset}

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        return [self.offset(partition) for partition in partitions]


class Running:
    """A task with its clients."""

    def __init__(self, records: Sequence[Any] = (), stored: Mapping[int, int] | None = None) -> None:
        self.consumer, self.producer = FakeConsumer(records), SyncsProducer()
        config = MirrorSourceTaskConfig(BASE | {"task.assigned.partitions": "t-0,t-1", "task.index": "0"})
        self.task = MirrorSourceTask()
        self.task.initialize(TaskContext(stored or {}))
        self.task.begin(config, self.consumer, OffsetSyncWriter(self.producer, "syncs", 100))


def metadata(offset: int) -> RecordMetadata:
    return RecordMetadata("A.t", 0, TopicPartition("A.t", 0), offset, 0, None, -1, -1, -1)


def test_records_are_copied_as_they_are() -> None:
    running = Running([record("t", 7, b"k", None, 1, (("h", b"v"), ("n", None)))])
    (copied,) = running.task.poll() or ()
    assert copied.source_partition == {"topic": "t", "partition": 1, "cluster": "A"}
    assert copied.source_offset == {"offset": 7}
    assert (copied.topic, copied.kafka_partition, copied.key, copied.value) == ("A.t", 1, b"k", None)
    assert (copied.key_schema, copied.value_schema, copied.timestamp) == (OPTIONAL_BYTES_SCHEMA, BYTES_SCHEMA, 1007)
    assert list(copied.headers) == [("h", BYTES_SCHEMA, b"v"), ("n", BYTES_SCHEMA, None)]
    assert running.task.poll() is None


def test_it_goes_on_behind_what_was_copied() -> None:
    running = Running([record("t", offset, None, b"v", 1) for offset in range(5)], {1: 2})
    assert running.consumer.sought == {T1: 3}
    assert [each.source_offset for each in running.task.poll() or ()] == [{"offset": 3}, {"offset": 4}]


def test_offsets_of_copies_are_synced() -> None:
    running = Running([record("t", offset, None, b"v") for offset in range(3)])
    for number, copied in enumerate(running.task.poll() or ()):
        running.task.commit_record(copied, metadata(number + 10))
    assert running.producer.syncs() == [(0, 0, 10)]
    running.task.commit()
    assert running.producer.syncs() == [(0, 0, 10), (0, 2, 12)]
    values = {
        name.name: value for name, value in running.task.read_metrics().items() if ("partition", "0") in name.tags
    }
    assert values["record-count"] == 3 and values["byte-count"] == 3


def test_records_that_were_sent_together() -> None:
    running = Running([record("t", offset, None, b"v") for offset in (0, 1, 5, 6)])
    copied = running.task.poll() or ()
    batches = [BatchMetadata("A.t", 0, 10, -1, 3), BatchMetadata("A.t", 0, 13, -1, 1)]
    running.task.commit_records(copied, batches)
    assert running.producer.syncs() == [(0, 0, 10), (0, 5, 12)]
    running.task.commit()
    assert running.producer.syncs()[2:] == [(0, 6, 13)]
    counts = [value for name, value in running.task.read_metrics().items() if name.name == "record-count"]
    assert counts == [4, 0]


def test_syncs_of_a_burst_are_sent_later() -> None:
    running = Running([record("t", offset, None, b"v") for offset in range(0, 24, 2)])  # gaps: each record needs a sync
    copied = running.task.poll() or ()
    running.task.commit_records(copied, [BatchMetadata("A.t", 0, 0, -1, len(copied))])
    assert len(running.producer.sent) == 10
    running.producer.sent[0].end()
    assert running.task.poll() is None
    assert running.producer.syncs()[-1] == (0, 22, 11)


def test_records_without_an_offset_are_not_synced() -> None:
    running = Running([record("t", 0, None, b"v")])
    (copied,) = running.task.poll() or ()
    running.task.commit_record(copied, None)
    running.task.commit_record(copied, metadata(-1))
    assert running.producer.syncs() == []


def test_errors_of_a_poll(caplog: pytest.LogCaptureFixture) -> None:
    running = Running([record("t", 0, None, b"v")])
    running.consumer.error = KafkaError(Errors.NOT_LEADER_OR_FOLLOWER)
    assert running.task.poll() is None and "is tried again" in caplog.text
    running.consumer.error = None
    assert len(running.task.poll() or ()) == 1


def test_the_end_of_a_task() -> None:
    running = Running([record("t", 0, None, b"v")])
    running.task.stop()
    assert running.consumer.is_closed and running.producer.is_closed and running.task.poll() is None
    MirrorSourceTask().stop()


def test_without_offset_syncs() -> None:
    task = MirrorSourceTask()
    task.initialize(TaskContext({}))
    consumer = FakeConsumer([record("t", 0, None, b"v")])
    task.begin(MirrorSourceTaskConfig(BASE | {"task.assigned.partitions": "t-0"}), consumer, None)
    (copied,) = task.poll() or ()
    task.commit_record(copied, metadata(1))
    task.commit()
    task.stop()
