"""Arrays of numbers on the wire, of any length.

Long arrays are read and written in portions. This is deliberately plain Python, so that other threads can get the
interpreter lock in between: 300,000 numbers at once hold it for 10 ms and more.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final

from kafkapy.protocol.wire import Buffer, packer, varint

_NUMBERS_PER_YIELD: Final = 4096
"""Numbers that are read or written before another thread may run: 300,000 hold the interpreter lock for 10 ms, so these
for 0.14 ms.
"""


def read_numbers(code: str, buffer: Buffer, position: int, count: int) -> list[Any]:
    """Read `count` numbers of one format character. `struct.error` if the buffer ends early."""
    if count <= _NUMBERS_PER_YIELD:
        return list(struct.unpack_from(f">{count}{code}", buffer, position))
    numbers: list[Any] = []
    size = packer(code).size
    for start in range(0, count, _NUMBERS_PER_YIELD):
        some = min(_NUMBERS_PER_YIELD, count - start)
        numbers += struct.unpack_from(f">{some}{code}", buffer, position + start * size)
    return numbers


def number_array(code: str, values: Sequence[float], compact: bool) -> bytes:
    """Return an array of numbers of one format character, preceded by its count."""
    count = len(values)
    if count <= _NUMBERS_PER_YIELD:
        if compact:
            return varint(count + 1) + struct.pack(f">{count}{code}", *values)
        return struct.pack(f">i{count}{code}", count, *values)
    parts = [varint(count + 1) if compact else struct.pack(">i", count)]
    for start in range(0, count, _NUMBERS_PER_YIELD):
        some = values[start : start + _NUMBERS_PER_YIELD]
        parts.append(struct.pack(f">{len(some)}{code}", *some))
    return b"".join(parts)
