"""Which instance has what, by the group's assignment."""

from __future__ import annotations

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.partitioner.hashing import partition_of
from kafkapy.streams import Serdes
from kafkapy.streams.assignment.assignment_info import AssignmentInfo
from kafkapy.streams.assignment.task_id import HostInfo
from kafkapy.streams.queries.streams_metadata import KeyQueryMetadata, StreamsMetadata, StreamsMetadataState

A, B = HostInfo("a", 1), HostInfo("b", 2)


def _partitions(topic: str, *numbers: int) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(topic, number) for number in numbers)


def _state() -> StreamsMetadataState:
    state = StreamsMetadataState({"counts": frozenset({"words"}), "other": frozenset({"clicks"})})
    state.update(
        AssignmentInfo(
            11,
            partitions_by_host={
                A: _partitions("words", 0, 1) | _partitions("clicks", 0),
                B: _partitions("words", 2, 3),
            },
            standby_partitions_by_host={A: _partitions("words", 2, 3), B: _partitions("words", 0)},
        )
    )
    return state


def test_what_each_instance_has() -> None:
    state = _state()
    both = frozenset({"counts", "other"})
    assert state.all() == [
        StreamsMetadata(
            A,
            both,
            _partitions("words", 0, 1) | _partitions("clicks", 0),
            frozenset({"counts"}),
            _partitions("words", 2, 3),
        ),
        StreamsMetadata(
            B, frozenset({"counts"}), _partitions("words", 2, 3), frozenset({"counts"}), _partitions("words", 0)
        ),
    ]
    assert [one.host_info for one in state.for_store("other")] == [A]
    assert [one.host_info for one in state.for_store("counts")] == [A, B]
    assert state.for_store("unknown") == []


def test_where_a_key_is() -> None:
    state, serializer = _state(), Serdes.string().serializer()
    for key in ("kafka", "streams", "python", "a", "b"):
        number = partition_of(key.encode(), 4)
        found = state.for_key("counts", key, serializer)
        active, standby = (A, {B} if number == 0 else set()) if number < 2 else (B, {A})
        assert found == KeyQueryMetadata(active, frozenset(standby), number)


def test_a_partitioner_of_ones_own_says_where() -> None:
    asked = []

    def partitioner(topic: str, key: str, value: None, count: int) -> int:
        asked.append((topic, key, value, count))
        return 3

    found = _state().for_key("counts", "kafka", partitioner)
    assert found == KeyQueryMetadata(B, frozenset({A}), 3)
    assert asked == [("words", "kafka", None, 4)]


def test_nothing_is_known_without_an_assignment_or_a_store() -> None:
    serializer = Serdes.string().serializer()
    assert StreamsMetadataState({"counts": frozenset({"words"})}).for_key("counts", "kafka", serializer) is None
    assert _state().for_key("unknown", "kafka", serializer) is None
