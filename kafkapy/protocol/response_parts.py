"""The parts of a response that every API has: what the codecs that are written by hand write with."""

from __future__ import annotations

from struct import Struct
from typing import Any, Final

from kafkapy.protocol import wire

_HEADER: Final = Struct(">ii").pack
_FLEXIBLE_HEADER: Final = Struct(">iix").pack
_COUNT: Final = Struct(">i").pack
_NAME_LENGTH: Final = Struct(">h").pack


def header(parts: list[Any], correlation_id: int, flexible: bool) -> bytes:
    """The frame's size and the response's header, to stand before the `parts` of the response."""
    size = 4
    for part in parts:
        size += len(part)
    return _FLEXIBLE_HEADER(size + 1, correlation_id) if flexible else _HEADER(size, correlation_id)


def count(number: int, flexible: bool) -> bytes:
    """What stands before the elements of an array, or before records of this size."""
    if not flexible:
        return _COUNT(number)
    return wire.BYTE[number + 1] if number < 127 else wire.varint(number + 1)


def add_name(parts: list[Any], name: str, flexible: bool) -> None:
    """A topic's name and its length before it."""
    encoded = name.encode()
    length = len(encoded)
    if not flexible:
        parts.append(_NAME_LENGTH(length))
    else:
        parts.append(wire.BYTE[length + 1] if length < 127 else wire.string_length(length + 1))
    parts.append(encoded)
