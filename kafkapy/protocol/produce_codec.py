"""Produce as it nearly always comes and is answered, read and written by hand instead of by the schema's codec.

As machine code (`kafkapy.compiled`) that takes a fifth of the time. What is unusual, and what is wrong, is left to the
schema's codec: both make and take the same messages and bytes.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from kafkapy.protocol import wire
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import ApiCodec
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.produce import ProduceRequest, ProduceResponse

if TYPE_CHECKING:
    from mypy_extensions import i64

_new: Final = object.__new__
_Request: Final = ProduceRequest
_Response: Final = ProduceResponse
_TopicData: Final = ProduceRequest.TopicProduceData
_PartitionData: Final = ProduceRequest.PartitionProduceData
_TopicResponse: Final = ProduceResponse.TopicProduceResponse
_PartitionResponse: Final = ProduceResponse.PartitionProduceResponse

_FIRST_READ: Final = 3
_FIRST_FLEXIBLE: Final = 9
_WINDOW: Final = 512
"""Bytes of the request that are looked at together."""
_ITEM: Final = 272
"""A topic's name and what stands around it take no more bytes: names have at most 249."""

_ONE_BYTE: Final = [bytes((n,)) for n in range(128)]
_RESPONSE_HEADER: Final = Struct(">ii").pack
_FLEXIBLE_RESPONSE_HEADER: Final = Struct(">iix").pack
_THROTTLE_TIME: Final = Struct(">i").pack
_FLEXIBLE_THROTTLE_TIME: Final = Struct(">ix").pack
_COUNT: Final = Struct(">i").pack
_NAME_LENGTH: Final = Struct(">h").pack

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
        request = None
        if self.version >= _FIRST_READ:
            view = buffer if isinstance(buffer, memoryview) else memoryview(buffer)
            try:
                request = _read(view, position, self.version >= _FIRST_FLEXIBLE)
            except (IndexError, UnicodeDecodeError):
                pass
        return super().decode(buffer, position) if request is None else request

    def encode(self, correlation_id: int, response: Message) -> list[Any]:
        frame = self._write(correlation_id, response)
        return super().encode(correlation_id, response) if frame is None else [frame]

    def _write(self, correlation_id: int, response: Any) -> bytes | None:
        """The frame of an answer without errors; None if it is none."""
        if response.node_endpoints:
            return None
        flexible = self.version >= _FIRST_FLEXIBLE
        topics: list[Any] = response.responses
        parts = [b"", _count(len(topics), flexible)]
        end = self._end_of_partition
        for topic in topics:
            name: bytes = topic.name.encode()
            parts.append(_name_length(len(name), flexible))
            parts.append(name)
            partitions: list[Any] = topic.partition_responses
            parts.append(_count(len(partitions), flexible))
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
        size = 4
        for part in parts:
            size += len(part)
        if flexible:
            parts[0] = _FLEXIBLE_RESPONSE_HEADER(size + 1, correlation_id)
        else:
            parts[0] = _RESPONSE_HEADER(size, correlation_id)
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


def _read(buffer: memoryview, start: i64, flexible: bool) -> ProduceRequest | None:
    """The request whose body begins at `start`; None, `IndexError` or `UnicodeDecodeError` if it is unusual or wrong.

    Unusual are a transactional id, null instead of records, tagged fields, names that are not ASCII.
    """
    limit: i64 = len(buffer)
    base: i64 = start
    """Where the window begins."""
    window = bytes(buffer[base : base + _WINDOW])
    at: i64
    if flexible:
        if window[0]:
            return None
        at = 1
    else:
        if window[0] != 0xFF or window[1] != 0xFF:
            return None
        at = 2
    request: Any = _new(_Request)
    request.transactional_id = None
    request.acks = _int16(window, at)
    request.timeout_ms = _int32(window, at + 2)
    at += 6
    topics: list[Any] = []
    request.topic_data = topics
    size: i64
    count: i64
    if flexible:
        count = window[at] - 1
        at += 1
        if count >= 0x7F:
            return None
    else:
        count = _int32(window, at)
        at += 4
    for _ in range(count):
        if at + _ITEM > _WINDOW:
            base += at
            at = 0
            window = bytes(buffer[base : base + _WINDOW])
        if flexible:
            size = window[at] - 1
            at += 1
            if size >= 0x7F:
                size += (window[at] << 7) - 0x80
                if window[at] > 1:
                    return None
                at += 1
        else:
            size = _int16(window, at)
            at += 2
        if size < 0 or at + size >= len(window):
            return None
        topic: Any = _new(_TopicData)
        topic.name = window[at : at + size].decode("ascii")
        at += size
        partitions: list[Any] = []
        topic.partition_data = partitions
        topics.append(topic)
        of_topic: i64
        if flexible:
            of_topic = window[at] - 1
            at += 1
            if of_topic >= 0x7F:
                return None
        else:
            of_topic = _int32(window, at)
            at += 4
        if of_topic < 0:
            return None
        for _ in range(of_topic):
            if at + _ITEM > _WINDOW:
                base += at
                at = 0
                window = bytes(buffer[base : base + _WINDOW])
            partition: Any = _new(_PartitionData)
            partition.index = _int32(window, at)
            at += 4
            if flexible:
                size = window[at]
                at += 1
                shift: i64 = 7
                if size > 0x7F:
                    size &= 0x7F
                    while True:
                        byte: i64 = window[at]
                        at += 1
                        size |= (byte & 0x7F) << shift
                        if byte < 0x80:
                            break
                        shift += 7
                        if shift > 28:
                            return None
                size -= 1
            else:
                size = _int32(window, at)
                at += 4
            end = base + at + size
            if size < 0 or end > limit:
                return None
            partition.records = buffer[base + at : end]
            partitions.append(partition)
            base = end
            at = 0
            window = bytes(buffer[base : base + _WINDOW])
            if flexible:
                if window[0]:
                    return None
                at = 1
        if flexible:
            if window[at]:
                return None
            at += 1
    if count < 0 or (flexible and window[at]):
        return None
    return request  # type: ignore[no-any-return]


def _int16(data: bytes, at: i64) -> i64:
    high: i64 = data[at]
    return (high << 8 | data[at + 1]) - ((high & 0x80) << 9)


def _int32(data: bytes, at: i64) -> i64:
    first: i64 = data[at]
    second: i64 = data[at + 1]
    third: i64 = data[at + 2]
    return (first << 24 | second << 16 | third << 8 | data[at + 3]) - ((first & 0x80) << 25)


def _count(count: int, flexible: bool) -> bytes:
    if not flexible:
        return _COUNT(count)
    return _ONE_BYTE[count + 1] if count < 127 else wire.varint(count + 1)


def _name_length(length: int, flexible: bool) -> bytes:
    if not flexible:
        return _NAME_LENGTH(length)
    return _ONE_BYTE[length + 1] if length < 127 else wire.string_length(length + 1)
