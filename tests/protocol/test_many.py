"""Which messages have so much in them that they are written in a thread."""

from __future__ import annotations

from kafkapy.protocol.many import has_many_structs
from kafkapy.protocol.messages.heartbeat import HeartbeatResponse
from kafkapy.protocol.messages.list_offsets import ListOffsetsResponse


def offsets(topics: int, partitions: int) -> ListOffsetsResponse:
    return ListOffsetsResponse(
        topics=[
            ListOffsetsResponse.ListOffsetsTopicResponse(
                name=str(t),
                partitions=[
                    ListOffsetsResponse.ListOffsetsPartitionResponse(partition_index=p) for p in range(partitions)
                ],
            )
            for t in range(topics)
        ]
    )


def test_structs_at_any_depth_count() -> None:
    assert not has_many_structs(HeartbeatResponse(), 0)
    assert not has_many_structs(offsets(10, 9), 100)
    assert has_many_structs(offsets(10, 10), 100)
    assert has_many_structs(offsets(1, 100), 100)
    assert has_many_structs(offsets(101, 0), 100)
