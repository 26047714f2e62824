"""Where the records of a v2 batch lie in its decompressed bytes, for those who copy records without decoding them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kafkapy.record.record_fields import INVALID_STRUCTURE, RecordFields, invalid
from kafkapy.record.varint import encode_varint, read_varint, read_varlong

if TYPE_CHECKING:
    from mypy_extensions import i64

# (start, end, timestamp delta, offset delta, key or None, has a value)
RecordSpan = tuple[int, int, int, int, bytes | None, bool]


def record_spans(data: bytes, count: int) -> Iterator[RecordSpan]:
    """The records of a batch one after the other; `data[start:end]` is a whole record, its length included.

    `KafkaError` INVALID_RECORD where a record does not follow the format.
    """
    fields = RecordFields()
    position: i64 = 0
    try:
        for _ in range(count):
            end = fields.read(data, position)
            if end < 0:
                raise invalid(INVALID_STRUCTURE)
            start, key = fields.key_start, None
            if fields.key_length >= 0:
                key = data[start : start + fields.key_length]
            yield position, end, fields.timestamp_delta, fields.offset_delta, key, fields.value_length >= 0
            position = end
    except IndexError:
        raise invalid(INVALID_STRUCTURE) from None


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
