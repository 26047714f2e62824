"""Bytes of offset syncs, checkpoints and heartbeats, beside those of Java's classes."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkapy.common.java_hash_order import hash_map_order
from kafkapy.mirror import Checkpoint, Heartbeat, OffsetSync
from kafkapy.mirror.source_offsets import wrap_partition
from kafkapy.structs import TopicPartition

ROWS = [line.split("\t") for line in (Path(__file__).parent / "data/java_records.tsv").read_text().splitlines()]


def record_of(kind: str, fields: list[str]) -> OffsetSync | Checkpoint | Heartbeat:
    match kind, fields:
        case "sync", [topic, partition, upstream, downstream]:
            return OffsetSync(TopicPartition(topic, int(partition)), int(upstream), int(downstream))
        case "checkpoint", [group, topic, partition, upstream, downstream, metadata]:
            return Checkpoint(group, TopicPartition(topic, int(partition)), int(upstream), int(downstream), metadata)
        case _, [source, target, timestamp]:
            return Heartbeat(source, target, int(timestamp))
    raise AssertionError(kind)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_bytes_are_those_of_java(row: list[str]) -> None:
    kind, *fields, key, value = row
    record = record_of(kind, fields)
    assert (record.record_key().hex(), record.record_value().hex()) == (key, value)
    assert type(record).from_record(bytes.fromhex(key), bytes.fromhex(value)) == record


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_damaged_records_are_value_errors(row: list[str]) -> None:
    kind, *fields, key_hex, value_hex = row
    cls, key, value = type(record_of(kind, fields)), bytes.fromhex(key_hex), bytes.fromhex(value_hex)
    for size in range(len(key)):
        with pytest.raises(ValueError, match="record"):
            cls.from_record(key[:size], value)
    for size in range(len(value)):
        with pytest.raises(ValueError, match="record"):
            cls.from_record(key, value[:size])
    for one, other in ((None, value), (key, None), (b"\xff\xff" + key[2:], value), (b"\x00\x02\xff\xff" + key, value)):
        with pytest.raises(ValueError, match=r"record|decode"):
            cls.from_record(one, other)


def test_a_later_version_is_refused() -> None:
    heartbeat = Heartbeat("A", "B", 1)
    with pytest.raises(ValueError, match="unknown version 1"):
        Heartbeat.from_record(heartbeat.record_key(), b"\x00\x01" + heartbeat.record_value()[2:])


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="32768 bytes is too long"):
        Checkpoint("g", TopicPartition("t", 0), 1, 1, "x" * 32768).record_value()


def test_partitions_of_records_are_ordered_as_in_java() -> None:
    """The offsets topic has them as JSON; another order would be another key."""
    places = (
        Checkpoint("g", TopicPartition("t", 0), 1, 1).connect_partition(),
        Heartbeat("A", "B", 1).connect_partition(),
        wrap_partition(TopicPartition("t", 0), "A"),
    )
    for place in places:
        assert list(place) == hash_map_order(place)


def test_partitions_of_records() -> None:
    checkpoint = Checkpoint("g", TopicPartition("A.t", 2), 5, 3, "m")
    assert checkpoint.connect_partition() == {"group": "g", "topic": "A.t", "partition": 2}
    assert checkpoint.offset_and_metadata()[:2] == (3, "m")
    assert Heartbeat("A", "B", 1).connect_partition() == {"sourceClusterAlias": "A", "targetClusterAlias": "B"}
