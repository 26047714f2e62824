from __future__ import annotations

import logging
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.config import GroupConfig, OffsetConfig
from kafkapy.coordinator.group.group import ClassicGroup
from kafkapy.coordinator.group.group_state import ClassicGroupState
from kafkapy.coordinator.group.members import ClassicGroupMember
from kafkapy.coordinator.group.offsets import CommittedOffset, GroupOffset
from kafkapy.coordinator.group.records import (
    GroupKey,
    OffsetKey,
    UnknownKey,
    group_key,
    group_value,
    offset_key,
    offset_value,
    read_group_value,
    read_key,
    read_offset_value,
)
from kafkapy.coordinator.group.replayed_groups import ReplayedGroups
from kafkapy.coordinator.runtime.replay import replay
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.records.group_metadata import GroupMetadataValue
from kafkapy.protocol.wire import SchemaError
from kafkapy.record.batches import batches
from kafkapy.record.record_batch import RecordBatch
from kafkapy.record.records_builder import MemoryRecordsBuilder
from tests.coordinator.group.group_harness import GROUP, FakeLog, Harness

LOG = (Path(__file__).parent / "data" / "consumer_offsets.log").read_bytes()
"""Written by Apache Kafka 3.9.1 for a consumer of librdkafka, then transactions of Java and librdkafka; all deleted."""


def read_group(group_id: str, value: bytes) -> ClassicGroup:
    return ClassicGroup.loaded(group_id, read_group_value(group_id, value), GroupConfig())


def value_of(group: ClassicGroup) -> bytes:
    return group_value(group.to_record({member.member_id: member.assignment for member in group.members}))


def load(*buffers: memoryview) -> dict[str, ClassicGroup]:
    replayed = ReplayedGroups(GroupConfig())
    replay(buffers, replayed, logging.getLogger("kafkapy.coordinator.group.GroupMetadataManager"))
    return {group.group_id: group for group in replayed.all_groups(0)}


def all_batches() -> list[RecordBatch]:
    found = [batch for batch in batches(LOG) if isinstance(batch, RecordBatch)]
    assert len(found) == 19
    return found


def test_every_record_that_kafka_wrote_is_written_the_same() -> None:
    for batch in all_batches():
        if batch.is_control:
            continue
        for record in batch.records():
            assert record.key is not None
            match read_key(record.key):
                case OffsetKey(group_id, partition):
                    assert offset_key(group_id, partition) == record.key
                    if record.value is not None:
                        assert offset_value(read_offset_value(record.value)) == record.value
                case GroupKey(group_id):
                    assert group_key(group_id) == record.key
                    if record.value is not None:
                        assert group_value(read_group_value(group_id, record.value)) == record.value
                        assert value_of(read_group(group_id, record.value)) == record.value
                case unknown:
                    raise AssertionError(unknown)


def test_what_a_record_of_kafka_says() -> None:
    first = next(iter(all_batches()[0].records()))
    assert first.value is not None
    group = read_group("g1", first.value)
    member_id = "rdkafka-85c3ec5d-102b-49f1-9782-b72b44db31f4"
    assert (group.state, group.generation_id, group.protocol_type, group.protocol_name, group.members.leader_id) == (
        ClassicGroupState.STABLE,
        1,
        "consumer",
        "range",
        member_id,
    )
    assert group.state_timestamp == 0x1A1FC2226AC
    assert group.subscribed_topics == {"t1"}
    [member] = group.members
    assert (member.client_id, member.client_host, member.group_instance_id) == ("rdkafka", "/127.0.0.1", None)
    assert (member.rebalance_timeout_ms, member.session_timeout_ms) == (300_000, 45_000)
    second = next(iter(all_batches()[1].records()))
    assert second.key is not None
    assert second.value is not None
    assert read_key(second.key) == OffsetKey("g1", TopicPartition("t1", 0))
    assert read_offset_value(second.value) == (1, 2, "", 0x1A1FC222746, -1)


@pytest.mark.parametrize(("index", "sequence"), [(0, -1), (1, 0), (4, -1), (8, 0)])
def test_batches_are_those_of_kafka(index: int, sequence: int) -> None:
    """A group, a commit, tombstones, a commit of three partitions."""
    batch = all_batches()[index]
    builder = MemoryRecordsBuilder(base_sequence=sequence)
    for record in batch.records():
        builder.append(record.timestamp, record.key, record.value)
    ours = RecordBatch(bytearray(builder.build()))
    ours.set_offset_and_epoch(batch.base_offset, batch.partition_leader_epoch)
    assert bytes(ours.buffer) == bytes(batch.buffer)


def test_loading_the_log_of_kafka() -> None:
    log = memoryview(LOG)
    assert load(log) == {}
    [marked] = load(log[:1222]).values()
    assert marked.group_id == "g-java39"
    assert [offset.base_offset for offset in marked.offsets.committed.values()] == [7]
    assert not marked.offsets.producers
    [committed] = load(log[:709], log[709:1460]).values()
    assert {key: offset.value.offset for key, offset in committed.offsets.committed.items()} == {
        TopicPartition("cli-java39", n): offset for n, offset in ((0, 1), (1, 0), (2, 2))
    }
    assert {offset.base_offset for offset in committed.offsets.committed.values()} == {9}
    [pending] = load(log[:1144]).values()
    [producer_id] = pending.offsets.producers
    assert producer_id >= 0
    assert pending.offsets.is_pending(TopicPartition("cli-java39", 0))
    assert not pending.offsets.is_pending(TopicPartition("cli-java39", 1))


# -------------------------------------------------------------------------------------------------- versions


def test_old_and_flexible_offset_values() -> None:
    offset = bytes(7) + b"\x05"
    when = bytes(6) + b"\x01\x00"
    until = bytes(6) + b"\x02\x00"
    assert read_offset_value(b"\0\0" + offset + b"\0\1m" + when) == (5, -1, "m", 256, -1)
    assert read_offset_value(b"\0\1" + offset + b"\0\1m" + when + until) == (5, -1, "m", 256, 512)
    assert read_offset_value(b"\0\2" + offset + b"\0\1m" + when) == (5, -1, "m", 256, -1)
    assert read_offset_value(b"\0\3" + offset + b"\0\0\0\x04" + b"\0\1m" + when) == (5, 4, "m", 256, -1)
    assert read_offset_value(b"\0\4" + offset + b"\0\0\0\x04" + b"\2m" + when + b"\0") == (5, 4, "m", 256, -1)


def test_old_group_values() -> None:
    head = b"\0\x08consumer" + b"\0\0\0\x03" + b"\0\1p" + b"\0\1m"
    timestamp = bytes(7) + b"\x09"
    member = b"\0\1m", b"\0\1c\0\1h", b"\0\0\0\x02", b"\0\0\0\x01", b"\0\0\0\1s\0\0\0\1a"
    member_id, client, rebalance, session, rest = member
    one = b"\0\0\0\1"
    v0 = read_group("g", b"\0\0" + head + one + member_id + client + session + rest)
    v1 = read_group("g", b"\0\1" + head + one + member_id + client + rebalance + session + rest)
    v2 = read_group("g", b"\0\2" + head + timestamp + one + member_id + client + rebalance + session + rest)
    assert [group.members["m"].rebalance_timeout_ms for group in (v0, v1, v2)] == [1, 2, 2]
    assert [group.state_timestamp for group in (v0, v1, v2)] == [-1, -1, 9]
    assert {group.members["m"].assignment for group in (v0, v1, v2)} == {b"a"}
    assert {group.generation_id for group in (v0, v1, v2)} == {3}


@pytest.mark.parametrize(
    ("protocol", "offset_version", "group_version"),
    [("2.3", 3, 3), ("2.2", 3, 2), ("2.1-IV0", 2, 2), ("2.0", 1, 1), ("0.10.1-IV0", 1, 1), ("0.10.0", 1, 0)],
)
def test_an_older_protocol_has_records_that_older_coordinators_read(
    protocol: str, offset_version: int, group_version: int
) -> None:
    log = FakeLog()
    h = Harness(log, config=GroupConfig(offsets=OffsetConfig(inter_broker_protocol_version=protocol)))
    [member_id] = h.stable_group()
    assert h.commit({("t", 0): 7}, member_id, 1) is Errors.NONE
    values = [value for _, value in log.records(h.log_of()) if value is not None]
    assert [value[:2] for value in values] == [bytes([0, group_version]), bytes([0, offset_version])]
    assert read_group_value(GROUP, values[0]).generation == 1
    assert read_offset_value(values[1]).offset == 7


def test_keys_of_version_0_and_unknown_ones() -> None:
    key = offset_key("g", TopicPartition("t", 3))
    assert key[:2] == b"\0\1"
    assert read_key(b"\0\0" + key[2:]) == OffsetKey("g", TopicPartition("t", 3))
    assert read_key(b"\0\x03\0\1g") == UnknownKey(3)
    for broken in (b"", b"\0", key[:-1]):
        with pytest.raises(SchemaError):
            read_key(broken)


@pytest.mark.parametrize("value", [b"", b"\0\5", b"\xff\xff", b"\0\3\0"])
def test_broken_values(value: bytes) -> None:
    with pytest.raises(SchemaError):
        read_offset_value(value)
    with pytest.raises(SchemaError):
        read_group_value("g", value)


def test_records_that_cannot_be_read_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    good = GroupOffset(1, -1, "", 1)
    builder = MemoryRecordsBuilder()
    builder.append(1, None, b"x")
    builder.append(1, b"\0\x07\0\1g", b"of a newer cluster")
    builder.append(1, offset_key("g", TopicPartition("t", 0)), b"\0\x63")
    builder.append(1, offset_key("g", TopicPartition("t", 1)), offset_value(good))
    with caplog.at_level(logging.WARNING):
        loaded = load(memoryview(builder.build()))
    assert loaded["g"].offsets.committed == {TopicPartition("t", 1): CommittedOffset(0, good)}
    assert len(caplog.records) == 3


text = st.text(st.characters(codec="utf-8"), max_size=20)
int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)


@given(st.builds(GroupOffset, int64, int32, text, int64, st.just(-1)))
@settings(max_examples=50, derandomize=True)
def test_offsets_survive(offset: GroupOffset) -> None:
    assert read_offset_value(offset_value(offset)) == offset


members = st.builds(
    ClassicGroupMember,
    text,
    st.none() | text,
    text,
    text,
    int32,
    int32,
    st.just("type"),
    st.just([("p", b"meta")]),
    st.binary(),
)


def instance_key(member: ClassicGroupMember) -> tuple[bool, str]:
    return (True, member.member_id) if member.group_instance_id is None else (False, member.group_instance_id)


@given(st.lists(members, max_size=4, unique_by=(lambda m: m.member_id, instance_key)))
@settings(max_examples=50, derandomize=True)
def test_groups_survive(members: list[ClassicGroupMember]) -> None:
    group = ClassicGroup("g", GroupConfig(), 17, ClassicGroupState.STABLE if members else ClassicGroupState.EMPTY)
    group.generation_id, group.protocol_type, group.protocol_name = 5, "type", "p" if members else None
    for member in members:
        group.members.add(member)
    again = read_group("g", value_of(group))
    assert (again.state, again.generation_id, again.protocol_type, again.protocol_name, again.members.leader_id) == (
        group.state,
        5,
        "type",
        group.protocol_name,
        group.members.leader_id,
    )
    assert list(map(repr, again.members)) == list(map(repr, members))
    assert [m.assignment for m in again.members] == [m.assignment for m in members]


def test_an_unknown_leader_in_a_record_is_replaced() -> None:
    member = GroupMetadataValue.MemberMetadata(member_id="1")
    record = GroupMetadataValue(protocol_type="consumer", protocol="p", leader="gone", members=[member])
    assert ClassicGroup.loaded("g", record, GroupConfig()).members.leader_id == "1"


def test_a_group_with_a_member_twice_is_no_group() -> None:
    def group(*names: tuple[str, str | None]) -> bytes:
        members = [GroupMetadataValue.MemberMetadata(member_id=name, group_instance_id=i) for name, i in names]
        return b"\0\3" + GroupMetadataValue(protocol_type="consumer", protocol="p", members=members).encode(3)

    assert len(read_group_value("g", group(("1", None), ("2", None), ("3", ""))).members) == 3
    for twice in (group(("1", None), ("1", None)), group(("1", "i"), ("2", "i"))):
        with pytest.raises(SchemaError):
            read_group_value("g", twice)


def test_compressed_batches_are_read() -> None:
    from kafkapy.record.compression import CompressionType

    builder = MemoryRecordsBuilder(compression_type=CompressionType.GZIP)
    builder.append(1, offset_key("g", TopicPartition("t", 1)), offset_value(GroupOffset(1, -1, "", 1)))
    assert len(load(memoryview(builder.build()))["g"].offsets.committed) == 1
