"""The bytes of messages before record batches: formats v0 and v1 (Kafka's `LegacyRecord`).

entry: int64 offset | int32 size | message
message: uint32 CRC-32 of what follows | int8 magic | int8 attributes | [v1: int64 timestamp]
         | int32 key length, key | int32 value length, value            (length -1: null)
attributes: bits 0-2 codec, bit 3 LogAppendTime (v1)
"""

from __future__ import annotations

import struct
import zlib

from kafkapy.record.compression import CompressionType
from kafkapy.record.record_batch import TimestampType

_LOG_APPEND_TIME = 0x08
_NULLABLE_LENGTH = struct.Struct(">i")
_ENTRY_V0 = struct.Struct(">qiIbb")
_ENTRY_V1 = struct.Struct(">qiIbbq")


def attributes(magic: int, compression_type: CompressionType, timestamp_type: TimestampType) -> int:
    """Return the attributes byte of a message."""
    append_time = magic > 0 and timestamp_type == TimestampType.LOG_APPEND_TIME
    return compression_type | (_LOG_APPEND_TIME if append_time else 0)


def encode_entry(
    offset: int, magic: int, timestamp: int, key: bytes | None, value: bytes | None, attributes: int
) -> bytes:
    """Return one entry of a message set, with its CRC."""
    body = _nullable(key) + _nullable(value)
    if magic == 0:
        entry = bytearray(_ENTRY_V0.pack(offset, _ENTRY_V0.size - 12 + len(body), 0, 0, attributes) + body)
    else:
        entry = bytearray(_ENTRY_V1.pack(offset, _ENTRY_V1.size - 12 + len(body), 0, 1, attributes, timestamp) + body)
    entry[12:16] = zlib.crc32(memoryview(entry)[16:]).to_bytes(4, "big")
    return bytes(entry)


def _nullable(content: bytes | None) -> bytes:
    return b"\xff\xff\xff\xff" if content is None else _NULLABLE_LENGTH.pack(len(content)) + content
