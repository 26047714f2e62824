"""Arrays of numbers on the wire, however long.

Very many are read and written some at a time: this is plain Python, on purpose, so that other threads may have the interpreter in
between. 300,000 numbers in one go keep it for 10 ms and more.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final

from kafkapy.protocol.wire import Buffer, packer, varint

_AT_ONCE: Final = 4096
"""Numbers that are read or written before another thread may run: 300,000 keep the interpreter for 10 ms, so these for 0.14
ms."""


def read_numbers(code: str, buffer: Buffer, position: int, count: int) -> list[Any]:
    """So many numbers of one format character. `struct.error` if the buffer ends before."""
    if count <= _AT_ONCE:
        return list(struct.unpack_from(f">{count}{code}", buffer, position))
    numbers: list[Any] = []
    size = packer(code).size
    for start in range(0, count, _AT_ONCE):
        some = min(_AT_ONCE, count - start)
        numbers += struct.unpack_from(f">{some}{code}", buffer, position + start * size)
    return numbers


def number_array(code: str, values: Sequence[float], compact: bool) -> bytes:
    """An array of numbers of one format character, with its count before it."""
    count = len(values)
    if count <= _AT_ONCE:
        if compact:
            return varint(count + 1) + struct.pack(f">{count}{code}", *values)
        return struct.pack(f">i{count}{code}", count, *values)
    parts = [varint(count + 1) if compact else struct.pack(">i", count)]
    for start in range(0, count, _AT_ONCE):
        some = values[start : start + _AT_ONCE]
        parts.append(struct.pack(f">{len(some)}{code}", *some))
    return b"".join(parts)
