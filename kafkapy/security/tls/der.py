"""Parses DER (X.690), the encoding of certificates and PKCS#12 stores.

Every length is checked against the available bytes, so allocations are bounded by the input.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

INTEGER: Final = 0x02
BIT_STRING: Final = 0x03
OCTET_STRING: Final = 0x04
OBJECT_IDENTIFIER: Final = 0x06
UTF8_STRING: Final = 0x0C
BMP_STRING: Final = 0x1E
SEQUENCE: Final = 0x30
SET: Final = 0x31


class DerError(ValueError):
    """Bytes that are not DER, or not the expected value."""


class DerValue(NamedTuple):
    """One value: its identifier octet, its content, and both including the length between them."""

    tag: int
    content: bytes
    encoded: bytes

    def children(self) -> list[DerValue]:
        """Return the values inside a constructed value. Raises DerError."""
        return list(read_values(self.content))

    def as_oid(self) -> str:
        """Return an object identifier in dotted decimals. Raises DerError."""
        expect(self, OBJECT_IDENTIFIER)
        numbers, number = [], 0
        for octet in self.content:
            number = number << 7 | octet & 0x7F
            if number >> 128:
                raise DerError("an object identifier has too large a number")
            if not octet & 0x80:
                numbers.append(number)
                number = 0
        if not numbers or self.content[-1] & 0x80:
            raise DerError("an object identifier ends within a number")
        first = min(numbers[0] // 40, 2)
        return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))

    def as_int(self) -> int:
        """Return a number of 8 bytes at most. Raises DerError."""
        expect(self, INTEGER)
        if not 0 < len(self.content) <= 8:
            raise DerError(f"a number has {len(self.content)} bytes")
        return int.from_bytes(self.content, "big", signed=True)


def read_value(data: bytes) -> DerValue:
    """Parse the single value in `data`. Raises DerError, also if bytes follow it.

    Example:
        >>> read_value(bytes.fromhex("020105")).as_int()
        5
    """
    value, end = _read(data, 0)
    if end != len(data):
        raise DerError(f"{len(data) - end} bytes follow the end")
    return value


def read_values(data: bytes) -> Iterator[DerValue]:
    """Yield the consecutive values in `data`. Raises DerError."""
    at = 0
    while at < len(data):
        value, at = _read(data, at)
        yield value


def read_first(data: bytes) -> DerValue:
    """Parse the first value of `data`, ignoring what follows. Raises DerError."""
    return _read(data, 0)[0]


def expect(value: DerValue, *tags: int) -> DerValue:
    """Return the value itself. Raises DerError if its tag is none of these."""
    if value.tag not in tags:
        raise DerError(f"a value has the tag 0x{value.tag:02x}, not {' or '.join(f'0x{tag:02x}' for tag in tags)}")
    return value


def fields_of(value: DerValue, count: int) -> list[DerValue]:
    """Return the values inside a SEQUENCE that has at least `count`. Raises DerError."""
    fields = expect(value, SEQUENCE).children()
    if len(fields) < count:
        raise DerError(f"a sequence has {len(fields)} values, not {count}")
    return fields


def encode(tag: int, content: bytes) -> bytes:
    """Return a value as bytes.

    Example:
        >>> encode(OCTET_STRING, b"ab").hex()
        '04026162'
    """
    size = len(content)
    if size < 0x80:
        return bytes((tag, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(length))) + length + content


def _read(data: bytes, start: int) -> tuple[DerValue, int]:
    at = start + 2
    if at > len(data):
        raise DerError("it ends within a value")
    tag, size = data[start], data[start + 1]
    if tag & 0x1F == 0x1F:
        raise DerError("a tag of several bytes")
    if size & 0x80:
        octets = size & 0x7F
        if not octets:
            raise DerError("a value of indefinite length (BER)")
        if octets > 4:
            raise DerError(f"a length of {octets} bytes")
        at += octets
        size = int.from_bytes(data[start + 2 : at], "big")
    end = at + size
    if end > len(data):
        raise DerError("it ends within a value")
    return DerValue(tag, data[at:end], data[start:end]), end
