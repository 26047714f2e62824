"""Encoding and decoding: round trips, versions, tagged fields, records in pieces, values that do not fit."""

from __future__ import annotations

import struct

import pytest

from kafkapy.protocol.consumer_protocol import ConsumerProtocolSubscription
from kafkapy.protocol.decoder import DecoderSource
from kafkapy.protocol.encoder import LARGE, EncoderSource
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.message import Message, version_prefix
from kafkapy.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from kafkapy.protocol.messages.api_versions import ApiVersionsRequest
from kafkapy.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkapy.protocol.messages.heartbeat import HeartbeatRequest
from kafkapy.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from kafkapy.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkapy.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafkapy.protocol.records.consumer_group import ConsumerGroupMemberMetadataValue
from kafkapy.protocol.records.group_metadata import GroupMetadataKey
from kafkapy.protocol.records.offset_commit import OffsetCommitKey, OffsetCommitValue
from kafkapy.protocol.wire import SchemaError
from tests.protocol.protocol_samples import every_version, populated


@pytest.mark.parametrize("nulls", [False, True])
def test_round_trips(nulls: bool) -> None:
    for cls, version in every_version():
        message = populated(cls, version, nulls)
        encoded = message.encode(version)
        assert cls.decode_from(encoded, version) == (message, len(encoded))
        assert b"".join(message.encode_parts(version)) == encoded


@pytest.mark.parametrize("buffer", [bytes, bytearray, memoryview])
def test_any_buffer_and_position(buffer: type) -> None:
    message = populated(FetchRequest, 17)
    encoded = message.encode(17)
    found, end = FetchRequest.decode_from(buffer(b"before" + encoded + b"behind"), 17, 6)
    assert found == message
    assert end == 6 + len(encoded)


def test_bytes_behind_the_message_are_left_alone() -> None:
    assert HeartbeatRequest.decode(HeartbeatRequest("g").encode(3) + b"more", 3) == HeartbeatRequest("g")


def test_known_bytes() -> None:
    message = HeartbeatRequest(group_id="g", generation_id=3, member_id="m")
    assert message.encode(0) == b"\0\x01g\0\0\0\x03\0\x01m"
    assert message.encode(3) == b"\0\x01g\0\0\0\x03\0\x01m\xff\xff"
    assert message.encode(4) == b"\x02g\0\0\0\x03\x02m\0\0"


def test_arrays_of_all_lengths() -> None:
    """Short and long counts take other ways, and so does an empty array between other fields."""
    for count in (0, 1, 15, 16, 126, 127, 128, 20_000):
        partition = MetadataResponse.MetadataResponsePartition(replica_nodes=list(range(count)))
        brokers = [MetadataResponse.MetadataResponseBroker(node_id=node) for node in range(min(count, 300))]
        topics = [MetadataResponse.MetadataResponseTopic(name="t", partitions=[partition])]
        message = MetadataResponse(brokers=brokers, topics=topics)
        for version in (8, 9):
            assert MetadataResponse.decode(message.encode(version), version) == message
        topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic("t", list(range(count)))
        request = AddPartitionsToTxnRequest(v3_and_below_topics=[topic] * (count if count < 300 else 1))
        for version in (2, 3):
            assert AddPartitionsToTxnRequest.decode(request.encode(version), version) == request


def test_strings_of_all_lengths() -> None:
    for length in (0, 1, 126, 127, 128, 16_383, 16_384, 32_767):
        message = HeartbeatRequest(group_id="g" * length, member_id="m")
        for version in (3, 4):
            assert HeartbeatRequest.decode(message.encode(version), version) == message


@pytest.mark.parametrize("version", [3, 4])
def test_strings_have_a_limit(version: int) -> None:
    with pytest.raises(SchemaError, match="too long"):
        HeartbeatRequest(group_id="é" * 16_384).encode(version)


def test_a_compact_string_over_the_limit_is_refused() -> None:
    with pytest.raises(SchemaError, match="32768 bytes"):
        HeartbeatRequest.decode(b"\x81\x80\x02" + b"g" * 32_768 + b"\0\0\0\x03\x02m\0\0", 4)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (b"a\xffb", "a\ufffdb"),
        (b"\xe2\x82", "\ufffd"),
        (b"\xf0\x9f\x98a", "\ufffda"),
        (b"\xed\xa0\x80a", "\ufffda"),  # a surrogate: three replacements in Python, one in Java
        (b"\xed\xa0a", "\ufffda"),
        (b"\xed\xa0", "\ufffd"),
        (b"\xc0\x80", "\ufffd\ufffd"),
    ],
)
def test_invalid_utf8_is_replaced_as_in_java(wrong: bytes, text: str) -> None:
    encoded = struct.pack(">h", len(wrong)) + wrong + b"\0\0\0\x03\0\x01m"
    assert HeartbeatRequest.decode(encoded, 0).group_id == text


def test_any_byte_but_zero_is_true() -> None:
    assert MetadataRequest.decode(b"\0\0\0\0\x05", 4).allow_auto_topic_creation is True
    assert MetadataRequest.decode(b"\0\0\0\0\x00", 4).allow_auto_topic_creation is False


# --- versions


def test_fields_of_other_versions_get_their_defaults() -> None:
    found = FetchRequest.decode(populated(FetchRequest, 0).encode(0), 0)
    assert (found.max_bytes, found.session_epoch, found.rack_id, found.replica_state) == (0x7FFFFFFF, -1, "", None)


def test_ignorable_fields_are_dropped_silently() -> None:
    message = FetchResponse(throttle_time_ms=5)
    assert FetchResponse.decode(message.encode(0), 0) == FetchResponse()


def test_other_fields_are_not() -> None:
    message = FetchResponse(session_id=5)
    with pytest.raises(KafkaError, match=r"FetchResponse.session_id at version 6: 5") as caught:
        message.encode(6)
    assert caught.value.error is Errors.UNSUPPORTED_VERSION


def test_a_struct_of_another_version_may_be_absent_or_default() -> None:
    FetchRequest(replica_state=FetchRequest.ReplicaState()).encode(14)
    with pytest.raises(KafkaError, match=r"FetchRequest\.replica_state"):
        FetchRequest(replica_state=FetchRequest.ReplicaState(replica_id=1)).encode(14)


@pytest.mark.parametrize("version", [-1, 18])
def test_unknown_versions(version: int) -> None:
    for use in (FetchRequest().encode, FetchRequest().encode_parts, lambda v: FetchRequest.decode(b"", v)):
        with pytest.raises(KafkaError, match=f"FetchRequest has no version {version}") as caught:
            use(version)
        assert caught.value.error is Errors.UNSUPPORTED_VERSION


# --- tagged fields


def test_defaults_are_not_tagged() -> None:
    partition = FetchResponse.PartitionData(current_leader=FetchResponse.LeaderIdAndEpoch())
    message = FetchResponse(responses=[FetchResponse.FetchableTopicResponse(partitions=[partition])])
    partition_without = FetchResponse.PartitionData()
    without = FetchResponse(responses=[FetchResponse.FetchableTopicResponse(partitions=[partition_without])])
    assert message.encode(12) == without.encode(12)


def test_each_tagged_field_can_stand_alone() -> None:
    for values in (
        {"diverging_epoch": FetchResponse.EpochEndOffset(1, 2)},
        {"current_leader": FetchResponse.LeaderIdAndEpoch(1, 2)},
        {"snapshot_id": FetchResponse.SnapshotId(1, 2)},
    ):
        partition = FetchResponse.PartitionData(aborted_transactions=None, **values)
        message = FetchResponse(responses=[FetchResponse.FetchableTopicResponse(partitions=[partition])])
        assert FetchResponse.decode(message.encode(12), 12) == message


def test_a_nullable_tagged_struct() -> None:
    """It has a byte for null in its tagged field, so that one of defaults can be told from none."""
    value = ConsumerGroupMemberMetadataValue(
        classic_member_metadata=ConsumerGroupMemberMetadataValue.ClassicMemberMetadata()
    )
    assert value.encode(0).endswith(b"\x01\x00\x07\x01\0\0\0\0\x01\0")
    assert ConsumerGroupMemberMetadataValue.decode(value.encode(0), 0) == value


def test_unknown_tagged_fields_are_skipped() -> None:
    encoded = ApiVersionsRequest("kafkapy", "1").encode(3)
    assert encoded[-1:] == b"\0"
    unknown = b"\x02" + b"\x07\x03abc" + b"\xff\x7f\x80\x01" + b"x" * 128
    assert ApiVersionsRequest.decode_from(encoded[:-1] + unknown, 3) == (
        ApiVersionsRequest("kafkapy", "1"),
        len(encoded) - 1 + len(unknown),
    )


def test_unknown_and_known_tagged_fields() -> None:
    encoded = FetchRequest(rack_id="r").encode(12)
    tags = b"\x03" + b"\x00\x03\x03id" + b"\x05\x01x" + b"\x06\x00"
    assert FetchRequest.decode(encoded[:-1] + tags, 12) == FetchRequest(rack_id="r", cluster_id="id")


def test_a_tag_of_a_later_version_is_refused() -> None:
    encoded = FetchRequest().encode(12)
    with pytest.raises(SchemaError, match=r"tag 1 .* version 12"):
        FetchRequest.decode(encoded[:-1] + b"\x01\x01\x01x", 12)


# --- records


class LogSlice:
    """A slice of a file: bytes that are elsewhere."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size


def response_with(*records: object) -> FetchResponse:
    return FetchResponse(
        responses=[
            FetchResponse.FetchableTopicResponse(
                topic="t", partitions=[FetchResponse.PartitionData(index, records=r) for index, r in enumerate(records)]
            )
        ]
    )


@pytest.mark.parametrize("version", [4, 12])
def test_what_is_no_buffer_is_a_piece_of_its_own(version: int) -> None:
    slices = [LogSlice(10), LogSlice(100_000)]
    parts = response_with(slices[0], b"small", slices[1]).encode_parts(version)
    assert [part for part in parts if isinstance(part, LogSlice)] == slices
    sent = b"".join(bytes(len(part)) if isinstance(part, LogSlice) else part for part in parts)
    assert sent == response_with(bytes(10), b"small", bytes(100_000)).encode(version)


@pytest.mark.parametrize("version", [4, 12])
def test_large_buffers_are_not_copied(version: int) -> None:
    large, small = memoryview(bytes(LARGE)), memoryview(bytes(LARGE - 1))
    parts = response_with(small, large, small).encode_parts(version)
    assert len(parts) == 3
    assert parts[1] is large
    assert b"".join(parts) == response_with(small, large, small).encode(version)


def test_a_message_without_large_records_is_one_piece() -> None:
    assert len(response_with(b"a", None, b"", bytearray(b"c")).encode_parts(12)) == 1
    assert HeartbeatRequest().encode_parts(4) == [HeartbeatRequest().encode(4)]


def test_an_empty_slice_leaves_no_trace() -> None:
    assert response_with(LogSlice(0)).encode_parts(12) == [response_with(b"").encode(12)]


def test_decoded_records_are_views_of_the_request() -> None:
    partition = ProduceRequest.PartitionProduceData(0, b"batch")
    message = ProduceRequest(topic_data=[ProduceRequest.TopicProduceData("t", [partition])])
    encoded = message.encode(9)
    found = ProduceRequest.decode(encoded, 9).topic_data[0].partition_data[0].records
    assert isinstance(found, memoryview)
    assert found.obj is encoded
    assert bytes(found) == b"batch"


def test_a_slice_cannot_be_encoded_as_a_whole() -> None:
    with pytest.raises(SchemaError, match=r"responses\[0\].partitions\[0\].records"):
        response_with(LogSlice(5)).encode(12)


# --- values that do not fit


@pytest.mark.parametrize(
    ("message", "version", "explanation"),
    [
        (ProduceResponse(throttle_time_ms=1 << 31), 9, "throttle_time_ms is 2147483648, not an int32"),
        (HeartbeatRequest(group_id=None), 4, "group_id is None, not a string"),  # type: ignore[arg-type]
        (HeartbeatRequest(group_id=b"g"), 0, "group_id is b'g', not a string"),  # type: ignore[arg-type]
        (HeartbeatRequest(generation_id="5"), 0, "generation_id is '5', not an int32"),  # type: ignore[arg-type]
        (FetchRequest(topics=None), 4, "topics is None, not an array"),  # type: ignore[arg-type]
        (FetchRequest(topics=[FetchRequest.FetchTopic(topic_id=b"short")]), 13, "not a uuid of 16 bytes"),
        (
            FetchRequest(topics=[FetchRequest.FetchTopic("t", partitions=[FetchRequest.FetchPartition(-1 << 40)])]),
            4,
            r"topics\[0\].partitions\[0\].partition is -1099511627776, not an int32",
        ),
        (MetadataRequest(topics=["t"]), 4, r"topics\[0\] is 't', not a MetadataRequestTopic"),  # type: ignore[list-item]
        (
            LeaderAndIsrRequest(live_leaders=[LeaderAndIsrRequest.LeaderAndIsrLiveLeader(1, "h", 1.5)]),  # type: ignore[arg-type]
            4,
            r"live_leaders\[0\].port is 1.5, not an int32",
        ),
        (
            ConsumerProtocolSubscription(owned_partitions=[ConsumerProtocolSubscription.TopicPartition("t", ["x"])]),  # type: ignore[list-item]
            1,
            r"owned_partitions\[0\].partitions\[0\] is 'x', not an int32",
        ),
        (ConsumerProtocolSubscription(user_data="text"), 0, "user_data is 'text', not a bytes"),  # type: ignore[arg-type]
        (HeartbeatRequest(group_id="\ud800"), 0, "group_id is '\\\\ud800', not a string"),
    ],
)
def test_the_field_is_named(message: Message, version: int, explanation: str) -> None:
    with pytest.raises(SchemaError, match=explanation):
        message.encode(version)


# --- with a version before it


def test_version_prefixed() -> None:
    key = OffsetCommitKey(group="g", topic="t", partition=3)
    encoded = key.to_version_prefixed_bytes(1)
    assert encoded == b"\0\x01\0\x01g\0\x01t\0\0\0\x03"
    assert version_prefix(encoded) == 1
    assert OffsetCommitKey.from_version_prefixed_bytes(encoded) == key
    assert GroupMetadataKey("g").to_version_prefixed_bytes(2) == b"\0\x02\0\x01g"


def test_a_flexible_record_value() -> None:
    value = OffsetCommitValue(offset=5, metadata="m", commit_timestamp=7)
    assert OffsetCommitValue.from_version_prefixed_bytes(value.to_version_prefixed_bytes(4)) == value


def test_no_room_for_a_version() -> None:
    with pytest.raises(SchemaError):
        version_prefix(b"\0")


# --- the compiled source


def test_neighbours_are_read_and_written_by_one_struct() -> None:
    assert "unpack_iiqiqiB(buf, pos)" in DecoderSource(FetchRequest, 12, True).write().text("")
    assert EncoderSource(FetchResponse, 12, True).write().text("").count("pack_ihqqqBiB(") == 1
