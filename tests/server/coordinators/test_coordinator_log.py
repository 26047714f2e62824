"""The coordinators' reads and appends on real logs."""

from __future__ import annotations

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.batches import batches
from kafkapy.server.coordinators.coordinator_log import CoordinatorLog
from tests.server.broker_core import TOPIC, BrokerCore, MakeCore, batch

PARTITION = TopicPartition(TOPIC, 0)


class Coordinator:
    """Appends, and notes what it is told."""

    def __init__(self, core: BrokerCore, load_buffer_size: int = 1000) -> None:
        self.log = CoordinatorLog(core.replicas, core.cache, load_buffer_size)
        self.told: list[tuple[Errors, int]] = []

    def append(self, data: bytes, timeout_ms: int = 500) -> None:
        self.log.append(PARTITION, data, lambda error, offset: self.told.append((error, offset)), timeout_ms)

    def chunks(self) -> list[tuple[int, list[int]]]:
        """(size, base offsets of the batches) of each buffer read."""
        return [(len(chunk), [b.base_offset for b in batches(chunk)]) for chunk in self.log.read_batches(PARTITION)]


def test_an_append_is_told_when_it_is_committed(core: BrokerCore) -> None:
    coordinator = Coordinator(core)
    coordinator.append(batch(b"a", b"b"))
    coordinator.append(batch(b"c"))
    assert coordinator.told == [(Errors.NONE, 0), (Errors.NONE, 2)]


def test_an_append_that_is_not_committed_in_time(make_core: MakeCore) -> None:
    core = make_core(others=(1,))
    core.create_topic(replicas=[0, 1])
    coordinator = Coordinator(core)
    coordinator.append(batch(), timeout_ms=500)
    core.advance(499)
    assert coordinator.told == []
    core.advance(10)
    assert coordinator.told == [(Errors.REQUEST_TIMED_OUT, 0)]


def test_an_append_that_is_committed_later(make_core: MakeCore) -> None:
    core = make_core(others=(1,))
    topic_id = core.create_topic(replicas=[0, 1])
    coordinator = Coordinator(core)
    coordinator.append(batch())
    core.leader_and_isr(TOPIC, [0], topic_id, 0, 1, [0], [0, 1])
    core.advance(1000)
    assert coordinator.told == [(Errors.NONE, 0)]


def test_errors_of_the_log_are_told(make_core: MakeCore) -> None:
    core = make_core(others=(1,))
    coordinator = Coordinator(core)
    coordinator.append(batch())
    topic_id = core.create_topic(replicas=[0, 1], isr=[0], min_insync_replicas="2", max_message_bytes="200")
    coordinator.append(batch())
    core.leader_and_isr(TOPIC, [0], topic_id, 0, 1, [0, 1], [0, 1])
    coordinator.append(batch(b"x" * 200))
    core.leader_and_isr(TOPIC, [0], topic_id, 1, 2, [1], [0, 1])
    coordinator.append(batch())
    assert coordinator.told == [
        (Errors.UNKNOWN_TOPIC_OR_PARTITION, -1),
        (Errors.NOT_ENOUGH_REPLICAS, -1),
        (Errors.MESSAGE_TOO_LARGE, -1),
        (Errors.NOT_LEADER_OR_FOLLOWER, -1),
    ]


def test_reads_in_buffers_of_whole_batches(core: BrokerCore) -> None:
    size = len(batch(b"x" * 100))
    for _ in range(5):
        core.append(b"x" * 100)
    coordinator = Coordinator(core, load_buffer_size=2 * size + 10)
    assert coordinator.chunks() == [(2 * size, [0, 1]), (2 * size, [2, 3]), (size, [4])]


def test_a_batch_larger_than_the_buffer_comes_whole(core: BrokerCore) -> None:
    core.append(b"a")
    core.append(b"x" * 2000)
    core.append(b"b")
    assert [offsets for _, offsets in Coordinator(core, load_buffer_size=100).chunks()] == [[0], [1], [2]]


def test_reads_over_segments_from_the_log_start_to_the_log_end(make_core: MakeCore) -> None:
    core = make_core()
    core.create_topic(segment_bytes="200")
    for value in (b"a", b"b", b"c", b"d"):
        core.append(value * 50, value * 50)
    core.partition().delete_records(3)
    assert [o for _, offsets in Coordinator(core).chunks() for o in offsets] == [2, 4, 6]


def test_an_empty_log_has_nothing_to_read(core: BrokerCore) -> None:
    assert Coordinator(core).chunks() == []


def test_only_a_leader_reads(make_core: MakeCore) -> None:
    core = make_core(others=(1,))
    core.create_topic(replicas=[0, 1], leader=1)
    coordinator = Coordinator(core)
    with pytest.raises(KafkaError) as refusal:
        coordinator.chunks()
    assert refusal.value.error is Errors.NOT_LEADER_OR_FOLLOWER


def test_partition_counts(core: BrokerCore) -> None:
    core.create_topic("u", 3)
    log = Coordinator(core).log
    assert [log.partition_count(topic) for topic in (TOPIC, "u", "?")] == [1, 3, None]
