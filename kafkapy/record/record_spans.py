"""Where the records of a v2 batch lie in its decompressed bytes, for those who copy records without decoding them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.varint import encode_varint, read_varint, read_varlong

# (start, end, timestamp delta, offset delta, key or None, has a value)
RecordSpan = tuple[int, int, int, int, bytes | None, bool]


def record_spans(data: bytes, count: int) -> Iterator[RecordSpan]:
    """The records of a batch one after the other; `data[start:end]` is a whole record, its length included.

    `KafkaError` INVALID_RECORD where a length leads out of the record; headers are not looked at.
    """
    position = 0
    try:
        for _ in range(count):
            start = position
            size = data[position]
            position += 1
            if size > 0x7F:
                size, position = read_varint(data, start)
            else:
                size = (size >> 1) ^ -(size & 1)
            end = position + size

            timestamp_delta = data[position + 1]
            position += 2
            if timestamp_delta > 0x7F:
                timestamp_delta, position = read_varlong(data, position - 1)
            else:
                timestamp_delta = (timestamp_delta >> 1) ^ -(timestamp_delta & 1)
            offset_delta = data[position]
            position += 1
            if offset_delta > 0x7F:
                offset_delta, position = read_varint(data, position - 1)
            else:
                offset_delta = (offset_delta >> 1) ^ -(offset_delta & 1)

            length = data[position]
            position += 1
            if length > 0x7F:
                length, position = read_varint(data, position - 1)
            else:
                length = (length >> 1) ^ -(length & 1)
            key = None
            if length >= 0:
                key = data[position : position + length]
                position += length
            has_value = not data[position] & 1  # the sign of the value's length
            if position >= end or end > len(data):
                raise KafkaError(Errors.INVALID_RECORD, "Found invalid record structure")
            yield start, end, timestamp_delta, offset_delta, key, has_value
            position = end
    except IndexError:
        raise KafkaError(Errors.INVALID_RECORD, "Found invalid record structure") from None


def rebase_timestamps(data: bytes, spans: Sequence[RecordSpan], shift: int) -> bytes:
    """The records of `spans` with `shift` added to their timestamp deltas: for a batch whose base timestamp changes."""
    parts = []
    for start, end, timestamp_delta, _, _, _ in spans:
        _, body = read_varint(data, start)
        _, rest = read_varlong(data, body + 1)
        record = data[body : body + 1] + encode_varint(timestamp_delta + shift) + data[rest:end]
        parts.append(encode_varint(len(record)))
        parts.append(record)
    return b"".join(parts)
