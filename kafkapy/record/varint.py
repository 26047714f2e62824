"""Variable-length integers of record batches: zigzag varints, as in protocol buffers (Kafka's `ByteUtils`)."""

from __future__ import annotations

from typing import Final

from kafkapy.protocol.errors import Errors, KafkaError

Buffer = bytes | bytearray | memoryview

VARINT_TOO_LONG: Final = "Varint is too long, the most significant bit of its last byte is set"


def encode_varint(value: int) -> bytes:
    """Return the zigzag varint of a signed number (int32 or int64: the shortest form is the same)."""
    raw = (value << 1) ^ (value >> 63)
    if raw < 0x80:
        return _ONE_BYTE[raw]
    out = bytearray()
    while raw > 0x7F:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)
    return bytes(out)


_ONE_BYTE: Final = [bytes((i,)) for i in range(128)]


def size_of_varint(value: int) -> int:
    """Return the number of bytes of `encode_varint`."""
    raw = (value << 1) ^ (value >> 63)
    return (max(raw.bit_length(), 1) + 6) // 7


def read_varint(buffer: Buffer, position: int) -> tuple[int, int]:
    """Return (int32, position after it). `IndexError` past the end of the buffer, `KafkaError` INVALID_RECORD beyond
    five bytes.

    Excess bits of the fifth byte are dropped, as in Java.
    """
    raw = buffer[position]
    position += 1
    if raw > 0x7F:
        raw &= 0x7F
        shift = 7
        while True:
            byte = buffer[position]
            position += 1
            raw |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 28:
                raise KafkaError(Errors.INVALID_RECORD, VARINT_TOO_LONG)
        raw &= 0xFFFFFFFF
    return (raw >> 1) ^ -(raw & 1), position


def read_varlong(buffer: Buffer, position: int) -> tuple[int, int]:
    """Return (int64, position after it), with the same errors as `read_varint` (ten bytes at most)."""
    raw = buffer[position]
    position += 1
    if raw > 0x7F:
        raw &= 0x7F
        shift = 7
        while True:
            byte = buffer[position]
            position += 1
            raw |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 63:
                raise KafkaError(Errors.INVALID_RECORD, VARINT_TOO_LONG)
        raw &= 0xFFFFFFFFFFFFFFFF
    return (raw >> 1) ^ -(raw & 1), position
