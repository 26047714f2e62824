"""Fetch as it nearly always comes and is answered, read and written by hand instead of by the schema's codec.

See `produce_codec`: here, too, what is unusual or wrong is left to the schema's codec, and both make and take the same.
"""

from __future__ import annotations

from struct import Struct
from typing import Any, Final

from kafkapy.protocol import wire
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import ApiCodec
from kafkapy.protocol.message import Message, joined
from kafkapy.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkapy.protocol.request_reader import UNUSUAL_OR_WRONG, RequestReader, UnusualError
from kafkapy.protocol.response_parts import add_name, count, header

_new: Final = object.__new__
_Request: Final = FetchRequest
_Response: Final = FetchResponse
_Topic: Final = FetchRequest.FetchTopic
_Partition: Final = FetchRequest.FetchPartition
_Forgotten: Final = FetchRequest.ForgottenTopic
_ReplicaState: Final = FetchRequest.ReplicaState
_TopicResponse: Final = FetchResponse.FetchableTopicResponse
_PartitionData: Final = FetchResponse.PartitionData

_FIRST_BY_HAND: Final = 7
"""The first with fetch sessions."""
_FIRST_WITH_LEADER_EPOCH: Final = 9
_FIRST_WITH_RACK: Final = 11
_FIRST_FLEXIBLE: Final = 12
_FIRST_WITH_TOPIC_IDS: Final = 13
_FIRST_WITH_REPLICA_STATE: Final = 15
_NO_UUID: Final = bytes(16)
_NO_TAGS: Final = b"\0"

# max wait, min bytes, max bytes, isolation level, session id, session epoch.
_START: Final = Struct(">iiibii").unpack_from
# fetch offset, log start offset, max bytes.
_PARTITION_7: Final = Struct(">qqi").unpack_from
# partition, current leader epoch, fetch offset, last fetched epoch, log start offset, max bytes.
_PARTITION_12: Final = Struct(">iiqiqi").unpack_from
# One tagged field: tag 1 of 13 bytes, replica id and epoch, no tagged fields in it.
_REPLICA_STATE: Final = Struct(">BBBiqB").unpack_from
_TAGS_OF_REPLICA_STATE: Final = (1, 1, 13)

# throttle time, error, session id.
_START_OF_RESPONSE: Final = Struct(">ihi").pack
# A partition's answer: index, error, high watermark, last stable offset, log start offset; then the aborted transactions (null
# or none) and, from version 11 on, the preferred read replica.
_PARTITION: Final = Struct(">ihqqq").pack
_ABORTED_7: Final = Struct(">i").pack
_ABORTED_11: Final = Struct(">ii").pack
_ABORTED_12: Final = Struct(">Bi").pack


class FetchCodec(ApiCodec):
    """Fetch in one version."""

    __slots__ = ()

    def __init__(self, version: int) -> None:
        super().__init__(ApiKey.FETCH, version)

    # ------------------------------------------------------------------------------------------------ requests

    def decode(self, buffer: wire.Buffer, position: int) -> Any:
        if self.version >= _FIRST_BY_HAND:
            view = buffer if isinstance(buffer, memoryview) else memoryview(buffer)
            try:
                return self._read(RequestReader(view, position, self.version >= _FIRST_FLEXIBLE))
            except UNUSUAL_OR_WRONG:
                pass
        return super().decode(buffer, position)

    def _read(self, reader: RequestReader) -> FetchRequest:
        version = self.version
        request: Any = _new(_Request)
        request.cluster_id = None
        request.replica_state = None
        request.replica_id = -1 if version >= _FIRST_WITH_REPLICA_STATE else reader.int32()
        start = reader.numbers(_START, 21)
        request.max_wait_ms = start[0]
        request.min_bytes = start[1]
        request.max_bytes = start[2]
        request.isolation_level = start[3]
        request.session_id = start[4]
        request.session_epoch = start[5]
        request.topics = [self._read_topic(reader) for _ in range(reader.count())]
        request.forgotten_topics_data = [self._read_forgotten(reader) for _ in range(reader.count())]
        request.rack_id = ""
        if version >= _FIRST_WITH_RACK:
            reader.item()
            request.rack_id = reader.string()
        if version >= _FIRST_WITH_REPLICA_STATE and reader.next_byte() == 1:
            request.replica_state = _read_replica_state(reader)
        else:
            reader.no_tags()
        return request  # type: ignore[no-any-return]

    def _read_topic(self, reader: RequestReader) -> Any:
        topic: Any = _new(_Topic)
        self._read_name(reader, topic)
        topic.partitions = [self._read_partition(reader) for _ in range(reader.count())]
        reader.no_tags()
        return topic

    def _read_name(self, reader: RequestReader, topic: Any) -> None:
        reader.item()
        if self.version >= _FIRST_WITH_TOPIC_IDS:
            topic.topic = ""
            topic.topic_id = reader.raw(16)
        else:
            topic.topic = reader.string()
            topic.topic_id = _NO_UUID

    def _read_partition(self, reader: RequestReader) -> Any:
        reader.item()
        partition: Any = _new(_Partition)
        if self.version >= _FIRST_FLEXIBLE:
            values = reader.numbers(_PARTITION_12, 32)
            partition.partition = values[0]
            partition.current_leader_epoch = values[1]
            partition.fetch_offset = values[2]
            partition.last_fetched_epoch = values[3]
            partition.log_start_offset = values[4]
            partition.partition_max_bytes = values[5]
            reader.no_tags()
        else:
            partition.partition = reader.int32()
            partition.current_leader_epoch = reader.int32() if self.version >= _FIRST_WITH_LEADER_EPOCH else -1
            values = reader.numbers(_PARTITION_7, 20)
            partition.fetch_offset = values[0]
            partition.last_fetched_epoch = -1
            partition.log_start_offset = values[1]
            partition.partition_max_bytes = values[2]
        partition.replica_directory_id = _NO_UUID
        return partition

    def _read_forgotten(self, reader: RequestReader) -> Any:
        topic: Any = _new(_Forgotten)
        self._read_name(reader, topic)
        topic.partitions = partitions = []
        for _ in range(reader.count()):
            reader.item()
            partitions.append(reader.int32())
        reader.no_tags()
        return topic

    # ------------------------------------------------------------------------------------------------ responses

    def encode(self, correlation_id: int, response: Message) -> list[Any]:
        parts: list[Any] = [b""]
        large: list[int] = []
        if self.version < _FIRST_BY_HAND or not self._write(parts, large, response):
            return super().encode(correlation_id, response)
        parts[0] = header(parts, correlation_id, self.version >= _FIRST_FLEXIBLE)
        return joined(parts, large) if large else [b"".join(parts)]

    def _write(self, parts: list[Any], large: list[int], response: Any) -> bool:
        """Add the response's parts, and the indexes of those that are no bytes. False if something in it is rarely told."""
        if response.node_endpoints:
            return False
        flexible = self.version >= _FIRST_FLEXIBLE
        topics: list[Any] = response.responses
        parts.append(_START_OF_RESPONSE(response.throttle_time_ms, response.error_code, response.session_id))
        parts.append(count(len(topics), flexible))
        for topic in topics:
            if self.version >= _FIRST_WITH_TOPIC_IDS:
                parts.append(topic.topic_id)
            else:
                add_name(parts, topic.topic, flexible)
            partitions: list[Any] = topic.partitions
            parts.append(count(len(partitions), flexible))
            for data in partitions:
                if not self._write_partition(parts, large, data):
                    return False
            if flexible:
                parts.append(_NO_TAGS)
        if flexible:
            parts.append(_NO_TAGS)
        return True

    def _write_partition(self, parts: list[Any], large: list[int], data: Any) -> bool:
        aborted = data.aborted_transactions
        records = data.records
        if (
            aborted
            or records is None
            or data.diverging_epoch is not None
            or data.current_leader is not None
            or data.snapshot_id is not None
            or (self.version < _FIRST_WITH_RACK and data.preferred_read_replica != -1)
        ):
            return False
        flexible = self.version >= _FIRST_FLEXIBLE
        parts.append(
            _PARTITION(
                data.partition_index,
                data.error_code,
                data.high_watermark,
                data.last_stable_offset,
                data.log_start_offset,
            )
        )
        if flexible:
            parts.append(_ABORTED_12(0 if aborted is None else 1, data.preferred_read_replica))
        elif self.version >= _FIRST_WITH_RACK:
            parts.append(_ABORTED_11(-1 if aborted is None else 0, data.preferred_read_replica))
        else:
            parts.append(_ABORTED_7(-1 if aborted is None else 0))
        size = len(records)
        parts.append(count(size, flexible))
        if size:
            if not isinstance(records, bytes):
                large.append(len(parts))
            parts.append(records)
        if flexible:
            parts.append(_NO_TAGS)
        return True


def partition_data(
    index: int,
    error_code: int,
    high_watermark: int,
    last_stable_offset: int,
    log_start_offset: int,
    preferred_read_replica: int,
    records: object,
) -> FetchResponse.PartitionData:
    """A partition's answer, as its constructor makes it, without that being called."""
    made: Any = _new(_PartitionData)
    made.partition_index = index
    made.error_code = error_code
    made.high_watermark = high_watermark
    made.last_stable_offset = last_stable_offset
    made.log_start_offset = log_start_offset
    made.diverging_epoch = None
    made.current_leader = None
    made.snapshot_id = None
    made.aborted_transactions = None
    made.preferred_read_replica = preferred_read_replica
    made.records = records
    return made  # type: ignore[no-any-return]


def topic_response(
    topic: str, topic_id: bytes, partitions: list[FetchResponse.PartitionData]
) -> FetchResponse.FetchableTopicResponse:
    """As the constructor makes it."""
    made: Any = _new(_TopicResponse)
    made.topic = topic
    made.topic_id = topic_id
    made.partitions = partitions
    return made  # type: ignore[no-any-return]


def fetch_response(session_id: int, topics: list[FetchResponse.FetchableTopicResponse]) -> FetchResponse:
    """One without an error of its own."""
    made: Any = _new(_Response)
    made.throttle_time_ms = 0
    made.error_code = 0
    made.session_id = session_id
    made.responses = topics
    made.node_endpoints = []
    return made  # type: ignore[no-any-return]


def _read_replica_state(reader: RequestReader) -> FetchRequest.ReplicaState:
    """The tagged fields of a follower's request."""
    values = reader.numbers(_REPLICA_STATE, 16)
    if values[:3] != _TAGS_OF_REPLICA_STATE or values[5]:
        raise UnusualError
    made: Any = _new(_ReplicaState)
    made.replica_id = values[3]
    made.replica_epoch = values[4]
    return made  # type: ignore[no-any-return]
