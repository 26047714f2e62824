"""Produce as it nearly always comes and is answered, read and written by hand instead of by the schema's codec.

As machine code (`kafkapy.compiled`) that takes a fifth of the time. What is unusual, and what is wrong, is left to the
schema's codec: both make and take the same messages and bytes.
"""

from __future__ import annotations

from struct import Struct
from typing import Any, Final

from kafkapy.protocol import wire
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import ApiCodec
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafkapy.protocol.request_reader import UNUSUAL_OR_WRONG, RequestReader, UnusualError
from kafkapy.protocol.response_parts import add_name, count, header

_new: Final = object.__new__
_Request: Final = ProduceRequest
_Response: Final = ProduceResponse
_TopicData: Final = ProduceRequest.TopicProduceData
_PartitionData: Final = ProduceRequest.PartitionProduceData
_TopicResponse: Final = ProduceResponse.TopicProduceResponse
_PartitionResponse: Final = ProduceResponse.PartitionProduceResponse

_FIRST_BY_HAND: Final = 3
"""The first that may have a transactional id."""
_FIRST_FLEXIBLE: Final = 9
_ACKS_AND_TIMEOUT: Final = Struct(">hi").unpack_from
_THROTTLE_TIME: Final = Struct(">i").pack
_FLEXIBLE_THROTTLE_TIME: Final = Struct(">ix").pack

# A partition's answer: index, no error, base offset, from version 2 on log append time, from 5 on log start offset; then, from
# 8 on, that there are no errors of records and no message, from 9 on no tagged fields.
_PARTITION_0: Final = Struct(">ihq").pack
_PARTITION_2: Final = Struct(">ihqq").pack
_PARTITION_5: Final = Struct(">ihqqq").pack
_ENDS_OF_PARTITION: Final = [b""] * 8 + [b"\0\0\0\0\xff\xff"] + [b"\1\0\0"] * 3


class ProduceCodec(ApiCodec):
    """Produce in one version."""

    __slots__ = ("_end_of_partition",)

    def __init__(self, version: int) -> None:
        super().__init__(ApiKey.PRODUCE, version)
        self._end_of_partition = _ENDS_OF_PARTITION[version]

    def decode(self, buffer: wire.Buffer, position: int) -> Any:
        if self.version >= _FIRST_BY_HAND:
            view = buffer if isinstance(buffer, memoryview) else memoryview(buffer)
            try:
                return _read(RequestReader(view, position, self.version >= _FIRST_FLEXIBLE))
            except UNUSUAL_OR_WRONG:
                pass
        return super().decode(buffer, position)

    def encode(self, correlation_id: int, response: Message) -> list[Any]:
        frame = self._write(correlation_id, response)
        return super().encode(correlation_id, response) if frame is None else [frame]

    def _write(self, correlation_id: int, response: Any) -> bytes | None:
        """The frame of an answer without errors; None if it is none."""
        if response.node_endpoints:
            return None
        flexible = self.version >= _FIRST_FLEXIBLE
        topics: list[Any] = response.responses
        parts = [b"", count(len(topics), flexible)]
        end = self._end_of_partition
        for topic in topics:
            add_name(parts, topic.name, flexible)
            partitions: list[Any] = topic.partition_responses
            parts.append(count(len(partitions), flexible))
            for answer in partitions:
                if (
                    answer.error_code
                    or answer.error_message is not None
                    or answer.record_errors
                    or answer.current_leader is not None
                ):
                    return None
                parts.append(self._partition(answer))
                parts.append(end)
            if flexible:
                parts.append(b"\0")
        if flexible:
            parts.append(_FLEXIBLE_THROTTLE_TIME(response.throttle_time_ms))
        elif self.version >= 1:
            parts.append(_THROTTLE_TIME(response.throttle_time_ms))
        parts[0] = header(parts, correlation_id, flexible)
        return b"".join(parts)

    def _partition(self, answer: Any) -> bytes:
        index, offset = answer.index, answer.base_offset
        if self.version >= 5:
            return _PARTITION_5(index, 0, offset, answer.log_append_time_ms, answer.log_start_offset)
        if self.version >= 2:
            return _PARTITION_2(index, 0, offset, answer.log_append_time_ms)
        return _PARTITION_0(index, 0, offset)


def partition_response(
    index: int, base_offset: int, log_append_time_ms: int, log_start_offset: int
) -> ProduceResponse.PartitionProduceResponse:
    """The answer for a partition whose records were written. As the constructor makes it, without that being called."""
    made: Any = _new(_PartitionResponse)
    made.index = index
    made.error_code = 0
    made.base_offset = base_offset
    made.log_append_time_ms = log_append_time_ms
    made.log_start_offset = log_start_offset
    made.record_errors = []
    made.error_message = None
    made.current_leader = None
    return made  # type: ignore[no-any-return]


def topic_response(
    name: str, answers: list[ProduceResponse.PartitionProduceResponse]
) -> ProduceResponse.TopicProduceResponse:
    """As the constructor makes it."""
    made: Any = _new(_TopicResponse)
    made.name = name
    made.partition_responses = answers
    return made  # type: ignore[no-any-return]


def produce_response(topics: list[ProduceResponse.TopicProduceResponse]) -> ProduceResponse:
    """As the constructor makes it."""
    made: Any = _new(_Response)
    made.responses = topics
    made.throttle_time_ms = 0
    made.node_endpoints = []
    return made  # type: ignore[no-any-return]


def _read(reader: RequestReader) -> ProduceRequest:
    """The request, as its constructor makes it; `UnusualError` if it has a transactional id."""
    if not reader.is_null():
        raise UnusualError
    request: Any = _new(_Request)
    request.transactional_id = None
    request.acks, request.timeout_ms = reader.numbers(_ACKS_AND_TIMEOUT, 6)
    topics: list[Any] = []
    for _ in range(reader.count()):
        reader.item()
        topic: Any = _new(_TopicData)
        topic.name = reader.string()
        partitions: list[Any] = []
        for _ in range(reader.count()):
            reader.item()
            partition: Any = _new(_PartitionData)
            partition.index = reader.int32()
            partition.records = reader.records()
            partitions.append(partition)
            reader.no_tags()
        topic.partition_data = partitions
        topics.append(topic)
        reader.no_tags()
    request.topic_data = topics
    reader.no_tags()
    return request  # type: ignore[no-any-return]
