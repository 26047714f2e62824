"""ZooKeeper's multiRead: the data of many znodes in one request (ZOOKEEPER-3402, since 3.6)."""

from __future__ import annotations

import struct
from typing import NamedTuple

_GET_DATA = 4
_ERROR = -1
_HEADER = struct.Struct("!i?i")  # type, done, error
_INT = struct.Struct("!i")
_STAT = struct.Struct("!qqqqiiiqiiq")
_END = _HEADER.pack(-1, True, -1)


class ReadResult(NamedTuple):
    """`error` is ZooKeeper's code, 0 for success; `stat` has the fields of `requests.Stat`."""

    error: int
    data: bytes | None
    stat: tuple[int, ...]


class MultiReadOperation:
    """The request in kazoo's form. `paths` include the chroot; no watches are set."""

    type = 22

    def __init__(self, paths: list[str]) -> None:
        self.paths = paths

    def serialize(self) -> bytes:
        out = bytearray()
        for path in self.paths:
            name = path.encode()
            out += _HEADER.pack(_GET_DATA, False, -1) + _INT.pack(len(name)) + name + b"\0"
        return bytes(out + _END)

    @staticmethod
    def deserialize(buffer: bytes, offset: int) -> list[ReadResult]:
        """Decode Jute's MultiResponse: a header before each answer, and a last one that marks the end."""
        results: list[ReadResult] = []
        while True:
            kind, done, _ = _HEADER.unpack_from(buffer, offset)
            offset += _HEADER.size
            if done:
                return results
            number: int = _INT.unpack_from(buffer, offset)[0]
            offset += _INT.size
            if kind == _ERROR:
                results.append(ReadResult(number, None, ()))
                continue
            data = bytes(buffer[offset : offset + number]) if number >= 0 else None
            offset += max(0, number)
            results.append(ReadResult(0, data, _STAT.unpack_from(buffer, offset)))
            offset += _STAT.size
